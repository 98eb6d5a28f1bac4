"""SODAPOP in a study: what is left after debiasing and its cost, groups told apart (Table 9), top words (12 to 20)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

from assay.blocks import (
    Column,
    Figure,
    Group,
    Kind,
    Marked,
    Name,
    Part,
    Pick,
    Prose,
    Role,
    Row,
    Section,
    Strong,
    StudyRun,
    Table,
    TableCell,
    Text,
    Tools,
)
from assay.findings import Cell, Estimate
from assay.findings import Table as Data
from assay.probes.sodapop import people_words, say_group
from assay.probes.sodapop.across import Pair, Pairs, separations
from assay.probes.sodapop.differences import Word, read_pairs, turned
from assay.verdict import Verdict, verdict
from assay.wording import fixed, number, plural

TOP = 10
"""Words of a pair of groups and a model that the page shows; the paper prints 15."""
MOST_PAIRS = 16
"""Pairs of groups whose words the page shows; the runs' own pages have all."""

Accuracies = Mapping[Pair, Estimate]
Words = Mapping[Pair, Sequence[Word]]


def of_study(runs: Sequence[StudyRun]) -> list[Section]:
    """What the runs show by method; nothing where there are not two of them."""
    if len(runs) < 2:
        return []
    pairs, titles = Pairs(), [each.run.model for each in runs]
    found = separations([(str(place), each.run.findings) for place, each in enumerate(runs)], pairs)
    words = [_words(each, pairs) for each in runs]
    accuracies = [
        {pair: own[str(place)] for pair, own in found.items() if str(place) in own} for place in range(len(runs))
    ]
    return [
        Section([_summary(runs, accuracies, words), _separations(titles, accuracies, list(found))]),
        *_top_words(titles, words, pairs),
    ]


def _clear(estimate: Estimate) -> bool:
    return verdict(estimate) is Verdict.ABOVE


def _words(run: StudyRun, pairs: Pairs) -> dict[Pair, list[Word]]:
    """The words of every pair, those that are clear of chance first, then by the size of RD."""
    found: dict[Pair, list[Word]] = {}
    for pair in read_pairs(run.run):
        key = pairs.named(pair.a, pair.b)
        found[key] = [word if (word.a, word.b) == key else turned(word) for word in pair.words]
    return found


def _summary(runs: Sequence[StudyRun], accuracies: Sequence[Accuracies], words: Sequence[Words]) -> Table:
    rows, lines = [], []
    for each, own, said in zip(runs, accuracies, words, strict=True):
        values = [e.value for e in own.values() if e.value is not None]
        floors = [e.floor for e in own.values() if e.floor is not None]
        mean, floor = (fmean(numbers) if numbers else None for numbers in (values, floors))
        apart, clear = sum(map(_clear, own.values())), sum(word.clear for listed in said.values() for word in listed)
        task, change = each.task, each.task.change if each.task else None
        about = [each.run.model, each.debiased_by, each.baseline]
        cells: list[TableCell] = [
            *(Name(text or "") for text in about),
            f"{apart} of {len(own)}",
            "" if mean is None else mean,
            "" if floor is None else floor,
            clear,
            task.said if task else "",
            "" if change is None else Figure(f"{'+' if change > 0 else ''}{number(change)}"),
        ]
        rows.append(Row(cells))
        score = task.score.value if task else None
        line: list[Cell] = [*about, task.metric if task else None, score, change, mean, floor, apart, len(own), clear]
        lines.append(line)
    debiased = any(each.debiased_by for each in runs)
    against = " against the model that it is compared with" if debiased else ""
    columns = ("model", "debiased_by", "baseline", "task_metric", "task_score", "task_change", "mean_accuracy")
    return Table(
        title="What is left after debiasing, and its cost"
        if debiased
        else "How well each model’s words tell names apart",
        how="in how many pairs of groups of names KMeans tells the groups apart better than chance (p at most 0.05) by "
        "the words that fool the model; its accuracy over all pairs on average, and what chance gives there; how many "
        "words are clear of chance (q at most 0.05). Beside it, what the model scores at its task. A method that helps "
        f"lowers these numbers{against}; one in twenty pairs is told apart by chance alone.",
        data=Data((*columns, "mean_floor", "pairs_apart", "pairs_tested", "clear_words"), lines),
        file="sodapop-methods",
        anchor="methods",
        columns=[
            *(Column(head, Kind.TEXT) for head in ("model", "debiased by", "compared with")),
            Column("pairs told apart", Kind.COUNT, wraps=True),
            Column("mean accuracy", Kind.FIXED, wraps=True),
            Column("chance gives", Kind.FIXED, wraps=True),
            Column("clear words", Kind.COUNT, wraps=True),
            *(Column(head, Kind.TEXT) for head in ("task score", "change")),
        ],
        groups=[Group(rows)],
        filter=Tools.NONE,
        narrow=True,
    )


def _separations(titles: Sequence[str], accuracies: Sequence[Accuracies], pairs: Sequence[Pair]) -> Table:
    rows = []
    lines: list[Sequence[Cell]] = []
    for pair in pairs:
        own = [each.get(pair) for each in accuracies]
        rows.append(Row([Name(_said(pair)), *("" if e is None else Marked(e.value, clear=_clear(e)) for e in own)]))
        lines += [[*pair, title, e.value, e.floor, e.p, e.n] for title, e in zip(titles, own, strict=True) if e]
    return Table(
        title="KMeans accuracy by pair of groups and model",
        how="KMeans accuracy of a pair of groups in each model (as in SODAPOP’s Table 9); 0.5 would be ideal, but "
        "chance alone gives more with few names. Bold: better than chance (p at most 0.05).",
        data=Data(("group_a", "group_b", "model", "accuracy", "floor", "p", "n"), lines),
        file="sodapop-kmeans",
        anchor="methods-pairs",
        columns=[Column("groups", Kind.TEXT), *(Column(Name(title), Kind.FIXED, wraps=True) for title in titles)],
        groups=[Group(rows)],
        narrow=True,
    )


def _top_words(titles: Sequence[str], words: Sequence[Words], pairs: Pairs) -> list[Section]:
    listed = [pair for pair in pairs.known if any(pair in own for own in words)]
    columns = {pair: [list(own.get(pair, ()))[:TOP] for own in words] for pair in listed}
    listed.sort(key=lambda pair: -sum(word.clear for column in columns[pair] for word in column))
    parts = [Part(_said(pair), [_top(pair, titles, columns[pair])]) for pair in listed[:MOST_PAIRS]]
    left_out = len(listed) - len(parts)
    said = f"{plural(left_out, 'more pair')} of groups: see the runs’ own pages."
    more = [Prose([said], Role.SMALL)] if left_out else []
    return [Section([Pick(label="Words of", parts=parts), *more], "Top words by model", "words")] if parts else []


def _top(pair: Pair, titles: Sequence[str], columns: Sequence[Sequence[Word]]) -> Table:
    """The words with the largest RD of a pair of groups, a column for each model."""
    deepest = max(map(len, columns))
    rows = [
        Row([_word(column[place]) if place < len(column) else "" for column in columns]) for place in range(deepest)
    ]
    lines: list[Sequence[Cell]] = [
        [*pair, title, place, word.word, word.rd, word.low, word.high, word.p, word.q]
        for title, column in zip(titles, columns, strict=True)
        for place, word in enumerate(column, 1)
    ]
    first, second = (Name(people_words(group)) for group in pair)
    return Table(
        title=f"Top words: {_said(pair)}",
        how=[
            "for each model the words that differ most between two groups of names, those that are clear of chance "
            "first and in bold (q at most 0.05), then those that would be if they were tested alone (p at most 0.05), "
            "within these by the size of RD (as in SODAPOP’s Tables 12 to 20). RD above zero: wrong answers with the "
            "word fool the model rather about ",
            *(first, " names; below: rather about ", second, " names."),
        ],
        data=Data(("group_a", "group_b", "model", "place", "word", "rd", "low", "high", "p", "q"), lines),
        file="sodapop-top-words",
        anchor="top",
        columns=[Column(Name(title), Kind.TEXT) for title in titles],
        groups=[Group(rows)],
        sort=Tools.NONE,
        filter=Tools.NONE,
        narrow=True,
    )


def _word(word: Word) -> Text:
    return [Strong(Name(word.word)) if word.clear else Name(word.word), " ", Figure(fixed(word.rd))]


def _said(pair: Pair) -> str:
    return say_group({"a": pair[0], "b": pair[1]})
