"""Opens files that may be compressed: plain, gzip (.gz) or xz (.xz), by their names."""

from __future__ import annotations

import gzip
import hashlib
import io
import lzma
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from assay.errors import DataError

PACKED = (".gz", ".xz")

UNREADABLE = (OSError, EOFError, UnicodeDecodeError, zlib.error, lzma.LZMAError)
"""What reading a file raises if it is missing, damaged or not UTF-8."""


@contextmanager
def open_text(path: Path) -> Iterator[IO[str]]:
    """The text of a file, decompressed, with its line endings unchanged.

    Every error while it is read is a DataError that names the file.
    """
    with open_bytes(path) as content, io.TextIOWrapper(content, encoding="utf-8-sig", newline="") as file:
        yield file


@contextmanager
def open_bytes(path: Path) -> Iterator[IO[bytes]]:
    """The content of a file, decompressed; errors as in `open_text`."""
    try:
        with path.open("rb") as packed, unpacked(packed, path.suffix) as content:
            yield content
    except FileNotFoundError:
        raise DataError("there is no such file.", "Check the name.", code="missing-file", file=path) from None
    except UNREADABLE as error:
        problem = f"cannot be read ({reason(error)})."
        raise DataError(problem, "Check the file, or get a new copy.", code="unreadable-file", file=path) from None


def unpacked(packed: IO[bytes], suffix: str) -> IO[bytes]:
    """The content of an open file whose name ends with `suffix`. Reading it may raise any of `UNREADABLE`."""
    if suffix == ".gz":
        return cast(IO[bytes], gzip.open(packed))
    return cast(IO[bytes], lzma.open(packed)) if suffix == ".xz" else packed


def reason(error: Exception) -> str:
    """Why a file cannot be read, from one of `UNREADABLE`.

    >>> reason(EOFError("Compressed file ended before the end-of-stream marker was reached"))
    'the compressed file ends early'
    """
    if isinstance(error, EOFError):
        return "the compressed file ends early"
    if isinstance(error, gzip.BadGzipFile | zlib.error):
        return f"not an intact gzip file: {error}"
    if isinstance(error, lzma.LZMAError):
        return f"not an intact xz file: {error}"
    return (isinstance(error, OSError) and error.strerror) or str(error)


def digest_of_file(path: Path) -> str:
    """The digest of a file's content, the same whether it is compressed or not."""
    hasher = hashlib.sha256()
    with open_bytes(path) as content:
        while piece := content.read(1 << 20):
            hasher.update(piece)
    return hasher.hexdigest()


def digest_as_stored(path: Path) -> str:
    """The digest of a file's bytes on disk, compressed or not."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
