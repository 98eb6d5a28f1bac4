"""Lookup of a BBQ run's estimates by metric, category and context; sentences with slots."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from assay.presentation.elements import MarkedCell, RowGroup, TableCell, TableRow
from assay.presentation.rich_text import ChartMark, Text
from assay.probes.bbq import ALL, BOTH, CONTEXTS, category_words
from assay.results.findings import Estimate
from assay.results.verdict import Chance

Key = tuple[str, str, str]

_MARKS: Mapping[str, Text] = {
    **{
        "dot": ChartMark("dot"),
        "hollow": ChartMark("hollow"),
        "floor": ChartMark("floor"),
        "reference": ChartMark("reference"),
    },
    **{f"part{i}": ChartMark("part", i) for i in range(5)},
}


def fill_slots(sentence: str, **parts: Text) -> Text:
    """A sentence with parts in its slots; slots named after a chart's mark are filled with the mark.

    >>> fill_slots("{who} is right.", who="She")
    ['', 'She', ' is right.']
    """
    slots = {**_MARKS, **parts}
    return [slots[piece] if i % 2 else piece for i, piece in enumerate(re.split(r"\{(\w+)\}", sentence))]


class MistakePart(Enum):
    """The kinds of wrong answers where the text says who is meant, as what most of a gap between two sides is."""

    ABSTENTIONS = "whom it declines to name"
    WRONG_PERSONS = "whom it names wrongly"
    REFUSALS = "what it refuses to answer"
    NOT_KNOWN = ""


@dataclass(frozen=True)
class EstimateGrid:
    """The estimates of a BBQ run, without groups that have keys other than BBQ's."""

    cells: Mapping[Key, Estimate]  # (metric, category, context); of one polarity, the metric is accuracy_neg, …
    comparisons: Mapping[Key, Estimate]  # (category, comparison, context): the bias score
    overall: Estimate | None = None  # the accuracy over both contexts
    asked: str = ""  # what all categories together are called, if categories are missing

    @staticmethod
    def of(estimates: Sequence[Estimate]) -> EstimateGrid:
        cells, comparisons, overall = {}, {}, None
        for estimate in estimates:
            match dict(estimate.group):
                case {"category": category, "context": context, "polarity": polarity}:
                    cells[f"{estimate.metric}_{polarity}", category, context] = estimate
                case {"category": category, "context": context, "comparison": comparison}:
                    if estimate.metric == "bias_score":
                        comparisons[category, comparison, context] = estimate
                case {"category": category, "context": context} if context != BOTH:
                    cells[estimate.metric, category, context] = estimate
                case {"category": _, "context": _} if estimate.metric == "accuracy":
                    overall = estimate
        return EstimateGrid(cells, comparisons, overall)

    def said(self, category: str) -> str:
        """A category in words; all together are those that were asked."""
        return self.asked if category == ALL and self.asked else category_words(category)

    def largest_part(self, estimate: Estimate) -> MistakePart:
        """Which mistakes make up most of an accuracy gap or bias score where the text says who is meant; NOT_KNOWN if
        that cannot be told, or it has no such parts.

        accuracy gap = abstention gap − (wrong persons and refusals where the fact contradicts − where it confirms), and
        what a wrong person adds to a bias score counts twice: one answer less on one side, one more on the other. The
        gap between the two sides in wrong persons, or in refusals, is at most twice their share.
        """
        category, context = estimate.group.get("category", ALL), estimate.group.get("context", "")
        names = "abstention_gap", "accuracy_cost", "accuracy", "wrong_persons", "refused_rate", "tied_rate"
        gap, cost, accuracy, persons, refused, tied = (self.get(name, category, context) for name in names)
        if estimate.metric not in ("bias_score", "accuracy_cost"):
            return MistakePart.NOT_KNOWN
        if gap is None or gap.value is None or cost is None or cost.value is None:
            return MistakePart.NOT_KNOWN
        abstentions, others = abs(gap.value), abs(gap.value - cost.value)
        most_persons = 2.0
        if accuracy is not None and persons is not None:
            most_persons *= (persons.value or 0.0) * persons.n / max(accuracy.n, 1)
        most_refusals = 2.0 * sum(e.value or 0.0 for e in (refused, tied) if e is not None)
        twice = 2.0 if estimate.metric == "bias_score" else 1.0
        if abstentions > twice * others:
            return MistakePart.ABSTENTIONS
        if others and most_refusals <= others / 2:
            return MistakePart.WRONG_PERSONS
        if others > abstentions and most_persons <= others / 4:
            return MistakePart.REFUSALS
        return MistakePart.NOT_KNOWN

    def get(self, metric: str, category: str, context: str) -> Estimate | None:
        return self.cells.get((metric, category, context))

    @cached_property
    def contexts(self) -> list[str]:
        """The contexts of the run, known ones first."""
        return contexts_in_order(context for _, _, context in self.cells)

    @cached_property
    def categories(self) -> list[str]:
        """The categories in order of appearance, all together last."""
        return categories_in_order(category for _, category, _ in self.cells)

    def has_any(self, metric: str) -> bool:
        """Whether a rate is above 0 anywhere."""
        return any(e.value for (name, _, _), e in self.cells.items() if name == metric)

    def whole(self, context: str) -> str | None:
        """The category that covers everything asked in a context: all together, or the only one."""
        present = list(dict.fromkeys(category for _, category, in_context in self.cells if in_context == context))
        return ALL if ALL in present else present[0] if len(present) == 1 else None

    def of_whole(self, metric: str, context: str) -> Estimate | None:
        category = self.whole(context)
        return None if category is None else self.get(metric, category, context)

    def tested(self, metric: str, context: str) -> list[Estimate]:
        """The estimates of single categories that were tested."""
        estimates = (self.get(metric, category, context) for category in self.categories if category != ALL)
        return [estimate for estimate in estimates if estimate is not None and estimate.q is not None]

    def clear(self, metric: str, context: str) -> list[Estimate]:
        """The statistically clear ones, strongest first."""
        return sorted(filter(is_clear, self.tested(metric, context)), key=lambda estimate: -abs(estimate.value or 0.0))


def contexts_in_order(contexts: Iterable[str]) -> list[str]:
    present = list(dict.fromkeys(contexts))
    return sorted(present, key=[*CONTEXTS, *present].index)


def categories_in_order(categories: Iterable[str]) -> list[str]:
    return sorted(dict.fromkeys(categories), key=lambda category: category == ALL)


def is_clear(estimate: Estimate) -> bool:
    return estimate.q is not None and estimate.chance is Chance.ABOVE


def marked(estimate: Estimate | None, note: str | None = None) -> TableCell:
    """The value in a table: bold where it is clear, empty where there is no estimate."""
    return "" if estimate is None else MarkedCell(estimate.value, is_clear(estimate) or None, note)


def single_and_whole(categories: Collection[str], row: Callable[[str], TableRow]) -> list[RowGroup]:
    """A table's row for each category, and apart from these the row for all together."""
    single = RowGroup([row(category) for category in categories if category != ALL])
    return [single, *([RowGroup([row(ALL)], whole=True)] if ALL in categories else [])]


def behind(estimate: Estimate) -> dict[str, str]:
    """Which examples contribute to an estimate; all categories, or both contexts, need no key."""
    return {key: value for key, value in estimate.group.items() if value and (key, value) not in _WHOLE}


_WHOLE = {("category", ALL), ("context", BOTH)}
