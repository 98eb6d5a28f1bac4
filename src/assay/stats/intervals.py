"""Intervals from bootstrap replicates, and the random weights of these."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.stats.clustered import student_reach

MIN_UNITS = 5  # with fewer units than this there is nothing to resample: no interval is given


def multinomial_weights(strata: NDArray[np.integer], resamples: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """How often each unit is drawn if the units of every stratum are resampled with replacement: (resample, unit).

    `strata` numbers each unit's stratum; within a stratum the weights of a resample add up to its number of units, so
    their mean is 1 and a weight of 0 leaves the unit out.

    >>> multinomial_weights(np.array([0, 0, 1]), 4, np.random.default_rng(0))[:, 2].tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    weights = np.zeros((resamples, len(strata)))
    for stratum in np.unique(strata):
        units = np.flatnonzero(strata == stratum)
        weights[:, units] = rng.multinomial(len(units), np.full(len(units), 1.0 / len(units)), size=resamples)
    return weights


def _quantile(ordered: NDArray[np.float64], defined: NDArray[np.int64], share: float) -> NDArray[np.float64]:
    """The quantile of each row's first `defined` values, interpolated linearly; NaN if there are none."""
    if ordered.shape[1] == 0:
        return np.full(len(ordered), np.nan)
    position = share * np.maximum(defined - 1, 0)
    below = np.floor(position).astype(np.int64)
    above = np.minimum(below + 1, np.maximum(defined - 1, 0))
    rows = np.arange(len(ordered))
    start, end = ordered[rows, below], ordered[rows, above]
    return start + (position - below) * (end - start)


def percentile_interval(
    estimate: ArrayLike,
    replicates: NDArray[np.float64],
    units: int,
    *,
    level: float = 0.95,
    bounds: tuple[float, float] = (-np.inf, np.inf),
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The expanded percentile interval of a ratio of sums over `units` resampled units.

    A plain percentile interval of n units is too narrow by √((n − 1)/n) and by taking the normal's quantile for
    Student's t; its tail here is Φ(−√(n/(n − 1)) · t) (Hesterberg 2015). It respects the metric's range. If all
    replicates agree with the estimate, resampling is uninformative: the interval is then what n agreeing units allow,
    where other units have at most the share 1 − (tail)^(1/n) and the farthest value in `bounds`. It always contains the
    estimate.

    `replicates` is (replicate, …), `estimate` has the remaining shape. A replicate that is NaN (its denominator was 0)
    is left out of that quantity alone. Both ends are NaN if the estimate is, or if fewer than half of the replicates
    are defined.

    >>> low, high = percentile_interval(1.0, np.ones(100), 8, bounds=(0.0, 1.0))
    >>> round(float(low), 2), float(high)
    (0.63, 1.0)
    """
    value = np.asarray(estimate, dtype=np.float64)
    ordered = np.sort(replicates.reshape(len(replicates), -1).T, axis=1)  # (quantity, replicate), NaN last
    defined = np.isfinite(ordered).sum(axis=1)
    tail = (1.0 - level) / 2.0
    wider = NormalDist().cdf(-math.sqrt(units / (units - 1)) * float(student_reach(1.0, units - 1, level)))
    low, high = (_quantile(ordered, defined, share).reshape(value.shape) for share in (wider, 1.0 - wider))
    agree = (np.abs(low - value) < _SAME) & (np.abs(high - value) < _SAME)
    agreeing = _agreeing_interval(value, units, tail, bounds)
    low, high = np.where(agree, agreeing[0], low), np.where(agree, agreeing[1], high)
    usable = (2 * defined >= max(len(replicates), 1)).reshape(value.shape) & np.isfinite(value)
    low, high = np.minimum(np.clip(low, *bounds), value), np.maximum(np.clip(high, *bounds), value)
    return np.where(usable, low, np.nan), np.where(usable, high, np.nan)


def logit_interval(
    estimate: ArrayLike,
    replicates: NDArray[np.float64],
    units: ArrayLike,
    *,
    strata: ArrayLike = 1,
    level: float = 0.95,
    bounds: tuple[float, float],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Student's t interval on the logit scale, of a ratio of sums over `units` units resampled within `strata` strata.

    With x the estimate's place in its bounds, from 0 to 1, the ends are those of logit x ± t · error / (x(1 − x)), as
    usual in survey statistics for shares of clustered samples. The error is the replicates' standard deviation times
    √(n/(n − strata)), because resampling n units within strata is too narrow by that factor; t has n − strata degrees
    of freedom, at least 1. If units differ in size, n is their effective number. Near an end of the range, where
    estimates are skewed, it covers better than a percentile interval (bench/bbq_coverage.py). If all replicates agree,
    and for NaN: as in `percentile_interval`. `units` and `strata` may differ by quantity.

    >>> low, high = logit_interval(0.9, np.linspace(0.8, 1.0, 101), 20, bounds=(0.0, 1.0))
    >>> round(float(low), 3), round(float(high), 3)
    (0.69, 0.973)
    """
    value, n = np.asarray(estimate, dtype=np.float64), np.asarray(units, dtype=np.float64)
    defined = np.isfinite(replicates).sum(axis=0)
    usable = (2 * defined >= max(len(replicates), 1)) & (defined > 1) & np.isfinite(value)
    span, freedom = bounds[1] - bounds[0], np.maximum(n - np.asarray(strata), 1.0)
    error = np.full(value.shape, np.nan)
    error[usable] = np.nanstd(replicates[..., usable], axis=0, ddof=1)
    error *= np.sqrt(n / freedom) / span
    position = np.clip((value - bounds[0]) / span, _SAME, 1.0 - _SAME)
    middle = np.log(position / (1.0 - position))
    reach = student_reach(error, freedom, level) / (position * (1.0 - position))
    with np.errstate(over="ignore"):
        low, high = (bounds[0] + span / (1.0 + np.exp(-end)) for end in (middle - reach, middle + reach))
    agree = error < _SAME
    agreeing = _agreeing_interval(value, n, (1.0 - level) / 2.0, bounds)
    low, high = (
        np.where(agree, agreeing[0], np.minimum(low, value)),
        np.where(agree, agreeing[1], np.maximum(high, value)),
    )
    return np.where(usable, low, np.nan), np.where(usable, high, np.nan)


_SAME = 1e-12


def _agreeing_interval(
    value: NDArray[np.float64], units: ArrayLike, tail: float, bounds: tuple[float, float]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """What agreeing units allow: other units have at most the share 1 − tail^(1/units), and the farthest value."""
    rest = 1.0 - tail ** (1.0 / np.maximum(units, _SAME))
    return value - rest * (value - bounds[0]), value + rest * (bounds[1] - value)


def wilson_interval(share: float, units: int, *, level: float = 0.95) -> tuple[float, float]:
    """Wilson's interval (1927) of a share of `units`: the true shares that are within z standard errors of it.

    It contains the share and lies in [0, 1], with width where all units agree.

    >>> [round(end, 3) for end in wilson_interval(1.0, 20)]
    [0.839, 1.0]
    """
    z2 = NormalDist().inv_cdf((1.0 + level) / 2.0) ** 2
    middle = (share + z2 / (2 * units)) / (1.0 + z2 / units)
    half = math.sqrt(z2 * (share * (1.0 - share) / units + z2 / (4 * units**2))) / (1.0 + z2 / units)
    return min(max(middle - half, 0.0), share), max(min(middle + half, 1.0), share)
