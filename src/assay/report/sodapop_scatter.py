"""SODAPOP's names in the plane: where each goes in a picture, and by which mark its group is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.findings import Table
from assay.report.content import Content, cell
from assay.report.words import people_words

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
class Mark:
    """What a group's names are drawn as."""

    shape: str
    hollow: bool = False

    @property
    def outline(self) -> str:
        return _OUTLINES[self.shape]


@dataclass(frozen=True)
class Point:
    name: str
    group: str
    mark: Mark
    x: float
    y: float
    key: int  # the place of its mark in the legend


@dataclass(frozen=True)
class Scatter:
    """The picture: its points, what the marks mean (those that share one together), and how many names it lacks."""

    points: Sequence[Point]
    legend: Sequence[tuple[str, Mark, int]]  # (group, mark, names)
    left_out: int
    table: Table
    width: int = WIDTH
    height: int = HEIGHT


def scatter(content: Content) -> Scatter | None:
    """The projection of a run; None where it has none."""
    places: dict[str, list[tuple[str, float, float]]] = {}
    for row in content.rows("projection"):
        x, y = (content.number("projection", row, column) for column in ("x", "y"))
        if x is not None and y is not None:
            places.setdefault(cell(row, "group"), []).append((cell(row, "name"), x, y))
    if not places:
        return None
    total = sum(map(len, places.values()))
    step = -(-total // MOST_POINTS)
    shown = {group: rows[::step] for group, rows in places.items()}
    marks = group_marks(list(places))
    spots = _into_box([(x, y) for rows in shown.values() for _, x, y in rows])
    named = [(name, group) for group, rows in shown.items() for name, _, _ in rows]
    own = [group for group in places if marks[group].shape in SHAPES]
    legend = [(people_words(group), marks[group], len(places[group])) for group in own]
    others = [len(rows) for group, rows in places.items() if group not in own]
    if others:
        legend.append((f"{len(others)} other groups", Mark(_OTHERS), sum(others)))
    keys = {group: own.index(group) if group in own else len(own) for group in places}
    points = [
        Point(name, people_words(group), marks[group], x, y, keys[group])
        for (name, group), (x, y) in zip(named, spots, strict=True)
    ]
    table = Table(("group", "name", "x", "y"), [[group, *row] for group, rows in shown.items() for row in rows])
    return Scatter(points, legend, total - len(points), table)


def group_marks(groups: Sequence[str]) -> Mapping[str, Mark]:
    """A mark for each group; what has two kinds (EA_female, EA_male) gets two kinds of one shape.

    >>> {group: (mark.shape, mark.hollow) for group, mark in group_marks(["A_x", "A_y", "B_x"]).items()}
    {'A_x': ('circle', False), 'A_y': ('circle', True), 'B_x': ('square', False)}
    >>> [mark.shape for mark in group_marks(["A", "B"]).values()]
    ['circle', 'square']
    """
    shapes = list(SHAPES)
    parts = [group.rpartition("_") for group in groups]
    firsts, seconds = (list(dict.fromkeys(part[side] for part in parts)) for side in (0, 2))
    if len(groups) > 2 and all(first for first in firsts) and len(seconds) == 2 and len(firsts) <= len(shapes):
        return {
            group: Mark(shapes[firsts.index(first)], second == seconds[1])
            for group, (first, _, second) in zip(groups, parts, strict=True)
        }
    plain = [Mark(shape, hollow) for hollow in (False, True) for shape in shapes]
    return {group: plain[number] if number < len(plain) else Mark(_OTHERS) for number, group in enumerate(groups)}


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
