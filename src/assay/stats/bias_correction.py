"""Maxima and absolute values of noisy numbers are too large: what corrects them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.stats.clustered import ClusteredMeans, student_reach

Array = NDArray[np.float64]

_STEPS = 200  # of EM: going on hardly moves the quantiles; what this covers is measured (bench/coverage.py)
_WIDER = np.sqrt(2.0)  # each normal of a prior than the one before
_NO_SHIFT = 0.5  # the probability, to begin with, that there is no common shift


# --- shrinkage: the likely true values of many noisy numbers, with a prior learnt from all of them


def posterior_draws(estimates: Array, covariance: Array, draws: int, rng: np.random.Generator) -> Array:
    """Draws (draw, number) of the true values of `estimates` (number,), whose errors have this covariance.

    Each true value is a common shift plus a deviation of its own. Deviations come from a mixture of normals around 0
    (Stephens 2017), whose standard deviations reach from 0 to twice the largest deviation seen. EM finds its weights
    and the shift, around which most numbers are; an outlier hardly moves it. The shift has the error of the mean of all
    estimates. With a probability of ½ it is 0 to begin with, and otherwise of a size that normals of all widths may
    have. So numbers that differ by no more than their errors are drawn together, and outliers stay where they are.
    """
    shared = covariance.mean(axis=0)  # (number,): covariance with the mean
    common = max(float(shared.mean()), 0.0)
    most = max(float(np.diag(covariance).max()), 1e-30)
    noise = np.maximum(np.diag(covariance) - 2.0 * shared + common, 1e-12 * most)
    shift = float(np.median(estimates))
    widths = _widths(2.0 * float(np.abs(estimates - shift).max()), float(np.sqrt(noise.min())))
    weights = np.full(len(widths), 1.0 / len(widths))
    for _ in range(_STEPS):
        share = weights[:, None] * _density(estimates - shift, widths, noise)  # (width, number)
        share /= share.sum(axis=0)
        precision = (share / (widths[:, None] ** 2 + noise)).sum(axis=0)
        shift = float(precision @ estimates / precision.sum())
        weights = share.mean(axis=1)
    deviations = _true_values(estimates - shift, widths, noise, share, draws, rng)
    return deviations + _shift_draws(shift, np.sqrt(common), draws, rng)


def _shift_draws(shift: float, error: float, draws: int, rng: np.random.Generator) -> Array:
    """(draw, 1): the shift, which is 0 with some probability and of any size otherwise."""
    if not error:
        return np.full((draws, 1), shift)
    widths = _widths(2.0 * abs(shift), error)
    prior = np.concatenate(([_NO_SHIFT], np.full(len(widths) - 1, (1.0 - _NO_SHIFT) / (len(widths) - 1))))
    observed, noise = np.array([shift]), np.array([error**2])
    share = prior[:, None] * _density(observed, widths, noise)
    return _true_values(observed, widths, noise, share / share.sum(axis=0), draws, rng)


def _widths(most: float, noise: float) -> Array:
    """Standard deviations of the prior's normals: 0, then from a tenth of the noise to the maximum."""
    least = noise / 10.0
    steps = int(np.ceil(np.log(max(most / least, 1.0)) / np.log(_WIDER)))
    return np.concatenate(([0.0], least * _WIDER ** np.arange(steps + 1)))


def _density(values: Array, widths: Array, noise: Array) -> Array:
    """(width, value): how likely each value is under each normal, relative to the likeliest."""
    spread = widths[:, None] ** 2 + noise
    log = -0.5 * (values**2 / spread + np.log(spread))
    density: Array = np.exp(log - log.max(axis=0))
    return density


def _true_values(
    values: Array, widths: Array, noise: Array, share: Array, draws: int, rng: np.random.Generator
) -> Array:
    """(draw, value): true values, from normals chosen by their shares (width, value)."""
    passed = rng.random((draws, 1, len(values))) > np.cumsum(share, axis=0)
    chosen = widths[passed.sum(axis=1).clip(max=len(widths) - 1)]
    signal_share = chosen**2 / (chosen**2 + noise)
    true: Array = signal_share * values + np.sqrt(signal_share * noise) * rng.normal(size=signal_share.shape)
    return true


# --- cross-fitting: one half of the data chooses, the other half measures


def cross_fitted_max(first: Array, second: Array) -> Array:
    """max |θ_k| over the last axis: one half chooses k and the sign, the other gives the value; mean of both ways.

    Its mean is at most the largest true |θ_k|: a wrong choice has a smaller value, a wrong sign a negative one. Values
    that are NaN in either half are left out; NaN if none is left.

    >>> float(cross_fitted_max(np.array([0.3, -0.1]), np.array([0.1, 0.2])))
    0.0
    """
    return (_measured_at_choice(first, second) + _measured_at_choice(second, first)) / 2.0


def _measured_at_choice(chooser: Array, measured: Array) -> Array:
    defined = np.isfinite(chooser) & np.isfinite(measured)
    largest = np.where(defined, np.abs(chooser), -1.0).argmax(axis=-1)[..., None]
    signed = np.where(defined, np.sign(chooser) * measured, np.nan)
    return np.take_along_axis(signed, largest, axis=-1)[..., 0]


def cross_fitted_mean(first: Array, second: Array) -> Array:
    """The mean of |θ_k| over the last axis: signs from one half, values from the other; mean of both ways.

    Its mean is at most that of the true |θ_k|. NaN as in `cross_fitted_max`.

    >>> float(cross_fitted_mean(np.array([0.5, 0.25]), np.array([0.5, -0.25])))
    0.125
    """
    signed = (np.sign(first) * second + np.sign(second) * first) / 2.0
    defined = np.isfinite(signed)
    with np.errstate(invalid="ignore"):
        mean: Array = np.where(defined, signed, 0.0).sum(axis=-1) / defined.sum(axis=-1)
    return mean


# --- the mean of absolute values: by how much noise makes it too large, and its interval


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


def mean_magnitude(estimates: ClusteredMeans) -> Magnitude:
    """mean |true value| of noisy numbers.

    How much noise has added depends on the true sizes, which are not known. The corrected value supposes the sizes that
    were seen; the upper end sizes larger by an error each, to which noise adds less, and the lower end smaller ones.
    Both then move by t·sd, with the fewest degrees of freedom of any number. sd² is the variance of the mean if all
    signs are right, and at least that with independent errors.
    """
    size, error = np.abs(estimates.mean), estimates.error
    signs, covariance = np.sign(estimates.mean), estimates.spread.covariance
    variance = max(float(signs @ covariance @ signs), float(estimates.spread.variance.sum())) / len(size) ** 2
    reach = float(student_reach(np.sqrt(variance), float(estimates.freedom.min())))
    low, value, high = (
        float((size - folded_excess(np.maximum(size + side * error, 0.0), error)).mean()) for side in (-1.0, 0.0, 1.0)
    )
    return Magnitude(low - reach, value, high + reach)
