"""Tables in CSV, row by row with their line numbers, so that every complaint can say where."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import partial
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

    def bad(self, problem: str, remedy: str, code: str = "bad-value", key: str | None = None) -> DataError:
        return DataError(problem, remedy, code=code, file=self.file, line=self.line, key=key)

    def unexpected(self, column: str, expected: str, remedy: str = "Correct the cell.") -> DataError:
        """A cell holds something else."""
        return self.bad(f"{column} is {self.cell(column)!r}, expected {expected}.", remedy, key=column)


def read_rows(path: Path, columns: Collection[str]) -> list[Row]:
    """All rows of a CSV file whose header names at least these columns."""
    bad = partial(DataError, file=path)
    rows, line = list[Row](), 1
    try:
        text = path.read_bytes().decode("utf-8-sig")
        reader = csv.reader(io.StringIO(text, newline=""), strict=True)
        header = next(reader, None)
        if header is None:
            names = f"Its first row names the columns: {', '.join(columns)}."
            raise bad("the file is empty.", names, code="empty-file")
        _check_header(header, columns, path)
        line = reader.line_num + 1
        for cells in reader:
            if cells and len(cells) != len(header):
                problem = f"this row has {len(cells)} cells, expected {len(header)}, one for each column of the header."
                quote = "Put quotation marks around cells with commas, and write empty cells as nothing between commas."
                raise bad(problem, quote, code="bad-csv", line=line)
            if cells:
                rows.append(Row(path, line, dict(zip(header, cells, strict=True))))
            line = reader.line_num + 1
    except csv.Error as error:
        save = "Save the table as CSV: comma-separated, UTF-8."
        raise bad(f"this is no CSV ({error}).", save, code="bad-csv", line=line) from None
    except OSError as error:
        problem = f"the file cannot be read ({error.strerror})."
        raise bad(problem, "Check the folder.", code="unreadable-file") from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise bad("this line is not UTF-8.", "Save the table as UTF-8.", code="unreadable-file", line=line) from None
    return rows


def _check_header(header: list[str], columns: Collection[str], path: Path) -> None:
    bad = partial(DataError, file=path, line=1)
    for column in columns:
        if column not in header:
            problem = f"there is no column {column!r}; there are {', '.join(header)}."
            add = "Add the column, or move the file out of the folder if it is another kind of table."
            raise bad(problem, add, code="missing-key", key=column)
    for column in header:
        if column and header.count(column) > 1:
            raise bad(f"two columns are called {column!r}.", "Rename or remove one.", code="duplicate", key=column)
