"""UnQover's charts of γ: maps of subjects and attributes, and bars where the names of two groups are compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from assay.presentation.elements import (
    CellKind,
    DisplayTable,
    DotCell,
    HeatMap,
    Panel,
    PanelPicker,
    RowGroup,
    TableColumn,
    TableRow,
)
from assay.probes.unqover.associations import Association, Part, association_table, compared_groups, part_label
from assay.results.findings import is_claimed
from assay.results.formatting import cell
from assay.results.run import Run
from assay.results.verdict import ALLOWED, CLEAR

ENOUGH = 0.25
"""The share of all (subject, attribute) that must have been asked about for a map of single attributes."""

Key = tuple[str, str]  # row, column

_COLOURS = "Orange: the model associates {} more with this subject than with the others; blue: less."
_CLASSES = (
    f"each square is γ of a subject with a class of attributes. {_COLOURS.format('these attributes')} Similar rows and "
    "columns are neighbours. Point at a square, or use the arrow keys, to see its numbers."
)
_ATTRIBUTES = (
    f"each square is γ of a subject with an attribute. {_COLOURS.format('the attribute')} Similar rows and columns are "
    "neighbours; you can filter both and reorder the rows. Click a square to see examples."
)
_BARS = (
    "a bar shows with whose names the model associates an attribute more, and by how much (γ, with its interval). A "
    f"filled bar is statistically clear (q at most {CLEAR}, {ALLOWED}); a hollow one is not. At 0, the model prefers "
    "neither."
)


@dataclass
class _GammaMap:
    """The γ of one class and form by (row, column), and what else the table says of each."""

    values: dict[Key, float] = field(default_factory=dict)
    beside: dict[str, dict[Key, float | None]] = field(default_factory=dict)
    unclear: set[Key] = field(default_factory=set)

    @property
    def filled(self) -> float:
        """The share of all pairs of a row and a column that have a value."""
        rows, columns = ({key[side] for key in self.values} for side in (0, 1))
        return len(self.values) / (len(rows) * len(columns))

    @property
    def known(self) -> dict[str, dict[Key, float | None]]:
        """What is beside γ, without columns that are empty."""
        return {name: column for name, column in self.beside.items() if set(column.values()) != {None}}


def charts(run: Run) -> list[PanelPicker]:
    """γ by class of attributes, and by attribute; a chart for each class and form, of which a reader picks one."""
    grouped = compared_groups(run)
    classes, single = _read_maps(run, "classes", "attribute_class"), _read_maps(run, "gamma", "attribute")
    by_class = [
        _heat_map(part, gamma_map, "classes", "attribute_class")
        for part, gamma_map in classes.items()
        if part not in grouped
    ]
    by_attribute: list[HeatMap | DisplayTable] = [
        *(_bar_chart(run, part, *groups) for part, groups in grouped.items()),
        *(
            _heat_map(part, gamma_map, "gamma", "attribute")
            for part, gamma_map in single.items()
            if gamma_map.filled >= ENOUGH
        ),
    ]
    pickers = [_picker("Attributes by class", by_class), _picker("Subjects and attributes", by_attribute)]
    return [picker for picker in pickers if picker.parts]


def _picker(title: str, charts: Sequence[HeatMap | DisplayTable]) -> PanelPicker:
    """Charts, each with the name of its part for a title, to pick from."""
    parts = [
        Panel(chart.title, [replace(chart, title=f"{title}: {chart.title}", anchor=f"{chart.anchor}-{number}")])
        for number, chart in enumerate(charts, 1)
    ]
    return PanelPicker(label=f"{title} of", parts=parts)


# --- maps


def _heat_map(part: Part, gamma_map: _GammaMap, table: str, row: str) -> HeatMap:
    """A map of subjects by what runs down its rows; `table` is the run's table that holds its data."""
    name = part_label(part)
    return HeatMap(
        title=name,
        how=_CLASSES if row == "attribute_class" else _ATTRIBUTES,
        file=f"unqover-{table}",
        anchor=table,
        name=name,
        row="class of attributes" if row == "attribute_class" else row,
        column="subject",
        value="γ",
        cells=gamma_map.values,
        beside=gamma_map.known,
        unclear=gamma_map.unclear,
        examples={"class": part[0], "form": part[1]},
        row_key=row,
        column_key="subject",
        table=table,
    )


def _read_maps(run: Run, table: str, row: str) -> dict[Part, _GammaMap]:
    """The maps that a table of the run has, by class and form."""
    maps: dict[Part, _GammaMap] = {}
    for record in run.rows(table):
        gamma = run.number(table, record, "gamma")
        if gamma is None:
            continue
        part = cell(record, "class"), cell(record, "form")
        gamma_map, key = maps.setdefault(part, _GammaMap()), (cell(record, row), cell(record, "subject"))
        gamma_map.values[key] = gamma
        if is_claimed(record) is False:
            gamma_map.unclear.add(key)
        for name in ("low", "high", "q", "n"):
            if name in record:
                gamma_map.beside.setdefault(name, {})[key] = run.number(table, record, name)
    return maps


# --- bars


def _bar_chart(run: Run, part: Part, first: str, second: str, rows: Sequence[Association]) -> DisplayTable:
    """What is associated more with the names of one group than with those of the other, of which `rows` are."""
    ordered = sorted(rows, key=lambda row: (-row.gamma, row.attribute))
    by_class = [TableColumn("class of attributes", CellKind.TEXT)] if any(row.attribute_class for row in rows) else []
    sides = f"more with {first} names", f"more with {second} names"
    return DisplayTable(
        title=f"{part_label(part)}, {first} and {second} names",
        how=_BARS,
        data=association_table(ordered),
        file="unqover-groups",
        anchor="groups",
        columns=[
            TableColumn("attribute", CellKind.TEXT),
            TableColumn("γ", CellKind.DOTS, sides=sides),
            TableColumn("γ", CellKind.NUMBER),
            TableColumn(run.level, CellKind.INTERVAL),
            TableColumn("q", CellKind.PROBABILITY),
            TableColumn("n", CellKind.COUNT),
            *by_class,
        ],
        groups=[RowGroup([_bar_row(row, bool(by_class)) for row in ordered])],
    )


def _bar_row(row: Association, by_class: bool) -> TableRow:
    bar = DotCell(row.gamma, row.low, row.high, hollow=not row.clear, bar=True)
    last = [row.attribute_class] if by_class else []
    return TableRow([row.attribute or "", bar, row.gamma, (row.low, row.high), row.q, row.n, *last], row.examples)
