"""Where the marks of a scatter plot go, and which group has which: points in, drawing units out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.blocks import Point, Scatter
from assay.findings import Table as Data

WIDTH, HEIGHT, MARGIN = 640, 460, 14  # of the drawing, in its own units
MOST_POINTS = 600

SHAPES: Mapping[str, str] = {
    "circle": "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0-10 0Z",
    "square": "M-4.5-4.5h9v9h-9Z",
    "triangle": "M0-6L5.6 4.2H-5.6Z",
    "diamond": "M0-6.4L5.6 0L0 6.4L-5.6 0Z",
    "upended": "M0 6L5.6-4.2H-5.6Z",
    "plus": "M-1.8-5.6h3.6v3.8h3.8v3.6h-3.8v3.8h-3.6v-3.8h-3.8v-3.6h3.8Z",
}
"""Outlines around (0, 0). A shape has a colour of its own in style.css, so that nobody needs to tell colours."""

_OTHERS = "others"
_OUTLINES = {**SHAPES, _OTHERS: "M-3 0a3 3 0 1 0 6 0a3 3 0 1 0-6 0Z"}


@dataclass(frozen=True)
class Shape:
    """What a group's points are drawn as."""

    shape: str
    hollow: bool = False

    @property
    def outline(self) -> str:
        return _OUTLINES[self.shape]


@dataclass(frozen=True)
class Placed:
    name: str
    group: str
    mark: Shape
    x: float
    y: float
    key: int  # the place of its mark in the legend


@dataclass(frozen=True)
class Drawn:
    """The picture: its points, what the marks mean (groups that share one together), and how many points it lacks."""

    points: Sequence[Placed]
    legend: Sequence[tuple[str, Shape, int]]  # (group, mark, points)
    left_out: int
    data: Data  # the points that are drawn
    width: int = WIDTH
    height: int = HEIGHT


def draw_scatter(block: Scatter) -> Drawn:
    """The picture of a block that has points; of very many, every second, third, … of a group."""
    groups: dict[str, list[Point]] = {}
    for point in block.points:
        groups.setdefault(point.group, []).append(point)
    step = -(-len(block.points) // MOST_POINTS)
    shown = [point for points in groups.values() for point in points[::step]]
    marks = group_marks(list(groups))
    own = [group for group in groups if marks[group].shape in SHAPES]
    legend = [(group, marks[group], len(groups[group])) for group in own]
    others = [len(points) for group, points in groups.items() if group not in own]
    if others:
        legend.append((f"{len(others)} other groups", Shape(_OTHERS), sum(others)))
    keys = {group: own.index(group) if group in own else len(own) for group in groups}
    spots = _into_box([(point.x, point.y) for point in shown])
    placed = [
        Placed(point.name, point.group, marks[point.group], x, y, keys[point.group])
        for point, (x, y) in zip(shown, spots, strict=True)
    ]
    data = Data(("group", "name", "x", "y"), [[point.group, point.name, point.x, point.y] for point in shown])
    return Drawn(placed, legend, len(block.points) - len(shown), data)


def group_marks(groups: Sequence[str]) -> Mapping[str, Shape]:
    """A mark for each group; what has two kinds (EA female, EA male) gets two kinds of one shape.

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
            group: Shape(shapes[firsts.index(first)], second == seconds[1])
            for group, (first, _, second) in zip(groups, parts, strict=True)
        }
    plain = [Shape(shape, hollow) for hollow in (False, True) for shape in shapes]
    return {group: plain[number] if number < len(plain) else Shape(_OTHERS) for number, group in enumerate(groups)}


def _into_box(places: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Places moved into the drawing, both directions on one scale; up stays up."""
    xs, ys = [x for x, _ in places], [y for _, y in places]
    wide, high = max(xs) - min(xs), max(ys) - min(ys)
    room = WIDTH - 2 * MARGIN, HEIGHT - 2 * MARGIN
    scale = min((side / size for side, size in zip(room, (wide, high), strict=True) if size > 0), default=1.0)
    middle = (max(xs) + min(xs)) / 2, (max(ys) + min(ys)) / 2
    return [
        (round(WIDTH / 2 + (x - middle[0]) * scale, 1), round(HEIGHT / 2 - (y - middle[1]) * scale, 1))
        for x, y in places
    ]
