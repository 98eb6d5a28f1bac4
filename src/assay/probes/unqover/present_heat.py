"""UnQover's heat maps: γ of subjects with attributes, and with classes of attributes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from assay.blocks import Heat, Part, Pick
from assay.findings import Cell, is_claimed
from assay.run import Run
from assay.wording import cell

ENOUGH = 0.25
"""The share of all (subject, attribute) that must have been asked about for a map of single attributes."""

Place = tuple[str, str]  # class, form
Key = tuple[str, str]  # row, column

_COLOURS = "Orange: the model gives {} rather to this subject; blue: rather to the others."
_CLASSES = (
    f"each square is γ of a subject with a class of attributes. {_COLOURS.format('these attributes')} Similar rows and "
    "columns stand together. Point at a square, or use the arrow keys, to see its numbers."
)
_ATTRIBUTES = (
    f"each square is γ of a subject with an attribute. {_COLOURS.format('the attribute')} Similar rows and columns "
    "stand together; filter either, or order the rows anew. A click on a square shows examples of it."
)


@dataclass
class _Map:
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


def maps(run: Run) -> list[Pick]:
    """γ by class of attributes, and by attribute; a map for each class and form, of which a reader picks one."""
    found = [
        _pick("Attributes by class", _CLASSES, _class_maps(run), "classes"),
        _pick("Subjects and attributes", _ATTRIBUTES, _attribute_maps(run), "gamma"),
    ]
    return [pick for pick in found if pick.parts]


def _attribute_maps(run: Run) -> list[Heat]:
    """Of pooled groups and, where enough was asked, of single subjects."""
    pooled = _read(run, "groups", "group", "attribute")
    single = {place: own for place, own in _read(run, "gamma", "subject", "attribute").items() if own.filled >= ENOUGH}
    return [
        *(_heat(place, own, "group", "attribute", "groups") for place, own in pooled.items()),
        *(_heat(place, own, "subject", "attribute", "gamma") for place, own in single.items()),
    ]


def _class_maps(run: Run) -> list[Heat]:
    """Of pooled groups, where there are any, else of subjects."""
    pooled, single = _pooled_classes(run), _read(run, "classes", "subject", "attribute_class")
    return [
        *(_heat(place, own, "group", "attribute_class") for place, own in pooled.items()),
        *(
            _heat(place, own, "subject", "attribute_class", "classes")
            for place, own in single.items()
            if place not in pooled
        ),
    ]


def _heat(place: Place, own: _Map, row: str, column: str, table: str = "") -> Heat:
    """A map without its title; `table` is the run's table that holds its data."""
    return Heat(
        name=", ".join(part for part in place if part) + (", pooled" if row == "group" else ""),
        row=row,
        column="class of attributes" if column == "attribute_class" else column,
        value="γ",
        cells=own.values,
        beside=own.known,
        unclear=own.unclear,
        examples={"class": place[0], "form": place[1]},
        row_key=row,
        column_key=column,
        table=table,
    )


def _pick(title: str, how: str, found: Sequence[Heat], which: str) -> Pick:
    parts = [
        Part(heat.name, [_titled(heat, f"{title}: {heat.name}", how, which, number)])
        for number, heat in enumerate(found, 1)
    ]
    return Pick(label=f"{title} of", parts=parts)


def _titled(heat: Heat, title: str, how: str, which: str, number: int) -> Heat:
    return replace(heat, title=title, how=how, file=f"unqover-{which}", anchor=f"{which}-{number}")


def _pooled_classes(run: Run) -> dict[Place, _Map]:
    """γ of pooled groups with a class: the mean over its attributes, each weighted with its cells."""
    sums: dict[Place, dict[Key, list[float]]] = {}
    for row in run.rows("groups"):
        gamma, n = (run.number("groups", row, column) for column in ("gamma", "n"))
        if gamma is not None and n and cell(row, "attribute_class"):
            key = cell(row, "group"), cell(row, "attribute_class")
            both = sums.setdefault(_place(row), {}).setdefault(key, [0.0, 0.0])
            both[0] += gamma * n
            both[1] += n
    return {
        place: _Map({key: total / n for key, (total, n) in own.items()}, {"n": {key: n for key, (_, n) in own.items()}})
        for place, own in sums.items()
    }


def _read(run: Run, table: str, row: str, column: str) -> dict[Place, _Map]:
    """The maps that a table of the run has, by class and form."""
    found: dict[Place, _Map] = {}
    for each in run.rows(table):
        gamma = run.number(table, each, "gamma")
        if gamma is None:
            continue
        own, key = found.setdefault(_place(each), _Map()), (cell(each, row), cell(each, column))
        own.values[key] = gamma
        if is_claimed(each) is False:
            own.unclear.add(key)
        for name in ("low", "high", "q", "n"):
            if name in each:
                own.beside.setdefault(name, {})[key] = run.number(table, each, name)
    return found


def _place(row: Mapping[str, Cell]) -> Place:
    return cell(row, "class"), cell(row, "form")
