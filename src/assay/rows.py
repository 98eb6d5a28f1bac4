"""Rows of files: JSON lines, CSV or TSV, plain or compressed; and what to do with rows that cannot be used."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, TypeVar

from assay.errors import DataError
from assay.files.decoding import TwiceError, json_value, once
from assay.files.opening import LONGEST_ROW, open_text

Row = Mapping[str, Any]
Some = TypeVar("Some")

_MOST_BAD = 100_000
_OBJECTS = "Fix the line: every line must be one JSON object."
_DELIMITERS = {".csv": ",", ".tsv": "\t"}


@dataclass
class Bad:
    """Rows that cannot be used: the first one is an error, unless they are skipped; then all are noted."""

    skip: bool
    problems: list[str] = field(default_factory=list)

    def found(self, error: DataError) -> None:
        if not self.skip:
            raise error
        if len(self.problems) == _MOST_BAD:
            problem = f"more than {_MOST_BAD:,} rows cannot be used."
            raise DataError(problem, "This is another kind of file.", code="bad-row", file=error.file, line=error.line)
        self.problems.append(error.problem)

    def notes(self, name: str) -> list[str]:
        """Notes on skipped rows: how many, and which."""
        if not self.problems:
            return []
        return [f"{name}: {len(self.problems)} rows left out", *(f"left out: {problem}" for problem in self.problems)]


def rows_of(path: Path, bad: Bad) -> Iterator[tuple[int, Row]]:
    """The rows of a file of JSON lines or of a CSV or TSV file, with their line numbers."""
    with open_text(path, LONGEST_ROW) as file:
        for suffix, delimiter in _DELIMITERS.items():
            if suffix in path.suffixes:
                yield from _csv_rows(file, path, bad, delimiter)
                return
        yield from _json_rows(file, path, bad)


_MONTHS = "jan|feb|mar|mrz|mär|apr|abr|may|mai|jun|jul|aug|ago|aoû|sep|set|oct|okt|out|nov|dec|dez|dic|déc|fév|avr|ene"
_DATE = re.compile(
    rf"\d{{1,2}}\.?[ -](?:{_MONTHS})[a-zéû]*\.?(?:[ -]\d{{2,4}})?|(?:{_MONTHS})[a-zéû]*\.?[ -]\d{{1,4}}"
    r"|\d{4}-\d\d-\d\d(?:[ T]00:00(?::00)?)?|\d{1,2}[/.]\d{1,2}[/.]\d{2,4}",
    re.IGNORECASE,
)


def require_no_date(value: object, key: str, path: Path | str, line: int) -> None:
    """Refuse a number or name of a question that a spreadsheet turned into a date: Excel makes 1-Jan of 1-1."""
    if isinstance(value, str) and _DATE.fullmatch(value.strip()):
        problem = f'"{key}" is {value!r}: a spreadsheet made a date of what was there.'
        remedy = "Export the rows again; in Excel, import them with Data > From Text/CSV and this column as text."
        raise DataError(problem, remedy, code="bad-value", file=path, line=line, key=key)


def not_none(found: Iterable[Some], path: Path, what: str, remedy: str) -> Iterator[Some]:
    """Everything found in a file; a file without any is an error."""
    some = False
    for each in found:
        some = True
        yield each
    if not some:
        raise DataError(f"this file has no {what}.", remedy, code="empty-file", file=path)


def appears_twice(key: str, path: Path, line: int | None = None) -> DataError:
    """The error that a key of an object, or a column, is there twice."""
    return DataError(f'"{key}" appears twice.', "Keep one of them.", code="duplicate", file=path, line=line, key=key)


def _json_rows(file: IO[str], path: Path, bad: Bad) -> Iterator[tuple[int, Row]]:
    for line, content in enumerate(file, 1):
        if not content.strip():
            continue
        try:
            row = json_value(content, once)
        except TwiceError as error:
            bad.found(appears_twice(error.key, path, line))
            continue
        except ValueError as error:
            bad.found(DataError(f"cannot be read as JSON ({error}).", _OBJECTS, code="bad-json", file=path, line=line))
            continue
        if isinstance(row, dict):
            yield line, row
        else:
            bad.found(DataError("expected a JSON object.", _OBJECTS, code="bad-json", file=path, line=line))


def _csv_rows(file: IO[str], path: Path, bad: Bad, delimiter: str) -> Iterator[tuple[int, Row]]:
    reader = csv.DictReader(file, delimiter=delimiter, strict=True)
    compared = False
    while True:
        try:
            row = next(reader, None)
        except csv.Error as error:
            problem = f"this is not CSV ({error})."
            bad.found(DataError(problem, "Fix the file.", code="bad-csv", file=path, line=reader.line_num))
            continue
        if not compared:
            _require_different(reader.fieldnames or (), path)
            compared = True
        if row is None:
            return
        if None in row or None in row.values():
            problem = f"expected {len(reader.fieldnames or ())} cells, as in the first line."
            bad.found(DataError(problem, "Fix the line.", code="bad-csv", file=path, line=reader.line_num))
            continue
        yield reader.line_num, row


def _require_different(columns: Iterable[str], path: Path) -> None:
    """Refuse two columns of one name. Several without a name are usual: nothing can ask for them."""
    names = [name for name in columns if name]
    for place, name in enumerate(names):
        if name in names[:place]:
            raise appears_twice(name, path, 1)
