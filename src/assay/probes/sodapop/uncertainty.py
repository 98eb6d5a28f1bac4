"""How sure we are of RD, and of its change from one model to another: a test over names, and names and contexts drawn
again.

The names stand for all such names and, where there are five or more, the contexts for all such contexts. Drawing both
at once counts what a name has in a context three times (Owen 2007): in V_names, in V_contexts, and by itself. How much
that is follows from resamples of names, of contexts and of both, and it is counted once (Cameron, Gelbach and Miller
2011): V = V_names + V_contexts − V_cells.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from assay.probes.sodapop.metrics import Array, relative_difference, success_rate
from assay.probes.sodapop.rates import SuccessRates
from assay.probes.sodapop.settings import SodapopSettings
from assay.stats import (
    MIN_UNITS,
    combined,
    multinomial_weights,
    percentile_interval,
    permutation_test,
    student_p,
    student_reach,
    studentised_difference,
)

Names = NDArray[np.int64]  # a group's rows among the names

_AT_ONCE = 2_000_000
"""Numbers held at once for one resample's success rates, times the number of resamples computed together."""


UNEQUAL = 1.5
"""Groups differ in size, or in spread, if one has more than so many times that of the other."""

_FEW = 10_000  # permutations that every word gets; those that are then near a threshold get more


def difference_p(
    values: Array,
    sides: Sequence[int],
    strata: NDArray[np.int64] | None,
    settings: SodapopSettings,
    rng: np.random.Generator,
) -> Array:
    """p of the difference between two groups of names (word,), from their success rates (name of a, then of b; word).

    The permutation test of t. Where one group has more than 1.5 times the names of the other it rests on how the few
    names spread, which they hardly show: p is then at least that of Student's t with the smaller number − 1 degrees of
    freedom, and 1 for a single name. With p=strict it is the paper's test (Eq. 5).
    """
    most, strict = settings.permutations, settings.p == "strict"
    first = np.arange(len(values)) < sides[0]
    p = permutation_test(values, first, rng, strata=strata, few=min(most, _FEW), many=most, strict=strict).p
    fewer, more = sorted(sides)
    if strict or more <= UNEQUAL * fewer:
        return p
    if fewer < 2:
        untested: Array = np.where(np.isfinite(p), 1.0, np.nan)
        return untested
    students: Array = student_p(*studentised_difference(values, first, strata), fewer - 1)
    least: Array = np.maximum(p, students)
    return least


def rd_of(a: Array, b: Array) -> Array:
    """RD from the mean success rates of two groups (…, word)."""
    return relative_difference(a - b, (a + b) / 2.0)


def rd_replicates(
    rates: Sequence[SuccessRates], pairs: Sequence[tuple[Names, Names]], resamples: int, seed: int
) -> Iterator[Array]:
    """RD of every pair of groups in turn, of one run or of several with the same names, contexts and words.

    (run, drawn, resample, word): every resample has the same names and contexts for all runs and pairs. `drawn` is as
    in `group_replicates`.
    """
    groups = list({side.tobytes(): side for pair in pairs for side in pair}.values())
    index = {side.tobytes(): number for number, side in enumerate(groups)}
    means = [group_replicates(rate, groups, resamples, np.random.default_rng(seed)) for rate in rates]
    for a, b in pairs:
        yield np.stack([rd_of(mean[..., index[a.tobytes()], :], mean[..., index[b.tobytes()], :]) for mean in means])


def rd_interval(
    value: Array, replicates: Array, pair: tuple[Names, Names], bounds: tuple[float, float], contexts: int
) -> tuple[Array, Array]:
    """Both ends for RD, or for its change (word,), from what it is in the resamples (drawn, resample, word).

    NaN with fewer than 5 names. Where contexts were drawn, too, the resamples of both give the interval its shape, and
    V = V_names + V_contexts − V_cells its width.
    """
    units = min(len(side) for side in pair)
    if units < MIN_UNITS:
        return np.full(len(value), np.nan), np.full(len(value), np.nan)
    both = replicates[0]
    if len(replicates) > 1:
        both = value + (both - value) * _narrowing(replicates, [len(side) for side in pair], contexts)
    return percentile_interval(value, both, units, bounds=bounds)


def _narrowing(replicates: Array, names: Sequence[int], contexts: int) -> Array:
    """By what the distances of the resamples of both are multiplied (word,); `names` are those of each side."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a word that is defined in no resample
        both, of_names, of_contexts = np.nanvar(replicates, axis=1)
    cells = np.clip(both - of_names - of_contexts, 0.0, np.minimum(of_names, of_contexts))
    least = min(names)
    name_variance = of_names * least / (least - 1.0)
    context_variance = (of_contexts - cells) * contexts / (contexts - 1.0)
    reach = student_reach(*combined([(name_variance, sum(names) - 2), (context_variance, contexts - 1)]))
    before = student_reach(np.sqrt(both * least / (least - 1.0)), least - 1)  # as `percentile_interval` widens them
    return np.divide(reach, before, out=np.ones_like(before), where=before > 0)


def group_replicates(rates: SuccessRates, groups: Sequence[Names], resamples: int, rng: np.random.Generator) -> Array:
    """Mean SR of every group in every resample (drawn, resample, group, word).

    Names are drawn anew within each group. Where there are at least five contexts these are drawn, too: the first of
    three is then of both, the second of the same names in all contexts, the third of all names in the same contexts. A
    resample in which a name has no distractor with a word leaves the name out of that word's mean.
    """
    contexts, names, words = rates.successes.shape
    weights, step = np.ones((1, contexts)), resamples  # one for all resamples
    if contexts >= MIN_UNITS:
        weights = multinomial_weights(np.zeros(contexts, np.int64), resamples, rng)
        step = max(1, _AT_ONCE // max(names * words, 1))
    name_weights = [multinomial_weights(np.zeros(len(group), np.int64), resamples, rng) for group in groups]
    flat = [counts.reshape(contexts, -1) for counts in (rates.successes, rates.distractors)]
    result = np.empty((3 if len(weights) > 1 else 1, resamples, len(groups), words))
    for at in range(0, resamples, step):
        part = slice(at, at + step)
        sums = [(weights[part] @ counts).reshape(len(weights[part]), names, words) for counts in flat]
        sr = success_rate(sums[0], sums[1])  # (resample or 1, name, word)
        for number, group in enumerate(groups):
            result[0, part, number] = _weighted_mean(sr[:, group], name_weights[number][part])
            if len(result) > 1:
                result[2, part, number] = _weighted_mean(sr[:, group], np.ones((len(sr), len(group))))
    if len(result) > 1:
        for number, group in enumerate(groups):
            result[1, :, number] = _weighted_mean(rates.sr()[None, group], name_weights[number])
    return result


def _weighted_mean(sr: Array, weights: Array) -> Array:
    """Means over names (resample, name, word) with the names' weights (resample, name), undefined ones left out."""
    defined, heavy = np.isfinite(sr), weights[:, None, :]
    sums, total = (heavy @ np.where(defined, sr, 0.0))[:, 0], (heavy @ defined.astype(np.float64))[:, 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(total > 0, sums / total, np.nan)
