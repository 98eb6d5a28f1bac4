"""How a model differs from a baseline on the items that both answered: the numbers of every comparison.

A probe hands over what it found as a `Change` for each metric and group; here it gets its sign, its interval, its p and
its q. q is Benjamini and Hochberg's, for every model apart, within a family of changes that the probe names: one metric
over all the groups that are not pooled from others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.direction import Badness, badness
from assay.errors import DataError
from assay.files.opening import digest_as_stored
from assay.findings import Estimate, Table
from assay.stats import benjamini_hochberg, sign_flip_p

Array = NDArray[np.float64]
Bounds = tuple[float, float]

CLEAR = 0.05
"""A change is clear of chance where its q (or its p, where it is alone) is at most this and its interval excludes 0."""

_ZERO = 1e-12


@dataclass(frozen=True)
class Difference:
    """How a model differs from a baseline in one metric of one group.

    `change` is the model's value minus the baseline's, with the metric and group of findings.json; its n counts the
    items that both answered. `worse` is by how much the model is worse (above 0: worse) by `assay.direction`, with an
    interval of its own: |s| of one model minus |s| of the other is not the size of a difference. None where neither
    direction is worse. `before` and `after` are the baseline's and the model's value on these items.
    """

    model: str
    baseline: str
    change: Estimate
    worse: Estimate | None
    before: float | None = None
    after: float | None = None
    probe: str = ""

    @property
    def clear(self) -> bool:
        """Whether chance hardly explains it: q (or p, where it is alone) and the interval, where there is one."""
        found = self.change
        tested = found.q if found.q is not None else found.p
        if tested is None or tested > CLEAR:
            return False
        return found.low is None or found.high is None or found.low > 0 or found.high < 0

    @staticmethod
    def from_json(told: Mapping[str, Any]) -> Difference:
        """What `as_json` said."""
        worse = told["worse"]
        return Difference(
            told["model"],
            told["baseline"],
            Estimate(**told["change"]),
            None if worse is None else Estimate(**worse),
            told["baseline_value"],
            told["model_value"],
            told["probe"],
        )

    def as_json(self) -> dict[str, Any]:
        return {
            "probe": self.probe,
            "model": self.model,
            "baseline": self.baseline,
            "baseline_value": self.before,
            "model_value": self.after,
            "change": self.change.as_json(),
            "worse": None if self.worse is None else self.worse.as_json(),
            "clear": self.clear,
        }


def tested_and_clear(found: Sequence[Difference]) -> tuple[int, list[Difference]]:
    """How many differences could be tested, and those that are clear of chance, the largest first."""
    tested = [each for each in found if each.change.p is not None]
    clear = [each for each in tested if each.clear]
    return len(tested), sorted(clear, key=lambda each: -abs(each.change.value or 0.0))


@dataclass(frozen=True)
class Change:
    """A difference before anybody says whose it is; changes of one family are corrected together."""

    change: Estimate
    worse: Estimate | None = None
    before: float | None = None
    after: float | None = None
    family: str | None = None


@dataclass(frozen=True)
class Common:
    """How many items two runs have, and how many of these are the same by their content."""

    what: str
    baseline: int
    model: int
    common: int

    def __str__(self) -> str:
        return f"{self.what}: {self.baseline:,} of the baseline, {self.model:,} of the model, {self.common:,} in common"


@dataclass(frozen=True)
class Paired:
    """What two runs show on the items that both answered; `tables` without a column for the model's name."""

    changes: Sequence[Change]
    counts: Sequence[Common]
    tables: Mapping[str, Table] = field(default_factory=dict)
    notes: Sequence[str] = ()


def of_predictions(info: Mapping[str, Any]) -> bool:
    """Whether a run.json is of scores of somebody else's predictions."""
    return bool(info["model"].get("kind") == "predictions")


def unchanged_files(info: Mapping[str, Any]) -> list[Path]:
    """The files of predictions that were scored, if they are where they were and as they were."""
    for name, digest in info["data"].items():
        file = Path(name)
        if not file.is_file():
            raise DataError("these predictions are no longer there.", "Put them back, or score them again.", file=file)
        if digest_as_stored(file) != digest:
            raise DataError("these predictions have changed since they were scored.", "Score them again.", file=file)
    return [Path(name) for name in info["data"]]


Interval = Callable[[float, Array, Bounds], tuple[Any, Any]]
"""Both ends from the estimate, its replicates and its bounds; NaN where there is none."""


def change_of(
    metric: str,
    group: Mapping[str, str],
    values: tuple[float, float],
    *,
    n: int,
    bounds: Bounds,
    replicates: tuple[Array, Array] | None = None,
    interval: Interval | None = None,
    p: float | None = None,
    family: str | None = None,
    undefined: str | None = None,
    note: str | None = None,
) -> Change:
    """The change of a metric with these bounds from the first of `values` to the second.

    `replicates` are both models' values in the same resamples. `note` says why there is no interval, or what else one
    must know; `undefined` why a value is missing (NaN).
    """
    before, after = (_tidy(value) for value in values)
    bad = badness(metric)
    if before is None or after is None:
        gone = Estimate(metric, group, None, n=n, note=undefined or "undefined in one of the two")
        return Change(gone, gone if bad else None, before, after)
    if replicates is not None and np.allclose(*replicates, rtol=0.0, atol=_ZERO, equal_nan=True):
        interval, note = _no_width, note or ALIKE
    span = bounds[1] - bounds[0]
    change = _estimate(metric, group, values[1] - values[0], n, note)
    worse = None if bad is None else _estimate(metric, group, float(bad(values[1]) - bad(values[0])), n, note)
    if replicates is not None and interval is not None:
        first, second = replicates
        change = _between(change, interval(values[1] - values[0], second - first, (-span, span)))
        if bad is not None and worse is not None:
            span = _span_of(bad, bounds)
            ends = interval(float(bad(values[1]) - bad(values[0])), bad(second) - bad(first), (-span, span))
            worse = _between(worse, ends)
    if p is not None and isfinite(p):
        change = replace(change, p=float(f"{p:.10g}"))
    return Change(change, worse, before, after, family)


ALIKE = "the two are alike in every unit that is resampled, so that the interval has no width"


def _no_width(value: float, replicates: Array, bounds: Bounds) -> tuple[float, float]:
    """Not how much other units may differ when these agree: a model that answers the same would fail every limit."""
    return value, value


def _estimate(metric: str, group: Mapping[str, str], value: float, n: int, note: str | None) -> Estimate:
    return Estimate(metric, group, _tidy(value), n=n, note=note)


def _between(found: Estimate, ends: tuple[Any, Any]) -> Estimate:
    low, high = (_tidy(float(end)) for end in ends)
    if low is None or high is None:
        return replace(found, note=found.note or "no interval: undefined in most resamples")
    return replace(found, low=low, high=high)


def _span_of(bad: Badness, bounds: Bounds) -> float:
    reached = bad(np.linspace(*bounds, 201))
    return float(reached.max() - reached.min())


def _tidy(value: float) -> float | None:
    """Ten significant digits, 0 for what is 0 up to rounding; None where undefined."""
    return (0.0 if abs(value) < _ZERO else float(f"{value:.10g}")) if isfinite(value) else None


def contribution_p(value: Array, left_out: Array, strata: NDArray[np.int64]) -> Array:
    """p of changes (…,), from what they become when each unit is left out (unit, …): is it one-sided over the units?

    Exchanging the two models in what is said about a unit turns the sign of what the unit contributes to the change;
    under the null hypothesis it does not matter whose is whose, so that either sign is as likely: the sign-flip test of
    the contributions. A unit x of n_g in its stratum, n in all, contributes

        c_x = change/n + (n_g − 1)/n_g · (d_x − mean of d in the stratum)    with    d_x = change − change without x,

    the jackknife's pseudo-value by n: Σ c_x = change, and for a mean of paired differences c_x is the difference itself
    by n. It is right as well where items share units (a pair has two subjects), where exchanging item by item is not:
    this would take the items of one subject for independent ones. NaN where the change is undefined without some unit.
    """
    units = len(strata)
    missing = value - left_out  # (unit, …)
    contributed = np.broadcast_to(value / units, missing.shape).copy()
    for stratum in np.unique(strata):
        own = strata == stratum
        size = int(own.sum())
        contributed[own] += (size - 1) / size * (missing[own] - missing[own].mean(axis=0))
    flat = contributed.reshape(units, -1).T  # (change, unit)
    flat = np.where(np.abs(flat) < _ZERO, 0.0, flat)
    p = np.full(len(flat), np.nan)
    known = np.isfinite(flat).all(axis=1)
    if known.any():
        p[known] = sign_flip_p(flat[known])
    return p.reshape(np.shape(value))


def differences_of(probe: str, baseline: str, model: str, changes: Sequence[Change]) -> list[Difference]:
    """The changes with their names, and q within every family."""
    families: dict[str, list[int]] = {}
    for place, found in enumerate(changes):
        if found.family is not None and found.change.p is not None:
            families.setdefault(found.family, []).append(place)
    q: dict[int, float] = {}
    for places in families.values():
        corrected = benjamini_hochberg(np.array([changes[place].change.p for place in places], np.float64))
        q |= dict(zip(places, corrected.tolist(), strict=True))
    return [
        Difference(model, baseline, replace(each.change, q=q.get(place)), each.worse, each.before, each.after, probe)
        for place, each in enumerate(changes)
    ]
