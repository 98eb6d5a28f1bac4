"""The beginnings of downloads on disk.

A download grows in a hidden file beside the one that it shall become, named after the machine and process that write
it. The next download begins with what such a file holds: whether its writer still lives does not matter, since a copy
of its beginning is as good, and since what counts in the end is the content's id.
"""

from __future__ import annotations

import contextlib
import glob
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from assay.errors import UsageError
from assay.files.atomic import beside, is_full_disk, remove_leftovers

_ELSEWHERE = (
    "Make room or allow writing there, or choose another folder with --data or ASSAY_DATA; what has come so far stays."
)


class PartFile:
    """What was downloaded of a file so far: a hidden file beside it. It stays when the download fails or is stopped."""

    def __init__(self, path: Path) -> None:
        """Begin with the longest part that other downloads left. One still at work keeps its own, without a name."""
        self._path = beside(path, "part")
        with writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            remove_leftovers(path.parent)
            left = list(path.parent.glob(f".{glob.escape(path.name)}.*.part"))
            begun = max((_read_if_there(part) for part in left), key=len, default=b"")
            self._file: IO[bytes] = self._path.open("w+b")
            self.size = 0
            self.append(begun)
        for part in left:
            if part != self._path:
                with contextlib.suppress(OSError):  # gone already, or in use on a system that minds
                    part.unlink()

    def append(self, chunk: bytes) -> None:
        with writing(self._path):
            self._file.write(chunk)
            self._file.flush()
        self.size += len(chunk)

    def restart(self) -> None:
        with writing(self._path):
            self._file.seek(0)
            self._file.truncate()
        self.size = 0

    def content(self) -> bytes:
        with writing(self._path):
            self._file.seek(0)
            return self._file.read()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()
        if error is None or not self.size:
            with contextlib.suppress(OSError):  # removed by another download
                self._path.unlink()


def _read_if_there(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Errors of the file system say what to do about the data folder."""
    try:
        yield
    except UsageError as error:  # of write_atomically, whose remedy is about runs
        problem = error.problem.removeprefix(f"{error.file}: ")
        raise UsageError(problem, _ELSEWHERE, code=error.code, file=error.file) from error
    except OSError as error:
        code = "no-space" if is_full_disk(error) else "cannot-write"
        raise UsageError(f"cannot be written ({error.strerror}).", _ELSEWHERE, code=code, file=path) from error
