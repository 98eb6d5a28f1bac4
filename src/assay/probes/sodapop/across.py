"""Several models: how well each tells groups apart (Table 9), which words differ (12 to 20), what debiasing changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from statistics import fmean
from typing import Any

from assay.presentation.elements import (
    CellKind,
    DisplayTable,
    HeatMap,
    MarkedCell,
    Panel,
    PanelPicker,
    Paragraphs,
    RowGroup,
    Section,
    TableCell,
    TableColumn,
    TableRow,
    TableTools,
    TextRole,
)
from assay.presentation.rich_text import NumberText, Strong, Text, Verbatim, task_score_text
from assay.probes import run_names
from assay.probes.sodapop import say_pair, spelled
from assay.probes.sodapop.compare_runs import WORD_DIFFERENCES
from assay.probes.sodapop.read_tables import Named, WordDifference, read_pairs, separations, told_apart, words_in
from assay.probes.sodapop.settings import LETTERS, OPTIONS
from assay.results.findings import Cell, Estimate, Findings
from assay.results.findings import Table as Data
from assay.results.formatting import format_fixed, format_number, plural
from assay.results.run import Run, StudyRun

TITLES = {
    WORD_DIFFERENCES: "Changes in the RD of words that both have (model minus baseline)",
    "separation": "How well success rates alone tell two groups of names apart (KMeans)",
    "words": "RD of words that are statistically clear in at least one model",
}

MOST_PAIRS, MOST_WORDS = 16, 30
"""How many pairs of groups, and words of each, a page about several models shows; the runs' tables have all."""
STUDY_WORDS, STUDY_PAIRS = 10, 16
"""How many words of a pair and a model, and how many pairs, a study's page shows. The paper prints 15 words; the runs'
own pages have all pairs."""

Models = Sequence[tuple[str, Findings]]  # by name
Words = Mapping[str, Mapping[str, WordDifference]]  # word -> model


@dataclass
class PairOrder:
    """Pairs of groups in the order in which they appear; two models may name a pair's groups in either order."""

    known: dict[Named, None] = field(default_factory=dict)

    def named(self, a: str, b: str) -> Named:
        """The pair as it was named first."""
        if (b, a) in self.known:
            return b, a
        self.known.setdefault((a, b))
        return a, b

    def turned(self, word: WordDifference) -> WordDifference:
        """A word with its groups in the order in which they were named first."""
        return word if self.named(word.group_a, word.group_b)[0] == word.group_a else word.turned


def side_by_side(models: Models) -> dict[str, Data]:
    """Tables over models, given by name and findings: separation, and the words that are clear in at least one."""
    pairs, names = PairOrder(), [name for name, _ in models]
    tables = {
        "separation": separation_table(models_apart(models, pairs), dict(zip(names, names, strict=True))),
        "words": word_table(clear_words(models, pairs), names),
    }
    return {name: table for name, table in tables.items() if table.rows}


def models_apart(models: Models, pairs: PairOrder) -> dict[Named, dict[str, Estimate]]:
    """KMeans accuracy for every pair of groups and model (Table 9)."""
    found: dict[Named, dict[str, Estimate]] = {}
    for name, findings in models:
        for e in separations(findings):
            if e.value is not None:
                found.setdefault(pairs.named(e.group["a"], e.group["b"]), {})[name] = e
    return found


def separation_table(found: Mapping[Named, Mapping[str, Estimate]], titles: Mapping[str, str]) -> Data:
    """A row for every pair of groups and model; `titles` has the models' titles by name."""
    rows: list[list[Cell]] = [
        [*pair, titles[name], e.value, e.floor, e.p, e.q, e.n] for pair, own in found.items() for name, e in own.items()
    ]
    return Data(("group_a", "group_b", "model", "accuracy", "floor", "p", "q", "n"), rows)


def clear_words(models: Models, pairs: PairOrder) -> dict[Named, Words]:
    """RD in every model of each word that is clear in at least one (Tables 12 to 20).

    Within a pair, words are sorted by their mean RD over models, from the first group to the second.
    """
    found: dict[Named, dict[str, dict[str, WordDifference]]] = {}
    for name, findings in models:
        for word in map(pairs.turned, words_in(findings)):
            found.setdefault((word.group_a, word.group_b), {}).setdefault(word.word, {})[name] = word
    kept = {}
    for pair, words in found.items():
        clear = {word: own for word, own in words.items() if any(each.clear for each in own.values())}
        order = sorted(clear, key=lambda word: (-fmean(each.rd for each in clear[word].values()), word))
        kept[pair] = {word: clear[word] for word in order}
    return {pair: words for pair, words in kept.items() if words}


def word_table(found: Mapping[Named, Words], names: Sequence[str]) -> Data:
    """RD of the pairs' words in the named models, and in how many of them each word is clear."""
    rows: list[list[Cell]] = []
    for pair, words in found.items():
        for word, own in words.items():
            numbers = [own[name].rd if name in own else None for name in names]
            rows.append([*pair, word, sum(each.clear for each in own.values()), *numbers])
    return Data(("group_a", "group_b", "word", "clear_in", *names), rows)


# --- on a page


def asked_as(settings: Mapping[str, Any]) -> str:
    """
    >>> asked_as({"form": "letters"}), asked_as({}), asked_as({"form": "auto"})
    ('form=letters', 'form=options', 'form=options')
    """
    return f"form={LETTERS if settings.get('form') == LETTERS else OPTIONS}"


def _told_apart(runs: Sequence[Run]) -> list[Section]:
    """A section that says why runs are not shown together, if they were asked in different forms; else nothing."""
    forms = sorted({asked_as(run.info.settings) for run in runs})
    if len(forms) < 2:
        return []
    why = (
        f"These models were asked in different ways ({' and '.join(forms)}), so their numbers are not shown side by "
        "side: an answer that is scored alone wins at another rate than one that is listed with two others."
    )
    return [Section([Paragraphs([why])], "Models asked in different ways")]


def across(runs: Sequence[Run]) -> list[Section]:
    """What several models show together."""
    if told := _told_apart(runs):
        return told
    names, pairs = run_names(runs), PairOrder()
    models = [(name, run.findings) for name, run in zip(names, runs, strict=True)]
    apart = models_apart(models, pairs)
    words = sorted(clear_words(models, pairs).items(), key=lambda each: -len(each[1]))
    parts = [
        Panel(f"{say_pair(pair)} ({plural(len(own), 'word')})", [_words(pair, own, names)])
        for pair, own in words[:MOST_PAIRS]
    ]
    left_out = len(words) - len(parts)
    more = [Paragraphs([f"{plural(left_out, 'more pair')} of groups: see the runs’ own pages."], TextRole.SMALL)]
    return [
        *([Section([_accuracies(names, apart)])] if apart else []),
        *([Section([PanelPicker(label="Words of", parts=parts), *(more if left_out else [])])] if parts else []),
    ]


def _words(pair: Named, words: Words, names: Sequence[str]) -> HeatMap:
    """The words that are statistically clear in at least one model; of many, those that are clear in most models."""

    def order(word: str) -> tuple[int, float]:
        return -sum(each.clear for each in words[word].values()), -max(abs(each.rd) for each in words[word].values())

    shown = {*sorted(words, key=order)[:MOST_WORDS]}
    left_out, words = len(words) - len(shown), {word: own for word, own in words.items() if word in shown}
    found = {(word, name): each for word, own in words.items() for name, each in own.items()}
    a, b = (spelled(pair)[group] for group in pair)
    beside = {
        "q": {key: each.q for key, each in found.items()},
        "pools alone": {key: each.rd_pools for key, each in found.items()},
    }
    return HeatMap(
        title=f"Words by model: {say_pair(pair)}",
        how=f"each square is the RD of a word in a model; shown are the words that are statistically clear in at least "
        f"one model (as in SODAPOP’s Tables 12 to 20). Orange: the word fools the model more often for {a} names; "
        f"blue: more often for {b} names.",
        data=word_table({pair: words}, names),
        file="sodapop-words-models",
        anchor="words-models",
        after=[f"{plural(left_out, 'more word')}: see the runs’ own tables."] if left_out else [],
        name=say_pair(pair),
        row="word",
        column="model",
        value="RD",
        cells={key: each.rd for key, each in found.items()},
        beside={column: numbers for column, numbers in beside.items() if any(numbers.values())},
        unclear={key for key, each in found.items() if not each.clear},
    )


# --- a study


def of_study(runs: Sequence[StudyRun]) -> list[Section]:
    """What the runs show by method; nothing where there are not two of them."""
    if len(runs) < 2:
        return []
    if told := _told_apart([run.run for run in runs]):
        return told
    pairs = PairOrder()
    words = [_words_of(run.run, pairs) for run in runs]
    return [Section([_methods(runs, words)]), *_top_words([run.run.model for run in runs], words, pairs)]


_ByPair = Mapping[Named, Sequence[WordDifference]]


def _words_of(run: Run, pairs: PairOrder) -> _ByPair:
    """The words of every pair: clear ones first, then by the size of RD."""
    return {pairs.named(pair.a, pair.b): [pairs.turned(word) for word in pair.words] for pair in read_pairs(run)}


def _methods(runs: Sequence[StudyRun], words: Sequence[_ByPair]) -> DisplayTable:
    rows, lines = [], []
    for each, said in zip(runs, words, strict=True):
        own = [e for e in separations(each.run.findings) if e.value is not None]
        values = [e.value for e in own if e.value is not None]
        floors = [e.floor for e in own if e.floor is not None]
        mean, floor = (fmean(numbers) if numbers else None for numbers in (values, floors))
        above, clear = sum(map(told_apart, own)), sum(word.clear for some in said.values() for word in some)
        about = [each.run.model, each.debiased_by, each.baseline]
        task, change = each.task, each.task.change if each.task else None
        cells: list[TableCell] = [
            *(Verbatim(text or "") for text in about),
            f"{above} of {len(own)}",
            "" if mean is None else mean,
            "" if floor is None else floor,
            clear,
            task_score_text(task) if task else "",
            "" if change is None else NumberText(f"{'+' if change > 0 else ''}{format_number(change)}"),
        ]
        rows.append(TableRow(cells))
        scored: list[Cell] = [task.metric, task.score.value, change] if task else [None, None, None]
        lines.append([*about, *scored, mean, floor, above, len(own), clear])
    debiased = any(run.debiased_by for run in runs)
    against = " relative to the baseline" if debiased else ""
    columns = ("model", "debiased_by", "baseline", "task_metric", "task_score", "task_change", "mean_accuracy")
    return DisplayTable(
        title="What is left after debiasing, and what it cost"
        if debiased
        else "How well each model’s words tell names apart",
        how="pairs told apart: how many pairs of groups KMeans tells apart better than chance by the words that fool "
        "the model (q at most 0.05). Beside it are KMeans’ mean accuracy and chance level over all pairs, the number "
        "of statistically clear words (q at most 0.05), and the model’s task score. A method that helps lowers the "
        f"first numbers{against}.",
        data=Data((*columns, "mean_floor", "pairs_apart", "pairs_tested", "clear_words"), lines),
        file="sodapop-methods",
        anchor="methods",
        columns=[
            *(TableColumn(head, CellKind.TEXT) for head in ("model", "debiased by", "baseline")),
            TableColumn("pairs told apart", CellKind.COUNT, wraps=True),
            TableColumn("mean accuracy", CellKind.FIXED, wraps=True),
            TableColumn("chance level", CellKind.FIXED, wraps=True),
            TableColumn("clear words", CellKind.COUNT, wraps=True),
            *(TableColumn(head, CellKind.TEXT) for head in ("task score", "change")),
        ],
        groups=[RowGroup(rows)],
        filter=TableTools.NONE,
        narrow=True,
    )


def _accuracies(names: Sequence[str], apart: Mapping[Named, Mapping[str, Estimate]]) -> DisplayTable:
    def marked(e: Estimate | None) -> TableCell:
        return "" if e is None else MarkedCell(e.value, clear=told_apart(e))

    return DisplayTable(
        title="Groups told apart, by model",
        how="KMeans accuracy for a pair of groups in each model (as in SODAPOP’s Table 9): the share of names in the "
        "cluster of their group. 0.5 would be ideal, but with few names the chance level is higher. Bold: better than "
        "chance (q at most 0.05).",
        data=separation_table(apart, dict(zip(names, names, strict=True))),
        file="sodapop-separation-models",
        anchor="separation-models",
        columns=[
            TableColumn("groups", CellKind.TEXT),
            *(TableColumn(Verbatim(name), CellKind.FIXED, wraps=True) for name in names),
        ],
        groups=[
            RowGroup(
                [TableRow([Verbatim(say_pair(pair)), *map(marked, map(own.get, names))]) for pair, own in apart.items()]
            )
        ],
        narrow=True,
    )


def _top_words(titles: Sequence[str], words: Sequence[_ByPair], pairs: PairOrder) -> list[Section]:
    found = {pair: [list(word.get(pair, ()))[:STUDY_WORDS] for word in words] for pair in pairs.known}
    listed = [pair for pair in pairs.known if any(pair in word for word in words)]
    listed.sort(key=lambda pair: -sum(word.clear for column in found[pair] for word in column))
    parts = [Panel(say_pair(pair), [_top(pair, titles, found[pair])]) for pair in listed[:STUDY_PAIRS]]
    left_out = len(listed) - len(parts)
    more = [Paragraphs([f"{plural(left_out, 'more pair')} of groups: see the runs’ own pages."], TextRole.SMALL)]
    pick = PanelPicker(label="Words of", parts=parts)
    return [Section([pick, *(more if left_out else [])], "Top words by model", "words")] if parts else []


def _top(pair: Named, titles: Sequence[str], columns: Sequence[Sequence[WordDifference]]) -> DisplayTable:
    """The words with the largest RD of a pair of groups, a column for each model."""
    lines: list[Sequence[Cell]] = [
        [*pair, title, place, word.word, word.rd, word.low, word.high, word.p, word.q]
        for title, column in zip(titles, columns, strict=True)
        for place, word in enumerate(column, 1)
    ]
    first, second = (Verbatim(spelled(pair)[group]) for group in pair)
    return DisplayTable(
        title=f"Top words: {say_pair(pair)}",
        how=[
            "for each model, the words that differ most between two groups of names (as in SODAPOP’s Tables 12 to 20). "
            "Statistically clear words come first, in bold (q at most 0.05), then words with p up to 0.05, then the "
            "rest, each by the size of RD. RD above zero: wrong answers with the word fool the model more often for ",
            *(first, " names; below zero: for ", second, " names."),
        ],
        data=Data(("group_a", "group_b", "model", "place", "word", "rd", "low", "high", "p", "q"), lines),
        file="sodapop-top-words",
        anchor="top",
        columns=[TableColumn(Verbatim(title), CellKind.TEXT) for title in titles],
        groups=[RowGroup([TableRow([*map(_word, row)]) for row in zip_longest(*columns)])],
        sort=TableTools.NONE,
        filter=TableTools.NONE,
        narrow=True,
    )


def _word(word: WordDifference | None) -> Text:
    if word is None:
        return ""
    return [Strong(Verbatim(word.word)) if word.clear else Verbatim(word.word), " ", NumberText(format_fixed(word.rd))]
