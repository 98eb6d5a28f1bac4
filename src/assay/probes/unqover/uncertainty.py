"""How sure we are of UnQover's numbers: what chance alone gives, and how far resampling moves them.

Cells share subjects and templates, so that they are no independent observations. Chance is modelled per pair: one
random sign for every unordered pair, shared by all its templates and attributes. Intervals come from drawing subjects
anew (within each group, where there are groups), and templates too where there are at least 5: a cell then weighs
w_i · w_j · v_t, and no subject is ever paired with itself. With fewer than 5 templates an interval says nothing about
other templates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.probes.unqover.blocks import ERRORS, Array, Block, Indices, over_templates
from assay.probes.unqover.metrics import Preference, count_intensity, intensity
from assay.stats import MIN_UNITS, basic_interval, multinomial_weights, random_signs, sign_flip_p

HEADLINE = ("mu", "eta", "delta", "epsilon", "avg_score")
POOLED = ("pooled_mu", "pooled_eta")  # of groups

_CHUNK = 1 << 22  # numbers held at once in a product

Interval = tuple[Array, Array]


def noise_floor(
    blocks: Sequence[Block], attributes: int, groups: Indices | None, draws: int, rng: np.random.Generator
) -> dict[str, Array]:
    """μ and η (and POOLED, with groups) of `draws` data sets in which every unordered pair got one random sign.

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
    names = (*HEADLINE[:2], *(() if groups is None else POOLED))
    return {name: np.concatenate(parts) for name, *parts in zip(names, *results, strict=True)}


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
    def draw(cls, strata: Indices, templates: int, resamples: int, rngs: Sequence[np.random.Generator]) -> Weights:
        """Subjects within their strata; templates too where there are at least 5 of them."""
        by_template = None
        if templates >= MIN_UNITS:
            by_template = multinomial_weights(np.zeros(templates, dtype=np.int64), resamples, rngs[1])
        return cls(multinomial_weights(strata, resamples, rngs[0]), by_template)

    @property
    def templates(self) -> int:
        """Into how many templates blocks are divided for these weights."""
        return 1 if self.template is None else self.template.shape[1]


def streams(seed: int) -> list[np.random.Generator]:
    """Independent random numbers for signs, subjects and templates."""
    return [np.random.Generator(np.random.PCG64(own)) for own in np.random.SeedSequence(seed).spawn(3)]


def strata_of(subjects: int, groups: Indices | None) -> Indices:
    """Among whom each subject is drawn: its group, or all."""
    return np.zeros(subjects, dtype=np.int64) if groups is None else groups


@dataclass(frozen=True)
class Observed:
    """The estimates whose intervals are wanted."""

    gamma: Preference  # (subject, attribute)
    subjects: Preference  # (subject, 1)
    classes: Preference  # (subject, attribute class)
    groups: Preference | None  # (group, attribute)
    headline: Mapping[str, float]  # HEADLINE, and POOLED with groups


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
    pool = np.eye(int(attribute_class.max()) + 1)[attribute_class]  # (attribute, class)
    strata = strata_of(len(blocks), groups)
    subjects_asked = np.zeros((int(strata.max()) + 1, attributes), dtype=np.int64)
    rows: list[tuple[Interval, Interval, Interval]] = []

    def of_subject(x: int, gained: Array, asked: Array) -> None:
        gained, asked = gained[:, 0], asked[:, 0]  # (resample, attribute)
        cells = over_templates([blocks[x]])[0].sums[:, 2 * attributes : 3 * attributes]  # (partner, attribute)
        rows.append(
            (
                _row(observed.gamma.gamma[x], gained, asked, cells),
                _row(observed.subjects.gamma[x], _all(gained), _all(asked), _all(cells)),
                _row(observed.classes.gamma[x], gained @ pool, asked @ pool, cells @ pool),
            )
        )
        subjects_asked[strata[x]] += cells.any(axis=0)

    again, by_group = replicates(blocks, weights, attributes, groups, of_subject)
    pooled = None
    if observed.groups is not None:
        pooled = interval(observed.groups.gamma, by_group[:, 0], (-1.0, 1.0), subjects_asked.min(axis=0))
    units = np.bincount(strata).min()
    headline = {
        name: interval(value, again[name][:, 0], (0.0, 1.0), units) for name, value in observed.headline.items()
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


def replicates(
    blocks: Sequence[Block],
    weights: Weights,
    attributes: int,
    groups: Indices | None,
    each: Callable[[int, Array, Array], None] = lambda x, gained, asked: None,
) -> tuple[dict[str, Array], Array]:
    """The headline numbers of a run's model, or of two models on the same cells, each resample the same for all.

    By name (resample, model), and γ of the groups (resample, model, group, attribute). In one pass over the subjects:
    `each` gets a subject's number, its ΣC (resample, model, attribute) and its cells (resample, 1, attribute).
    """
    draws, width = len(weights.subject), blocks[0].sums.shape[1]
    models = (width - attributes) // (2 * attributes + ERRORS)
    strength = np.zeros((2, draws, models))  # Σw·max|γ|, Σw·mean|η|
    subjects, cells, errors = np.zeros((draws, 1)), np.zeros((draws, 1)), np.zeros((draws, models, ERRORS))
    by_group = np.zeros((draws, 0 if groups is None else int(groups.max()) + 1, width))
    for x, block in enumerate(blocks):
        sums, own = _weighted(block, weights), weights.subject[:, x, None]  # (resample, column), (resample, 1)
        gained, won, asked, wrong = _columns(sums, attributes, models)
        each(x, gained, asked)
        gamma, eta = (_ratio(total, asked)[:, :, None] for total in (gained, won))  # (resample, model, 1, attribute)
        there = asked.sum(axis=2) > 0  # (resample, 1)
        strength += np.where(there, own * np.stack((intensity(gamma), count_intensity(eta))), 0.0)
        subjects += np.where(there, own, 0.0)
        cells += own * asked.sum(axis=2)
        errors += own[:, :, None] * wrong
        if groups is not None:
            by_group[:, groups[x]] += own * sums
    found = (*_ratio(strength, subjects), *np.moveaxis(_ratio(errors, cells[:, :, None]), 2, 0))
    headline = dict(zip(HEADLINE, found, strict=True))
    gained, won, asked, _ = _columns(by_group, attributes, models)
    gamma, eta = (_ratio(total, asked).swapaxes(1, 2) for total in (gained, won))  # (resample, model, group, attribute)
    if groups is not None:
        headline |= dict(zip(POOLED, (intensity(gamma), count_intensity(eta)), strict=True))
    return headline, gamma


def _columns(sums: Array, attributes: int, models: int) -> tuple[Array, Array, Array, Array]:
    """A block's columns: ΣC and Σsgn C (…, model, attribute), cells (…, 1, attribute), and the errors (…, model, 3)."""
    ends = np.cumsum([models * attributes, models * attributes, attributes])
    gained, won, asked, errors = np.split(sums, ends, axis=-1)
    by_model = (*sums.shape[:-1], models)
    gained, won = (total.reshape(*by_model, attributes) for total in (gained, won))
    return gained, won, asked[..., None, :], errors.reshape(*by_model, ERRORS)


def _row(gamma: Array, gained: Array, asked: Array, cells: Array) -> Interval:
    """The intervals of one subject's γ (column,), with its sums (resample, column) and its cells (partner, column)."""
    return interval(gamma, _ratio(gained, asked), (-1.0, 1.0), (cells > 0).sum(axis=0))


def _all(columns: Array) -> Array:
    total: Array = columns.sum(axis=1, keepdims=True)
    return total


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


def interval(
    value: ArrayLike, replicates: Array, bounds: tuple[float, float], units: NDArray[np.integer] | int
) -> Interval:
    """The basic bootstrap interval of numbers, or of changes from one model to another; NaN where units are too few."""
    low, high = (np.where(units >= MIN_UNITS, end, np.nan) for end in basic_interval(value, replicates, bounds=bounds))
    return low, high
