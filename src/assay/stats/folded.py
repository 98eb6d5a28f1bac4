"""The mean of absolute values of noisy numbers: by how much noise makes it too large, and its interval."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.stats.clustered import ClusteredMeans, student_reach

Array = NDArray[np.float64]


class Magnitude(NamedTuple):
    """A mean of absolute values, corrected for noise, with both ends of its 95% interval; not cut off at 0."""

    low: float
    value: float
    high: float


def folded_excess(size: Array, error: Array) -> Array:
    """E|size + noise| − size for normal noise: by how much the absolute value of a number is too large on average.

    2σφ(x/σ) − 2xΦ(−x/σ), the mean of the folded normal distribution less x: σ·√(2/π) for a size of 0, falling to 0.

    >>> folded_excess(np.array([0.0, 0.1, 0.3]), np.array([0.1, 0.1, 0.1])).round(4).tolist()
    [0.0798, 0.0167, 0.0001]
    """
    from scipy.special import ndtr

    ratio = np.divide(size, error, out=np.full(np.shape(size), np.inf), where=error > 0)
    excess: Array = 2.0 * (error * np.exp(-(ratio**2) / 2.0) / np.sqrt(2.0 * np.pi) - size * ndtr(-ratio))
    return np.maximum(excess, 0.0)


def mean_magnitude(found: ClusteredMeans) -> Magnitude:
    """mean |true value| of noisy numbers.

    How much noise has added depends on the true sizes, which are not known. The corrected value supposes the sizes that
    were seen; the upper end sizes larger by an error each, to which noise adds less, and the lower end smaller ones.
    Both then move by t·sd, with the fewest degrees of freedom of any number. sd² is the variance of the mean if all
    signs are right, and at least that with independent errors.
    """
    size, error = np.abs(found.mean), found.error
    signs, covariance = np.sign(found.mean), found.spread.covariance
    variance = max(float(signs @ covariance @ signs), float(found.spread.variance.sum())) / len(size) ** 2
    reach = float(student_reach(np.sqrt(variance), float(found.freedom.min())))
    low, value, high = (
        float((size - folded_excess(np.maximum(size + side * error, 0.0), error)).mean()) for side in (-1.0, 0.0, 1.0)
    )
    return Magnitude(low - reach, value, high + reach)
