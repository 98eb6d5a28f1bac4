"""Writing files so that they are there whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import platform
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from assay.errors import UsageError

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
    beside = path.with_name(f".{path.name}.{_writer(os.getpid())}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with beside.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
        _sync_folder(path.parent)
    except OSError as error:
        raise _explained(error, path) from error
    finally:
        with contextlib.suppress(OSError):
            beside.unlink(missing_ok=True)


def remove_leftovers(folder: Path) -> None:
    """Remove what programs of this machine that were killed while writing into this folder left beside their files."""
    for path in folder.glob(f".*.{_writer('*')}.tmp"):
        if not _alive(int(path.stem.rpartition("-")[2])):
            path.unlink(missing_ok=True)


def is_leftover(path: Path, name: str) -> bool:
    """Whether this is what a program left, on whatever machine, that was killed while writing a file of this name."""
    return path.is_file() and re.fullmatch(rf"\.{re.escape(name)}\.[A-Za-z0-9]*-[0-9]+\.tmp", path.name) is not None


def _writer(pid: int | str) -> str:
    """Who writes: machine and process, since machines may share a folder."""
    return f"{re.sub(r'[^A-Za-z0-9]', '', platform.node())}-{pid}"


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # somebody else's program
        return True
    return True


def _sync_folder(folder: Path) -> None:
    with contextlib.suppress(OSError):  # some file systems cannot sync a folder; the file itself is synced
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


def _explained(error: OSError, path: Path) -> UsageError:
    if is_full_disk(error):
        problem = f"{path}: no space left to write this file."
        remedy = "Free some space, or point --out and ASSAY_CACHE at a larger disk; the same command then goes on."
    else:
        problem = f"{path}: cannot be written ({error.strerror})."
        remedy = "Choose a folder that you may write to with --out, and for the answers with ASSAY_CACHE."
    return UsageError(problem, remedy)
