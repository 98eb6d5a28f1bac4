"""Sums of cells by subject: what leaving out subjects, halving them and drawing signs are made from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from assay.probes.unqover.metrics import Cells

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


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


def sums_at(index: NDArray[np.integer], weights: Array | None, shape: tuple[int, ...]) -> Array:
    """Sums of the weights, or how many there are, at every place of an array of this shape."""
    return np.bincount(index, weights, minlength=prod(shape)).reshape(shape).astype(np.float64, copy=False)
