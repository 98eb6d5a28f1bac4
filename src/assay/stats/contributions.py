"""Whether a change comes from few units: the sign-flip test of each unit's contribution."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from assay.stats.signflip import sign_flip_p

Array = NDArray[np.float64]

_ZERO = 1e-12


def contribution_p(value: Array, left_out: Array, strata: NDArray[np.int64]) -> Array:
    """p of changes (…,), from what they become when each unit is left out (unit, …): is it one-sided over the units?

    Exchanging the two models' answers about a unit flips the sign of the unit's contribution to the change. Under the
    null hypothesis both signs are equally likely, which gives the sign-flip test of the contributions. A unit x of n_g
    in its stratum, n in total, contributes

        c_x = change/n + (n_g − 1)/n_g · (d_x − mean of d in the stratum)    with    d_x = change − change without x,

    the jackknife's pseudo-value divided by n: Σ c_x = change, and for a mean of paired differences c_x is the
    difference divided by n. It is also valid if items share units (a pair has two subjects). Exchanging item by item is
    not, as it treats the items of one subject as independent. NaN if the change is undefined without some unit.
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
