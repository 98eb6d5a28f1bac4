"""Files to learn from: which there are, what tells their contents apart, texts in them, and plain text line by line."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from assay.errors import DataError
from assay.files.decoding import json_value
from assay.files.opening import PACKED, digest_of_file, open_text

Texts = Callable[[], Iterator[str]]
"""Gives a stream of texts, the same one each time that it is called."""

_PLAIN_TEXT = "Plain text in UTF-8 is expected: a .txt file (also .gz or .xz), or a folder of such files."
_LISTED = 8  # digests; of more files there is one of them all


def existing(path: Path) -> Path:
    """The file or folder, or a packed form of the file."""
    for suffix in ("", *PACKED):
        candidate = path.with_name(f"{path.name}{suffix}")
        if candidate.exists():
            return candidate
    raise DataError("there is no such file or folder.", "Check the name.", file=path, code="missing-file")


def plain_suffix(path: Path) -> str:
    """The suffix of what is inside: ".jsonl" for "train.jsonl.gz"."""
    return Path(path.stem).suffix if path.suffix in PACKED else path.suffix


def files_of(path: Path, suffixes: tuple[str, ...], content: str, expected: str) -> list[Path]:
    """The file, or the files of a folder with these suffixes in the order of their names."""
    if not existing(path).is_dir():
        return [path]
    files = sorted(file for file in path.iterdir() if plain_suffix(file) in suffixes)
    if not files:
        raise DataError(f"there are no {content} files in this folder.", expected, file=path, code="empty-file")
    return files


def digests_of(root: Path, files: Iterable[Path]) -> dict[str, str]:
    """Digests by the files' names below the file or folder that was named."""
    is_folder = root.is_dir()
    return {file.relative_to(root).as_posix() if is_folder else file.name: digest_of_file(file) for file in files}


def summary_of(digests: Mapping[str, str]) -> dict[str, str]:
    """The same digests or, for many files (RACE has one for every article), one digest of them all.

    >>> list(summary_of({"a": "1", "b": "2"}))
    ['a', 'b']
    """
    if len(digests) <= _LISTED:
        return dict(digests)
    listed = "".join(f"{digest}  {name}\n" for name, digest in sorted(digests.items()))
    return {f"{len(digests):,} files": hashlib.sha256(listed.encode()).hexdigest()}


def json_of(path: Path, expected: str) -> Any:
    with open_text(path) as file:
        try:
            return json_value(file.read())
        except (ValueError, RecursionError) as error:
            raise DataError(f"cannot be read as JSON ({error}).", expected, file=path, code="bad-json") from None


@dataclass(frozen=True)
class FileLocation:
    """Where something is in a file, and what has to be there: whatever is not is an error that names the place."""

    file: Path
    line: int | None = None
    part: str = ""

    def inside(self, part: str) -> FileLocation:
        return replace(self, part=f"{self.part}.{part}" if self.part else part)

    def error(self, problem: str, remedy: str = "Fix the file.", *, code: str, key: str | None = None) -> DataError:
        problem = f"{self.part}: {problem}" if self.part else problem
        return DataError(problem, remedy, file=self.file, line=self.line, code=code, key=key)

    def text(self, value: Any, key: str) -> str:
        """A text that must be there and not be blank."""
        if not isinstance(value, str) or not value.strip():
            got, code = ("missing", "missing-key") if value is None else (repr(value)[:60], "bad-value")
            raise self.error(f'"{key}" is {got}, expected a text.', code=code, key=key)
        return value


def text_files(path: Path) -> list[Path]:
    return files_of(path, (".txt",), "text", _PLAIN_TEXT)


def lines_of(path: Path) -> Texts:
    """The lines of a text file, or of a folder's files, that hold more than blanks, however large they are."""
    files = text_files(path)

    def texts() -> Iterator[str]:
        for file in files:
            with open_text(file) as content:
                yield from (text for line in content if (text := line.strip()))

    if next(texts(), None) is None:
        raise DataError("it contains no text.", _PLAIN_TEXT, file=path, code="empty-file")
    return texts
