"""Uncertainty for single subjects: γ of each one, μ and η over all of them, and how these differ between models."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.probes.unqover.cells import Cells
from assay.probes.unqover.metrics import Array, count_intensity, intensity
from assay.probes.unqover.uncertainty import (
    CHANCE,
    HEADLINE,
    POOLED,
    Indices,
    TableUncertainty,
    Uncertainty,
    subjects_and_templates,
    sums_at,
)
from assay.stats import (
    MIN_UNITS,
    combined,
    cross_fitted_max,
    cross_fitted_mean,
    jackknife,
    monte_carlo_p,
    random_signs,
    student_p,
    student_reach,
)

_CHUNK = 1 << 22  # signs held at once


# --- sums of cells by subject: what leaving out subjects, halving them and drawing signs are made from


@dataclass(frozen=True)
class SubjectCells:
    """All cells of one subject, seen from its side."""

    cell: Indices  # (own,) the numbers of its cells
    partners: Indices  # (partner,), rising
    partner: Indices  # (own,) the place of each cell's partner among these
    template: NDArray[np.int32]  # (own,)
    attribute: NDArray[np.int32]  # (own,)
    preferred: Array  # (model, own): C of every cell


def sides(cells: Cells, bias: Array, subjects: int) -> Iterator[SubjectCells]:
    """One subject after the other, since all at once are larger than the cells; `bias` is C (model, cell)."""
    for first, second in zip(*(_cells_of(column, subjects) for column in (cells.first, cells.second)), strict=True):
        partner = np.concatenate((cells.second[first], cells.first[second]))
        is_partner = np.bincount(partner, minlength=subjects) > 0
        cell = np.concatenate((first, second))
        preferred = np.concatenate((bias[:, first], -bias[:, second]), axis=1)
        yield SubjectCells(
            cell,
            np.flatnonzero(is_partner),
            (np.cumsum(is_partner) - 1)[partner],
            cells.template[cell],
            cells.attribute[cell],
            preferred,
        )


def _cells_of(column: NDArray[np.int32], subjects: int) -> list[Indices]:
    """The cells that have each subject in this column."""
    order = np.argsort(column.astype(np.min_scalar_type(subjects)), kind="stable")  # small numbers sort fast
    return np.split(order, np.cumsum(np.bincount(column, minlength=subjects))[:-1])


@dataclass(frozen=True)
class SubjectSums:
    """All cells of one subject, seen from its side and summed.

    The columns are ΣC by attribute of every model, Σsgn C likewise, and the number of cells by attribute; then, where
    they are wanted, Σδ, Σε and Σ average score of every model, and what else is a mean over cells.
    """

    partner: Indices  # (partner,), rising
    sums: Array  # (partner, column)
    by_template: Array  # (template, column)


def make_blocks(
    cells: Cells, bias: Array, subjects: int, attributes: int, templates: int, errors: Array | None = None
) -> list[SubjectSums]:
    """One block a subject.

    `bias` is C (cell,), or of several models side by side (model, cell); `errors` are δ, ε, the average score, … of
    every model (error · model, cell).
    """
    errors = np.empty((0, len(cells))) if errors is None else errors
    blocks = []
    for side in sides(cells, bias.reshape(-1, len(cells)), subjects):
        by_attribute = (*side.preferred, *np.sign(side.preferred), None)
        by_partner, by_template = (
            np.concatenate(
                [
                    *(sums_at(unit * attributes + side.attribute, c, (units, attributes)) for c in by_attribute),
                    *(sums_at(unit, error, (units, 1)) for error in errors[:, side.cell]),
                ],
                axis=1,
            )
            for unit, units in ((side.partner, len(side.partners)), (side.template, templates))
        )
        blocks.append(SubjectSums(side.partners, by_partner, by_template))
    return blocks


# --- rows of the tables


def subject_rows(
    cells: Cells, bias: Array, tables: Sequence[tuple[Array, Indices]], templates: int
) -> list[TableUncertainty]:
    """Of tables of γ (subject, column), each over the subject's partners and the templates.

    Every table has beside its γ the column that each attribute counts for.
    """
    rows_by_table: list[list[TableUncertainty]] = [[] for _ in tables]
    for x, side in enumerate(sides(cells, bias[None], len(tables[0][0]))):
        unit = side.partner * templates + side.template
        for (gamma, column), rows in zip(tables, rows_by_table, strict=True):
            shape = (len(side.partners), templates, gamma.shape[1])
            cell_index = unit * gamma.shape[1] + column[side.attribute]
            preferred, n_cells = (sums_at(cell_index, weights, shape) for weights in (side.preferred[0], None))
            rows.append(_row(preferred, n_cells, gamma[x]))
    return [TableUncertainty(*map(np.stack, zip(*rows, strict=True))) for rows in rows_by_table]


def _row(preferred: Array, n_cells: Array, gamma: Array) -> TableUncertainty:
    """Of the γ (column,) of one subject, from ΣC and the number of cells (partner, template, column)."""
    deviations = preferred - np.where(np.isnan(gamma), 0.0, gamma) * n_cells
    n = np.maximum(n_cells.sum(axis=(0, 1)), 1.0)
    partners, templates = (np.count_nonzero(n_cells.sum(axis=axis), axis=0) for axis in (1, 0))
    by_partner, by_template = (
        units / np.maximum(units - 1.0, 1.0) * (deviations.sum(axis=axis) ** 2).sum(axis=0) / n**2
        for units, axis in ((partners, 1), (templates, 0))
    )
    alone = np.einsum("ptc,ptc->c", deviations, deviations) / n**2
    error, freedom = subjects_and_templates((by_partner, partners), (by_template, templates), alone)
    is_known = partners >= MIN_UNITS
    reach = np.where(is_known, student_reach(error, freedom), np.nan)
    p = np.where(is_known, student_p(gamma, error, freedom), np.nan)
    return TableUncertainty(np.maximum(gamma - reach, -1.0), np.minimum(gamma + reach, 1.0), p)


# --- μ and η


def noise_floor(blocks: Sequence[SubjectSums], attributes: int, draws: int, rng: np.random.Generator) -> Array:
    """μ and η (2, draw) of data sets in which every unordered pair got one random sign: no one is preferred.

    Where no subject is preferred over others, cells share nothing but their pair.
    """
    pairs = _pair_numbers(blocks)
    shares = [_shares(block, attributes) for block in blocks]
    count = int(max((numbers.max(initial=-1) for numbers in pairs), default=-1)) + 1
    at_once = max(1, _CHUNK // max(count, 1))
    results = []
    for at in range(0, draws, at_once):
        signs = random_signs((count, min(at_once, draws - at)), rng)  # (pair, draw)
        totals, subjects = np.zeros((2, signs.shape[1])), 0
        for share, pair in zip(shares, pairs, strict=True):
            if share.size:
                flipped = share.T @ signs[pair].astype(np.float64)  # (2 · attribute, draw)
                gamma, eta = np.split(np.abs(flipped, out=flipped), 2)
                totals += gamma.max(axis=0), eta.mean(axis=0)
                subjects += 1
        results.append(totals / max(subjects, 1))
    return np.concatenate(results, axis=1)


def _shares(block: SubjectSums, attributes: int) -> Array:
    """What each partner gives γ and η of the attributes that were asked about: (partner, 2 · attribute)."""
    preferred, won, n_cells = np.split(block.sums[:, : 3 * attributes], 3, axis=1)
    n = n_cells.sum(axis=0)
    return np.hstack([total[:, n > 0] / n[n > 0] for total in (preferred, won)])


def _pair_numbers(blocks: Sequence[SubjectSums]) -> list[Indices]:
    """The number of the unordered pair that each unit of each block belongs to."""
    width = len(blocks)
    keys = [np.minimum(x, b.partner) * width + np.maximum(x, b.partner) for x, b in enumerate(blocks)]
    pair_keys = np.unique(np.concatenate(keys))
    return [np.searchsorted(pair_keys, key) for key in keys]


def single_subjects(
    blocks: Sequence[SubjectSums], attributes: int, groups: Indices | None, draws: int, halves: int, seed: int
) -> list[Uncertainty]:
    """Of μ and η over single subjects: from a cross-fitted value − t·error up to the paper's value + t·error.

    One half of every subject's partners chooses the attribute and the sign, the other half gives the value, averaged
    over random halves. The error is the jackknife's. Down to 0 where chance alone gives as much.
    """
    seeds = np.random.SeedSequence(seed).spawn(2)
    signs, splits = (np.random.Generator(np.random.PCG64(sequence)) for sequence in seeds)
    jacks = jackknifed(blocks, attributes, groups)
    fitted = _cross_fitted(blocks, attributes, groups, halves, splits)
    floors = noise_floor(blocks, attributes, draws, signs)
    uncertainties = []
    for jack, corrected, chance in zip((jacks["mu"], jacks["eta"]), fitted, floors, strict=True):
        value, reach = float(jack.value[0]), float(student_reach(jack.error, jack.freedom)[0])
        p = monte_carlo_p(value, chance)
        low, high = 0.0 if p > CHANCE else max(corrected - reach, 0.0), min(value + reach, 1.0)
        uncertainties.append(Uncertainty(low, high, float(np.clip(corrected, low, high)), float(chance.mean()), p))
    return uncertainties


def _cross_fitted(
    blocks: Sequence[SubjectSums], attributes: int, groups: Indices | None, halves: int, rng: np.random.Generator
) -> list[float]:
    """μ and η of single subjects, the mean over random halves of all subjects, or of each group's."""
    chosen = np.zeros((halves, len(blocks)))
    strata = np.zeros(len(blocks), np.int64) if groups is None else groups
    for group in range(1 if groups is None else 2):
        members = np.flatnonzero(strata == group)
        chosen[:, members] = rng.random((halves, len(members))).argsort(axis=1) < len(members) // 2
    sums, counts = np.zeros((2, halves)), np.zeros((2, halves))
    for block in blocks:
        columns = block.sums[:, : 3 * attributes]
        half = chosen[:, block.partner] @ columns  # (half, column)
        preferred, won, n = np.split(half, 3, axis=1)
        other_preferred, other_won, other_n = np.split(columns.sum(axis=0) - half, 3, axis=1)
        gamma = cross_fitted_max(_ratio(preferred, n), _ratio(other_preferred, other_n))
        eta = cross_fitted_mean(_ratio(won, n), _ratio(other_won, other_n))
        fitted = np.stack((gamma, eta))
        sums, counts = sums + np.nan_to_num(fitted), counts + np.isfinite(fitted)
    return [float(value) for value in _ratio(sums.sum(axis=1), counts.sum(axis=1))]


# --- the jackknife


class JackknifeEstimate(NamedTuple):
    """A headline number of every model (model,); of two models the third is the change from the first to the second."""

    value: Array
    without: Array  # (subject, model): what it is without each subject
    error: Array
    freedom: Array


def jackknifed(
    blocks: Sequence[SubjectSums], attributes: int, groups: Indices | None, models: int = 1, more: Sequence[str] = ()
) -> dict[str, JackknifeEstimate]:
    """The headline numbers with errors from leaving out each subject, and each template where there are several.

    δ, ε and the average score are among them where the blocks have them, and then what these have `more`.
    """
    subjects, templates = len(blocks), len(blocks[0].by_template)
    strata = np.zeros(subjects, dtype=np.int64) if groups is None else groups
    estimates = {}
    for name, values in _without_units(blocks, attributes, groups, models, more).items():
        overall, by_subject, by_template = np.split(values, (1, 1 + subjects))
        variances: list[tuple[Array, float]] = [
            (jackknife(by_subject, strata), max(np.bincount(strata).min() - 1.0, 1.0))
        ]
        if templates > 1:
            variances.append((jackknife(by_template, np.zeros(templates, np.int64)), templates - 1.0))
        estimates[name] = JackknifeEstimate(overall[0], by_subject, *combined(variances))
    return estimates


def _without_units(
    blocks: Sequence[SubjectSums], attributes: int, groups: Indices | None, models: int, more: Sequence[str]
) -> dict[str, Array]:
    """The headline numbers (way, model) of everything, then without each subject, then without each template.

    Of two models the third is the change from the first to the second.
    """
    ways, width = 1 + len(blocks) + len(blocks[0].by_template), blocks[0].sums.shape[1]
    strength = np.zeros((2, ways, models))  # Σ max|γ|, Σ mean|η|
    subjects, by_group = np.zeros((ways, 1)), np.zeros((ways, 1 if groups is None else int(groups.max()) + 1, width))
    for x, block in enumerate(blocks):
        sums, is_in = _without_each(block, len(blocks)), np.ones((ways, 1))  # (way, column), (way, 1)
        is_in[1 + x] = 0.0
        preferred, won, n_cells, _ = _columns(sums, attributes, models)
        gamma, eta = (_ratio(total, n_cells)[:, :, None] for total in (preferred, won))  # (way, model, 1, attribute)
        has_cells = n_cells.sum(axis=2) > 0  # (way, 1)
        strength += np.where(has_cells, is_in * np.stack((intensity(gamma), count_intensity(eta))), 0.0)
        subjects += np.where(has_cells, is_in, 0.0)
        by_group[:, 0 if groups is None else groups[x]] += is_in * sums
    preferred, won, n_cells, errors = _columns(by_group, attributes, models)
    mean_errors = _ratio(errors.sum(axis=1), n_cells.sum(axis=(1, 3))[:, :, None])  # (way, model, error)
    headline = dict(
        zip((*HEADLINE, *more), (*_ratio(strength, subjects), *np.moveaxis(mean_errors, 2, 0)), strict=False)
    )
    if groups is not None:
        gamma, eta = (
            _ratio(total, n_cells).swapaxes(1, 2) for total in (preferred, won)
        )  # (way, model, group, attribute)
        headline |= dict(zip(POOLED, (intensity(gamma), count_intensity(eta)), strict=True))
    if models == 2:
        headline = {name: np.column_stack((values, values[:, 1] - values[:, 0])) for name, values in headline.items()}
    return headline


def _without_each(block: SubjectSums, subjects: int) -> Array:
    """The block's sums over everything, then without each subject, then without each template: (way, column)."""
    total = block.sums.sum(axis=0)
    by_subject = np.tile(total, (subjects, 1))
    by_subject[block.partner] -= block.sums
    return np.concatenate((total[None], by_subject, total - block.by_template))


def _columns(sums: Array, attributes: int, models: int) -> tuple[Array, Array, Array, Array]:
    """A block's columns: ΣC and Σsgn C (…, model, attribute), cells (…, 1, attribute), errors (…, model, error)."""
    preferred, won, n_cells, errors = np.split(sums, np.cumsum((models, models, 1)) * attributes, axis=-1)
    by_model = (*sums.shape[:-1], models)
    preferred, won = (total.reshape(*by_model, attributes) for total in (preferred, won))
    return preferred, won, n_cells[..., None, :], errors.reshape(*by_model, errors.shape[-1] // models)


def _ratio(total: Array, count: Array) -> Array:
    """total / count, NaN where the count is 0."""
    ratio: Array = np.divide(total, count, out=np.full(np.broadcast(total, count).shape, np.nan), where=count > 0)
    return ratio
