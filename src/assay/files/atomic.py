"""Writing files and folders so that they are there whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import platform
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from assay.errors import AssayError, UsageError

_FULL_DISK_TEXTS = (  # torch and safetensors have errors of their own, and torch's do not give the reason
    "No space left on device",
    "Disk quota exceeded",
    "File too large",
    "PytorchStreamWriter failed",
    "unexpected pos",
)


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file that a reader sees as it was or as it shall be, never in part."""
    with open_atomically(path) as file:
        file.write(content)


@contextmanager
def open_atomically(path: Path) -> Iterator[BinaryIO]:
    """A file to write beside `path`; when the block ends it is synced and renamed, when it fails it is removed."""
    part = beside(path, "tmp")
    try:
        with explained(path, "file"):
            path.parent.mkdir(parents=True, exist_ok=True)
            with part.open("wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            part.replace(path)
            _sync_folder(path.parent)
    finally:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)


@contextmanager
def folder_beside(path: Path) -> Iterator[Path]:
    """A new folder to work in beside `path`, removed at the end unless `rename_folder` made it `path` itself."""
    part = beside(path, "dir")
    try:
        with explained(path, "folder"):
            remove_leftovers(path.parent, path.name)
            shutil.rmtree(part, ignore_errors=True)  # of a killed program whose number this one has got
            part.mkdir(parents=True)
            yield part
    finally:
        shutil.rmtree(part, ignore_errors=True)


def rename_folder(folder: Path, path: Path) -> None:
    """Give a folder that is whole its name. An empty folder of that name makes way; anything else there is an error."""
    with explained(path, "folder"):
        if path.is_dir():
            path.rmdir()
        folder.rename(path)
        _sync_folder(path.parent)


def beside(path: Path, ending: str) -> Path:
    """Where this process writes what shall become `path`: hidden, and named after who writes it.

    Machines may share a folder, so that the number of a process is not enough.
    """
    return path.with_name(f".{path.name}.{_machine()}-{os.getpid()}.{ending}")


def remove_leftovers(folder: Path, name: str | None = None) -> None:
    """Remove what programs of this machine left that were killed while writing into this folder.

    name: only what they left of the file or folder of this name.
    """
    for path in folder.glob(".*"):
        left = _LEFT.fullmatch(path.name)
        if left and left["machine"] == _machine() and name in (None, left["name"]) and not _alive(int(left["process"])):
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)


def is_leftover(path: Path, name: str) -> bool:
    """Whether this is what a program left, on whatever machine, that was killed while writing a file of this name."""
    left = _LEFT.fullmatch(path.name)
    return left is not None and left["name"] == name and path.is_file()


_LEFT = re.compile(r"\.(?P<name>.+)\.(?P<machine>[A-Za-z0-9]*)-(?P<process>[0-9]{1,9})\.(tmp|dir)")


def _machine() -> str:
    return re.sub(r"[^A-Za-z0-9]", "", platform.node())


if sys.platform == "win32":
    import ctypes

    _SYNCHRONIZE, _INVALID_PARAMETER, _TIMEOUT = 0x100000, 87, 0x102

    def _alive(pid: int) -> bool:
        """Whether a process runs. Not by os.kill, which interrupts it here."""
        kernel = ctypes.WinDLL("kernel32", use_last_error=True)
        process = kernel.OpenProcess(_SYNCHRONIZE, False, pid)
        if not process:
            return ctypes.get_last_error() != _INVALID_PARAMETER  # it is somebody else's program
        try:
            return bool(kernel.WaitForSingleObject(process, 0) == _TIMEOUT)
        finally:
            kernel.CloseHandle(process)

else:

    def _alive(pid: int) -> bool:
        """Whether a process runs."""
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        except OSError:  # somebody else's program
            return True
        return True


def _sync_folder(folder: Path) -> None:
    with contextlib.suppress(OSError):  # some systems cannot sync a folder; the file itself is synced
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def is_full_disk(error: BaseException) -> bool:
    """Whether an error says that no space is left, whichever library found it so."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return True
    return any(text in str(error) for text in _FULL_DISK_TEXTS)


@contextmanager
def explained(path: Path, what: str) -> Iterator[None]:
    """What keeps a file or folder from being written is something to cure, whichever library finds it so."""
    try:
        yield
    except AssayError:
        raise
    except Exception as error:
        if is_full_disk(error):
            code, problem = "no-space", f"no space left to write this {what}."
            remedy = (
                "Free some space, or point --out and ASSAY_CACHE at a larger disk; then run the same command to resume."
            )
        elif isinstance(error, OSError):
            code, problem = "cannot-write", f"cannot be written ({error.strerror or error})."
            remedy = "Choose a writable folder with --out, and with ASSAY_CACHE for the stored answers."
        else:
            raise
        raise UsageError(problem, remedy, code=code, file=path) from error
