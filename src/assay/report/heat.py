"""Heat maps: values as colours, drawn as one path for each colour, so that thousands of cells stay small."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay import blocks
from assay.findings import Table
from assay.report.bars import signed_scale
from assay.wording import clipped

CELL = 15  # drawing units
FEW = 5  # a value with a smaller n is drawn pale
STEPS = 5  # colours on either side of 0
LONGEST_ROW, LONGEST_COLUMN = 26, 24  # characters of a label that are drawn
MOST_ROWS, MOST_COLUMNS = 150, 80
_LETTER = 6.2  # the width of a character, about


@dataclass(frozen=True)
class Heat:
    """A heat map: a value, or None, for every row and column, and numbers that a reader sees beside it."""

    name: str  # which of several maps this is
    rows: Sequence[str]
    columns: Sequence[str]
    values: Sequence[Sequence[float | None]]
    beside: Mapping[str, Sequence[Sequence[float | None]]]
    end: float  # the value of the strongest colour
    left_out: int = 0  # rows that are not drawn

    @property
    def left(self) -> float:
        return 8 + _LETTER * max((len(clipped(row, LONGEST_ROW)) for row in self.rows), default=0)

    @property
    def top(self) -> float:
        return 10 + 0.82 * _LETTER * max((len(clipped(column, LONGEST_COLUMN)) for column in self.columns), default=0)

    @property
    def width(self) -> int:
        overhang = 0.6 * _LETTER * min(LONGEST_COLUMN, max((len(column) for column in self.columns), default=0))
        return round(self.left + CELL * len(self.columns) + overhang + 6)

    @property
    def height(self) -> int:
        return round(self.top + CELL * len(self.rows) + 4)

    @property
    def zoom(self) -> float:
        """Small maps are drawn larger."""
        return 1.4 if self.width <= 500 and len(self.rows) <= 40 else 1.0

    @property
    def row_labels(self) -> list[tuple[str, float]]:
        """(text, height of its line)"""
        return [(clipped(row, LONGEST_ROW), round(self.top + CELL * (i + 0.75), 1)) for i, row in enumerate(self.rows)]

    @property
    def column_labels(self) -> list[tuple[str, float]]:
        return [
            (clipped(column, LONGEST_COLUMN), round(self.left + CELL * (j + 0.65), 1))
            for j, column in enumerate(self.columns)
        ]

    @property
    def paths(self) -> list[tuple[str, str]]:
        """For each colour that is used, its class (h-5 to h5, pale ones with few) and the cells that have it."""
        found: dict[str, list[str]] = {}
        for i, row in enumerate(self.values):
            for j, value in enumerate(row):
                if value is not None:
                    x, y = self.left + CELL * j, self.top + CELL * i
                    colour = f"h{step(value, self.end)}{' few' if self._few(i, j) else ''}"
                    found.setdefault(colour, []).append(f"M{x:.0f} {y:.0f}h14v14h-14z")
        return [(colour, "".join(cells)) for colour, cells in sorted(found.items())]

    def _few(self, i: int, j: int) -> bool:
        n = self.beside["n"][i][j] if "n" in self.beside else None
        return n is not None and n < FEW

    @property
    def has_few(self) -> bool:
        return any(self._few(i, j) for i in range(len(self.rows)) for j in range(len(self.columns)))

    @property
    def data(self) -> dict[str, Any]:
        """What report.js draws it from anew when readers sort or filter."""
        beside = {name: _rounded(numbers) for name, numbers in self.beside.items()}
        sizes = {"left": round(self.left), "top": round(self.top), "end": self.end}
        return {
            "rows": list(self.rows),
            "columns": list(self.columns),
            "values": _rounded(self.values),
            "beside": beside,
            **sizes,
        }

    def table(self, row: str, column: str, value: str) -> Table:
        """The same as a long table with these column names."""
        lines = [
            [name, other, number, *(numbers[i][j] for numbers in self.beside.values())]
            for i, name in enumerate(self.rows)
            for j, other in enumerate(self.columns)
            if (number := self.values[i][j]) is not None
        ]
        return Table((row, column, value, *self.beside), lines)


def step(value: float, end: float) -> int:
    """The colour of a value: 0 near 0, then STEPS on either side.

    >>> step(0.0, 0.5), step(0.04, 0.5), step(0.5, 0.5), step(-9, 0.5), step(0.9, 1), step(-0.9, 1)
    (0, 0, 5, -5, 5, -5)
    """
    size = math.floor(min(STEPS * abs(value) / end, STEPS) + 0.5)  # as report.js rounds
    return size if value > 0 else -size


def heat_map(
    name: str,
    cells: Mapping[tuple[str, str], float],
    beside: Mapping[str, Mapping[tuple[str, str], float | None]] | None = None,
    end: float | None = None,
) -> Heat | None:
    """A heat map of values by (row, column), similar rows and columns beside each other; None where there is nothing.

    Where there are too many, rows and columns with the largest values are kept.
    """
    rows, columns = (list(dict.fromkeys(key[side] for key in cells)) for side in (0, 1))
    if not cells:
        return None
    kept, shown = _strongest(rows, 0, cells, MOST_ROWS), _strongest(columns, 1, cells, MOST_COLUMNS)
    matrix = np.array([[cells.get((row, column), np.nan) for column in shown] for row in kept], np.float64)
    by_row, by_column = similar_first(matrix), similar_first(matrix.T)
    kept, shown = [kept[i] for i in by_row], [shown[j] for j in by_column]
    return Heat(
        name,
        kept,
        shown,
        [[cells.get((row, column)) for column in shown] for row in kept],
        {
            other: [[numbers.get((row, column)) for column in shown] for row in kept]
            for other, numbers in (beside or {}).items()
        },
        end or signed_scale(cells.values()).high,
        len(rows) - len(kept),
    )


def in_columns(heat: Heat, columns: Iterable[str]) -> Heat:
    """A map with its columns in this order in place of similar ones together."""
    wanted = list(dict.fromkeys(columns))
    order = sorted(range(len(heat.columns)), key=lambda place: wanted.index(heat.columns[place]))

    def placed(rows: Sequence[Sequence[float | None]]) -> list[list[float | None]]:
        return [[row[place] for place in order] for row in rows]

    return replace(
        heat,
        columns=[heat.columns[place] for place in order],
        values=placed(heat.values),
        beside={name: placed(numbers) for name, numbers in heat.beside.items()},
    )


def draw_heat(block: blocks.Heat) -> Heat | None:
    """The map of a block; None where it has no cells."""
    end = None if block.reach is None else signed_scale(block.reach).high
    drawn = heat_map(block.name, block.cells, block.beside, end)
    return drawn if drawn is None or block.columns is None else in_columns(drawn, block.columns)


def _strongest(names: Sequence[str], side: int, cells: Mapping[tuple[str, str], float], most: int) -> list[str]:
    if len(names) <= most:
        return list(names)
    largest: dict[str, float] = {}
    for key, value in cells.items():
        largest[key[side]] = max(largest.get(key[side], 0.0), abs(value))
    kept = set(sorted(names, key=lambda name: -largest[name])[:most])
    return [name for name in names if name in kept]


def similar_first(matrix: NDArray[np.float64]) -> list[int]:
    """An order of the rows in which similar ones are neighbours: the leaves of their average-linkage tree.

    >>> similar_first(np.array([[0.0, 0.0], [1.0, 1.0], [0.1, 0.0], [1.0, 0.9]]))
    [1, 3, 2, 0]
    """
    if len(matrix) < 3:
        return list(range(len(matrix)))
    from scipy.cluster.hierarchy import leaves_list, linkage  # takes a second to import
    from scipy.spatial.distance import pdist

    known = np.where(np.isfinite(matrix), matrix, 0.0)
    tree = linkage(pdist(known), "average", optimal_ordering=True)
    return [int(leaf) for leaf in leaves_list(tree)]


def _rounded(numbers: Sequence[Sequence[float | None]]) -> list[list[float | None]]:
    """Numbers with the figures that readers see; counts keep all of theirs."""
    return [[None if v is None else int(v) if v == int(v) else float(f"{v:.4g}") for v in row] for row in numbers]
