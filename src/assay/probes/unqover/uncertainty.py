"""How sure we are of UnQover's numbers: what chance alone gives, and how far resampling moves them.

Cells share subjects and templates, so that they are no independent observations. Chance is modelled per pair: one
random sign for every unordered pair, shared by all its templates and attributes. Intervals come from drawing subjects
anew (within each group, where there are groups), and templates too where there are at least 5: a cell then weighs
w_i · w_j · v_t, and no subject is ever paired with itself. With fewer than 5 templates an interval says nothing about
other templates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from assay.probes.unqover.blocks import ERRORS, Array, Block, Indices, over_templates
from assay.probes.unqover.metrics import Preference, count_intensity, intensity
from assay.stats import MIN_UNITS, basic_interval, multinomial_weights, random_signs, sign_flip_p

_CHUNK = 1 << 22  # numbers held at once in a product

Interval = tuple[Array, Array]


@dataclass(frozen=True)
class Draws:
    """μ and η of every draw of random signs, by subject and (with groups) of the pooled groups."""

    mu: Array
    eta: Array
    pooled_mu: Array | None
    pooled_eta: Array | None


def noise_floor(
    blocks: Sequence[Block], attributes: int, groups: Indices | None, draws: int, rng: np.random.Generator
) -> Draws:
    """μ and η of `draws` data sets in which every unordered pair's preferences got one random sign.

    `blocks` as from `over_templates`; `groups` numbers each subject's group. This is what a model gives whose
    preferences within a pair are as strong as they are, but point in a random direction.
    """
    pairs = _pair_numbers(blocks)
    count = int(max((numbers.max(initial=-1) for numbers in pairs), default=-1)) + 1
    asked = np.stack([block.sums[:, 2 * attributes : 3 * attributes].sum(axis=0) for block in blocks])
    known = (asked > 0).sum(axis=1)  # (subject,)
    divisor = np.where(asked > 0, asked, np.inf)  # (subject, attribute): what was never asked counts as 0
    results = []
    chunk = max(1, _CHUNK // max(count, 1))
    for at in range(0, draws, chunk):
        signs = random_signs((count, min(chunk, draws - at)), rng)  # (pair, draw)
        sums = np.zeros((2, signs.shape[1]))  # Σ max|γ|, Σ mean|η|
        pooled = None if groups is None else np.zeros((signs.shape[1], int(groups.max()) + 1, 2 * attributes))
        for x, block in enumerate(blocks):
            flipped = signs[pairs[x]].T.astype(np.float64) @ block.sums[:, : 2 * attributes]  # (draw, 2 · attribute)
            if pooled is not None and groups is not None:
                pooled[:, groups[x]] += flipped
            gamma, eta = (np.abs(part) / divisor[x] for part in np.split(flipped, 2, axis=1))
            sums += np.stack((gamma.max(axis=1), eta.sum(axis=1) / max(known[x], 1)))
        found = list(sums / max(int((known > 0).sum()), 1))
        if pooled is not None and groups is not None:
            n = np.stack([asked[groups == group].sum(axis=0) for group in range(pooled.shape[1])])
            gamma, eta = (_ratio(part, np.broadcast_to(n, part.shape)) for part in np.split(pooled, 2, axis=2))
            found += [intensity(gamma), count_intensity(eta)]
        results.append(found)
    columns = [np.concatenate(parts) for parts in zip(*results, strict=True)]
    if groups is None:
        return Draws(columns[0], columns[1], None, None)
    return Draws(*columns)


def _pair_numbers(blocks: Sequence[Block]) -> list[Indices]:
    """The number of the unordered pair that each unit of each block belongs to."""
    width = len(blocks)
    keys = [np.minimum(x, b.partner) * width + np.maximum(x, b.partner) for x, b in enumerate(blocks)]
    known = np.unique(np.concatenate(keys)) if keys else np.zeros(0, dtype=np.int64)
    return [np.searchsorted(known, key) for key in keys]


def flip_tests(blocks: Sequence[Block], attributes: int, groups: Indices | None) -> tuple[Array, Array | None]:
    """p of every γ(x, a) (subject, attribute) and of the pooled γ (group, attribute); NaN where nothing was asked.

    The sign-flip test of the sums over templates of the pairs' preferences: x against each partner or, for a group,
    every pair of which one subject is in it. `blocks` as from `over_templates`. It tells a preference from pairs that
    point in random directions; whether it would be found with other subjects is what the interval says.
    """
    by_subject = np.full((len(blocks), attributes), np.nan)
    for x, block in enumerate(blocks):
        if len(block.partner):
            asked = block.sums[:, 2 * attributes : 3 * attributes].any(axis=0)
            by_subject[x] = np.where(asked, sign_flip_p(block.sums[:, :attributes].T), np.nan)
    if groups is None:
        return by_subject, None
    by_group = np.full((int(groups.max()) + 1, attributes), np.nan)
    for group in range(len(by_group)):
        sums = np.concatenate([blocks[x].sums for x in np.flatnonzero(groups == group).tolist()])  # (pair, …)
        if len(sums):
            asked = sums[:, 2 * attributes : 3 * attributes].any(axis=0)
            by_group[group] = np.where(asked, sign_flip_p(sums[:, :attributes].T), np.nan)
    return by_subject, by_group


@dataclass(frozen=True)
class Weights:
    """How often every resample draws each subject and each template."""

    subject: Array  # (resample, subject)
    template: Array | None  # (resample, template); None where all templates always count

    @classmethod
    def draw(
        cls, strata: Indices, templates: int, resamples: int, rngs: tuple[np.random.Generator, np.random.Generator]
    ) -> Weights:
        """Subjects within their strata; templates too where there are at least 5 of them."""
        by_template = None
        if templates >= MIN_UNITS:
            by_template = multinomial_weights(np.zeros(templates, dtype=np.int64), resamples, rngs[1])
        return cls(multinomial_weights(strata, resamples, rngs[0]), by_template)


@dataclass(frozen=True)
class Observed:
    """The estimates whose intervals are wanted."""

    gamma: Preference  # (subject, attribute)
    subjects: Preference  # (subject, 1)
    classes: Preference  # (subject, attribute class)
    groups: Preference | None  # (group, attribute)
    headline: Mapping[str, float]  # mu, eta, delta, epsilon, avg_score; pooled_mu, pooled_eta with groups


@dataclass(frozen=True)
class Intervals:
    """Both ends of every interval, in the shape of the estimates; NaN where there is none."""

    gamma: Interval
    subjects: Interval
    classes: Interval
    groups: Interval | None
    headline: Mapping[str, tuple[float, float]]


def bootstrap(
    blocks: Sequence[Block], observed: Observed, weights: Weights, attribute_class: Indices, groups: Indices | None
) -> Intervals:
    """95% basic bootstrap intervals of everything, in one pass over the subjects.

    A ratio whose denominator is 0 in a resample (none of its partners or templates was drawn) is undefined there: that
    resample is left out for that quantity, μ and η average over what is defined, and a quantity that is undefined in
    more than half of the resamples gets no interval. In the γ of a single subject its own weight cancels, so that its
    interval is about other partners and templates, with the subject given. No interval where fewer than 5 subjects
    could be drawn: partners of a subject in its rows, subjects of the smallest group (or in all) otherwise.
    """
    attributes = len(attribute_class)
    columns = [slice(k * attributes, (k + 1) * attributes) for k in range(3)]  # ΣC, Σsgn C, cells
    pool = np.eye(int(attribute_class.max()) + 1)[attribute_class]  # (attribute, class)
    rows: list[tuple[Interval, Interval, Interval]] = []
    sums = np.zeros((len(weights.subject), 4 + ERRORS))  # Σw·max|γ|, Σw·mean|η|, Σw, then cells and their errors
    by_group = None if groups is None else np.zeros((len(sums), int(groups.max()) + 1, 3 * attributes))
    subjects_asked = np.zeros((1 if groups is None else int(groups.max()) + 1, attributes), dtype=np.int64)
    for x, block in enumerate(blocks):
        totals = _weighted(block, weights)  # (resample, 3 · attribute + 3)
        gained, won, asked = (totals[:, part] for part in columns)
        gamma, eta = _ratio(gained, asked), _ratio(won, asked)
        cells = _by_partner(block)[:, columns[2]]  # (partner, attribute)
        rows.append(
            (
                _row(observed.gamma.gamma[x], gamma, cells),
                _row(observed.subjects.gamma[x], _ratio(_all(gained), _all(asked)), _all(cells)),
                _row(observed.classes.gamma[x], _ratio(gained @ pool, asked @ pool), cells @ pool),
            )
        )
        own = weights.subject[:, x, None]  # (resample, 1)
        subject = np.stack((intensity(gamma[:, None]), count_intensity(eta[:, None]), np.ones(len(sums))), axis=1)
        sums[:, :3] += np.where(_all(asked) > 0, own * subject, 0.0)
        sums[:, 3:] += own * np.concatenate((_all(asked), totals[:, 3 * attributes :]), axis=1)
        group = 0 if groups is None else int(groups[x])
        subjects_asked[group] += cells.any(axis=0)
        if by_group is not None:
            by_group[:, group] += own * totals[:, : 3 * attributes]
    replicates = {
        "mu": _ratio(sums[:, 0], sums[:, 2]),
        "eta": _ratio(sums[:, 1], sums[:, 2]),
        **{name: _ratio(sums[:, 4 + k], sums[:, 3]) for k, name in enumerate(("delta", "epsilon", "avg_score"))},
    }
    pooled = None
    if by_group is not None and observed.groups is not None:
        gained, won, asked = (by_group[..., part] for part in columns)
        gamma = _ratio(gained, asked)  # (resample, group, attribute)
        replicates |= {"pooled_mu": intensity(gamma), "pooled_eta": count_intensity(_ratio(won, asked))}
        ends = basic_interval(observed.groups.gamma, gamma, bounds=(-1.0, 1.0))
        pooled = _enough(ends, subjects_asked.min(axis=0))
    units = len(blocks) if groups is None else int(np.bincount(groups).min())
    headline = {
        name: _enough(basic_interval(value, replicates[name], bounds=(0.0, 1.0)), np.asarray(units))
        for name, value in observed.headline.items()
    }
    gammas, subjects, classes = (
        (np.stack([row[k][0] for row in rows]), np.stack([row[k][1] for row in rows])) for k in range(3)
    )
    return Intervals(
        gammas,
        subjects,
        classes,
        pooled,
        {name: (float(low), float(high)) for name, (low, high) in headline.items()},
    )


def _row(gamma: Array, replicates: Array, cells: Array) -> Interval:
    """The intervals of one subject's γ (column,), with its cells by partner (partner, column)."""
    return _enough(basic_interval(gamma, replicates, bounds=(-1.0, 1.0)), (cells > 0).sum(axis=0))


def _all(columns: Array) -> Array:
    total: Array = columns.sum(axis=1, keepdims=True)
    return total


def _by_partner(block: Block) -> Array:
    return over_templates([block])[0].sums


def _weighted(block: Block, weights: Weights) -> Array:
    """Each resample's sums over the block's units, without the subject's own weight: (resample, column)."""
    chunk = max(1, _CHUNK // max(len(block.partner), 1))
    parts = []
    for at in range(0, len(weights.subject), chunk):
        drawn = weights.subject[at : at + chunk, block.partner]  # (resample, unit)
        if weights.template is not None:
            drawn = drawn * weights.template[at : at + chunk, block.template]
        parts.append(drawn @ block.sums)
    return np.concatenate(parts)


def _ratio(total: Array, count: Array) -> Array:
    """total / count, NaN where the count is 0."""
    ratio: Array = np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)
    return ratio


def _enough(interval: Interval, units: Indices) -> Interval:
    """The interval where there are units enough to resample, else NaN."""
    low, high = (np.where(units >= MIN_UNITS, end, np.nan) for end in interval)
    return low, high
