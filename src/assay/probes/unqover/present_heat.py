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
from assay.probes.unqover.associations import Association, Place, association_table, compared_groups, place_said
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
        return {name: own for name, own in self.beside.items() if any(value is not None for value in own.values())}


def charts(run: Run) -> list[PanelPicker]:
    """γ by class of attributes, and by attribute; a chart for each class and form, of which a reader picks one."""
    grouped = compared_groups(run)
    classes = {place: own for place, own in _read(run, "classes", "attribute_class").items() if place not in grouped}
    single = {place: own for place, own in _read(run, "gamma", "attribute").items() if own.filled >= ENOUGH}
    by_class = [_heat(place, own, "classes", "attribute_class") for place, own in classes.items()]
    by_attribute: list[HeatMap | DisplayTable] = [
        *(_bars(run, place, *own) for place, own in grouped.items()),
        *(_heat(place, own, "gamma", "attribute") for place, own in single.items()),
    ]
    found = [_pick("Attributes by class", by_class), _pick("Subjects and attributes", by_attribute)]
    return [pick for pick in found if pick.parts]


def _pick(title: str, found: Sequence[HeatMap | DisplayTable]) -> PanelPicker:
    """Charts, each with the name of its part for a title, to pick from."""
    parts = [
        Panel(chart.title, [replace(chart, title=f"{title}: {chart.title}", anchor=f"{chart.anchor}-{place}")])
        for place, chart in enumerate(found, 1)
    ]
    return PanelPicker(label=f"{title} of", parts=parts)


# --- maps


def _heat(place: Place, own: _GammaMap, table: str, row: str) -> HeatMap:
    """A map of subjects by what runs down its rows; `table` is the run's table that holds its data."""
    name = place_said(place)
    return HeatMap(
        title=name,
        how=_CLASSES if row == "attribute_class" else _ATTRIBUTES,
        file=f"unqover-{table}",
        anchor=table,
        name=name,
        row="class of attributes" if row == "attribute_class" else row,
        column="subject",
        value="γ",
        cells=own.values,
        beside=own.known,
        unclear=own.unclear,
        examples={"class": place[0], "form": place[1]},
        row_key=row,
        column_key="subject",
        table=table,
    )


def _read(run: Run, table: str, row: str) -> dict[Place, _GammaMap]:
    """The maps that a table of the run has, by class and form."""
    found: dict[Place, _GammaMap] = {}
    for each in run.rows(table):
        gamma = run.number(table, each, "gamma")
        if gamma is None:
            continue
        place = cell(each, "class"), cell(each, "form")
        own, key = found.setdefault(place, _GammaMap()), (cell(each, row), cell(each, "subject"))
        own.values[key] = gamma
        if is_claimed(each) is False:
            own.unclear.add(key)
        for name in ("low", "high", "q", "n"):
            if name in each:
                own.beside.setdefault(name, {})[key] = run.number(table, each, name)
    return found


# --- bars


def _bars(run: Run, place: Place, left: str, right: str, rows: Sequence[Association]) -> DisplayTable:
    """What is associated more with the names of one group than with those of the other, of which `rows` are."""
    shown = sorted(rows, key=lambda row: (-row.gamma, row.attribute))
    by_class = [TableColumn("class of attributes", CellKind.TEXT)] if any(row.attribute_class for row in rows) else []
    sides = f"more with {left} names", f"more with {right} names"
    return DisplayTable(
        title=f"{place_said(place)}, {left} and {right} names",
        how=_BARS,
        data=association_table(shown),
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
        groups=[RowGroup([_bar(row, bool(by_class)) for row in shown])],
    )


def _bar(row: Association, by_class: bool) -> TableRow:
    drawn = DotCell(row.gamma, row.low, row.high, hollow=not row.clear, bar=True)
    last = [row.attribute_class] if by_class else []
    return TableRow([row.attribute or "", drawn, row.gamma, (row.low, row.high), row.q, row.n, *last], row.examples)
