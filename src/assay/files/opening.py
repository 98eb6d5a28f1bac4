"""Opens files of unknown origin: plain, gzip (.gz) or xz (.xz), by their names.

Only regular files are opened: a pipe would block, and a device never ends. What is read is limited, so that no file,
however small, fills the memory: the length of a line, blanks in a row, and to how many times its size a file unpacks.
"""

from __future__ import annotations

import csv
import errno
import gzip
import hashlib
import io
import lzma
import os
import stat
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

from assay.errors import DataError

PACKED = (".gz", ".xz")

LONGEST_LINE = 64 << 20
"""Bytes of a line. The largest known file that is one line, SQuAD 2.0, has 42 MB."""
LONGEST_ROW = 16 << 20
"""Bytes of a line that is one row of a table."""
MOST_WHOLE = 64 << 20
"""Bytes of a file that is read at once."""
_MOST_BLANK = 1 << 20  # bytes in a row
_FREELY = 64 << 20  # bytes that any compressed file may unpack to; beyond, at most so many times its size:
_MOST_TIMES = 200
_PIECE = 1 << 18

UNREADABLE = (OSError, EOFError, UnicodeDecodeError, zlib.error, lzma.LZMAError, csv.Error)
"""What reading a file raises if it is missing, damaged, not UTF-8 or not CSV."""


class FileTooLargeError(OSError):
    """A file goes beyond a limit, in this line if it is known."""

    def __init__(self, problem: str, line: int | None = None) -> None:
        super().__init__(problem)
        self.line = line


def open_regular(path: Path) -> io.BufferedReader:
    """Open a file to read its bytes. OSError if it cannot be read, or is not a regular file; this never blocks."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    mode = os.fstat(handle).st_mode
    if stat.S_ISREG(mode):
        return os.fdopen(handle, "rb")
    os.close(handle)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    raise OSError(errno.EINVAL, "not a regular file", str(path))


_UNKNOWN_SIZE = 1 << 20
"""Bytes that are read at least: files that the system makes up say that they have none."""


def read_whole(path: Path, most: int = MOST_WHOLE) -> bytes:
    """The bytes of a file, of which there may be only so many. OSError as in `open_regular`."""
    with open_regular(path) as file:
        size = max(os.fstat(file.fileno()).st_size, _UNKNOWN_SIZE)
        content = file.read(min(most, size) + 1)  # Python takes as much memory as it is told to read
    if len(content) > most:
        raise FileTooLargeError(f"it has more than {most >> 20} MB")
    return content


def is_zip(path: Path) -> bool:
    """Whether a regular file is a zip archive."""
    try:
        with open_regular(path) as file:
            return zipfile.is_zipfile(file)
    except OSError:  # whoever reads it says what is wrong
        return False


@contextmanager
def open_zip(path: Path) -> Iterator[zipfile.ZipFile]:
    """An archive to read from. OSError as in `open_regular`, and BadZipFile."""
    with open_regular(path) as file, zipfile.ZipFile(file) as archive:
        yield archive


@contextmanager
def open_text(path: Path, longest: int | None = LONGEST_LINE) -> Iterator[IO[str]]:
    """The text of a file, decompressed, with its line endings unchanged; a line has at most `longest` bytes.

    Every error while it is read is a DataError that names the file.
    """
    with open_bytes(path, longest) as content, io.TextIOWrapper(content, encoding="utf-8-sig", newline="") as file:
        yield file


@contextmanager
def open_bytes(path: Path, longest: int | None = LONGEST_LINE) -> Iterator[IO[bytes]]:
    """The content of a file, decompressed; limits and errors as in `open_text`. `longest` None: lines do not matter."""
    try:
        with open_regular(path) as packed, unpacked(packed, path.suffix, longest) as content:
            yield content
    except FileNotFoundError:
        raise DataError("there is no such file.", "Check the name.", code="missing-file", file=path) from None
    except UNREADABLE as error:
        problem, line = f"cannot be read ({reason(error)}).", getattr(error, "line", None)
        raise DataError(
            problem, "Check the file, or get a new copy.", code="unreadable-file", file=path, line=line
        ) from None


def unpacked(packed: IO[bytes], suffix: str, longest: int | None = LONGEST_LINE) -> IO[bytes]:
    """The content of an open file whose name ends with `suffix`. Reading it may raise any of `UNREADABLE`."""
    content = packed
    if suffix in PACKED:
        read = gzip.open if suffix == ".gz" else lzma.open
        content = cast(IO[bytes], read(packed))
    return io.BufferedReader(_LimitedStream(content, packed, longest), _PIECE)


def require_modest(unpacked: int, packed: int) -> None:
    """Refuse so many bytes out of so many compressed ones."""
    if unpacked > _FREELY and unpacked // max(1, packed) > _MOST_TIMES:
        raise FileTooLargeError(f"it unpacks to more than {_MOST_TIMES} times its size")


class _LimitedStream(io.RawIOBase):
    """A stream that ends with a FileTooLargeError where it goes beyond a limit."""

    def __init__(self, content: IO[bytes], packed: IO[bytes], longest: int | None) -> None:
        self._content, self._packed, self._longest = content, packed, longest
        self._all = self._blank = self._in_line = 0  # bytes so far: of all, of blanks at the end, of the last line
        self._line = 1

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self._content.close()
        super().close()

    def readinto(self, buffer: Any) -> int:
        piece = self._content.read(len(buffer))
        buffer[: len(piece)] = piece
        self._all += len(piece)
        if self._content is not self._packed:
            require_modest(self._all, self._packed.tell())
        self._blank = self._blank + len(piece) if piece.isspace() else 0
        if self._blank > _MOST_BLANK:
            raise FileTooLargeError(f"more than {_MOST_BLANK >> 20} MB of blanks in a row")
        last = max(piece.rfind(b"\n"), piece.rfind(b"\r"))
        self._in_line = self._in_line + len(piece) if last < 0 else len(piece) - last - 1
        self._line += piece.count(b"\n")
        if self._longest is not None and self._in_line > self._longest:
            raise FileTooLargeError(f"a line of more than {self._longest >> 20} MB", self._line)
        return len(piece)


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
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8"
    return (isinstance(error, OSError) and error.strerror) or str(error)


def digest_of_file(path: Path) -> str:
    """The digest of a file's content, the same whether it is compressed or not."""
    hasher = hashlib.sha256()
    with open_bytes(path, None) as content:
        while piece := content.read(1 << 20):
            hasher.update(piece)
    return hasher.hexdigest()


def digest_as_stored(path: Path) -> str:
    """The digest of a file's bytes on disk, compressed or not."""
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
