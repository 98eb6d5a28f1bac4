"""Values of a study file, each with its place: one that is not what it should be is named with its line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.errors import DataError
from assay.gate.policy import near
from assay.study.lines import Lines

_SETTING = str | int | float | bool


@dataclass(frozen=True)
class Place:
    """Where an entry stands, for messages about it."""

    file: Path
    lines: Lines
    said: str  # "models.siqa", "runs 2"
    table: tuple[str, ...] = ()
    item: int | None = None

    def error(self, problem: str, remedy: str, key: str | None = None) -> DataError:
        if self.item is not None:
            line = self.lines.of_item(self.table[0], self.item, key)
        else:
            line = self.lines.of_table(*self.table, key=key) if self.table else None
        said = f"{self.said}: " if self.said else ""
        return DataError(f"{said}{problem}", remedy, file=self.file, line=line)


def known_keys(table: Mapping[str, Any], keys: Sequence[str], place: Place) -> None:
    for key in table:
        if key not in keys:
            raise place.error(f'unknown key "{key}"{near(key, keys)}', f"The keys are {', '.join(keys)}.", key)


def table_of(value: Any, key: str, place: Place) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise place.error(f'"{key}" is no table.', f"Begin it with [{key}].")
    return value


def text_of(table: Mapping[str, Any], key: str, place: Place) -> str | None:
    value = table.get(key)
    if key in table and not (isinstance(value, str) and value.strip()):
        raise place.error(f'"{key}" is {value!r}, expected a text.', f'{key} = "…"', key)
    return value


def required(table: Mapping[str, Any], key: str, place: Place) -> str:
    value = text_of(table, key, place)
    if value is None:
        raise place.error(f'"{key}" is missing.', f'Add {key} = "…"; see docs/studies.md.')
    return value


def texts_of(table: Mapping[str, Any], key: str, place: Place) -> tuple[str, ...]:
    """One text, or a list of them."""
    value = table.get(key)
    listed = [value] if isinstance(value, str) else value
    if key not in table:
        raise place.error(f'"{key}" is missing.', f'Add {key} = "…" or {key} = ["…", "…"].')
    if not isinstance(listed, list) or not listed or not all(isinstance(each, str) and each for each in listed):
        raise place.error(f'"{key}" is {value!r}, expected a text or a list of texts.', f'{key} = ["…", "…"]', key)
    return tuple(dict.fromkeys(listed))


def whole_of(table: Mapping[str, Any], key: str, place: Place) -> int | None:
    value = table.get(key)
    if key in table and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
        raise place.error(f'"{key}" is {value!r}, expected a whole number from 0.', f"{key} = 0", key)
    return value


def settings_of(table: Any, key: str, place: Place) -> dict[str, str]:
    """Settings as `--set` would give them: texts."""
    if not isinstance(table, dict):
        raise place.error(f'"{key}" is {table!r}, expected keys with values.', f"{key} = {{ draws = 1000 }}", key)
    return {own: _setting(own, value, key, place) for own, value in table.items()}


def varied(table: Any, place: Place) -> dict[str, tuple[str, ...]]:
    if not isinstance(table, dict):
        raise place.error(
            f'"vary" is {table!r}, expected lists of values.', 'vary = { distractors = ["per_name", "shared"] }', "vary"
        )
    for key, values in table.items():
        if not isinstance(values, list) or len(values) < 2:
            raise place.error(
                f'"vary": {key} is {values!r}, expected a list of at least two values.',
                "A setting with one value belongs into settings.",
                "vary",
            )
    return {key: tuple(dict.fromkeys(_setting(key, v, "vary", place) for v in own)) for key, own in table.items()}


def _setting(name: str, value: Any, key: str, place: Place) -> str:
    if isinstance(value, list):
        raise place.error(
            f'"{key}": {name} is a list.',
            f'Write {name} = "a,b" for one run with several, or vary = {{ {name} = [...] }} for a run with each.',
            key,
        )
    if not isinstance(value, _SETTING):
        raise place.error(f'"{key}": {name} is {value!r}, expected a text or a number.', f'{name} = "…"', key)
    return str(value).lower() if isinstance(value, bool) else str(value)
