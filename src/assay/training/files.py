"""Files to learn from: plain, gzip or xz; and what tells their contents apart."""

from __future__ import annotations

import gzip
import hashlib
import io
import lzma
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import IO, Any

from assay.errors import DataError

_BROKEN = (OSError, EOFError, UnicodeDecodeError, lzma.LZMAError)  # gzip's own error is an OSError


def plain_suffix(path: Path) -> str:
    """The suffix of what is inside: ".jsonl" for "train.jsonl.gz"."""
    return Path(path.stem).suffix if path.suffix in (".gz", ".xz") else path.suffix


@contextmanager
def opened(path: Path) -> Iterator[IO[str]]:
    """The text of a file, unpacked; whatever goes wrong while it is read is a DataError."""
    try:
        with _bytes_of(path) as content, io.TextIOWrapper(content, encoding="utf-8-sig") as file:
            yield file
    except _BROKEN as error:
        raise _unreadable(path, error) from None


def digest_of(path: Path) -> str:
    """The digest of a file's content, the same whether it is packed or not."""
    hasher = hashlib.sha256()
    try:
        with _bytes_of(path) as file:
            while piece := file.read(1 << 20):
                hasher.update(piece)
    except _BROKEN as error:
        raise _unreadable(path, error) from None
    return hasher.hexdigest()


def digests_of(root: Path, files: Iterable[Path]) -> dict[str, str]:
    """Digests by the files' names below the file or folder that was named."""
    return {str(file.relative_to(root)) if root.is_dir() else file.name: digest_of(file) for file in files}


def summary_of(digests: Mapping[str, str]) -> dict[str, str]:
    """The same digests or, for many files (RACE has one for every article), one digest of them all.

    >>> list(summary_of({"a": "1", "b": "2"}))
    ['a', 'b']
    """
    if len(digests) <= _LISTED:
        return dict(digests)
    hasher = hashlib.sha256()
    for name, digest in sorted(digests.items()):
        hasher.update(f"{digest}  {name}\n".encode())
    return {f"{len(digests):,} files": hasher.hexdigest()}


_LISTED = 8


def existing(path: Path) -> Path:
    if not path.exists():
        raise DataError("there is no such file or folder.", "Check the name.", file=path)
    return path


def text_of(value: Any, what: str, where: str, path: Path, line: int | None = None) -> str:
    """A text that must be there and not be blank."""
    if not isinstance(value, str) or not value.strip():
        raise DataError(f'{where}"{what}" is {_shown(value)}, expected a text.', "Mend the file.", file=path, line=line)
    return value


def _shown(value: Any) -> str:
    return "missing" if value is None else repr(value)[:60]


def _bytes_of(path: Path) -> gzip.GzipFile | lzma.LZMAFile | BufferedReader:
    if path.suffix == ".gz":
        return gzip.open(path)
    return lzma.open(path) if path.suffix == ".xz" else path.open("rb")


def _unreadable(path: Path, error: Exception) -> DataError:
    if isinstance(error, FileNotFoundError):
        return DataError("there is no such file.", "Check the name.", file=path)
    return DataError(f"cannot be read ({error}).", "Get the file again.", file=path)
