"""q: p-values corrected over a family, which is everything of one kind that a run or a comparison reports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from assay.findings import Cell, Estimate, Table
from assay.stats import benjamini_hochberg


def corrected(estimates: Sequence[Estimate], families: Sequence[str | None]) -> list[Estimate]:
    """The estimates with q, corrected over all of the same family that have a p; None means no family."""
    places_of: dict[str, list[int]] = {}
    for place, (each, family) in enumerate(zip(estimates, families, strict=True)):
        if each.p is not None and family is not None:
            places_of.setdefault(family, []).append(place)
    found = list(estimates)
    for places in places_of.values():
        for place, q in zip(places, _q([estimates[place].p for place in places]).tolist(), strict=True):
            found[place] = replace(found[place], q=q)
    return found


def corrected_table(table: Table) -> Table:
    """The table with its column q, corrected over all of its rows that have a p."""
    p, q = (list(table.columns).index(name) for name in ("p", "q"))
    found = _q([row[p] for row in table.rows]).tolist()
    both = zip(table.rows, found, strict=True)
    return replace(table, rows=[[*row[:q], own if np.isfinite(own) else None, *row[q + 1 :]] for row, own in both])


def _q(p: Sequence[Cell]) -> NDArray[np.float64]:
    return benjamini_hochberg(np.array([np.nan if each is None else each for each in p], np.float64))
