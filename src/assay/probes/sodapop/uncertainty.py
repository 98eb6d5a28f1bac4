"""How sure we are of RD: names and contexts drawn again."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from assay.probes.sodapop.metrics import Array, success_rate
from assay.probes.sodapop.rates import Rates
from assay.stats import MIN_UNITS, multinomial_weights

_AT_ONCE = 2_000_000
"""Numbers held at once for one resample's success rates, times the number of resamples computed together."""


def group_replicates(
    rates: Rates, groups: Sequence[NDArray[np.int64]], resamples: int, rng: np.random.Generator
) -> Array:
    """Mean SR of every group in every resample (resample, group, word).

    Names are drawn anew within each group, and contexts too where there are at least five; a resample in which a name
    has no distractor with a word leaves the name out of that word's mean.
    """
    contexts, names, words = rates.successes.shape
    weights = np.ones((resamples, contexts))
    if contexts >= MIN_UNITS:
        weights = multinomial_weights(np.zeros(contexts, np.int64), resamples, rng)
    drawn = [multinomial_weights(np.zeros(len(group), np.int64), resamples, rng) for group in groups]
    flat = [counts.reshape(contexts, -1) for counts in (rates.successes, rates.distractors)]
    result = np.empty((resamples, len(groups), words))
    step = max(1, _AT_ONCE // max(names * words, 1))
    for at in range(0, resamples, step):
        some = slice(at, at + step)
        sums = [(weights[some] @ counts).reshape(len(weights[some]), names, words) for counts in flat]
        sr = success_rate(sums[0], sums[1])  # (resample, name, word)
        for number, group in enumerate(groups):
            result[some, number] = _weighted_mean(sr[:, group], drawn[number][some])
    return result


def _weighted_mean(sr: Array, weights: Array) -> Array:
    """Means over names (resample, name, word) with the names' weights (resample, name), undefined ones left out."""
    known = np.isfinite(sr)
    heavy = weights[:, :, None] * known
    total = heavy.sum(axis=1)
    sums = (heavy * np.where(known, sr, 0.0)).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(total > 0, sums / total, np.nan)
