"""Maxima and absolute values without their upward bias: one half of the data chooses, the other half measures."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


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
