"""What many noisy numbers are likely to be in truth: a prior learnt from all of them pulls each towards their mean."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

_STEPS = 200  # of EM; the weights have settled long before
_WIDTH = np.sqrt(2.0)  # each normal of the prior is so much wider than the one before


def posterior_draws(estimates: Array, covariance: Array, freedom: float, draws: int, rng: np.random.Generator) -> Array:
    """Draws (draw, number) of the true values behind `estimates` (number,), whose errors have this covariance.

    Each true value is a common shift plus a deviation of its own. The shift is the mean of the estimates with its own
    error, which all of them share. Deviations come from a mixture of normals around 0, whose weights are found by EM
    (Stephens 2017): their standard deviations reach from 0 to twice the largest deviation seen. So numbers that differ
    by no more than their errors are drawn together, and numbers that stand out stay where they are.
    """
    count = len(estimates)
    shift, moved = float(estimates.mean()), covariance.mean(axis=0)  # (number,) covariance with the mean
    common = max(float(moved.mean()), 0.0)
    noise = np.maximum(np.diag(covariance) - 2.0 * moved + common, 1e-12 * max(float(np.diag(covariance).max()), 1e-30))
    deviation = estimates - shift
    widths = _grid(deviation, noise)
    spread = widths[:, None] ** 2 + noise  # (width, number)
    density = np.exp(-0.5 * (deviation**2 / spread + np.log(spread)) + 0.5 * np.log(spread.min(axis=0)))
    weights = np.full(len(widths), 1.0 / len(widths))
    for _ in range(_STEPS):
        share = weights[:, None] * density
        share /= np.maximum(share.sum(axis=0), 1e-300)  # (width, number)
        weights = share.mean(axis=1)
    chosen = (rng.random((draws, 1, count)) > np.cumsum(share, axis=0)[None]).sum(axis=1).clip(max=len(widths) - 1)
    kept = widths[chosen] ** 2 / (widths[chosen] ** 2 + noise)  # (draw, number)
    own: Array = kept * deviation + np.sqrt(kept * noise) * rng.normal(size=(draws, count))
    return shift + np.sqrt(common) * rng.standard_t(freedom, size=(draws, 1)) + own


def _grid(deviation: Array, noise: Array) -> Array:
    """Standard deviations of the prior's normals: 0, then from a tenth of the least noise to twice the largest."""
    most, least = 2.0 * float(np.abs(deviation).max()), np.sqrt(float(noise.min())) / 10.0
    steps = max(int(np.ceil(np.log(max(most / least, 1.0)) / np.log(_WIDTH))), 0)
    return np.concatenate(([0.0], least * _WIDTH ** np.arange(steps + 1)))
