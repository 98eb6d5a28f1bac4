"""Rows of files: JSON lines or CSV, plain or gzip; and what to do about rows that cannot be used."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from io import BufferedReader
from pathlib import Path
from typing import IO, Any

from assay.errors import DataError

Row = Mapping[str, Any]


@dataclass
class Bad:
    """Rows that cannot be used: the first one is an error unless they are to be skipped, then all are noted."""

    skip: bool
    problems: list[str] = field(default_factory=list)

    def found(self, error: DataError) -> None:
        if not self.skip:
            raise error
        self.problems.append(error.problem)

    def notes(self, name: str) -> list[str]:
        """What to tell about skipped rows: how many, and which."""
        if not self.problems:
            return []
        return [f"{name}: {len(self.problems)} rows left out", *(f"left out: {problem}" for problem in self.problems)]


def rows_of(path: Path, bad: Bad) -> Iterator[tuple[int, Row]]:
    """The rows of a file of JSON lines or of a CSV file, with their line numbers."""
    with open_text(path) as file:
        try:
            if ".csv" in path.suffixes:
                yield from _csv_rows(file, path, bad)
            else:
                yield from _json_rows(file, path, bad)
        except (UnicodeDecodeError, gzip.BadGzipFile, EOFError, OSError) as error:
            raise DataError(f"cannot be read ({error}).", "Get the file again.", file=path) from None


def open_text(path: Path) -> IO[str]:
    """A text file, unpacked where it is gzip."""
    try:
        content = open_bytes(path)
    except FileNotFoundError:
        raise DataError("there is no such file.", "Check the name.", file=path) from None
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror}).", "Check the file.", file=path) from None
    return io.TextIOWrapper(content, encoding="utf-8-sig", newline="")


def open_bytes(path: Path) -> gzip.GzipFile | BufferedReader:
    return gzip.open(path) if path.suffix == ".gz" else path.open("rb")


def digest_of_file(path: Path) -> str:
    """The digest of a file's content, the same whether it is packed or not."""
    hasher = hashlib.sha256()
    try:
        with open_bytes(path) as file:
            while piece := file.read(1 << 20):
                hasher.update(piece)
    except (OSError, EOFError) as error:
        raise DataError(f"cannot be read ({error}).", "Get the file again.", file=path) from None
    return hasher.hexdigest()


def _json_rows(file: IO[str], path: Path, bad: Bad) -> Iterator[tuple[int, Row]]:
    for line, content in enumerate(file, 1):
        if not content.strip():
            continue
        try:
            row = json.loads(content)
        except (ValueError, RecursionError) as error:
            bad.found(DataError(f"this is not JSON ({error}).", "One object a line is expected.", file=path, line=line))
            continue
        if isinstance(row, dict):
            yield line, row
        else:
            bad.found(DataError("expected a JSON object.", "One object a line is expected.", file=path, line=line))


def _csv_rows(file: IO[str], path: Path, bad: Bad) -> Iterator[tuple[int, Row]]:
    reader = csv.DictReader(file, strict=True)
    while True:
        try:
            row = next(reader, None)
        except csv.Error as error:
            bad.found(DataError(f"this is not CSV ({error}).", "Mend it.", file=path, line=reader.line_num))
            continue
        if row is None:
            return
        if None in row or None in row.values():
            problem = f"expected {len(reader.fieldnames or ())} cells, as in the first line."
            bad.found(DataError(problem, "Mend the line.", file=path, line=reader.line_num))
            continue
        yield reader.line_num, row
