"""Standard errors of means whose observations share units: names in many pairs, templates that are reused.

A unit's effect on a mean is the sum of its observations' distances from the mean, divided by n; the sum of the squares
of these effects is the variance due to this kind of unit (Liang and Zeger 1986). Observations of pairs share either of
two names (Fafchamps and Gubert 2007; Cameron, Gelbach and Miller 2011): V = V_names − V_pairs, because what a pair's
own observations share would count twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


class ErrorCovariance(NamedTuple):
    """The effect of one kind of unit on means (column,): the covariance of their errors, and each mean's units."""

    covariance: Array  # (column, column)
    units: NDArray[np.int64]  # (column,)

    @property
    def variance(self) -> Array:
        return np.diag(self.covariance)


def unit_spread(distances: Array, n: ArrayLike, units: ArrayLike) -> ErrorCovariance:
    """From Σ (observation − mean) of every unit (unit, column), of n observations in so many units.

    With G units, G/(G − 1) · Σ_u d_u d_uᵀ / n²; 0 with a single unit.
    """
    units = np.broadcast_to(np.asarray(units, dtype=np.int64), distances.shape[1:])
    factor = np.where(units > 1, np.sqrt(units / np.maximum(units - 1.0, 1.0)), 0.0)
    scaled = distances * factor / np.maximum(n, 1.0)
    return ErrorCovariance(scaled.T @ scaled, units)


def paired_spread(names: Sequence[ErrorCovariance], pairs: ErrorCovariance) -> ErrorCovariance:
    """Of observations of pairs, from the spread of all names, or of each side's names where pairs join two groups.

    V = Σ V_names − V_pairs, and at least V_pairs: a difference of two estimates may be smaller, or below 0. Its units
    are those of the side that has fewer. If names are paired with each other, a name is also in the mean that its pairs
    are compared with, which makes both too small: see `_paired_with_each_other`.
    """
    factor, pair_factor = (1.0, 1.0) if len(names) > 1 else _paired_with_each_other(names[0].units, pairs.units)
    covariance = factor * np.sum([name.covariance for name in names], axis=0) - pair_factor * pairs.covariance
    missing = np.maximum(pairs.variance - np.diag(covariance), 0.0)
    return ErrorCovariance(covariance + np.diag(missing), np.min([name.units for name in names], axis=0))


def _paired_with_each_other(names: NDArray[np.int64], pairs: NDArray[np.int64]) -> tuple[Array, Array]:
    """The factors of V_names and V_pairs if every name is paired with every other one.

    G names whose effects have the variance s, and P pairs with t of their own, give the mean of all pairs 4s/G + t/P.
    On average Σd²/n² over names is 4(G − 2)² s / (G²(G − 1)) + 2(1 − 2/G) t/P, and V_pairs is
    4(G − 2) c s / (G²(G − 1)) + t/P with c = P/(P − 1). So a · Σd²/n² − (2a(G − 2)/G − 1) · V_pairs is right on
    average, whatever s and t are, for a = (G(G − 1) − c(G − 2)) / ((G − 2)²(1 − 2c/G)); with many names both factors
    are 1.
    """
    g = np.maximum(names, 5).astype(np.float64)  # fewer say too little for an interval
    c = np.maximum(pairs, 2) / (np.maximum(pairs, 2) - 1.0)
    times = (g * (g - 1) - c * (g - 2)) / ((g - 2) ** 2 * (1 - 2 * c / g))
    factor, pair_factor = times * (g - 1) / g, 2 * times * (g - 2) / g - 1
    return np.sqrt(np.outer(factor, factor)), np.sqrt(np.outer(pair_factor, pair_factor))


def combined(parts: Sequence[tuple[ArrayLike, ArrayLike]]) -> tuple[Array, Array]:
    """The standard error, and its degrees of freedom, from independent variances with theirs (Satterthwaite 1946).

    >>> error, freedom = combined([(0.02, 10), (0.02, 10)])
    >>> float(error), float(freedom)
    (0.2, 20.0)
    """
    variances = np.stack([np.maximum(np.asarray(variance, dtype=np.float64), 0.0) for variance, _ in parts])
    freedoms = np.stack([np.broadcast_to(freedom, variances.shape[1:]) for _, freedom in parts]).astype(np.float64)
    total = variances.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        freedom = np.where(total > 0, total**2 / (variances**2 / freedoms).sum(axis=0), freedoms.min(axis=0))
    return np.sqrt(total), freedom


def student_reach(error: ArrayLike, freedom: ArrayLike, level: float = 0.95) -> Array:
    """How far an interval reaches to either side: Student's t quantile times the standard error.

    >>> [round(float(student_reach(1.0, freedom)), 2) for freedom in (3, 10, 69)]
    [3.18, 2.23, 1.99]
    """
    from scipy.special import stdtrit

    reach: Array = stdtrit(np.asarray(freedom, dtype=np.float64), 0.5 + level / 2) * np.asarray(error)
    return reach


def student_p(mean: ArrayLike, error: ArrayLike, freedom: ArrayLike) -> Array:
    """The two-sided p of Student's t test; 1 for a mean of 0.

    >>> round(float(student_p(2.228, 1.0, 10)), 3)
    0.05
    """
    from scipy.special import stdtr

    mean = np.asarray(mean, dtype=np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        t = np.abs(mean) / np.asarray(error, dtype=np.float64)
        return np.where(mean == 0, 1.0, 2.0 * stdtr(np.asarray(freedom, dtype=np.float64), -t))


def jackknife(left_out: Array, strata: Indices) -> Array:
    """The variance (…,) of a number from what it is without each unit (unit, …): Σ_g (n_g − 1)/n_g Σ (θ_x − θ̄_g)².

    The units of different strata were drawn independently of each other.
    """
    variance = np.zeros(left_out.shape[1:])
    for stratum in np.unique(strata):
        values = left_out[strata == stratum]
        variance += (len(values) - 1) / len(values) * ((values - values.mean(axis=0)) ** 2).sum(axis=0)
    return variance


@dataclass(frozen=True)
class ClusteredMeans:
    """Means (column,) with their spread: tests of each mean, and joint draws under chance."""

    mean: Array
    spread: ErrorCovariance

    @property
    def error(self) -> Array:
        return np.sqrt(self.spread.variance)

    @property
    def freedom(self) -> NDArray[np.int64]:
        return np.maximum(self.spread.units - 1, 1)

    def reach(self, level: float = 0.95) -> Array:
        return student_reach(self.error, self.freedom, level)

    def p(self) -> Array:
        return student_p(self.mean, self.error, self.freedom)

    def drawn(self, draws: int, rng: np.random.Generator) -> Array:
        """Errors that chance may give the means (draw, column): multivariate t with their covariance.

        A difference of covariances need not be one: the nearest that is one is given the same variances again. The
        degrees of freedom are the fewest of any mean.
        """
        noisy = np.flatnonzero(self.error > 0)
        scale = self.error[noisy]
        errors = np.zeros((draws, len(self.mean)))
        if len(noisy):
            correlation = self.spread.covariance[np.ix_(noisy, noisy)] / np.outer(scale, scale)
            values, vectors = np.linalg.eigh(correlation)
            root = vectors * np.sqrt(np.maximum(values, 0.0))  # (column, direction)
            root *= (scale / np.sqrt((root**2).sum(axis=1)))[:, None]
            freedom = float(self.freedom[noisy].min())
            tail = np.sqrt(rng.chisquare(freedom, (draws, 1)) / freedom)
            errors[:, noisy] = rng.normal(size=(draws, len(noisy))) @ root.T / tail
        return errors
