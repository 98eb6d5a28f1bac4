"""Tables as parts of a page: cells with their attributes, and what is drawn on the scales of their columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby
from typing import TYPE_CHECKING

from markupsafe import Markup, escape

from assay.presentation.elements import (
    BarCell,
    CellKind,
    DisplayTable,
    DotCell,
    MarkedCell,
    OmittedRows,
    RowGroup,
    TableCell,
    TableColumn,
    TableRow,
)
from assay.presentation.rich_text import Verbatim, plain
from assay.report.drawing import MARGIN, WIDTH, Scale, scale_for
from assay.report.page_templates import minus
from assay.report.shared import format_cell, named, unmarked
from assay.results.formatting import format_interval, format_number, format_share, plural

if TYPE_CHECKING:
    from assay.report.html_elements import ElementRenderer

LOOKS = ("square", "circle", "diamond", "others", "upended")
"""The classes of style.css that colour a bar's parts."""

NOTHING = Markup("")

MOST_ROWS = 600
"""Rows of a table that are drawn; of a longer one, every group begins, and its data have all."""


@dataclass(frozen=True)
class HtmlCell:
    """A cell of a table: its element, attributes and content."""

    content: Markup
    tag: str = "td"
    scope: str = ""
    css: str = ""
    value: float | None = None  # what it is sorted by, if its text also has the mark of a note
    columns: int = 1
    rows: int = 1

    @property
    def attributes(self) -> Markup:
        usual = _attributes(self.scope, self.css, self.columns, self.rows)
        return usual if self.value is None else usual + Markup(' data-v="{}"').format(self.value)


@lru_cache(1024)
def _attributes(scope: str, css: str, columns: int, rows: int) -> Markup:
    """What most of a page's cells have in common with others."""
    attributes = {
        "scope": scope,
        "class": css,
        "colspan": columns if columns > 1 else "",
        "rowspan": rows if rows > 1 else "",
    }
    return Markup("").join(Markup(' {}="{}"').format(name, value) for name, value in attributes.items() if value)


Body = list[tuple[str, Sequence[HtmlCell]]]  # of every row, its class and its cells


class TableRenderer:
    """A table with the scales of its drawn columns."""

    def __init__(self, view: ElementRenderer, table: DisplayTable) -> None:
        self.view, self.table = view, table
        self.has_examples = any(row.examples is not None for row in table.rows)
        self.width = len(table.columns) + table.heads_beside + self.has_examples
        self.beyond = False  # whether a dot lies beyond its scale
        self.scales: dict[int, Scale] = {}  # of the columns that are drawn, in the whole table or in the group at hand
        self._rescale(table.groups, [index for index, column in enumerate(table.columns) if column.kind.drawn])

    def _rescale(self, groups: Sequence[RowGroup], indices: Sequence[int]) -> None:
        rows = [row for group in groups for row in group.rows if isinstance(row, TableRow)]
        for index in indices:
            dots = [dot for row in rows if isinstance(dot := row.cells[index], DotCell)]
            column = self.table.columns[index]
            if column.by_group and len(groups) == 1:
                column = replace(column, ends=groups[0].ends or column.ends)
            scale = self.scales[index] = _scale(column, dots)
            self.beyond = self.beyond or any(dot.value is not None and scale.beyond(dot.value) for dot in dots)

    def heads(self) -> list[list[HtmlCell]]:
        """One row of heads, or two if some columns share a head."""
        columns = self.table.columns
        heads_of = [self._head(index) for index in range(len(columns))]
        first = [_head(escape(self.table.group))] if self.table.heads_beside else []
        last = [_head(Markup('<span class="unseen">examples</span>'))] if self.has_examples else []
        if not any(column.over for column in columns):
            return [[*first, *heads_of, *last]]
        upper, lower = [_tall(head) for head in first], []
        for over, indices in groupby(range(len(columns)), key=lambda index: columns[index].over):
            heads = [heads_of[index] for index in indices]
            if over:
                upper.append(
                    HtmlCell(Markup("<bdi>{}</bdi>").format(over), "th", "colgroup", "over", columns=len(heads))
                )
                lower += heads
            else:
                upper += [_tall(head) for head in heads]
        return [[*upper, *(_tall(head) for head in last)], lower]

    def _head(self, index: int) -> HtmlCell:
        column = self.table.columns[index]
        if column.kind is CellKind.TEXT:
            return _head(self.view.text(column.head))
        if not column.kind.drawn:
            return _head(self.view.text(column.head), "num wrapped" if column.wraps else "num")
        if column.by_group:
            return _head(self.view.text(column.head), "drawing")
        sides = Markup(self.view.macros.sides(*column.sides)) if column.sides else NOTHING
        return _head(sides + Markup(self.view.marks.axis(self.scales[index])), "drawing")

    def bodies(self) -> list[tuple[Body, bool]]:
        """The rows of every group, and whether it is the total."""
        left_out = max(0.0, 1 - MOST_ROWS / max(1, len(self.table.rows)))
        return [(self._body(_beginning(group, left_out)), group.whole) for group in self.table.groups]

    def _body(self, group: RowGroup) -> Body:
        rows: Body = []
        beside: HtmlCell | None = None
        if group.head:
            head = self.view.text(Verbatim(group.head) if isinstance(group.head, str) else group.head)
            if self.table.heads_beside:
                beside = HtmlCell(head, "th", "rowgroup", rows=len(group.rows))
            else:
                rows.append(("head", self._group_head(group, head)))
        for row in group.rows:
            if isinstance(row, OmittedRows):
                rows.append(("more", [HtmlCell(self.view.text(row.said), columns=self.width)]))
            else:
                rows.append(("", [*([beside] if beside else []), *self._row(group, row)]))
                beside = None
        return rows

    def _group_head(self, group: RowGroup, head: Markup) -> list[HtmlCell]:
        """A head over all columns, or over the columns before the one that shows the group's scale."""
        index = next((index for index, column in enumerate(self.table.columns) if column.by_group), None)
        if index is None:
            return [HtmlCell(head, "th", "rowgroup", columns=self.width)]
        self._rescale([group], [index])
        dots = [
            cell for row in group.rows if isinstance(row, TableRow) and isinstance(cell := row.cells[index], DotCell)
        ]
        axis = self.view.marks.axis(self.scales[index]) if any(dot.value is not None for dot in dots) else ""
        rest = HtmlCell(NOTHING, columns=self.width - index - 1)
        return [HtmlCell(head, "th", "rowgroup", columns=index), HtmlCell(Markup(axis), css="drawing"), rest]

    def _row(self, group: RowGroup, row: TableRow) -> list[HtmlCell]:
        about_row = named(self.table, group, row)
        cells = [self._cell(group, index, cell, about_row) for index, cell in enumerate(row.cells)]
        if self.has_examples:
            about = row.examples
            see = self.view.marks.see(self.view, about, about_row) if about is not None else ""
            cells.append(HtmlCell(Markup(see)))
        return cells

    def _cell(self, group: RowGroup, index: int, cell: TableCell, about: str) -> HtmlCell:
        column, value = self.table.columns[index], unmarked(cell)
        if isinstance(value, DotCell):
            label = f"{plain(group.head)}, {about}:" if column.by_group else f"{about}: {plain(column.head)}"
            drawing = (
                value,
                self.scales[index],
                f"{label} {format_number(value.value)}",
                value.told or described(value),
            )
            return HtmlCell(Markup(self.view.marks.draw(*drawing)), css="drawing")
        if isinstance(value, BarCell):
            return HtmlCell(self._bars(column, value, about), css="drawing")
        if column.kind is CellKind.TEXT:
            words = self.view.text(Verbatim(value) if isinstance(value, str) else value or "")
            first = index == 0
            return HtmlCell(words, "th" if first else "td", "row" if first else "", "" if first else "words")
        content = escape(value if isinstance(value, str) else minus(format_cell(column, cell)))
        if not isinstance(cell, MarkedCell):
            return HtmlCell(content, css="num")
        if cell.clear and not any(other_column.kind is CellKind.DOTS for other_column in self.table.columns):
            content = Markup("<b>{}</b>").format(content)  # nothing is drawn that would show it
        note = self.view.noted(cell.note)
        return HtmlCell(content + note, css="num", value=value if note and isinstance(value, float) else None)

    def _bars(self, column: TableColumn, bars: BarCell, about: str) -> Markup:
        pieces, x = [], float(MARGIN)
        for look, name in zip(LOOKS, column.parts, strict=False):
            width = bars.shares.get(name, 0.0) * (WIDTH - 2 * MARGIN)
            if width > 0:
                pieces.append((look, round(x, 1), round(width, 1)))
            x += width
        shares = ", ".join(f"{name} {format_share(part)}" for name, part in bars.shares.items())
        return Markup(self.view.macros.bars(pieces, f"{about}: {shares}"))


def _beginning(group: RowGroup, left_out: float) -> RowGroup:
    """A group without this share of its rows, and how many these are."""
    more = int(left_out * len(group.rows))
    if not more:
        return group
    return replace(
        group, rows=[*group.rows[:-more], OmittedRows(f"{plural(more, 'more row')} in the data of this chart")]
    )


def _scale(column: TableColumn, dots: Sequence[DotCell]) -> Scale:
    if column.ends or column.kind is CellKind.BARS:
        return Scale(*(column.ends or (0.0, 1.0)))
    values = column.reach
    if values is None:
        values = [mark for dot in dots for mark in (dot.value, dot.low, dot.high, dot.floor, dot.reference, dot.before)]
    return scale_for(values, signed=column.signed)


def described(dot: DotCell) -> str:
    """What is drawn in addition to a value, in words.

    >>> described(DotCell(0.2, 0.1, 0.3, floor=0.05)), described(DotCell(0.2))
    ('Interval 0.100 to 0.300. Chance level 0.050.', '')
    """
    sentences = []
    if dot.low is not None and dot.high is not None:
        sentences.append(f"Interval {format_interval(dot.low, dot.high)}.")
    if dot.floor is not None:
        sentences.append(f"Chance level {format_number(dot.floor)}.")
    if dot.reference is not None:
        sentences.append(f"For comparison: {format_number(dot.reference)}.")
    if dot.before is not None:
        sentences.append(f"Before: {format_number(dot.before)}.")
    return " ".join(sentences)


def _head(content: Markup, css: str = "") -> HtmlCell:
    return HtmlCell(content, "th", "col", css)


def _tall(head: HtmlCell) -> HtmlCell:
    return replace(head, rows=2)
