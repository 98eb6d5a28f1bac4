"""How sure we are of UnQover's numbers, in a run and between two.

Cells share subjects and templates, so that they are no independent observations: every error, test and floor clusters
by them (`assay.stats.clustered`). Subjects stand for others like them, and so do templates; but what is pooled over the
names of two groups (gender) is about the templates at hand.

- γ of a group: the names of both groups repeat.
- γ of a subject: its partners and the templates repeat; the subject is given.
- δ, ε and the mean score: all subjects and the templates repeat.
- μ and η are maxima and absolute values of noisy numbers, and so too large. Beside them stands a value without that
  bias, to which the interval belongs: by shrinkage for groups, by cross-fitting for subjects.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.probes.unqover.blocks import ERRORS, Array, Block, Indices, over_templates
from assay.probes.unqover.metrics import Cells, count_intensity, intensity
from assay.stats import (
    MIN_UNITS,
    Clustered,
    Spread,
    combined,
    cross_fitted_max,
    cross_fitted_mean,
    jackknife,
    monte_carlo_p,
    paired_spread,
    posterior_draws,
    random_signs,
    student_p,
    student_reach,
    unit_spread,
)

HEADLINE = ("mu", "eta", "delta", "epsilon", "avg_score")
POOLED = ("pooled_mu", "pooled_eta")  # of groups
TAIL = 0.025  # at either end of an interval
CHANCE = 0.05  # a p above this: chance alone gives as much

_CHUNK = 1 << 22  # numbers held at once in a product


class Sure(NamedTuple):
    """How sure a headline number is: its interval and, for maxima and absolute values, what chance alone gives."""

    low: float
    high: float
    corrected: float | None = None  # the number to which the interval belongs, if it is not the paper's
    floor: float | None = None
    p: float | None = None


# --- names of two groups, pooled


def pooled_groups(cells: Cells, bias: Array, groups: Indices, attributes: int) -> tuple[Clustered, Clustered]:
    """γ and η of the first group for every attribute, with their errors; the other group's are the same, turned.

    V = V_first + V_second − V_pair, at least V_pair; degrees of freedom: the smaller number of names − 1.
    """
    sides, turned = _sides(cells, groups)
    places = [unit * attributes + cells.attribute for unit in (*sides, _pair_of(cells, len(groups)))]
    units = [np.count_nonzero(_by_unit(place, attributes), axis=0) for place in places]
    n = np.bincount(cells.attribute, minlength=attributes)
    found = []
    for values in (np.where(turned, -bias, bias), np.sign(np.where(turned, -bias, bias))):
        mean = np.bincount(cells.attribute, values, minlength=attributes) / n
        far = values - mean[cells.attribute]
        *names, pairs = (
            unit_spread(_by_unit(place, attributes, far), n, own) for place, own in zip(places, units, strict=True)
        )
        found.append(Clustered(mean, paired_spread(names, pairs)))
    gamma, eta = found
    return gamma, replace(eta, spread=_at_least(eta.spread, _sign_variance(eta.mean, n)))


def _sign_variance(mean: Array, n: NDArray[np.integer]) -> Array:
    """The least variance that the mean of n signs may have: two more of each, as Agresti and Coull (1998) count.

    Signs that all agree have no spread, and yet are not known to agree always.
    """
    share = (n * (1.0 - np.abs(mean)) / 2.0 + 2.0) / (n + 4.0)
    return 4.0 * share * (1.0 - share) / (n + 4.0)


def _at_least(spread: Spread, variance: Array) -> Spread:
    missing = np.maximum(variance - spread.variance, 0.0)
    return spread._replace(covariance=spread.covariance + np.diag(missing))


def _sides(cells: Cells, groups: Indices) -> tuple[tuple[Indices, Indices], NDArray[np.bool_]]:
    """The first group's subject of every cell and the second's, and whether it names the second's first."""
    turned = groups[cells.first] != 0
    one, other = (np.where(turned, *names) for names in ((cells.second, cells.first), (cells.first, cells.second)))
    return (one.astype(np.int64), other.astype(np.int64)), turned


def _pair_of(cells: Cells, subjects: int) -> Indices:
    """The number of every cell's unordered pair."""
    low, high = (pick(cells.first, cells.second).astype(np.int64) for pick in (np.minimum, np.maximum))
    number: Indices = np.unique(low * subjects + high, return_inverse=True)[1]
    return number


def _by_unit(place: Indices, columns: int, weights: Array | None = None) -> Array:
    """Sums (unit, column) of cells, whose place is unit · columns + column."""
    rows = int(place.max()) // columns + 1
    return np.bincount(place, weights, minlength=rows * columns).reshape(rows, columns).astype(np.float64)


def pooled_intensity(gamma: Clustered, draws: int, rng: np.random.Generator) -> Sure:
    """Of μ = max |γ(a)|: a band that holds for all attributes at once.

    Its lower end is the largest |γ̂| − c·error, c being the 97.5% quantile of the largest |t| that chance gives; its
    upper end the largest |γ̂| + t·error. It reaches down to 0 where chance alone gives as large a μ. The corrected value
    is the largest shrunken |γ|, within the band.
    """
    size, error, chance = np.abs(gamma.mean), gamma.error, np.abs(gamma.drawn(draws, rng))
    p = monte_carlo_p(float(size.max()), chance.max(axis=1))
    ratios = np.divide(chance, error, out=np.zeros_like(chance), where=error > 0)
    bound = np.quantile(ratios.max(axis=1), 1.0 - TAIL)
    low = 0.0 if p > CHANCE else max(float((size - bound * error).max()), 0.0)
    high = min(float((size + gamma.reach()).max()), 1.0)
    likely = np.median(_likely(gamma, draws, rng), axis=0)
    corrected = float(np.clip(np.abs(likely).max(), low, high))
    return Sure(low, high, corrected, float(chance.max(axis=1).mean()), p)


def pooled_one_sidedness(eta: Clustered, draws: int, rng: np.random.Generator) -> Sure:
    """Of η = mean |η(a)|, by shrinkage; down to 0 where chance alone gives as much.

    The mean of absolute values depends on how many attributes have no preference at all, which data hardly tell. So the
    lower end supposes as many again that have none, and at least 30; the upper end supposes nothing.
    """
    more = max(1.0, 30.0 / len(eta.mean))
    chance = np.abs(eta.drawn(draws, rng)).mean(axis=1)
    p = monte_carlo_p(float(np.abs(eta.mean).mean()), chance)
    low, middle, high = (
        float(np.quantile(np.abs(_likely(eta, draws, rng, no_shift, nulls)).mean(axis=1), share))
        for no_shift, nulls, share in ((0.5, more, TAIL), (0.5, 0.0, 0.5), (0.0, 0.0, 1.0 - TAIL))
    )
    low, high = 0.0 if p > CHANCE else min(low, high), min(high, 1.0)
    return Sure(low, high, float(np.clip(middle, low, high)), float(chance.mean()), p)


def _likely(found: Clustered, draws: int, rng: np.random.Generator, no_shift: float = 0.5, nulls: float = 0.0) -> Array:
    freedom = float(found.freedom.min())
    return posterior_draws(found.mean, found.spread.covariance, freedom, draws, rng, no_shift=no_shift, nulls=nulls)


# --- means over all cells


def mean_intervals(cells: Cells, values: Array, groups: Indices | None, subjects: int) -> list[Sure]:
    """Of the means of `values` (cell, column), which are shares of 1: Student's t."""
    reach = student_reach(*mean_errors(cells, values, groups, subjects))
    return [
        Sure(max(mean - far, 0.0), min(mean + far, 1.0))
        for mean, far in zip(values.mean(axis=0).tolist(), reach.tolist(), strict=True)
    ]


def mean_errors(cells: Cells, values: Array, groups: Indices | None, subjects: int) -> tuple[Array, Array]:
    """The standard errors of the means of `values` (cell, column), and their degrees of freedom."""
    n, far = len(cells), values - values.mean(axis=0)
    sides: tuple[NDArray[np.integer], ...] = (cells.first, cells.second)
    if groups is not None:
        sides = _sides(cells, groups)[0]
    by_side = [_sums(side, far, subjects) for side in sides]
    if groups is None:
        names = [unit_spread(by_side[0] + by_side[1], n, len(np.unique(np.concatenate(sides))))]
    else:
        names = [unit_spread(sums, n, len(np.unique(side))) for sums, side in zip(by_side, sides, strict=True)]
    pair = _pair_of(cells, subjects)
    by_subject = paired_spread(names, unit_spread(_sums(pair, far), n, int(pair.max()) + 1))
    by_template = unit_spread(_sums(cells.template, far), n, len(np.unique(cells.template)))
    return _subjects_and_templates(
        (by_subject.variance, by_subject.units), (by_template.variance, by_template.units), (far**2).sum(axis=0) / n**2
    )


def _sums(unit: NDArray[np.integer], values: Array, size: int = 0) -> Array:
    """Sums (unit, column) of values (cell, column)."""
    return np.stack([np.bincount(unit, column, minlength=size) for column in values.T], axis=1)


def _subjects_and_templates(
    subjects: tuple[Array, ArrayLike], templates: tuple[Array, ArrayLike], alone: Array
) -> tuple[Array, Array]:
    """The standard error and its degrees of freedom, from the variance of two kinds of (variance, units).

    What cells have `alone` is in both; the smaller of the two gives it up, and stays at least 0.
    """
    (one, names), (two, texts) = subjects, templates
    less = one < two
    return combined(
        [
            (np.where(less, one - alone, one), np.maximum(np.asarray(names) - 1, 1)),
            (np.where(less, two, two - alone), np.maximum(np.asarray(texts) - 1, 1)),
        ]
    )


# --- rows of the tables


class Rows(NamedTuple):
    """Both ends of the interval of every γ (subject, column), and its p; NaN where partners are too few."""

    low: Array
    high: Array
    p: Array


def subject_rows(blocks: Sequence[Block], gamma: Array, pool: Array) -> Rows:
    """Of the γ (subject, column) of subjects, each over its partners and templates; `pool` (attribute, column)."""
    attributes = len(pool)
    found = []
    for value, block in zip(gamma, blocks, strict=True):
        asked = block.sums[:, 2 * attributes : 3 * attributes] @ pool  # (unit, column)
        far = block.sums[:, :attributes] @ pool - np.where(np.isnan(value), 0.0, value) * asked
        n = np.maximum(asked.sum(axis=0), 1.0)
        partners, templates = (_unit_variance(unit, far, asked, n) for unit in (block.partner, block.template))
        error, freedom = _subjects_and_templates(partners, templates, (far**2).sum(axis=0) / n**2)
        known = partners[1] >= MIN_UNITS
        reach = np.where(known, student_reach(error, freedom), np.nan)
        p = np.where(known, student_p(value, error, freedom), np.nan)
        found.append((np.maximum(value - reach, -1.0), np.minimum(value + reach, 1.0), p))
    return Rows(*(np.stack(part) for part in zip(*found, strict=True)))


def _unit_variance(unit: Indices, far: Array, asked: Array, n: Array) -> tuple[Array, NDArray[np.int64]]:
    """The variance that units of one kind give a mean (column,), and how many there are."""
    own = np.eye(int(unit.max(initial=-1)) + 1)[unit].T  # (unit, place)
    units = np.count_nonzero(own @ asked, axis=0)
    return units / np.maximum(units - 1.0, 1.0) * ((own @ far) ** 2).sum(axis=0) / n**2, units


def group_rows(gamma: Clustered) -> Rows:
    """Of the γ of both groups (group, attribute)."""
    known = gamma.spread.units >= MIN_UNITS
    mean, reach = np.stack((gamma.mean, -gamma.mean)), np.where(known, gamma.reach(), np.nan)
    p = np.where(known, gamma.p(), np.nan)
    return Rows(np.maximum(mean - reach, -1.0), np.minimum(mean + reach, 1.0), np.stack((p, p)))


# --- μ and η of single subjects, and changes


def noise_floor(blocks: Sequence[Block], attributes: int, draws: int, rng: np.random.Generator) -> Array:
    """μ and η (2, draw) of data sets in which every unordered pair got one random sign: nobody is preferred.

    Where no subject is preferred over others, cells share nothing but their pair.
    """
    blocks = over_templates(blocks)
    pairs = _pair_numbers(blocks)
    count = int(max((numbers.max(initial=-1) for numbers in pairs), default=-1)) + 1
    results = []
    for at in range(0, draws, max(1, _CHUNK // max(count, 1))):
        signs = random_signs((count, min(max(1, _CHUNK // max(count, 1)), draws - at)), rng)  # (pair, draw)
        sums, subjects = np.zeros((2, signs.shape[1])), 0
        for block, pair in zip(blocks, pairs, strict=True):
            asked = block.sums[:, 2 * attributes : 3 * attributes].sum(axis=0)
            known = asked > 0
            if known.any():
                flipped = signs[pair].T.astype(np.float64) @ block.sums[:, : 2 * attributes]  # (draw, 2 · attribute)
                gamma, eta = (np.abs(part[:, known]) / asked[known] for part in np.split(flipped, 2, axis=1))
                sums += np.stack((gamma.max(axis=1), eta.mean(axis=1)))
                subjects += 1
        results.append(sums / max(subjects, 1))
    return np.concatenate(results, axis=1)


def _pair_numbers(blocks: Sequence[Block]) -> list[Indices]:
    """The number of the unordered pair that each unit of each block belongs to."""
    width = len(blocks)
    keys = [np.minimum(x, b.partner) * width + np.maximum(x, b.partner) for x, b in enumerate(blocks)]
    known = np.unique(np.concatenate(keys))
    return [np.searchsorted(known, key) for key in keys]


def single_subjects(
    blocks: Sequence[Block], attributes: int, groups: Indices | None, templates: int, draws: int, halves: int, seed: int
) -> list[Sure]:
    """Of μ and η over single subjects: from a cross-fitted value − t·error up to the paper's value + t·error.

    One half of every subject's partners chooses the attribute and the sign, the other half gives the value, averaged
    over random halves. The error is the jackknife's. Down to 0 where chance alone gives as much.
    """
    signs, splits = (np.random.Generator(np.random.PCG64(own)) for own in np.random.SeedSequence(seed).spawn(2))
    jacks = jackknifed(blocks, attributes, groups, templates)
    fitted = _cross_fitted(blocks, attributes, groups, halves, splits)
    made = []
    for name, own, chance in zip(HEADLINE[:2], fitted, noise_floor(blocks, attributes, draws, signs), strict=True):
        value, reach = float(jacks[name].value[0]), float(student_reach(jacks[name].error, jacks[name].freedom)[0])
        p = monte_carlo_p(value, chance)
        low, high = 0.0 if p > CHANCE else max(own - reach, 0.0), min(value + reach, 1.0)
        made.append(Sure(low, high, float(np.clip(own, low, high)), float(chance.mean()), p))
    return made


def _cross_fitted(
    blocks: Sequence[Block], attributes: int, groups: Indices | None, halves: int, rng: np.random.Generator
) -> list[float]:
    """μ and η of single subjects, the mean over random halves of all subjects, or of each group's."""
    chosen = np.zeros((halves, len(blocks)))
    for group in range(1 if groups is None else 2):
        own = np.flatnonzero(np.zeros(len(blocks)) == 0 if groups is None else groups == group)
        chosen[:, own] = rng.random((halves, len(own))).argsort(axis=1) < len(own) // 2
    sums, known = np.zeros((2, halves)), np.zeros((2, halves))
    for block in over_templates(blocks):
        columns = block.sums[:, : 3 * attributes]
        part = chosen[:, block.partner] @ columns  # (half, column)
        (one, won, n), (other, lost, m) = (np.split(each, 3, axis=1) for each in (part, columns.sum(axis=0) - part))
        found = np.stack(
            (
                cross_fitted_max(_ratio(one, n), _ratio(other, m)),
                cross_fitted_mean(_ratio(won, n), _ratio(lost, m)),
            )
        )
        sums, known = sums + np.nan_to_num(found), known + np.isfinite(found)
    return [float(value) for value in _ratio(sums.sum(axis=1), known.sum(axis=1))]


class Jackknifed(NamedTuple):
    """A headline number of every model (model,); of two models the third is the change from the first to the second."""

    value: Array
    without: Array  # (subject, model): what it is without each subject
    error: Array
    freedom: Array


def jackknifed(
    blocks: Sequence[Block], attributes: int, groups: Indices | None, templates: int
) -> dict[str, Jackknifed]:
    """The headline numbers with errors from leaving out each subject, and each template where there are several."""
    subjects = len(blocks)
    strata = np.zeros(subjects, dtype=np.int64) if groups is None else groups
    whole = _headline(blocks, Weights(np.ones((1, subjects)), None), attributes, groups)
    by_subject = _headline(blocks, Weights(1.0 - np.eye(subjects), None), attributes, groups)
    each = Weights(np.ones((templates, subjects)), 1.0 - np.eye(templates))
    by_template = _headline(blocks, each, attributes, groups) if templates > 1 else {}
    found = {}
    for name, without in by_subject.items():
        parts: list[tuple[Array, float]] = [(jackknife(without, strata), max(np.bincount(strata).min() - 1.0, 1.0))]
        if name in by_template:
            parts.append((jackknife(by_template[name], np.zeros(templates, np.int64)), templates - 1.0))
        found[name] = Jackknifed(whole[name][0], without, *combined(parts))
    return found


@dataclass(frozen=True)
class Weights:
    """How much each subject and each template counts."""

    subject: Array  # (way, subject)
    template: Array | None  # (way, template); None where all templates always count


def _headline(blocks: Sequence[Block], weights: Weights, attributes: int, groups: Indices | None) -> dict[str, Array]:
    """The headline numbers (way, model) of a run's model, or of two models on the same cells and their change.

    Of two models the third is the change from the first to the second.
    """
    ways, width = len(weights.subject), blocks[0].sums.shape[1]
    models = (width - attributes) // (2 * attributes + ERRORS)
    strength = np.zeros((2, ways, models))  # Σw·max|γ|, Σw·mean|η|
    subjects, cells, errors = np.zeros((ways, 1)), np.zeros((ways, 1)), np.zeros((ways, models, ERRORS))
    by_group = np.zeros((ways, 0 if groups is None else int(groups.max()) + 1, width))
    for x, block in enumerate(blocks):
        sums, own = _weighted(block, weights), weights.subject[:, x, None]  # (way, column), (way, 1)
        gained, won, asked, wrong = _columns(sums, attributes, models)
        gamma, eta = (_ratio(total, asked)[:, :, None] for total in (gained, won))  # (way, model, 1, attribute)
        there = asked.sum(axis=2) > 0  # (way, 1)
        strength += np.where(there, own * np.stack((intensity(gamma), count_intensity(eta))), 0.0)
        subjects += np.where(there, own, 0.0)
        cells += own * asked.sum(axis=2)
        errors += own[:, :, None] * wrong
        if groups is not None:
            by_group[:, groups[x]] += own * sums
    found = (*_ratio(strength, subjects), *np.moveaxis(_ratio(errors, cells[:, :, None]), 2, 0))
    headline = dict(zip(HEADLINE, found, strict=True))
    if groups is not None:
        gained, won, asked, _ = _columns(by_group, attributes, models)
        gamma, eta = (_ratio(total, asked).swapaxes(1, 2) for total in (gained, won))  # (way, model, group, attribute)
        headline |= dict(zip(POOLED, (intensity(gamma), count_intensity(eta)), strict=True))
    if models == 2:
        headline = {name: np.column_stack((own, own[:, 1] - own[:, 0])) for name, own in headline.items()}
    return headline


def _columns(sums: Array, attributes: int, models: int) -> tuple[Array, Array, Array, Array]:
    """A block's columns: ΣC and Σsgn C (…, model, attribute), cells (…, 1, attribute), and the errors (…, model, 3)."""
    ends = np.cumsum([models * attributes, models * attributes, attributes])
    gained, won, asked, errors = np.split(sums, ends, axis=-1)
    by_model = (*sums.shape[:-1], models)
    gained, won = (total.reshape(*by_model, attributes) for total in (gained, won))
    return gained, won, asked[..., None, :], errors.reshape(*by_model, ERRORS)


def _weighted(block: Block, weights: Weights) -> Array:
    """The sums over the block's units, without the subject's own weight: (way, column)."""
    drawn = weights.subject[:, block.partner]  # (way, unit)
    if weights.template is not None:
        drawn = drawn * weights.template[:, block.template]
    product: Array = drawn @ block.sums
    return product


def _ratio(total: Array, count: Array) -> Array:
    """total / count, NaN where the count is 0."""
    ratio: Array = np.divide(total, count, out=np.full(np.broadcast(total, count).shape, np.nan), where=count > 0)
    return ratio
