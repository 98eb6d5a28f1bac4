"""Intervals from bootstrap replicates."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

MIN_UNITS = 5  # with fewer units than this there is nothing to resample: no interval is given


def basic_interval(
    estimate: ArrayLike,
    replicates: NDArray[np.float64],
    *,
    level: float = 0.95,
    bounds: tuple[float, float] = (-np.inf, np.inf),
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The basic bootstrap interval 2·estimate − quantiles of the replicates, clipped to `bounds`.

    `replicates` is (replicate, …), `estimate` has the remaining shape. Reflecting the quantiles moves the interval
    against the bias that resampling shows: for an estimate that is biased upward (a maximum, an absolute value) the
    interval reaches further down than up, and may even lie below the estimate.

    A replicate that is NaN (its denominator was 0) is left out of that quantity alone. Both ends are NaN where the
    estimate is, or where fewer than half of the replicates are defined.

    >>> low, high = basic_interval(2.0, np.linspace(1.0, 3.5, 101))
    >>> round(float(low), 4), round(float(high), 4)
    (0.5625, 2.9375)
    """
    value = np.asarray(estimate, dtype=np.float64)
    ordered = np.sort(replicates.reshape(len(replicates), -1).T, axis=1)  # (quantity, replicate), NaN last
    defined = np.isfinite(ordered).sum(axis=1)
    tail = (1.0 - level) / 2.0
    lower, upper = (_quantile(ordered, defined, share).reshape(value.shape) for share in (tail, 1.0 - tail))
    low, high = (np.clip(2.0 * value - end, *bounds) for end in (upper, lower))
    known = (2 * defined >= max(len(replicates), 1)).reshape(value.shape) & np.isfinite(value)
    return np.where(known, low, np.nan), np.where(known, high, np.nan)


def _quantile(ordered: NDArray[np.float64], defined: NDArray[np.int64], share: float) -> NDArray[np.float64]:
    """The quantile of each row's first `defined` values, interpolated linearly; NaN where there are none."""
    if ordered.shape[1] == 0:
        return np.full(len(ordered), np.nan)
    place = share * np.maximum(defined - 1, 0)
    below = np.floor(place).astype(np.int64)
    above = np.minimum(below + 1, np.maximum(defined - 1, 0))
    rows = np.arange(len(ordered))
    start, end = ordered[rows, below], ordered[rows, above]
    return start + (place - below) * (end - start)


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
    Student's t; its tail here is Φ(−√(n/(n − 1)) · t) (Hesterberg 2015). It respects the metric's range, which the
    basic interval leaves near an end. Where all replicates agree with the estimate, resampling says nothing: the
    interval is then what n units that agree allow, the others having at most the share 1 − (tail)^(1/n) and the
    farthest value in `bounds`. The estimate is always in it.

    `replicates` is (replicate, …), `estimate` has the remaining shape. NaN as in `basic_interval`.

    >>> low, high = percentile_interval(1.0, np.ones(100), 8, bounds=(0.0, 1.0))
    >>> round(float(low), 2), float(high)
    (0.63, 1.0)
    """
    value = np.asarray(estimate, dtype=np.float64)
    ordered = np.sort(replicates.reshape(len(replicates), -1).T, axis=1)  # (quantity, replicate), NaN last
    defined = np.isfinite(ordered).sum(axis=1)
    tail = (1.0 - level) / 2.0
    wider = NormalDist().cdf(-math.sqrt(units / (units - 1)) * student_quantile(1.0 - tail, units - 1))
    low, high = (_quantile(ordered, defined, share).reshape(value.shape) for share in (wider, 1.0 - wider))
    agree = (np.abs(low - value) < _SAME) & (np.abs(high - value) < _SAME)
    rest = 1.0 - tail ** (1.0 / units)
    low = np.where(agree, value - rest * (value - bounds[0]), low)
    high = np.where(agree, value + rest * (bounds[1] - value), high)
    known = (2 * defined >= max(len(replicates), 1)).reshape(value.shape) & np.isfinite(value)
    low, high = np.minimum(np.clip(low, *bounds), value), np.maximum(np.clip(high, *bounds), value)
    return np.where(known, low, np.nan), np.where(known, high, np.nan)


_SAME = 1e-12


def wilson_interval(share: float, units: int, *, level: float = 0.95) -> tuple[float, float]:
    """Wilson's interval (1927) of a share of `units`: the true shares from which it is less than z standard errors off.

    It contains the share and lies in [0, 1], with width where all units agree.

    >>> [round(end, 3) for end in wilson_interval(1.0, 20)]
    [0.839, 1.0]
    """
    z2 = NormalDist().inv_cdf((1.0 + level) / 2.0) ** 2
    middle = (share + z2 / (2 * units)) / (1.0 + z2 / units)
    half = math.sqrt(z2 * (share * (1.0 - share) / units + z2 / (4 * units**2))) / (1.0 + z2 / units)
    return min(max(middle - half, 0.0), share), max(min(middle + half, 1.0), share)


def student_quantile(share: float, freedom: int) -> float:
    """The quantile of Student's t with at least 4 degrees of freedom: the Cornish-Fisher expansion in 1/ν.

    >>> round(student_quantile(0.975, 4), 2), round(student_quantile(0.975, 24), 3)
    (2.78, 2.064)
    """
    z, n = NormalDist().inv_cdf(share), freedom
    return (
        z
        + (z**3 + z) / (4 * n)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * n**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * n**3)
        + (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / (92160 * n**4)
    )
