"""What the readers of several sets share: reading the cells of a row, with an error that names the cell."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from assay.errors import DataError
from assay.files.decoding import whole_number, written_value
from assay.files.rows import BadRows, Row, read_rows, require_any, require_no_date
from assay.probes.bbq.editions import EditionRow
from assay.probes.bbq.items import AMBIGUOUS, QUARTET, UNKNOWN_LABEL, Item
from assay.probes.bbq.read_items import short

Some = TypeVar("Some")

_MOST_DIGITS = 15


@dataclass(frozen=True)
class RowFields:
    """The fields of a row. Each of these gives a value, or raises a DataError that names the file, line and field."""

    row: Row
    path: Path
    line: int
    remedy: str

    def wrong(self, name: str, expected: str, *, label: bool = False) -> NoReturn:
        value = self.row.get(name)
        fault = "is missing" if name not in self.row else f"is {short(value)}"
        code = "missing-key" if name not in self.row else "bad-label" if label else "bad-value"
        problem = f'"{name}" {fault}, expected {expected}.'
        raise DataError(problem, self.remedy, code=code, file=self.path, line=self.line, key=name)

    def text(self, name: str) -> str:
        value = self.row.get(name)
        return value if isinstance(value, str) and value else self.wrong(name, "text")

    def number(self, name: str) -> int:
        value = self.row.get(name)
        if (number := whole_number(value, _MOST_DIGITS)) is not None:
            return number
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**_MOST_DIGITS:
            return value
        self.require_no_date(name)
        self.wrong(name, "a whole number")

    def require_no_date(self, name: str) -> None:
        require_no_date(self.row.get(name), name, self.path, self.line)

    def meant(self, name: str, meanings: Mapping[str, Some]) -> Some:
        """What a code means."""
        value = self.row.get(name)
        is_known = isinstance(value, str) and value in meanings
        return meanings[str(value)] if is_known else self.wrong(name, " or ".join(meanings))

    def written(self, name: str) -> Any:
        """A value written into a text, as JSON or as Python writes lists and dictionaries; None if it is neither."""
        value = self.row.get(name)
        return _evaluated(value) if isinstance(value, str) else None

    def value(self, name: str) -> Any:
        """A value as it is, or as it is written into a text."""
        value = self.row.get(name)
        return self.written(name) if isinstance(value, str) else value

    def sound(self, example: Item, label: str) -> Item:
        """The example, if its right answer (the field `label`) is UNKNOWN exactly where the context is ambiguous."""
        if (example.label == example.unknown) != (example.condition == AMBIGUOUS):
            right_answer = "“cannot be determined”" if example.condition == AMBIGUOUS else "a person"
            self.wrong(label, f"{right_answer}, since the context is {example.condition}", label=True)
        return example


def each_row(path: Path, bad: BadRows, remedy: str, read: Callable[[RowFields], EditionRow]) -> Iterator[EditionRow]:
    """Every row of a file, read; those that cannot be are told to `bad`."""

    def all_rows() -> Iterator[EditionRow]:
        for line, row in read_rows(path, bad):
            try:
                yield read(RowFields(row, path, line, remedy))._replace(line=line, row=row)
            except DataError as error:
                bad.found(error)

    return require_any(all_rows(), path, "examples", remedy)


def number(quartet: int, polarity: str, condition: str) -> int:
    """The example's number from that of its quartet."""
    return len(QUARTET) * quartet + QUARTET.index((polarity, condition))


def texts(value: object, count: int | None = None) -> list[str] | None:
    """A list of texts, of `count` if given; None if it is something else."""
    if not isinstance(value, list | tuple) or not all(isinstance(text, str) for text in value):
        return None
    return list(value) if count in (None, len(value)) else None


def people(options: Sequence[str], unknown: int) -> tuple[tuple[str, str], ...]:
    """An example's `info` in sets without labels of groups: each person's text is its label."""
    return tuple((text, UNKNOWN_LABEL if option == unknown else text) for option, text in enumerate(options))


_evaluated = lru_cache(maxsize=1024)(written_value)  # a column has few different ones
