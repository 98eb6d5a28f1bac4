"""The layout of charts: numbers in, drawing units out; the templates draw.

Intervals on a scale, points in the plane, and heat maps. A heat map has one path for each colour, which keeps thousands
of squares small.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.presentation.elements import HeatMap, Scatter, ScatterPoint
from assay.results.findings import Table
from assay.results.formatting import clipped

# --- intervals

WIDTH = 200  # of the drawing, in its own units
MARGIN = 6  # so that a dot at either end is not cut off


@dataclass(frozen=True)
class Scale:
    """The values at the left and the right end of a drawing."""

    low: float
    high: float

    def x(self, value: float | None) -> float | None:
        """The place of a value, in drawing units; one outside the scale goes to its end.

        >>> Scale(0, 1).x(0.5), Scale(-1, 1).x(-2), Scale(0, 1).x(None)
        (100.0, 6.0, None)
        """
        if value is None:
            return None
        share = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return round(MARGIN + share * (WIDTH - 2 * MARGIN), 1)

    def beyond(self, value: float) -> int:
        """1 or -1 if a value is beyond the right or the left end, where its mark then points outwards; else 0."""
        return (value > self.high) - (value < self.low)


def scale_for(values: Iterable[float | None], *, signed: bool = False) -> Scale:
    """A scale from 0 to a round number over all values; to both sides of 0 if `signed`, or if one of them is negative.

    >>> scale_for([0.12, None, 0.31])
    Scale(low=0.0, high=0.5)
    >>> scale_for([-0.012, 0.004]), scale_for([0.12, None], signed=True)
    (Scale(low=-0.02, high=0.02), Scale(low=-0.2, high=0.2))
    """
    defined = [value for value in values if value is not None]
    end = _round_up(max((abs(value) for value in defined), default=0.0))
    return Scale(-end if signed or any(value < 0 for value in defined) else 0.0, end)


def _round_up(value: float) -> float:
    """The smallest of …, 0.1, 0.2, 0.5, 1, … that is at least the value; 1 for 0."""
    if value < 1e-12:
        return 1.0
    power = math.floor(math.log10(value))
    candidates = (float(f"{step}e{power}") for step in (1, 2, 5, 10))
    return next((end for end in candidates if end >= value), float(f"2e{power + 1}"))


# --- points in the plane

PLANE_WIDTH, PLANE_HEIGHT, PLANE_MARGIN = 640, 460, 14
MOST_POINTS = 600

SHAPES: Mapping[str, str] = {
    "circle": "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0-10 0Z",
    "square": "M-4.5-4.5h9v9h-9Z",
    "triangle": "M0-6L5.6 4.2H-5.6Z",
    "diamond": "M0-6.4L5.6 0L0 6.4L-5.6 0Z",
    "upended": "M0 6L5.6-4.2H-5.6Z",
    "plus": "M-1.8-5.6h3.6v3.8h3.8v3.6h-3.8v3.8h-3.6v-3.8h-3.8v-3.6h3.8Z",
}
"""Outlines around (0, 0). Each shape also has its own colour in style.css, so colour is never the only difference."""

_OTHERS = "others"
_OUTLINES = {**SHAPES, _OTHERS: "M-3 0a3 3 0 1 0 6 0a3 3 0 1 0-6 0Z"}


@dataclass(frozen=True)
class PointShape:
    """What a group's points are drawn as."""

    shape: str
    hollow: bool = False

    @property
    def outline(self) -> str:
        return _OUTLINES[self.shape]


@dataclass(frozen=True)
class PlacedPoint:
    name: str
    group: str
    mark: PointShape
    x: float
    y: float
    key: int  # the place of its mark in the legend


@dataclass(frozen=True)
class ScatterLayout:
    """The picture: its points, its legend (groups that share a mark are one entry), and how many points are missing."""

    points: Sequence[PlacedPoint]
    legend: Sequence[tuple[str, PointShape, int]]  # (group, mark, points)
    left_out: int
    data: Table  # the points that are drawn
    width: int = PLANE_WIDTH
    height: int = PLANE_HEIGHT


def draw_scatter(block: Scatter) -> ScatterLayout:
    """The picture of a block that has points; of very many points, every second, third, … of each group."""
    groups: dict[str, list[ScatterPoint]] = {}
    for point in block.points:
        groups.setdefault(point.group, []).append(point)
    step = -(-len(block.points) // MOST_POINTS)
    sampled = [point for points in groups.values() for point in points[::step]]
    marks = group_marks(list(groups))
    marked = [group for group in groups if marks[group].shape in SHAPES]
    legend = [(group, marks[group], len(groups[group])) for group in marked]
    others = [len(points) for group, points in groups.items() if group not in marked]
    if others:
        legend.append((f"{len(others)} other groups", PointShape(_OTHERS), sum(others)))
    keys = {group: marked.index(group) if group in marked else len(marked) for group in groups}
    spots = _into_box([(point.x, point.y) for point in sampled])
    placed = [
        PlacedPoint(point.name, point.group, marks[point.group], x, y, keys[point.group])
        for point, (x, y) in zip(sampled, spots, strict=True)
    ]
    data = Table(("group", "name", "x", "y"), [[point.group, point.name, point.x, point.y] for point in sampled])
    return ScatterLayout(placed, legend, len(block.points) - len(sampled), data)


def group_marks(groups: Sequence[str]) -> Mapping[str, PointShape]:
    """A mark for each group; groups of two kinds (EA female, EA male) get two kinds of one shape.

    >>> {group: (mark.shape, mark.hollow) for group, mark in group_marks(["A x", "A y", "B x"]).items()}
    {'A x': ('circle', False), 'A y': ('circle', True), 'B x': ('square', False)}
    >>> [mark.shape for mark in group_marks(["A", "B"]).values()]
    ['circle', 'square']
    """
    shapes = list(SHAPES)
    parts = [group.rpartition(" ") for group in groups]
    firsts, seconds = (list(dict.fromkeys(part[side] for part in parts)) for side in (0, 2))
    if len(groups) > 2 and all(firsts) and len(seconds) == 2 and len(firsts) <= len(shapes):
        return {
            group: PointShape(shapes[firsts.index(first)], second == seconds[1])
            for group, (first, _, second) in zip(groups, parts, strict=True)
        }
    plain = [PointShape(shape, hollow) for hollow in (False, True) for shape in shapes]
    return {group: plain[number] if number < len(plain) else PointShape(_OTHERS) for number, group in enumerate(groups)}


def _into_box(places: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Places scaled to fit the drawing, with one scale for both directions."""
    xs, ys = [x for x, _ in places], [y for _, y in places]
    wide, high = max(xs) - min(xs), max(ys) - min(ys)
    room = PLANE_WIDTH - 2 * PLANE_MARGIN, PLANE_HEIGHT - 2 * PLANE_MARGIN
    scale = min((side / size for side, size in zip(room, (wide, high), strict=True) if size > 0), default=1.0)
    middle = (max(xs) + min(xs)) / 2, (max(ys) + min(ys)) / 2
    return [
        (round(PLANE_WIDTH / 2 + (x - middle[0]) * scale, 1), round(PLANE_HEIGHT / 2 - (y - middle[1]) * scale, 1))
        for x, y in places
    ]


# --- heat maps

CELL = 15  # drawing units
FEW = 5  # a value with a smaller n is drawn pale
STEPS = 5  # colours on either side of 0
LONGEST_ROW, LONGEST_COLUMN = 40, 26  # characters of a label that are drawn
MOST = 150  # rows, and columns
WIDEST = 700  # with level labels over its columns
_LETTER = 6.6  # the width of a character, about


@dataclass(frozen=True)
class HeatMapLayout:
    """The picture of a heat map: which rows and columns of its block are drawn, in which order."""

    block: HeatMap
    rows: Sequence[str]
    columns: Sequence[str]
    end: float  # the value of the strongest colour
    left_out: tuple[int, int]  # rows and columns that are not drawn

    @property
    def left(self) -> float:
        return 8 + _room(self.rows, LONGEST_ROW)

    @property
    def level(self) -> bool:
        """Whether the labels of columns fit side by side; if not, they are drawn upright."""
        return self.left + (10 + self._label) * len(self.columns) <= WIDEST

    @property
    def _label(self) -> float:
        return _room(self.columns, LONGEST_COLUMN)

    @property
    def across(self) -> int:
        """The width of a column."""
        return max(CELL, round(10 + self._label)) if self.level else CELL

    @property
    def top(self) -> float:
        return 18 if self.level else 10 + self._label

    @property
    def width(self) -> int:
        return round(self.left + self.across * len(self.columns) + 6)

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
        """(text, place of its middle or, upright, of its line)"""
        middle = 0.5 if self.level else 0.75
        places = [round(self.left + self.across * (j + middle), 1) for j in range(len(self.columns))]
        return [(clipped(column, LONGEST_COLUMN), x) for column, x in zip(self.columns, places, strict=True)]

    @property
    def paths(self) -> list[tuple[str, str]]:
        """For each colour that is used, its class (h-5 to h5, pale ones with pale) and the cells that have it."""
        cells_by_colour: dict[str, list[str]] = {}
        for (i, row), (j, column) in product(enumerate(self.rows), enumerate(self.columns)):
            value = self.block.cells.get((row, column))
            if value is not None:
                x, y, wide = self.left + self.across * j, self.top + CELL * i, self.across - 1
                colour = f"h{step(value, self.end)}{' pale' if self._pale(row, column) else ''}"
                cells_by_colour.setdefault(colour, []).append(f"M{x:.0f} {y:.0f}h{wide}v14h-{wide}z")
        return [(colour, "".join(cells)) for colour, cells in sorted(cells_by_colour.items())]

    def _pale(self, row: str, column: str) -> bool:
        """Whether a value is not distinguishable from chance, or has a small n."""
        n = self.block.beside.get("n", {}).get((row, column))
        return (row, column) in self.block.unclear or (n is not None and n < FEW)

    @property
    def why_pale(self) -> str:
        """What pale squares mean; empty if there are none."""
        cells = [cell for cell in product(self.rows, self.columns) if cell in self.block.cells]
        unclear = any(cell in self.block.unclear for cell in cells)
        is_few = any(self._pale(*cell) for cell in cells if cell not in self.block.unclear)
        reasons = ["not distinguishable from chance"] * unclear + [f"n below {FEW}"] * is_few
        return ", or ".join(reasons)

    @property
    def data(self) -> dict[str, Any]:
        """What report.js redraws it from when readers sort or filter."""
        return {
            "rows": list(self.rows),
            "columns": list(self.columns),
            "values": self._rounded(self.block.cells),
            "beside": {name: self._rounded(numbers) for name, numbers in self.block.beside.items()},
            "pale": ["".join(str(int(self._pale(row, column))) for column in self.columns) for row in self.rows],
            **{"left": round(self.left), "top": round(self.top), "end": self.end},
            **{"across": self.across, "level": self.level},
        }

    def _rounded(self, numbers: Mapping[tuple[str, str], float | None]) -> list[list[float | None]]:
        """Numbers rounded to what readers see; counts are exact."""
        grid = [[numbers.get((row, column)) for column in self.columns] for row in self.rows]
        return [[None if v is None else int(v) if v == int(v) else float(f"{v:.4g}") for v in row] for row in grid]

    @property
    def table(self) -> Table:
        """The map as a long table."""
        block = self.block
        heads = [name.replace(" ", "_") for name in (block.row, block.column, block.value)]
        places = [cell for cell in product(self.rows, self.columns) if cell in block.cells]
        numbers = [block.cells, *block.beside.values()]
        return Table((*heads, *block.beside), [[*cell, *(number.get(cell) for number in numbers)] for cell in places])


def _room(labels: Sequence[str], longest: int) -> float:
    """The width of the longest label."""
    return _LETTER * max(len(clipped(label, longest)) for label in labels)


def step(value: float, end: float) -> int:
    """The colour of a value: 0 near 0, then STEPS on either side.

    >>> step(0.0, 0.5), step(0.04, 0.5), step(0.5, 0.5), step(-9, 0.5), step(0.9, 1), step(-0.9, 1)
    (0, 0, 5, -5, 5, -5)
    """
    size = math.floor(min(STEPS * abs(value) / end, STEPS) + 0.5)  # as report.js rounds
    return size if value > 0 else -size


def draw_heat(block: HeatMap) -> HeatMapLayout | None:
    """The map of a block; None if it has no cells. Similar rows are neighbours, and similar columns unless the block
    gives their order.

    If there are too many, the rows and columns with the largest values are kept.
    """
    cells = block.cells
    if not cells:
        return None
    rows, columns = (list(dict.fromkeys(key[side] for key in cells)) for side in (0, 1))
    drawn_rows, drawn_columns = _strongest(rows, 0, cells), _strongest(columns, 1, cells)
    matrix = np.array(
        [[cells.get((row, column), np.nan) for column in drawn_columns] for row in drawn_rows], np.float64
    )
    drawn_rows = [drawn_rows[i] for i in similar_first(matrix)]
    if block.columns is None:
        drawn_columns = [drawn_columns[j] for j in similar_first(matrix.T)]
    else:
        drawn_columns.sort(key=list(block.columns).index)
    end = scale_for(cells.values() if block.reach is None else block.reach).high
    return HeatMapLayout(
        block, drawn_rows, drawn_columns, end, (len(rows) - len(drawn_rows), len(columns) - len(drawn_columns))
    )


def _strongest(names: Sequence[str], side: int, cells: Mapping[tuple[str, str], float]) -> list[str]:
    if len(names) <= MOST:
        return list(names)
    largest: dict[str, float] = {}
    for key, value in cells.items():
        largest[key[side]] = max(largest.get(key[side], 0.0), abs(value))
    strongest = set(sorted(names, key=lambda name: -largest[name])[:MOST])
    return [name for name in names if name in strongest]


def similar_first(matrix: NDArray[np.float64]) -> list[int]:
    """An order of the rows in which similar ones are neighbours: the leaves of their average-linkage tree.

    >>> similar_first(np.array([[0.0, 0.0], [1.0, 1.0], [0.1, 0.0], [1.0, 0.9]]))
    [1, 3, 2, 0]
    """
    if len(matrix) < 3:
        return list(range(len(matrix)))
    from scipy.cluster.hierarchy import leaves_list, linkage  # takes a second to import
    from scipy.spatial.distance import pdist

    values = np.where(np.isfinite(matrix), matrix, 0.0)
    tree = linkage(pdist(values), "average", optimal_ordering=True)
    return [int(leaf) for leaf in leaves_list(tree)]
