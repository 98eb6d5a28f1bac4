"""Tables in CSV, row by row with their line numbers, so that every complaint can say where."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from assay.errors import DataError


@dataclass(frozen=True)
class Row:
    """A row of a table: its cells by column, and where it begins."""

    file: Path
    line: int
    cells: Mapping[str, str]

    def cell(self, column: str) -> str:
        """What stands in a column, "" where the table has no such column."""
        return self.cells.get(column, "")

    def bad(self, problem: str, remedy: str, *, code: str, key: str | None = None) -> DataError:
        return DataError(problem, remedy, code=code, file=self.file, line=self.line, key=key)


def read_rows(path: Path, columns: Collection[str]) -> list[Row]:
    """All rows of a CSV file whose header names at least these columns."""
    reader = csv.reader(io.StringIO(_text(path), newline=""), strict=True)
    rows: list[Row] = []
    header: list[str] | None = None
    line = 1
    try:
        for cells in reader:
            if header is None:
                header = _header(path, cells, columns)
            elif len(cells) not in (0, len(header)):
                raise DataError(
                    f"this row has {len(cells)} cells, expected {len(header)}, one for each column of the header.",
                    "Put quotation marks around cells with commas, and write empty cells as nothing between commas.",
                    code="bad-csv",
                    file=path,
                    line=line,
                )
            elif cells:
                rows.append(Row(path, line, dict(zip(header, cells, strict=True))))
            line = reader.line_num + 1
    except csv.Error as error:
        raise DataError(
            f"this is no CSV ({error}).",
            "Save the table as CSV: comma-separated, UTF-8.",
            code="bad-csv",
            file=path,
            line=line,
        ) from None
    if header is None:
        raise DataError(
            "the file is empty.",
            f"Its first row names the columns: {', '.join(columns)}.",
            code="empty-file",
            file=path,
        )
    return rows


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise DataError(
            f"the file cannot be read ({error.strerror}).", "Check the folder.", code="unreadable-file", file=path
        ) from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise DataError(
            "this line is not UTF-8.", "Save the table as UTF-8.", code="unreadable-file", file=path, line=line
        ) from None


def _header(path: Path, cells: list[str], columns: Collection[str]) -> list[str]:
    for column in columns:
        if column not in cells:
            raise DataError(
                f"there is no column {column!r}; there are {', '.join(cells)}.",
                "Add the column, or move the file out of the folder if it is another kind of table.",
                code="missing-key",
                file=path,
                line=1,
                key=column,
            )
    for column in cells:
        if column and cells.count(column) > 1:
            raise DataError(
                f"two columns are called {column!r}.",
                "Rename or remove one.",
                code="duplicate",
                file=path,
                line=1,
                key=column,
            )
    return cells
