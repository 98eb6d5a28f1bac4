"""UnQover's heat maps: γ of subjects with attributes, and with classes of attributes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.report.content import Content, Row, cell
from assay.report.heat import Heat, heat_map

ENOUGH = 0.25
"""The share of all (subject, attribute) that must have been asked about for a map of single attributes."""

Place = tuple[str, str]  # class, form
Cells = dict[tuple[str, str], float]


@dataclass(frozen=True)
class Map:
    """A heat map with the keys of the examples behind its rows and columns."""

    place: Place
    heat: Heat
    row: str
    column: str
    row_key: str
    column_key: str
    table: str = ""  # the run's table that has all of it


def attribute_maps(content: Content) -> list[Map]:
    """For every class and form γ by attribute: of pooled groups and, where enough was asked, of single subjects."""
    pooled = [
        Map(place, heat, "group", "attribute", "group", "attribute", "groups")
        for place, heat in _maps(content, "groups", "group", "attribute", ", pooled")
    ]
    single = [
        Map(place, heat, "subject", "attribute", "subject", "attribute", "gamma")
        for place, heat in _maps(content, "gamma", "subject", "attribute", "")
        if _filled(heat) >= ENOUGH
    ]
    return [*pooled, *single]


def class_maps(content: Content) -> list[Map]:
    """For every class and form γ by class of attributes: of pooled groups, where there are any, else of subjects."""
    pooled = _pooled_classes(content)
    places = {place for place, _ in pooled}
    single = [m for m in _maps(content, "classes", "subject", "attribute_class", "") if m[0] not in places]
    return [
        *(Map(place, heat, "group", "class of attributes", "group", "attribute_class") for place, heat in pooled),
        *(
            Map(place, heat, "subject", "class of attributes", "subject", "attribute_class", "classes")
            for place, heat in single
        ),
    ]


def _pooled_classes(content: Content) -> list[tuple[Place, Heat]]:
    """γ of pooled groups with a class: the mean over its attributes, each weighted with its cells."""
    sums: dict[Place, dict[tuple[str, str], list[float]]] = {}
    for row in content.rows("groups"):
        gamma, n = (content.number("groups", row, column) for column in ("gamma", "n"))
        if gamma is not None and n and cell(row, "attribute_class"):
            key = cell(row, "group"), cell(row, "attribute_class")
            both = sums.setdefault(_place(row), {}).setdefault(key, [0.0, 0.0])
            both[0] += gamma * n
            both[1] += n
    found = []
    for place, own in sums.items():
        values = {key: total / n for key, (total, n) in own.items()}
        counted: dict[tuple[str, str], float | None] = {key: n for key, (_, n) in own.items()}
        if heat := heat_map(_said(place, ", pooled"), values, {"n": counted}):
            found.append((place, heat))
    return found


def _maps(content: Content, table: str, row: str, column: str, more: str) -> list[tuple[Place, Heat]]:
    rows = content.rows(table)
    found = []
    for place in dict.fromkeys(map(_place, rows)):
        values: Cells = {}
        beside: dict[str, dict[tuple[str, str], float | None]] = {}
        for each in rows:
            gamma = content.number(table, each, "gamma") if _place(each) == place else None
            if gamma is None:
                continue
            key = cell(each, row), cell(each, column)
            values[key] = gamma
            for name in ("low", "high", "q", "n"):
                if name in each:
                    beside.setdefault(name, {})[key] = content.number(table, each, name)
        known = {name: numbers for name, numbers in beside.items() if any(v is not None for v in numbers.values())}
        if heat := heat_map(_said(place, more), values, known):
            found.append((place, heat))
    return found


def _filled(heat: Heat) -> float:
    values: Sequence[float | None] = [value for row in heat.values for value in row]
    return sum(value is not None for value in values) / len(values)


def _place(row: Row) -> Place:
    return cell(row, "class"), cell(row, "form")


def _said(place: Place, more: str) -> str:
    return ", ".join(part for part in place if part) + more
