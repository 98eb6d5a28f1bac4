"""Rows of files: JSON lines, CSV or TSV, plain or compressed; what to do with rows that cannot be used; and which files
have answers.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import IO, Any, TypeVar

from assay.errors import DataError, UsageError
from assay.files.decoding import TwiceError, json_value, once
from assay.files.opening import LONGEST_ROW, is_zip, open_text

Row = Mapping[str, Any]
Some = TypeVar("Some")

_MOST_BAD = 100_000
_MOST_LISTED = 8
_OBJECTS = "Fix the line: every line must be one JSON object."
_DELIMITERS = {".csv": ",", ".tsv": "\t"}


_MODELS = ("model", "model_name", "model_id")
"""Columns that name the model whose answer a row has."""


@dataclass
class Selection:
    """Which rows are scored: those with these values in these columns (`--only COLUMN=VALUE`), from one model."""

    only: Mapping[str, str] = field(default_factory=dict)
    _models: dict[str, tuple[str, Path, int]] = field(default_factory=dict)  # by column, where it was first
    _others: dict[str, dict[str, None]] = field(default_factory=dict)  # by column, other rows' values

    def takes(self, row: Row, path: Path, line: int) -> bool:
        """Whether a row is scored; UsageError if its column is missing, or if it is another model's."""
        for column, value in self.only.items():
            if column not in row:
                problem = f"there is no column {column!r} to choose rows by; there are {', '.join(map(str, row))}."
                raise UsageError(problem, "--only COLUMN=VALUE", code="bad-option", file=path, line=line, key="only")
            if str(row[column]) != value:
                rejected = self._others.setdefault(column, {})
                if len(rejected) < _MOST_LISTED:
                    rejected[str(row[column])] = None
                return False
        for column in _MODELS:
            model = row.get(column)
            if isinstance(model, str) and model:
                first, file, at = self._models.setdefault(column, (model, path, line))
                if model != first:
                    problem = f"these are answers of several models: {first} ({file}, line {at}) and {model}."
                    remedy = f"Score one at a time: --only {column}={first}"
                    raise UsageError(problem, remedy, code="bad-option", file=path, line=line, key="only")
        return True

    def require_some(self, path: Path) -> None:
        """Refuse a file of which no row was taken."""
        for column, others in self._others.items():
            problem = f"no row has {column}={self.only[column]}; there are {', '.join(others)}."
            raise UsageError(problem, "--only COLUMN=VALUE", code="bad-option", file=path, key="only")


@dataclass
class BadRows:
    """Rows that cannot be used: the first one is an error, unless they are skipped; then all are noted.

    With a `selection`, rows that it does not take are not read at all.
    """

    skip: bool
    problems: list[str] = field(default_factory=list)
    selection: Selection | None = None

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


def read_rows(path: Path, bad: BadRows) -> Iterator[tuple[int, Row]]:
    """The rows of a file of JSON lines or of a CSV or TSV file, with their line numbers."""
    selection, is_any_taken = bad.selection, False
    delimiter = next((delimiter for suffix, delimiter in _DELIMITERS.items() if suffix in path.suffixes), None)
    with open_text(path, LONGEST_ROW) as file:
        for line, row in _csv_rows(file, path, bad, delimiter) if delimiter else _json_rows(file, path, bad):
            if selection is None or selection.takes(row, path, line):
                is_any_taken = True
                yield line, row
    if selection is not None and not is_any_taken:
        selection.require_some(path)


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


def require_any(entries: Iterable[Some], path: Path, kind: str, remedy: str) -> Iterator[Some]:
    """Everything found in a file; a file without any is an error."""
    is_empty = True
    for entry in entries:
        is_empty = False
        yield entry
    if is_empty:
        raise DataError(f"this file has no {kind}.", remedy, code="empty-file", file=path)


def appears_twice(key: str, path: Path, line: int | None = None) -> DataError:
    """The error that a key of an object, or a column, is there twice."""
    return DataError(f'"{key}" appears twice.', "Keep one of them.", code="duplicate", file=path, line=line, key=key)


def _json_rows(file: IO[str], path: Path, bad: BadRows) -> Iterator[tuple[int, Row]]:
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


def _csv_rows(file: IO[str], path: Path, bad: BadRows, delimiter: str) -> Iterator[tuple[int, Row]]:
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
    for i, name in enumerate(names):
        if name in names[:i]:
            raise appears_twice(name, path, 1)


# --- files of answers, and files that only look like them, by their beginnings

_HEAD = 1 << 16
_MOST_RESULTS = 1 << 24
_INSPECT = re.compile(r'\{\s*"version"\s*:\s*\d+\s*,\s*"(?:status|eval|invalidated)"\s*:')
_RESULTS = re.compile(r'\{\s*"results"\s*:\s*\{')
_OF_LM_EVAL = re.compile(r'"(?:n-shot|n-samples|higher_is_better|lm_eval_version)"\s*:')
_OF_RUN = re.compile(r'\{\s*(?:"schema"\s*:\s*\d+\s*,\s*"probe"\s*:|"probe"\s*:\s*"[^"]*"\s*,\s*"identity"\s*:)')


class AnswerFileKind(StrEnum):
    """What a file is. Tables of questions with answers are of no kind: each probe reads its own."""

    LM_EVAL = "lm-eval"
    INSPECT = "inspect"
    LM_EVAL_RESULTS = "lm-eval results"
    BATCH_RESULTS = "batch results"
    BATCH_REQUESTS = "batch requests"
    RUN = "a file of a run"


def kind_of(path: Path) -> AnswerFileKind | None:
    """The kind of a file; None if it is of none of them."""
    if path.suffix == ".eval" or is_zip(path):
        return AnswerFileKind.INSPECT
    with open_text(path) as file:
        try:
            head = file.read(_HEAD).lstrip()
            if _INSPECT.match(head):
                return AnswerFileKind.INSPECT
            if _OF_RUN.match(head):
                return AnswerFileKind.RUN
            if _RESULTS.match(head) and _OF_LM_EVAL.search(head + file.read(_MOST_RESULTS)):
                return AnswerFileKind.LM_EVAL_RESULTS
            if '"custom_id"' not in head and '"doc"' not in head:  # a file may be one line of a gigabyte
                return None
            first, ended, _ = head.partition("\n")
            row = json_value(first if ended else first + file.readline())
        except (ValueError, RecursionError):  # not UTF-8, or not JSON: whoever reads it says so
            return None
    return _kind_of_row(row) if isinstance(row, dict) else None


def _kind_of_row(row: dict[str, object]) -> AnswerFileKind | None:
    if isinstance(row.get("doc"), dict) and "resps" in row:
        return AnswerFileKind.LM_EVAL
    if "custom_id" in row and row.keys() & {"response", "error"}:
        return AnswerFileKind.BATCH_RESULTS
    return AnswerFileKind.BATCH_REQUESTS if "custom_id" in row and "body" in row else None
