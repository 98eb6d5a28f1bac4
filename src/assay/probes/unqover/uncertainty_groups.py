"""Uncertainty for names in two groups: γ and η of every attribute, and μ and η over all attributes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from assay.probes.unqover.blocks import Array, Indices
from assay.probes.unqover.metrics import Cells
from assay.probes.unqover.uncertainty import CHANCE, Pairs, Rows, Sure
from assay.stats import MIN_UNITS, Clustered, Spread, mean_magnitude, monte_carlo_p, posterior_draws

_TAIL = 0.025  # at either end of an interval


def pooled_groups(cells: Cells, bias: Array, groups: Indices, attributes: int) -> tuple[Clustered, Clustered]:
    """γ and η of the first group for every attribute, with their errors; the other group has the opposite signs.

    V = V_first + V_second − V_pair, at least V_pair; degrees of freedom: the smaller number of names − 1.
    """
    pairs = Pairs.of(cells, groups, len(groups), attributes)
    n = pairs.asked.sum(axis=(0, 1))  # (attribute,)
    values = np.where(groups[cells.first] != 0, -bias, bias)
    found = []
    for own in (values, np.sign(values)):
        sums = pairs.sums(own)
        mean = sums.sum(axis=(0, 1)) / n
        found.append(Clustered(mean, pairs.spread(sums - mean * pairs.asked, n)))
    gamma, eta = found
    decided = pairs.sums(np.abs(np.sign(values))).sum(axis=(0, 1))
    return gamma, replace(eta, spread=_at_least(eta.spread, least_sign_variance(eta.mean, decided, n)))


def least_sign_variance(mean: Array, decided: Array, n: Array) -> Array:
    """The smallest variance for the mean of n signs, of which some are `decided` and the others, ties, are 0.

    It supposes four signs more: a win, a loss and two ties (after Agresti and Coull 1998). Signs that all agree have no
    spread in the sample, though they may differ elsewhere.
    """
    balance = np.divide(np.abs(mean) * n, decided, out=np.zeros_like(mean), where=decided > 0)
    losing = (decided * (1.0 - balance) / 2.0 + 1.0) / (decided + 2.0)  # the share of the decided signs
    return (decided + 2.0) / (n + 4.0) * 4.0 * losing * (1.0 - losing) / (n + 4.0)


def _at_least(spread: Spread, variance: Array) -> Spread:
    missing = np.maximum(variance - spread.variance, 0.0)
    return spread._replace(covariance=spread.covariance + np.diag(missing))


def pooled_intensity(gamma: Clustered, draws: int, rng: np.random.Generator) -> Sure:
    """Of μ = max |γ(a)|: a band that holds for all attributes at once.

    Its lower end is the largest |γ̂| − c·error, c being the 97.5% quantile of the largest |t| that chance gives; its
    upper end the largest |γ̂| + t·error. It reaches down to 0 where chance alone gives as large a μ. The corrected value
    is the largest shrunken |γ|, within the band.
    """
    size, error, chance = np.abs(gamma.mean), gamma.error, np.abs(gamma.drawn(draws, rng))
    p = monte_carlo_p(float(size.max()), chance.max(axis=1))
    ratios = np.divide(chance, error, out=np.zeros_like(chance), where=error > 0)
    bound = np.quantile(ratios.max(axis=1), 1.0 - _TAIL)
    low = 0.0 if p > CHANCE else max(float((size - bound * error).max()), 0.0)
    high = min(float((size + gamma.reach()).max()), 1.0)
    likely = np.median(posterior_draws(gamma.mean, gamma.spread.covariance, draws, rng), axis=0)
    corrected = float(np.clip(np.abs(likely).max(), low, high))
    return Sure(low, high, corrected, float(chance.max(axis=1).mean()), p)


def pooled_one_sidedness(eta: Clustered, draws: int, rng: np.random.Generator) -> Sure:
    """Of η = mean |η(a)|, less what noise adds to absolute values; down to 0 where chance alone gives as much."""
    chance = np.abs(eta.drawn(draws, rng)).mean(axis=1)
    p = monte_carlo_p(float(np.abs(eta.mean).mean()), chance)
    low, corrected, high = np.clip(mean_magnitude(eta), 0.0, 1.0).tolist()
    return Sure(0.0 if p > CHANCE else low, high, corrected, float(chance.mean()), p)


def group_rows(gamma: Clustered) -> Rows:
    """Of the γ of both groups (group, attribute)."""
    known = gamma.spread.units >= MIN_UNITS
    mean, reach = np.stack((gamma.mean, -gamma.mean)), np.where(known, gamma.reach(), np.nan)
    p = np.where(known, gamma.p(), np.nan)
    return Rows(np.maximum(mean - reach, -1.0), np.minimum(mean + reach, 1.0), np.stack((p, p)))
