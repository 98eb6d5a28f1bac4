"""Several models: how well each tells groups apart (Table 9), which words differ (12 to 20), what debiasing changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from statistics import fmean
from typing import Any

from assay.presentation.elements import (
    Block,
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
from assay.probes.sodapop import say_pair, spelled_pair
from assay.probes.sodapop.compare_runs import WORD_DIFFERENCES
from assay.probes.sodapop.read_tables import Named, WordDifference, read_pairs, separations, told_apart, words_in
from assay.probes.sodapop.settings import LETTERS, OPTIONS, counts_chosen
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

    pairs: dict[Named, None] = field(default_factory=dict)

    def named(self, a: str, b: str) -> Named:
        """The pair as it was named first."""
        if (b, a) in self.pairs:
            return b, a
        self.pairs.setdefault((a, b))
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
    estimates: dict[Named, dict[str, Estimate]] = {}
    for name, findings in models:
        for estimate in separations(findings):
            if estimate.value is not None:
                estimates.setdefault(pairs.named(estimate.group["a"], estimate.group["b"]), {})[name] = estimate
    return estimates


def separation_table(estimates: Mapping[Named, Mapping[str, Estimate]], titles: Mapping[str, str]) -> Data:
    """A row for every pair of groups and model; `titles` has the models' titles by name."""
    rows: list[list[Cell]] = [
        [*pair, titles[name], estimate.value, estimate.floor, estimate.p, estimate.q, estimate.n]
        for pair, by_model in estimates.items()
        for name, estimate in by_model.items()
    ]
    return Data(("group_a", "group_b", "model", "accuracy", "floor", "p", "q", "n"), rows)


def clear_words(models: Models, pairs: PairOrder) -> dict[Named, Words]:
    """RD in every model of each word that is clear in at least one (Tables 12 to 20).

    Within a pair, words are sorted by their mean RD over models, from the first group to the second.
    """
    words_by_pair: dict[Named, dict[str, dict[str, WordDifference]]] = {}
    for name, findings in models:
        for difference in map(pairs.turned, words_in(findings)):
            words = words_by_pair.setdefault((difference.group_a, difference.group_b), {})
            words.setdefault(difference.word, {})[name] = difference
    clear_by_pair: dict[Named, Words] = {}
    for pair, words in words_by_pair.items():
        clear = [word for word, by_model in words.items() if _times_clear(by_model)]
        clear.sort(key=lambda word: (-fmean(difference.rd for difference in words[word].values()), word))
        if clear:
            clear_by_pair[pair] = {word: words[word] for word in clear}
    return clear_by_pair


def _times_clear(by_model: Mapping[str, WordDifference]) -> int:
    return sum(difference.clear for difference in by_model.values())


def word_table(words_by_pair: Mapping[Named, Words], names: Sequence[str]) -> Data:
    """RD of the pairs' words in the named models, and in how many of them each word is clear."""
    rows: list[list[Cell]] = []
    for pair, words in words_by_pair.items():
        for word, by_model in words.items():
            numbers = [by_model[name].rd if name in by_model else None for name in names]
            rows.append([*pair, word, _times_clear(by_model), *numbers])
    return Data(("group_a", "group_b", "word", "clear_in", *names), rows)


# --- on a page


def asked_as(settings: Mapping[str, Any]) -> str:
    """
    >>> asked_as({"form": "letters", "success": "chosen"}), asked_as({}), asked_as({"form": "auto"})
    ('form=letters', 'form=options', 'form=options')
    >>> asked_as({"form": "letters"})
    'form=letters, success=likelier'
    """
    if settings.get("form") != LETTERS:
        return f"form={OPTIONS}"
    return f"form={LETTERS}" if counts_chosen(settings) else f"form={LETTERS}, success={_LIKELIER}"


_LIKELIER = "likelier"  # what older versions counted in letters: the wrong answer was likelier than the right one


def _different_forms(runs: Sequence[Run]) -> list[Section]:
    """A section that says why runs are not shown together, if they were asked in different forms; else nothing."""
    forms = sorted({asked_as(run.info.settings) for run in runs})
    if len(forms) < 2:
        return []
    reason = (
        f"These models were asked in different ways ({'; '.join(forms)}), so their numbers are not shown side by side: "
        "an answer that is scored alone wins at another rate than one that is listed with two others."
    )
    if any(form.endswith(_LIKELIER) for form in forms):
        reason += (
            f" Runs with success={_LIKELIER} are from an older version, which counted a wrong answer if it was "
            "likelier than the right one, even where the model chose the third answer; `assay score sodapop RUN` "
            "counts them again."
        )
    return [Section([Paragraphs([reason])], "Models asked in different ways")]


def across(runs: Sequence[Run]) -> list[Section]:
    """What several models show together."""
    if sections := _different_forms(runs):
        return sections
    names, pairs = run_names(runs), PairOrder()
    models = [(name, run.findings) for name, run in zip(names, runs, strict=True)]
    apart = models_apart(models, pairs)
    words_by_pair = sorted(clear_words(models, pairs).items(), key=lambda item: -len(item[1]))
    parts = [
        Panel(f"{say_pair(pair)} ({plural(len(words), 'word')})", [_words(pair, words, names)])
        for pair, words in words_by_pair[:MOST_PAIRS]
    ]
    return [
        *([Section([_accuracies(names, apart)])] if apart else []),
        *([Section(_word_panels(parts, len(words_by_pair)))] if parts else []),
    ]


def _word_panels(parts: Sequence[Panel], pairs: int) -> list[Block]:
    """The words of some pairs of groups, and how many of all pairs are left out."""
    left_out = pairs - len(parts)
    note = Paragraphs([f"{plural(left_out, 'more pair')} of groups: see the runs’ own pages."], TextRole.SMALL)
    return [PanelPicker(label="Words of", parts=parts), *([note] if left_out else [])]


def _words(pair: Named, words: Words, names: Sequence[str]) -> HeatMap:
    """The words that are statistically clear in at least one model; of many, those that are clear in most models."""

    def order(word: str) -> tuple[int, float]:
        return -_times_clear(words[word]), -max(abs(difference.rd) for difference in words[word].values())

    first_words = {*sorted(words, key=order)[:MOST_WORDS]}
    left_out = len(words) - len(first_words)
    words = {word: by_model for word, by_model in words.items() if word in first_words}
    differences = {(word, name): difference for word in words for name, difference in words[word].items()}
    a, b = spelled_pair(pair)
    beside = {
        "q": {key: difference.q for key, difference in differences.items()},
        "pools alone": {key: difference.rd_pools for key, difference in differences.items()},
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
        cells={key: difference.rd for key, difference in differences.items()},
        beside={column: numbers for column, numbers in beside.items() if any(numbers.values())},
        unclear={key for key, difference in differences.items() if not difference.clear},
    )


# --- a study


def of_study(runs: Sequence[StudyRun]) -> list[Section]:
    """What the runs show by method; nothing for fewer than two."""
    if len(runs) < 2:
        return []
    if sections := _different_forms([run.run for run in runs]):
        return sections
    pairs = PairOrder()
    words = [_words_of(run.run, pairs) for run in runs]
    return [Section([_methods(runs, words)]), *_top_words([run.run.model for run in runs], words, pairs)]


_ByPair = Mapping[Named, Sequence[WordDifference]]


def _words_of(run: Run, pairs: PairOrder) -> _ByPair:
    """The words of every pair: clear ones first, then by the size of RD."""
    return {pairs.named(pair.a, pair.b): [pairs.turned(word) for word in pair.words] for pair in read_pairs(run)}


def _methods(runs: Sequence[StudyRun], words: Sequence[_ByPair]) -> DisplayTable:
    rows, lines = [], []
    for study_run, words_by_pair in zip(runs, words, strict=True):
        tested = [estimate for estimate in separations(study_run.run.findings) if estimate.value is not None]
        values = [estimate.value for estimate in tested if estimate.value is not None]
        floors = [estimate.floor for estimate in tested if estimate.floor is not None]
        mean, floor = (fmean(numbers) if numbers else None for numbers in (values, floors))
        above = sum(map(told_apart, tested))
        clear = sum(word.clear for pair_words in words_by_pair.values() for word in pair_words)
        about = [study_run.run.model, study_run.debiased_by, study_run.baseline]
        task, change = study_run.task, study_run.task.change if study_run.task else None
        cells: list[TableCell] = [
            *(Verbatim(text or "") for text in about),
            f"{above} of {len(tested)}",
            "" if mean is None else mean,
            "" if floor is None else floor,
            clear,
            task_score_text(task) if task else "",
            "" if change is None else NumberText(f"{'+' if change > 0 else ''}{format_number(change)}"),
        ]
        rows.append(TableRow(cells))
        scored: list[Cell] = [task.metric, task.score.value, change] if task else [None, None, None]
        lines.append([*about, *scored, mean, floor, above, len(tested), clear])
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
    def marked(estimate: Estimate | None) -> TableCell:
        return "" if estimate is None else MarkedCell(estimate.value, clear=told_apart(estimate))

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
                [
                    TableRow([Verbatim(say_pair(pair)), *map(marked, map(estimates.get, names))])
                    for pair, estimates in apart.items()
                ]
            )
        ],
        narrow=True,
    )


def _top_words(titles: Sequence[str], words: Sequence[_ByPair], pairs: PairOrder) -> list[Section]:
    columns = {pair: [list(word.get(pair, ()))[:STUDY_WORDS] for word in words] for pair in pairs.pairs}
    listed = [pair for pair in pairs.pairs if any(pair in word for word in words)]
    listed.sort(key=lambda pair: -sum(word.clear for model_words in columns[pair] for word in model_words))
    parts = [Panel(say_pair(pair), [_top(pair, titles, columns[pair])]) for pair in listed[:STUDY_PAIRS]]
    return [Section(_word_panels(parts, len(listed)), "Top words by model", "words")] if parts else []


def _top(pair: Named, titles: Sequence[str], columns: Sequence[Sequence[WordDifference]]) -> DisplayTable:
    """The words with the largest RD of a pair of groups, a column for each model."""
    lines: list[Sequence[Cell]] = [
        [*pair, title, rank, word.word, word.rd, word.low, word.high, word.p, word.q]
        for title, column in zip(titles, columns, strict=True)
        for rank, word in enumerate(column, 1)
    ]
    first, second = map(Verbatim, spelled_pair(pair))

    def cell(word: WordDifference | None) -> Text:
        if word is None:
            return ""
        return [
            Strong(Verbatim(word.word)) if word.clear else Verbatim(word.word),
            " ",
            NumberText(format_fixed(word.rd)),
        ]

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
        groups=[RowGroup([TableRow([*map(cell, row)]) for row in zip_longest(*columns)])],
        sort=TableTools.NONE,
        filter=TableTools.NONE,
        narrow=True,
    )
