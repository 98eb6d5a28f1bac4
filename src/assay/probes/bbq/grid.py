"""BBQ's estimates, looked up by metric, category and context."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.findings import Estimate
from assay.probes.bbq import CONTEXTS
from assay.probes.bbq.analyse import ALL
from assay.verdict import CLEAR

Key = tuple[str, str, str]


@dataclass(frozen=True)
class Grid:
    """The estimates of a BBQ run. Those of groups that have other keys than BBQ's are not in it."""

    cells: Mapping[Key, Estimate]  # (metric, category, context)
    polarities: Mapping[Key, Estimate]  # the same of accuracy_neg and accuracy_nonneg
    comparisons: Mapping[Key, Estimate]  # (category, comparison, context): the bias score

    @staticmethod
    def of(estimates: Sequence[Estimate]) -> Grid:
        cells, polarities, comparisons = {}, {}, {}
        for e in estimates:
            match dict(e.group):
                case {"category": category, "context": context, "polarity": polarity}:
                    polarities[f"{e.metric}_{polarity}", category, context] = e
                case {"category": category, "context": context, "comparison": comparison}:
                    if e.metric == "bias_score":
                        comparisons[category, comparison, context] = e
                case {"category": category, "context": context}:
                    cells[e.metric, category, context] = e
        return Grid(cells, polarities, comparisons)

    def get(self, metric: str, category: str, context: str) -> Estimate | None:
        return self.cells.get((metric, category, context)) or self.polarities.get((metric, category, context))

    @property
    def contexts(self) -> list[str]:
        """Those that were asked in, the ones known here first."""
        present = list(dict.fromkeys(context for _, _, context in self.cells))
        return sorted(present, key=lambda context: [*CONTEXTS, *present].index(context))

    @property
    def categories(self) -> list[str]:
        """In order of appearance, what is pooled over all of them last."""
        present = dict.fromkeys(category for _, category, _ in self.cells)
        return sorted(present, key=lambda category: category == ALL)

    def whole(self, context: str) -> str | None:
        """The category that stands for everything asked in a context: all together or, where it is alone, its one."""
        present = list(dict.fromkeys(category for _, category, own in self.cells if own == context))
        return ALL if ALL in present else present[0] if len(present) == 1 else None

    def of_whole(self, metric: str, context: str) -> Estimate | None:
        whole = self.whole(context)
        return None if whole is None else self.get(metric, whole, context)

    def tested(self, metric: str, context: str) -> list[Estimate]:
        """The estimates of single categories that were tested against chance."""
        found = (self.get(metric, category, context) for category in self.categories if category != ALL)
        return [estimate for estimate in found if estimate is not None and estimate.q is not None]

    def clear(self, metric: str, context: str) -> list[Estimate]:
        """Those that are clear of chance, the strongest first."""
        return sorted(filter(is_clear, self.tested(metric, context)), key=lambda estimate: -abs(estimate.value or 0.0))


def is_clear(estimate: Estimate) -> bool:
    return estimate.value is not None and estimate.q is not None and estimate.q <= CLEAR


def behind(estimate: Estimate) -> dict[str, str]:
    """Which examples stand behind an estimate: what is pooled over all categories names none."""
    return {key: value for key, value in estimate.group.items() if (key, value) != ("category", ALL)}


def headline(estimates: Sequence[Estimate]) -> list[Estimate]:
    """The estimates of all categories together, where a context has several; never of their parts."""
    grid = Grid.of(estimates)
    shown = []
    for estimate in estimates:
        group = estimate.group
        if {"polarity", "comparison"} & group.keys():
            continue
        whole = grid.whole(group["context"]) if {"category", "context"} <= group.keys() else None
        if whole is None or group["category"] == whole:
            shown.append(estimate)
    return shown
