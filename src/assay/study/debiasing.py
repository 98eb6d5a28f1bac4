"""What debiasing changed in SODAPOP: groups told apart (Table 9), top words by method (Tables 12 to 20), its cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from assay.findings import Cell, Estimate, Table
from assay.report.content import Content
from assay.report.headline import Verdict, verdict
from assay.report.sodapop_words import Word, read_pairs, turned
from assay.report.words import people_words
from assay.study.file import METHODS
from assay.study.lineage import Lineage
from assay.study.task import Cost

TOP = 10
"""Words of a pair of groups and a model that the page shows; the paper prints 15."""
MOST_PAIRS = 16
"""Pairs of groups whose words the page shows; the data have all."""

Groups = tuple[str, str]


@dataclass(frozen=True)
class Summary:
    """What remains in one model: pairs of groups told apart, and words that are clear of chance."""

    title: str
    methods: str
    baseline: str | None
    cost: Cost | None
    mean: float | None
    floor: float | None
    apart: int
    tested: int
    words: int


@dataclass(frozen=True)
class Accuracy:
    """KMeans' accuracy of a pair of groups in one model; `clear`: better than chance."""

    estimate: Estimate
    clear: bool


@dataclass(frozen=True)
class Apart:
    """A pair of groups with its accuracy in every model, in their order; None where it is not known."""

    said: str
    cells: Sequence[Accuracy | None]


@dataclass(frozen=True)
class TopWords:
    """The words with the largest RD of a pair of groups, a column for each model."""

    said: str
    first: str
    second: str
    rows: Sequence[Sequence[Word | None]]
    table: Table


@dataclass(frozen=True)
class Debiasing:
    """All of it, by the models' titles; `debiased` tells whether any of them is."""

    titles: Sequence[str]
    debiased: bool
    summaries: Sequence[Summary]
    pairs: Sequence[Apart]
    table: Table
    words: Sequence[TopWords]
    left_out: int

    @property
    def summary_table(self) -> Table:
        columns = ("model", "debiased_by", "baseline", "task_metric", "task_score", "task_change")
        rows: list[Sequence[Cell]] = [
            [
                each.title,
                each.methods,
                each.baseline,
                each.cost.metric if each.cost else None,
                each.cost.score.value if each.cost else None,
                each.cost.change if each.cost else None,
                each.mean,
                each.floor,
                each.apart,
                each.tested,
                each.words,
            ]
            for each in self.summaries
        ]
        return Table((*columns, "mean_accuracy", "mean_floor", "pairs_apart", "pairs_tested", "clear_words"), rows)


@dataclass
class _Known:
    """Pairs as they were named first: two models may name a pair's groups in either order."""

    pairs: dict[Groups, None] = field(default_factory=dict)

    def named(self, a: str, b: str) -> Groups:
        if (b, a) in self.pairs:
            return b, a
        self.pairs.setdefault((a, b))
        return a, b


def debiasing_of(
    runs: Sequence[tuple[str, Content]], lineage: Lineage, costs: Mapping[str, Cost | None]
) -> Debiasing | None:
    """What the runs of SODAPOP show by method; None where there are not two of them. `costs` are by model's name."""
    if len(runs) < 2:
        return None
    known = _Known()
    titles = [content.model for _, content in runs]
    accuracies = [_accuracies(content, known) for _, content in runs]
    words = [_words(content, known) for _, content in runs]
    summaries = [
        _summary(name, content.model, own, found, lineage, costs.get(name))
        for (name, content), own, found in zip(runs, accuracies, words, strict=True)
    ]
    kept = [pair for pair in known.pairs if any(pair in own for own in accuracies)]
    pairs = [Apart(_said(pair), [own.get(pair) for own in accuracies]) for pair in kept]
    rows: list[Sequence[Cell]] = [
        [*pair, title, own[pair].estimate.value, own[pair].estimate.floor, own[pair].estimate.p, own[pair].estimate.n]
        for pair in kept
        for title, own in zip(titles, accuracies, strict=True)
        if pair in own
    ]
    listed = [_top(pair, titles, words) for pair in known.pairs if any(pair in own for own in words)]
    listed.sort(key=lambda each: -sum(word is not None and word.clear for row in each.rows for word in row))
    return Debiasing(
        titles,
        any(lineage.methods(name) for name, _ in runs),
        summaries,
        pairs,
        Table(("group_a", "group_b", "model", "accuracy", "floor", "p", "n"), rows),
        listed[:MOST_PAIRS],
        max(0, len(listed) - MOST_PAIRS),
    )


def _accuracies(content: Content, known: _Known) -> dict[Groups, Accuracy]:
    return {
        known.named(e.group["a"], e.group["b"]): Accuracy(e, verdict(e) is Verdict.ABOVE)
        for e in content.findings.estimates
        if e.metric == "kmeans_accuracy" and e.value is not None and {"a", "b"} <= e.group.keys()
    }


def _words(content: Content, known: _Known) -> dict[Groups, list[Word]]:
    """The words of every pair, those that are clear of chance first, then by the size of RD."""
    found: dict[Groups, list[Word]] = {}
    for pair in read_pairs(content):
        key = known.named(pair.a, pair.b)
        found[key] = [word if (word.a, word.b) == key else turned(word) for word in pair.words]
    return found


def _summary(
    name: str,
    title: str,
    accuracies: Mapping[Groups, Accuracy],
    words: Mapping[Groups, Sequence[Word]],
    lineage: Lineage,
    cost: Cost | None,
) -> Summary:
    values = [own.estimate.value for own in accuracies.values() if own.estimate.value is not None]
    floors = [own.estimate.floor for own in accuracies.values() if own.estimate.floor is not None]
    baseline = lineage.baseline(name)
    return Summary(
        title,
        "; ".join(
            f"{METHODS[entry.value]}{f' ({entry.attribute})' if entry.attribute else ''}"
            for entry in lineage.methods(name)
        ),
        lineage.models[baseline].title if baseline else None,
        cost,
        fmean(values) if values else None,
        fmean(floors) if floors else None,
        sum(own.clear for own in accuracies.values()),
        len(accuracies),
        sum(word.clear for own in words.values() for word in own),
    )


def _top(pair: Groups, titles: Sequence[str], words: Sequence[Mapping[Groups, Sequence[Word]]]) -> TopWords:
    columns = [list(own.get(pair, ()))[:TOP] for own in words]
    deepest = max(len(column) for column in columns)
    rows = [[column[place] if place < len(column) else None for column in columns] for place in range(deepest)]
    table: list[Sequence[Cell]] = [
        [*pair, title, place, word.word, word.rd, word.low, word.high, word.p, word.q]
        for title, column in zip(titles, columns, strict=True)
        for place, word in enumerate(column, 1)
    ]
    named = ("group_a", "group_b", "model", "place", "word", "rd", "low", "high", "p", "q")
    return TopWords(_said(pair), people_words(pair[0]), people_words(pair[1]), rows, Table(named, table))


def _said(pair: Groups) -> str:
    return f"{people_words(pair[0])} and {people_words(pair[1])}"
