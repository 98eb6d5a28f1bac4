"""Intervals from bootstrap replicates."""

from __future__ import annotations

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
