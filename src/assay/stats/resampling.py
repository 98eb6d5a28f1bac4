"""Random weights and signs for bootstraps and sign-flip draws, and the p-value from draws."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

TIE = 1e-12  # values closer than this, relative to their size, are one value computed in two ways


def multinomial_weights(strata: NDArray[np.integer], resamples: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """How often each unit is drawn if the units of every stratum are resampled with replacement: (resample, unit).

    `strata` numbers each unit's stratum; within a stratum the weights of a resample add up to its number of units, so
    their mean is 1 and a weight of 0 leaves the unit out.

    >>> multinomial_weights(np.array([0, 0, 1]), 4, np.random.default_rng(0))[:, 2].tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    weights = np.zeros((resamples, len(strata)))
    for stratum in np.unique(strata):
        units = np.flatnonzero(strata == stratum)
        weights[:, units] = rng.multinomial(len(units), np.full(len(units), 1.0 / len(units)), size=resamples)
    return weights


def random_signs(shape: tuple[int, ...], rng: np.random.Generator) -> NDArray[np.int8]:
    """Signs −1 and +1, each with probability ½."""
    return rng.integers(0, 2, size=shape, dtype=np.int8) * np.int8(2) - np.int8(1)


def monte_carlo_p(observed: float, draws: NDArray[np.float64]) -> float:
    """p = (1 + #{draw >= observed}) / (draws + 1): one-sided, never 0; 1 means that every draw is at least as large.

    >>> monte_carlo_p(3.0, np.array([1.0, 2.0, 3.0]))
    0.5
    """
    return (1 + int((draws >= observed - TIE * abs(observed)).sum())) / (len(draws) + 1)
