"""Lookup of a BBQ run's estimates by metric, category and context; sentences with slots."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from assay.findings import Estimate
from assay.probes.bbq import ALL, CONTEXTS
from assay.text import Mark, Text
from assay.verdict import Chance

Key = tuple[str, str, str]

_MARKS: Mapping[str, Text] = {
    **{"dot": Mark("dot"), "hollow": Mark("hollow"), "floor": Mark("floor"), "reference": Mark("reference")},
    **{f"part{place}": Mark("part", place) for place in range(5)},
}


def told(sentence: str, **parts: Text) -> Text:
    """A sentence with parts in its slots; slots named after a chart's mark are filled with the mark.

    >>> told("{who} is right.", who="She")
    ['', 'She', ' is right.']
    """
    known = {**_MARKS, **parts}
    return [known[piece] if place % 2 else piece for place, piece in enumerate(re.split(r"\{(\w+)\}", sentence))]


@dataclass(frozen=True)
class Grid:
    """The estimates of a BBQ run, without groups that have keys other than BBQ's."""

    cells: Mapping[Key, Estimate]  # (metric, category, context); of one polarity, the metric is accuracy_neg, …
    comparisons: Mapping[Key, Estimate]  # (category, comparison, context): the bias score

    @staticmethod
    def of(estimates: Sequence[Estimate]) -> Grid:
        cells, comparisons = {}, {}
        for e in estimates:
            match dict(e.group):
                case {"category": category, "context": context, "polarity": polarity}:
                    cells[f"{e.metric}_{polarity}", category, context] = e
                case {"category": category, "context": context, "comparison": comparison}:
                    if e.metric == "bias_score":
                        comparisons[category, comparison, context] = e
                case {"category": category, "context": context}:
                    cells[e.metric, category, context] = e
        return Grid(cells, comparisons)

    def get(self, metric: str, category: str, context: str) -> Estimate | None:
        return self.cells.get((metric, category, context))

    @property
    def contexts(self) -> list[str]:
        """The contexts of the run, known ones first."""
        return contexts_in_order(context for _, _, context in self.cells)

    @property
    def categories(self) -> list[str]:
        """The categories in order of appearance, all together last."""
        return categories_in_order(category for _, category, _ in self.cells)

    @property
    def has_ties(self) -> bool:
        return any(e.value for (metric, _, _), e in self.cells.items() if metric == "tied_rate")

    def whole(self, context: str) -> str | None:
        """The category that covers everything asked in a context: all together, or the only one."""
        present = list(dict.fromkeys(category for _, category, own in self.cells if own == context))
        return ALL if ALL in present else present[0] if len(present) == 1 else None

    def of_whole(self, metric: str, context: str) -> Estimate | None:
        whole = self.whole(context)
        return None if whole is None else self.get(metric, whole, context)

    def tested(self, metric: str, context: str) -> list[Estimate]:
        """The estimates of single categories that were tested."""
        found = (self.get(metric, category, context) for category in self.categories if category != ALL)
        return [estimate for estimate in found if estimate is not None and estimate.q is not None]

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


def behind(estimate: Estimate) -> dict[str, str]:
    """Which examples contribute to an estimate; all categories together need no category."""
    return {key: value for key, value in estimate.group.items() if (key, value) != ("category", ALL)}
