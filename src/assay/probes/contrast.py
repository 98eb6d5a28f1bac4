"""How a model differs from a baseline on the items that both answered.

A probe returns a `PairedChange` for each metric and group; `change_of` computes it, with its interval and p.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.probes.base import Metric
from assay.results.findings import Estimate, Table

Array = NDArray[np.float64]
Bounds = tuple[float, float]

SEED = 0
"""The seed of all draws of a comparison, whatever the runs' own seeds: exchanging two runs only flips signs."""

_ZERO = 1e-12


@dataclass(frozen=True)
class PairedChange:
    """A difference without the models' names; changes of one family are corrected together."""

    change: Estimate
    worse: Estimate | None = None
    before: float | None = None
    after: float | None = None
    family: str | None = None


@dataclass(frozen=True)
class Common:
    """How many items two runs have, and how many they have in common by content."""

    what: str
    baseline: int
    model: int
    common: int

    def __str__(self) -> str:
        return f"{self.what}: {self.baseline:,} in the baseline, {self.model:,} in the model, {self.common:,} in common"


@dataclass(frozen=True)
class Contrast:
    """The differences of two runs on the items that both answered.

    `tables` have no column for the model's name; a q in them is computed from p over all rows of all models. `remarks`
    are sentences to be read together with the differences.
    """

    changes: Sequence[PairedChange]
    counts: Sequence[Common]
    tables: Mapping[str, Table] = field(default_factory=dict)
    notes: Sequence[str] = ()
    remarks: Sequence[str] = ()


Interval = Callable[[float, Array, Bounds], tuple[Any, Any]]
"""Both ends, from the estimate, its replicates and its bounds; NaN if there is no interval."""


def change_of(
    metric: Metric,
    group: Mapping[str, str],
    values: tuple[float, float],
    *,
    n: int,
    replicates: tuple[Array, Array] | None = None,
    interval: Interval | None = None,
    p: float | None = None,
    family: str | None = None,
    undefined: str | None = None,
    note: str | None = None,
) -> PairedChange:
    """The change of a metric from the first of `values` to the second.

    `replicates` are both models' values in the same resamples. `note` says why there is no interval, or what else a
    reader must know; `undefined` says why a value is missing (NaN).
    """
    before, after = (_tidy(value) for value in values)
    if before is None or after is None:
        gone = Estimate(metric.id, group, None, n=n, note=undefined or "undefined in one of the two")
        return PairedChange(gone, gone if metric.worse else None, before, after)
    if replicates is not None and np.allclose(*replicates, rtol=0.0, atol=_ZERO, equal_nan=True):
        interval, note = _no_width, note or ALIKE

    def difference(seen: Callable[[Any], Any], span: float) -> Estimate:
        """The difference of a function of the two values, at most `span`."""
        value = float(seen(values[1]) - seen(values[0]))
        estimate = Estimate(metric.id, group, _tidy(value), n=n, note=note)
        if replicates is None or interval is None:
            return estimate
        return _between(estimate, interval(value, seen(replicates[1]) - seen(replicates[0]), (-span, span)))

    low, high = metric.bounds
    change = difference(lambda value: value, high - low)
    if p is not None and isfinite(p):
        change = replace(change, p=float(f"{p:.10g}"))
    if not metric.worse:
        return PairedChange(change, None, before, after, family)
    reached = metric.badness(np.linspace(low, high, 201))
    return PairedChange(change, difference(metric.badness, float(np.ptp(reached))), before, after, family)


ALIKE = "the two agree in every unit that is resampled, so the interval has no width"


def _no_width(value: float, replicates: Array, bounds: Bounds) -> tuple[float, float]:
    """An interval without width. A wider one would let a model that answers exactly the same fail every limit."""
    return value, value


def _between(estimate: Estimate, ends: tuple[Any, Any]) -> Estimate:
    low, high = (_tidy(float(end)) for end in ends)
    if low is None or high is None:
        return replace(estimate, note=estimate.note or "no interval: undefined in most resamples")
    return replace(estimate, low=low, high=high)


def _tidy(value: float) -> float | None:
    """Ten significant digits, 0 for what is 0 up to rounding; None if undefined."""
    return (0.0 if abs(value) < _ZERO else float(f"{value:.10g}")) if isfinite(value) else None
