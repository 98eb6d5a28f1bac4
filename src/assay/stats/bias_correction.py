"""Maxima and absolute values of noisy numbers are too large: what corrects them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

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
    own = _drawn(estimates - shift, widths, noise, share, draws, rng)
    return own + _shift_draws(shift, np.sqrt(common), draws, rng)


def _shift_draws(shift: float, error: float, draws: int, rng: np.random.Generator) -> Array:
    """(draw, 1): the shift, which is 0 with some probability and of any size otherwise."""
    if not error:
        return np.full((draws, 1), shift)
    widths = _widths(2.0 * abs(shift), error)
    prior = np.concatenate(([_NO_SHIFT], np.full(len(widths) - 1, (1.0 - _NO_SHIFT) / (len(widths) - 1))))
    here, noise = np.array([shift]), np.array([error**2])
    share = prior[:, None] * _density(here, widths, noise)
    return _drawn(here, widths, noise, share / share.sum(axis=0), draws, rng)


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


def _drawn(values: Array, widths: Array, noise: Array, share: Array, draws: int, rng: np.random.Generator) -> Array:
    """(draw, value): true values, from normals chosen by their shares (width, value)."""
    passed = rng.random((draws, 1, len(values))) > np.cumsum(share, axis=0)
    chosen = widths[passed.sum(axis=1).clip(max=len(widths) - 1)]
    kept = chosen**2 / (chosen**2 + noise)
    true: Array = kept * values + np.sqrt(kept * noise) * rng.normal(size=kept.shape)
    return true


# --- cross-fitting: one half of the data chooses, the other half measures


def cross_fitted_max(one: Array, other: Array) -> Array:
    """max |θ_k| over the last axis: one half chooses k and the sign, the other gives the value; mean of both ways.

    Its mean is at most the largest true |θ_k|: a wrong choice has a smaller value, a wrong sign a negative one. Values
    that are NaN in either half are left out; NaN if none is left.

    >>> float(cross_fitted_max(np.array([0.3, -0.1]), np.array([0.1, 0.2])))
    0.0
    """
    return (_chosen(one, other) + _chosen(other, one)) / 2.0


def _chosen(chooser: Array, measured: Array) -> Array:
    known = np.isfinite(chooser) & np.isfinite(measured)
    place = np.where(known, np.abs(chooser), -1.0).argmax(axis=-1)[..., None]
    signed = np.where(known, np.sign(chooser) * measured, np.nan)
    return np.take_along_axis(signed, place, axis=-1)[..., 0]


def cross_fitted_mean(one: Array, other: Array) -> Array:
    """The mean of |θ_k| over the last axis: signs from one half, values from the other; mean of both ways.

    Its mean is at most that of the true |θ_k|. NaN as in `cross_fitted_max`.

    >>> float(cross_fitted_mean(np.array([0.5, 0.25]), np.array([0.5, -0.25])))
    0.125
    """
    signed = (np.sign(one) * other + np.sign(other) * one) / 2.0
    known = np.isfinite(signed)
    with np.errstate(invalid="ignore"):
        mean: Array = np.where(known, signed, 0.0).sum(axis=-1) / known.sum(axis=-1)
    return mean
