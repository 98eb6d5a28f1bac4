"""The cells of a table block as text, the same in every view; what is drawn has none."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from assay.blocks import Column, Gap, Group, Kind, Marked, Row, Table, TableCell, Text, plain
from assay.wording import count, fixed, fixed_interval, interval, number, probability, share

_WRITTEN: Mapping[Kind, Callable[[Any], str]] = {
    Kind.NUMBER: number,
    Kind.FIXED: fixed,
    Kind.TENTHS: lambda value: "–" if value is None else f"{value:.1f}",
    Kind.SHARE: share,
    Kind.PROBABILITY: probability,
    Kind.COUNT: lambda value: "–" if value is None else count(round(value)),
    Kind.INTERVAL: lambda ends: interval(*ends),
    Kind.FIXED_INTERVAL: lambda ends: fixed_interval(*ends),
}


def figure(kind: Kind, value: Any) -> str:
    """A number, or the two of an interval, as a column of this kind shows it.

    >>> figure(Kind.NUMBER, -0.5), figure(Kind.INTERVAL, (0.1, 0.2)), figure(Kind.SHARE, None)
    ('-0.500', '0.100 to 0.200', '–')
    """
    return _WRITTEN[kind](value)


def is_figure(column: Column, value: TableCell) -> bool:
    """Whether a cell is a number and not text."""
    return column.kind is not Kind.TEXT and not isinstance(value, str)


def unmarked(cell: TableCell) -> Any:
    return cell.value if isinstance(cell, Marked) else cell


def written(column: Column, cell: TableCell) -> str:
    """A cell that is not drawn as plain text."""
    value = unmarked(cell)
    return figure(column.kind, value) if is_figure(column, value) else "" if value is None else plain(value)


def named(table: Table, group: Group, row: Row) -> str:
    """What a row is about: its texts, after the head of its group where that stands beside it."""
    texts = [group.head] if table.heads_beside else []
    texts += [unmarked(cell) for column, cell in zip(table.columns, row.cells, strict=True) if column.kind is Kind.TEXT]
    return ", ".join(said for text in texts if text and (said := plain(text)))


Heads = list[tuple[str, str]]  # what stands over a head, or nothing, and the head


def printed(table: Table) -> tuple[Heads, Heads, list[tuple[Group, Row | Gap, bool]]]:
    """A table for views that cannot draw: the heads of its words, those of its figures, and its rows with their group
    and whether they begin it. Columns of words come first; see `printed_cells` for the rows.
    """
    shown = [column for column in table.columns if not column.kind.drawn]
    words = [_head(column) for column in shown if column.kind is Kind.TEXT]
    figures = [_head(column) for column in shown if column.kind is not Kind.TEXT]
    groups = [("", table.group)] if any(group.head for group in table.groups) else []
    rows = [(group, row, place == 0) for group in table.groups for place, row in enumerate(group.rows)]
    return [*groups, *words], figures, rows


def printed_cells(
    table: Table, group: Group, row: Row, starts: bool, mark: Callable[[str, TableCell], str]
) -> tuple[list[str], list[str]]:
    """The words and the figures of a row; `mark` makes of each what a view shows: escaped, and marked like its cell."""
    heads: list[Text] = [group.head if starts else ""] if any(each.head for each in table.groups) else []
    words = [mark(plain(head), None) for head in heads]
    figures: list[str] = []
    for column, cell in zip(table.columns, row.cells, strict=True):
        if not column.kind.drawn:
            (words if column.kind is Kind.TEXT else figures).append(mark(written(column, cell), cell))
    return words, figures


def _head(column: Column) -> tuple[str, str]:
    return column.over, plain(column.head)
