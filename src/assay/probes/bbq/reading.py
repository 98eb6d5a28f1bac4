"""Reading BBQ's official files, and rows of others that have their fields: JSON lines or CSV, plain or gzip."""

from __future__ import annotations

import ast
import csv
import gzip
import hashlib
import io
import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from io import BufferedReader
from pathlib import Path
from typing import IO, Any, NoReturn

from assay.errors import DataError, UsageError
from assay.probes.bbq.examples import CATEGORIES, CONDITIONS, OPTIONS, POLARITIES, UNKNOWN_LABEL, Example

Row = Mapping[str, Any]

_ENDINGS = (".jsonl", ".jsonl.gz")
_REMEDY = "Every example has the fields of the official files; see `assay data check bbq`."


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


def data_files(place: Path) -> list[Path]:
    """The official files at a place: a file, or a folder that holds them itself, in `data/` or in `bbq/data/`."""
    if place.is_file():
        return [place]
    for folder in (place / "bbq" / "data", place / "data", place):
        packed_first = sorted(
            folder.glob("*.jsonl*"), reverse=True
        )  # so that the file itself wins where both lie there
        found = {stem(path): path for path in packed_first if path.name.endswith(_ENDINGS)}
        if found:
            return [found[name] for name in sorted(found, key=lambda name: (name not in CATEGORIES, name))]
    raise UsageError(
        f"{place}: there are no BBQ files (CATEGORY.jsonl or CATEGORY.jsonl.gz) here, in data/ or in bbq/data/.",
        "Get them with `assay data fetch bbq`, or name their folder or one of them with --data.",
    )


def stem(path: Path) -> str:
    """A file's category: its name without endings.

    >>> stem(Path("data/Age.jsonl.gz"))
    'Age'
    """
    return path.name.split(".")[0]


def read_examples(path: Path, bad: Bad) -> list[Example]:
    """All examples of a file in its order."""
    examples = []
    for line, row in rows_of(path, bad):
        try:
            examples.append(example_of(row, path, line))
        except DataError as error:
            bad.found(error)
    if not examples:
        raise DataError("there is no example in this file.", _REMEDY, file=path)
    return examples


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


def example_of(row: Row, path: Path | str, line: int) -> Example:
    """A row with the official files' fields as an example; DataError where one is missing or wrong."""

    def wrong(name: str, expected: str) -> NoReturn:
        said = "is missing" if name not in row else f"is {_short(row[name])}"
        raise DataError(f'"{name}" {said}, expected {expected}.', _REMEDY, file=path, line=line)

    def text(name: str) -> str:
        value = row.get(name)
        return value if isinstance(value, str) else wrong(name, "text")

    def whole(name: str) -> int:
        value = row.get(name)
        if isinstance(value, bool) or not (isinstance(value, int) or (isinstance(value, str) and value.isdecimal())):
            wrong(name, "a whole number")
        return int(value)

    def one_of(name: str, known: tuple[str, ...]) -> str:
        value = row.get(name)
        return sys.intern(value) if isinstance(value, str) and value in known else wrong(name, " or ".join(known))

    label = whole("label")
    if label >= OPTIONS:
        wrong("label", "0, 1 or 2")
    info = tuple(_info(row, place) or wrong("answer_info", _INFO_EXPECTED) for place in range(OPTIONS))
    if [group for _, group in info].count(UNKNOWN_LABEL) != 1:
        wrong("answer_info", f'exactly one option with the label "{UNKNOWN_LABEL}"')
    about = _object(row.get("additional_metadata"))
    groups = about.get("stereotyped_groups") if about is not None else None
    if about is None or not isinstance(groups, list) or not all(isinstance(group, str) for group in groups):
        wrong("additional_metadata", "an object with a list of texts, stereotyped_groups")
    index = row.get("question_index")
    return Example(
        example_id=whole("example_id"),
        question_index=index if isinstance(index, str) and index else str(whole("question_index")),
        polarity=one_of("question_polarity", POLARITIES),
        condition=one_of("context_condition", CONDITIONS),
        category=sys.intern(text("category")),
        info=info,
        subcategory=sys.intern(str(about.get("subcategory", "None"))),
        groups=tuple(sys.intern(group) for group in groups),
        version=sys.intern(str(about.get("version", "None"))),
        source=sys.intern(str(about.get("source", ""))),
        context=text("context"),
        question=text("question"),
        answers=tuple(text(f"ans{place}") for place in range(OPTIONS)),
        label=label,
    )


_INFO_EXPECTED = 'for each of ans0, ans1 and ans2 a list of two texts: [filler, label], as in ["grandson", "nonOld"]'


def _info(row: Row, place: int) -> tuple[str, str] | None:
    info = (_object(row.get("answer_info")) or {}).get(f"ans{place}")
    if not isinstance(info, list | tuple) or len(info) != 2 or not all(isinstance(part, str) for part in info):
        return None
    filler, label = info
    return sys.intern(filler), sys.intern(label)


def _object(value: object) -> dict[str, Any] | None:
    """An object, or one written into a CSV cell, as JSON or as Python writes it."""
    written = value if isinstance(value, str) else ""
    for read in (json.loads, ast.literal_eval) if written else ():
        try:
            value = read(written)
            break
        except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
            continue
    return value if isinstance(value, dict) else None


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


def _short(value: object) -> str:
    shown = json.dumps(value, ensure_ascii=False, default=str)
    return shown if len(shown) <= 60 else f"{shown[:57]}…"
