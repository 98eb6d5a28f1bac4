"""TOML files that users write, read into dataclasses; errors name file, line, key and what was expected.

A location in a file is a path of names and numbers: `"models", "siqa", "train"` or `"limit", 2, "metric"`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from assay.errors import DataError, UsageError, suggest
from assay.files.decoding import toml_value
from assay.files.opening import read_whole, reason

T = TypeVar("T")
Place = tuple[str | int, ...]

Text = Annotated[str, msgspec.Meta(min_length=1, description="a text", examples=['"…"'])]
Whole = Annotated[int, msgspec.Meta(ge=0, description="a whole number from 0", examples=["0"])]
Truth = Annotated[bool, msgspec.Meta(description="true or false", examples=["true"])]
Number = Annotated[float, msgspec.Meta(description="a number", examples=["0.1"])]
Table = Annotated[dict[str, Any], msgspec.Meta(description="keys with values", examples=["{ key = 1 }"])]
Texts = Annotated[
    Text | Annotated[list[Text], msgspec.Meta(min_length=1)],
    msgspec.Meta(description="a text or a list of texts", examples=['["…", "…"]']),
]
"""A description and an example of each type of value, for messages."""

_HEAD = re.compile(r"""\s*(\[\[?)([^\]]+)\]\]?\s*(#.*)?$""")
_KEY = re.compile(r"""\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*=""")


class WrongValueError(UsageError):
    """An invalid value and its key. A dataclass that is read from a table may raise it, too."""

    def __init__(self, problem: str, remedy: str, key: str, *, code: str = "bad-value") -> None:
        super().__init__(problem, remedy, code=code, key=key or None)


@dataclass(frozen=True)
class TomlFile:
    """A TOML file: its text, and its content."""

    path: Path
    text: str
    content: Mapping[str, Any]

    @staticmethod
    def read(path: Path, what_it_is: str) -> TomlFile:
        """Read a file; `what_it_is` is the remedy if it cannot be used: "A policy is a TOML file of [[limit]]s."."""
        try:
            text = read_whole(path).decode().replace("\r\n", "\n")
            return TomlFile(path, text, toml_value(text))
        except OSError as error:
            code = "missing-file" if isinstance(error, FileNotFoundError) else "unreadable-file"
            raise DataError(f"cannot be read ({reason(error)}).", what_it_is, code=code, file=path) from None
        except UnicodeDecodeError:
            raise DataError("not UTF-8 text.", what_it_is, code="unreadable-file", file=path) from None
        except ValueError as error:
            at = re.search(r"\(at line (\d+)", str(error))
            line = int(at[1]) if at else None
            raise DataError(f"not TOML: {error}.", what_it_is, code="bad-toml", file=path, line=line) from None

    def error(
        self, problem: str, remedy: str, *location: str | int, code: str = "bad-value", key: str | None = None
    ) -> DataError:
        """An error about a location, with its entry, line and key (default: its last name)."""
        end = 2 if isinstance(self._at(location[:2]), Mapping) else 1
        entry = said(location[:end]) if len(location) > 1 else ""
        key = key or next((name for name in reversed(location) if isinstance(name, str)), None)
        problem = f"{entry}: {problem}" if entry else problem
        return DataError(problem, remedy, code=code, file=self.path, line=self.line(*location), key=key)

    def line(self, *location: str | int) -> int | None:
        """The line of a location, else of the nearest table around it; None if that is not found."""
        return next(
            (self._lines[location[:end]] for end in range(len(location), 0, -1) if location[:end] in self._lines), None
        )

    def table(
        self, kind: type[T], *location: str | int, keys: Sequence[str] = (), needed: Sequence[str] = (), **preset: Any
    ) -> T:
        """The table at a location as a dataclass: each value is checked by the type of its field.

        `keys` are the allowed keys and `needed` the required ones, if the dataclass does not decide that; `preset` are
        fields that do not come from the file. Keys that are not fields are ignored here.
        """
        table = self._at(location)
        if not isinstance(table, Mapping):
            head = ".".join(map(str, location))
            raise self.error(f'"{location[-1]}" is not a table.', f"Start it with [{head}].", *location)
        types = get_type_hints(kind, include_extras=True)
        known_fields = [field for field in fields(kind) if field.name not in preset]  # type: ignore[arg-type] # it is one
        self.require_keys(table, keys or [field.name for field in known_fields], *location)
        for field in known_fields:
            optional = field.default is not MISSING or field.default_factory is not MISSING
            if field.name not in table and (field.name in needed or not optional):
                remedy = f"Add {field.name} = {_about(types[field.name])[1]}."
                raise self.error(f'"{field.name}" is missing.', remedy, *location, code="missing-key", key=field.name)
        try:
            read = {key: checked(key, value, types[key]) for key, value in table.items() if key in types}
            return kind(**preset, **read)
        except WrongValueError as error:
            names = () if error.key is None else (error.key,)
            raise self.error(error.problem, error.remedy, *location, *names, code=error.code) from None

    def tables(self, key: str) -> int:
        """How many tables a list [[key]] has."""
        listed = self.content.get(key, [])
        if not isinstance(listed, list) or not all(isinstance(table, Mapping) for table in listed):
            raise self.error(f'"{key}" is not a list of tables.', f"Start each with [[{key}]].", key)
        return len(listed)

    def require_keys(self, table: Mapping[str, Any], allowed: Collection[str], *location: str | int) -> None:
        for key in table:
            if key not in allowed:
                listed = f"The keys are {', '.join(allowed)}."
                raise self.error(
                    f'unknown key "{key}"{suggest(key, allowed)}', listed, *location, key, code="unknown-key"
                )

    def require_one_of(self, value: str, allowed: Collection[str], *location: str | int) -> None:
        """Refuse a value that is not one of these."""
        if value not in allowed:
            problem = f'"{location[-1]}" is {value!r}{suggest(value, allowed)}'
            raise self.error(problem, f"Choose one of {', '.join(allowed)}.", *location)

    def _at(self, location: Place) -> Any:
        value: Any = self.content
        for key in location:
            is_container = isinstance(value, Mapping) if isinstance(key, str) else isinstance(value, list)
            if not is_container or (key not in value if isinstance(key, str) else key >= len(value)):
                return None
            value = value[key]
        return value

    @cached_property
    def _lines(self) -> Mapping[Place, int]:
        """The line of every table head and key, except those that only look like one inside a long text."""
        lines: dict[Place, int] = {}
        lists: dict[Place, int] = {}
        table: Place = ()

        def inside(names: Place) -> Place:
            """Names of tables, each list's with the number of its last table."""
            location: Place = ()
            for name in names:
                location += (name,)
                location += (lists[location],) if location in lists else ()
            return location

        for number, line in enumerate(self.text.splitlines(), 1):
            if head := _HEAD.match(line):
                names = _names(head[2])
                if head[1] == "[[":
                    list_path = (*inside(names[:-1]), names[-1])
                    lists[list_path] = lists.get(list_path, -1) + 1
                table = inside(names)
                location = table
            elif key := _KEY.match(line):
                location = table + _names(key[1])
            else:
                continue
            if self._at(location) is not None:
                lines.setdefault(location, number)
        return lines


def checked(key: str, value: Any, kind: Any) -> Any:
    """A value of this type; texts are not blank, and numbers are finite."""
    try:
        # msgspec's own pattern for texts crashes in unions (0.22)
        if (isinstance(value, str) and not value.strip()) or (isinstance(value, float) and not math.isfinite(value)):
            raise msgspec.ValidationError
        return msgspec.convert(value, kind)
    except msgspec.ValidationError:
        expected, example = _about(kind)
        raise WrongValueError(f'"{key}" is {value!r}, expected {expected}.', f"{key} = {example}", key) from None


def said(location: Place) -> str:
    """A location as messages name it.

    >>> said(("models", "siqa")), said(("limit", 1))
    ('models.siqa', 'limit 2')
    """
    first, *rest = location
    return "".join([str(first), *(f" {key + 1}" if isinstance(key, int) else f".{key}" for key in rest)])


def _about(kind: Any) -> tuple[str, str]:
    """What a type's values are, in words, and an example; of a type or None, the type's."""
    for part in (kind, *get_args(kind)):
        if get_origin(part) is Annotated:
            about = part.__metadata__[-1]
            return str(about.description), str(about.examples[0])
    return "something else", "…"


def _names(text: str) -> tuple[str, ...]:
    """
    >>> _names('models."my base"'), _names("models . base")
    (('models', 'my base'), ('models', 'base'))
    """
    parts = re.findall(r""""([^"]*)"|'([^']*)'|([^.\s"']+)""", text)
    return tuple(double or single or bare for double, single, bare in parts)
