"""P-values: from random draws, and corrected for multiple tests."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

TIE = 1e-12  # values closer than this, relative to their size, are one value computed in two ways


def random_signs(shape: tuple[int, ...], rng: np.random.Generator) -> NDArray[np.int8]:
    """Signs −1 and +1, each with probability ½."""
    return rng.integers(0, 2, size=shape, dtype=np.int8) * np.int8(2) - np.int8(1)


def monte_carlo_p(observed: float, draws: NDArray[np.float64]) -> float:
    """p = (1 + #{draw >= observed}) / (draws + 1): one-sided, never 0; 1 means that every draw is at least as large.

    >>> monte_carlo_p(3.0, np.array([1.0, 2.0, 3.0]))
    0.5
    """
    return (1 + int((draws >= observed - TIE * abs(observed)).sum())) / (len(draws) + 1)


def benjamini_hochberg(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """q: the smallest false discovery rate at which each p-value is still reported (Benjamini and Hochberg, 1995).

    With m p-values in rising order, q_(i) = min over j >= i of p_(j) · m / j; in [p, 1]. Rows with q <= 0.05 hold, on
    average, at most 5% false positives. Undefined p-values (NaN) stay NaN and do not count in m.

    >>> benjamini_hochberg(np.array([0.01, 0.02, 0.03, 0.5])).tolist()
    [0.04, 0.04, 0.04, 0.5]
    """
    flat = np.asarray(p, dtype=np.float64).ravel()
    order = np.argsort(flat, kind="stable")  # NaN last
    m = int(np.isfinite(flat).sum())
    q = np.full(flat.shape, np.nan)
    if m:
        tested = order[:m]
        scaled = flat[tested] * m / np.arange(1, m + 1)
        # The least of all that follow; never below p, which rounding could otherwise reach.
        q[tested] = np.clip(np.minimum.accumulate(scaled[::-1])[::-1], flat[tested], 1.0)
    return q.reshape(np.shape(p))


def holm(p: NDArray[np.float64], weight: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
    """Each p-value after Holm's correction (1979): if no effect is real, a corrected p <= 0.05 occurs in at most 5% of
    cases, and the same holds of the effects that are not real.

    With m p-values in rising order, the largest over j <= i of p_(j) · (m - j + 1), at most 1. Undefined ones (NaN)
    stay NaN and do not count in m. Tests that come twice have a `weight` of ½ each.

    >>> holm(np.array([0.01, 0.04, 0.03, np.nan])).tolist()
    [0.03, 0.06, 0.06, nan]
    >>> holm(np.array([0.01, 0.01, 0.04]), np.array([0.5, 0.5, 1.0])).tolist()
    [0.02, 0.02, 0.04]
    """
    flat = np.asarray(p, dtype=np.float64)
    order = np.argsort(flat, kind="stable")[: int(np.isfinite(flat).sum())]
    weights_left = (np.ones_like(flat) if weight is None else weight)[order][::-1].cumsum()[::-1]
    corrected = np.full(flat.shape, np.nan)
    corrected[order] = np.minimum(np.maximum.accumulate(flat[order] * weights_left), 1.0)
    return corrected
