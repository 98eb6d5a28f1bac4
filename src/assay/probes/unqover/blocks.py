"""Sums of cells by subject: what leaving out subjects, halving them and drawing signs are matrix products with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.probes.unqover.metrics import Cells

ERRORS = 3  # δ, ε and the average score: what is a mean over cells

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Block:
    """All cells of one subject, seen from its side and summed per unit: a partner, or a partner in one template."""

    partner: Indices  # (unit,), rising
    template: Indices  # (unit,)
    # (unit, column): ΣC of every model by attribute, Σsgn C likewise, cells by attribute; then Σδ, Σε, Σ average score
    # of every model
    sums: Array


def make_blocks(
    cells: Cells, bias: Array, errors: Array, subjects: int, attributes: int, templates: int
) -> list[Block]:
    """One block a subject; `templates` is 1 where they are not told apart.

    `bias` is C (cell,) and `errors` (cell, 3); of several models side by side (model, cell) and (model, cell, 3).
    """
    bias, errors = bias.reshape(-1, len(cells)), errors.reshape(-1, len(cells), ERRORS)
    subject = np.concatenate((cells.first, cells.second))
    order = np.argsort(subject, kind="stable")
    starts = np.searchsorted(subject[order], np.arange(subjects + 1))
    blocks = []
    for x in range(subjects):
        places = order[starts[x] : starts[x + 1]]
        swapped = places >= len(cells)  # x is the second subject there
        cell = np.where(swapped, places - len(cells), places)
        partner = np.where(swapped, cells.first[cell], cells.second[cell]).astype(np.int64)
        key = partner * templates + (cells.template[cell] if templates > 1 else 0)
        units, unit = np.unique(key, return_inverse=True)
        preferred = np.where(swapped, -bias[:, cell], bias[:, cell])  # (model, place)
        at = unit * attributes + cells.attribute[cell]
        by_attribute = [
            np.bincount(at, weights, minlength=len(units) * attributes).reshape(len(units), attributes)
            for weights in (*preferred, *np.sign(preferred), None)
        ]
        by_unit = [np.bincount(unit, each, minlength=len(units)) for own in errors[:, cell] for each in own.T]
        sums = np.concatenate((*by_attribute, np.stack(by_unit, axis=1)), axis=1)
        blocks.append(Block(units // templates, units % templates, sums))
    return blocks


def over_templates(blocks: Sequence[Block]) -> list[Block]:
    """The same blocks with one unit a partner."""
    pooled = []
    for block in blocks:
        partner, starts = np.unique(block.partner, return_index=True)
        sums = np.add.reduceat(block.sums, starts, axis=0) if len(starts) else block.sums
        pooled.append(Block(partner, np.zeros_like(partner), sums))
    return pooled
