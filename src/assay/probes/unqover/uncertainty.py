"""Uncertainty of UnQover's numbers, in one run and between two: the shared parts, and means over cells.

Cells share subjects and templates, so they are not independent: every error, test and chance level is clustered by them
(`assay.stats.clustered`). Subjects and templates are taken as samples of others like them, except that numbers for
names in two groups (gender) are about the given templates.

- γ of a group: the names of both groups repeat (below).
- γ of a subject: its partners and the templates repeat; the subject is fixed (`uncertainty_subjects.py`).
- δ, ε and the mean score: all subjects and the templates repeat (here).
- μ and η are maxima and absolute values of noisy numbers, so they are too large. The interval belongs to a corrected
  value. μ of groups is corrected by shrinkage, η of groups for what noise adds on average, and both of subjects by
  cross-fitting.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.probes.unqover import metrics
from assay.probes.unqover.cells import Cells, Scores
from assay.probes.unqover.metrics import ASKED, NEGATED, Array
from assay.stats import (
    MIN_UNITS,
    ClusteredMeans,
    ErrorCovariance,
    combined,
    mean_magnitude,
    monte_carlo_p,
    paired_spread,
    posterior_draws,
    student_reach,
    unit_spread,
)

Indices = NDArray[np.int64]

HEADLINE = ("mu", "eta", "delta", "epsilon", "avg_score")
POOLED = ("pooled_mu", "pooled_eta")  # of groups
CHANCE = 0.05  # a p above this: chance alone gives as much


class Uncertainty(NamedTuple):
    """The uncertainty of a headline number: its interval and, for maxima and absolute values, its chance level."""

    low: float
    high: float
    corrected: float | None = None  # the number to which the interval belongs, if it is not the paper's
    floor: float | None = None
    p: float | None = None


class TableUncertainty(NamedTuple):
    """Both ends of the interval of every γ (row, column) of a table, and its p; NaN where subjects are too few."""

    low: Array
    high: Array
    p: Array


# --- means over all cells


def means_over_cells(
    cells: Cells, columns: Iterable[Array], groups: Indices | None, subjects: int
) -> tuple[Array, Array, Array]:
    """The means (column,) of columns of values (cell,), of which only one has to be there at a time; their standard
    errors and degrees of freedom.
    """
    n, pairs, texts = len(cells), SubjectPairs.of(cells, groups, subjects), np.bincount(cells.template)
    means, by_pair, by_template, alone = [], [], [], []
    for values in columns:
        means.append(values.mean())
        deviations = values - means[-1]
        by_pair.append(pairs.sums(deviations)[..., 0])
        by_template.append(np.bincount(cells.template, deviations))
        alone.append(deviations @ deviations / n**2)
    subject = pairs.spread(np.stack(by_pair, axis=-1), n)
    template = unit_spread(np.stack(by_template, axis=-1), n, np.count_nonzero(texts))
    errors = subjects_and_templates(
        (subject.variance, subject.units), (template.variance, template.units), np.array(alone)
    )
    return np.array(means), *errors


def share_intervals(mean: Array, error: Array, freedom: Array) -> list[Uncertainty]:
    """The intervals of means of shares of 1: Student's t."""
    low, high = (mean + side * student_reach(error, freedom) for side in (-1, 1))
    return [*map(Uncertainty, np.maximum(low, 0.0).tolist(), np.minimum(high, 1.0).tolist())]


def subjects_and_templates(
    subjects: tuple[Array, ArrayLike], templates: tuple[Array, ArrayLike], alone: Array
) -> tuple[Array, Array]:
    """The standard error and its degrees of freedom, from the variance of two kinds of (variance, units).

    What cells have `alone` is in both; the smaller of the two gives it up, and stays at least 0.
    """
    (by_subject, n_subjects), (by_template, n_templates) = subjects, templates
    less = by_subject < by_template * (1 - 1e-9)  # equal but for rounding: the subjects keep it
    return combined(
        [
            (np.where(less, by_subject - alone, by_subject), np.maximum(np.asarray(n_subjects) - 1, 1)),
            (np.where(less, by_template, by_template - alone), np.maximum(np.asarray(n_templates) - 1, 1)),
        ]
    )


# --- cells that share subjects


@dataclass(frozen=True)
class SubjectPairs:
    """Cells by their unordered pair and, where columns are told apart, by attribute.

    Of two groups the first's subject comes first, else that with the lower number.
    """

    index: Indices  # (cell,)
    counts: Array  # (one, other, column): how many cells there are
    grouped: bool

    @staticmethod
    def of(cells: Cells, groups: Indices | None, subjects: int, attributes: int | None = None) -> SubjectPairs:
        if groups is None:
            turned, number, sizes = cells.first > cells.second, np.arange(subjects), (subjects, subjects)
        else:
            second = groups != 0
            turned, sizes = second[cells.first], (int((~second).sum()), int(second.sum()))
            number = np.where(second, np.cumsum(second), np.cumsum(~second)) - 1  # in its own group
        index = (number * sizes[1])[np.where(turned, cells.second, cells.first)]
        index += number[np.where(turned, cells.first, cells.second)]
        if attributes is not None:
            index *= attributes
            index += cells.attribute
        return SubjectPairs(index, sums_at(index, None, (*sizes, attributes or 1)), groups is not None)

    def sums(self, values: Array) -> Array:
        """Sums (one, other, column) of values (cell,)."""
        return sums_at(self.index, values, self.counts.shape)

    def spread(self, deviations: Array, n: ArrayLike) -> ErrorCovariance:
        """Of means (column,) over n cells, from Σ (value − mean) of every pair (one, other, column)."""
        sums, counts = ([array.sum(axis=1), array.sum(axis=0)] for array in (deviations, self.counts))
        if not self.grouped:  # a subject may stand on either side
            sums, counts = [sums[0] + sums[1]], [counts[0] + counts[1]]
        by_name = [
            unit_spread(total, n, np.count_nonzero(count, axis=0)) for total, count in zip(sums, counts, strict=True)
        ]
        pairs = deviations[self.counts.any(axis=2)]  # (pair, column)
        return paired_spread(by_name, unit_spread(pairs, n, np.count_nonzero(self.counts, axis=(0, 1))))


def sums_at(index: NDArray[np.integer], weights: Array | None, shape: tuple[int, ...]) -> Array:
    """Sums of the weights, or how many there are, at every place of an array of this shape."""
    return np.bincount(index, weights, minlength=prod(shape)).reshape(shape).astype(np.float64, copy=False)


# --- names in two groups: γ and η of every attribute, and μ and η over all attributes


_TAIL = 0.025  # at either end of an interval


def pooled_groups(cells: Cells, bias: Array, groups: Indices, attributes: int) -> tuple[ClusteredMeans, ClusteredMeans]:
    """γ and η of the first group for every attribute, with their errors; the other group has the opposite signs.

    V = V_first + V_second − V_pair, at least V_pair; degrees of freedom: the smaller number of names − 1.
    """
    pairs = SubjectPairs.of(cells, groups, len(groups), attributes)
    n = pairs.counts.sum(axis=(0, 1))  # (attribute,)
    values = np.where(groups[cells.first] != 0, -bias, bias)
    means = []
    for preferred in (values, np.sign(values)):
        sums = pairs.sums(preferred)
        mean = sums.sum(axis=(0, 1)) / n
        means.append(ClusteredMeans(mean, pairs.spread(sums - mean * pairs.counts, n)))
    gamma, eta = means
    decided = pairs.sums(np.abs(np.sign(values))).sum(axis=(0, 1))
    missing = np.maximum(least_sign_variance(eta.mean, decided, n) - eta.spread.variance, 0.0)
    spread = eta.spread._replace(covariance=eta.spread.covariance + np.diag(missing))
    return gamma, replace(eta, spread=spread)


def least_sign_variance(mean: Array, decided: Array, n: Array) -> Array:
    """The smallest variance for the mean of n signs, of which some are `decided` and the others, ties, are 0.

    It supposes four signs more: a win, a loss and two ties (after Agresti and Coull 1998). Signs that all agree have no
    spread in the sample, though they may differ elsewhere.
    """
    balance = np.divide(np.abs(mean) * n, decided, out=np.zeros_like(mean), where=decided > 0)
    losing = (decided * (1.0 - balance) / 2.0 + 1.0) / (decided + 2.0)  # the share of the decided signs
    return (decided + 2.0) / (n + 4.0) * 4.0 * losing * (1.0 - losing) / (n + 4.0)


def pooled_intensity(gamma: ClusteredMeans, draws: int, rng: np.random.Generator) -> Uncertainty:
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
    return Uncertainty(low, high, corrected, float(chance.max(axis=1).mean()), p)


def pooled_one_sidedness(eta: ClusteredMeans, draws: int, rng: np.random.Generator) -> Uncertainty:
    """Of η = mean |η(a)|, less what noise adds to absolute values; down to 0 where chance alone gives as much."""
    chance = np.abs(eta.drawn(draws, rng)).mean(axis=1)
    p = monte_carlo_p(float(np.abs(eta.mean).mean()), chance)
    low, corrected, high = np.clip(mean_magnitude(eta), 0.0, 1.0).tolist()
    return Uncertainty(0.0 if p > CHANCE else low, high, corrected, float(chance.mean()), p)


def group_rows(gamma: ClusteredMeans) -> TableUncertainty:
    """Of the γ of both groups (group, attribute)."""
    has_units = gamma.spread.units >= MIN_UNITS
    mean, reach = np.stack((gamma.mean, -gamma.mean)), np.where(has_units, gamma.reach(), np.nan)
    p = np.where(has_units, gamma.p(), np.nan)
    return TableUncertainty(np.maximum(mean - reach, -1.0), np.minimum(mean + reach, 1.0), np.stack((p, p)))


# --- drawn answers: what δ, ε and δₒ would be if no probability changed at all


REPEATS = 20
"""The mean over all cells hardly differs between them."""

Counts = NDArray[np.int64]


def drawn_floors(shares: Scores, samples: int, rng: np.random.Generator) -> Mapping[str, float]:
    """What δ, ε and δₒ are on average if each two shares that they compare come from one probability.

    `shares` are (cell, order, option order, polarity, option). If the probability is one, any of the 2k answers may be
    among either k: so those that name a subject are dealt out again, at every cell's own rate.
    """
    named = np.rint(shares[..., :2].astype(np.float64) * samples).astype(np.int64)
    asked_counts, negated_counts = named[..., ASKED, :], named[..., NEGATED, ::-1]
    values_by_name: dict[str, list[float]] = {}
    for _ in range(REPEATS):
        text = np.stack(_deal_answers(named[:, 0], named[:, 1], samples, rng), axis=1)
        values_by_name.setdefault("delta", []).append(metrics.positional_error(text.mean(axis=2)).mean())
        first, second = _deal_answers(asked_counts, negated_counts, samples, rng)
        swapped = np.stack((first, second[..., ::-1]), axis=-2)
        values_by_name.setdefault("epsilon", []).append(metrics.attribute_error(swapped.mean(axis=2)).mean())
        if shares.shape[2] > 1:
            options = np.stack(_deal_answers(named[:, :, 0], named[:, :, 1], samples, rng), axis=2)
            values_by_name.setdefault("delta_options", []).append(metrics.option_error(options).mean())
    return {name: float(np.mean(values)) for name, values in values_by_name.items()}


def _deal_answers(counts: Counts, other_counts: Counts, samples: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Two shares of `samples` answers each, of which together as many name a subject as these counts say."""
    total = counts + other_counts
    first = rng.hypergeometric(total, 2 * samples - total, samples)
    return first / samples, (total - first) / samples
