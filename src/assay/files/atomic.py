"""Atomic writing: a file or folder appears complete or not at all."""

from __future__ import annotations

import contextlib
import errno
import fnmatch
import glob
import os
import platform
import re
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import BinaryIO

from assay.errors import AssayError, ModelError, UsageError, is_of_device, is_out_of_memory

_FULL_DISK_TEXTS = (  # torch and safetensors have errors of their own, and torch's do not give the reason
    "No space left on device",
    "Disk quota exceeded",
    "File too large",
    "PytorchStreamWriter failed",
    "unexpected pos",
)


def write_atomically(path: Path, content: bytes, *, clean: bool = True) -> None:
    """Write a file; readers see the old content or the new one, never a part."""
    with open_atomically(path, clean=clean) as file:
        file.write(content)


@contextmanager
def open_atomically(path: Path, *, clean: bool = True) -> Iterator[BinaryIO]:
    """A temporary file beside `path`: synced and renamed at the end, removed after an error.

    Those that killed programs left for this path are removed first, unless the caller does so for many files at once
    (`clean`), because that lists the folder.
    """
    part = beside(path, "tmp")
    try:
        with explained(path, "file"):
            path.parent.mkdir(parents=True, exist_ok=True)
            if clean:
                remove_leftovers(path.parent, glob.escape(path.name))
            with part.open("wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            _replace(part, path)
            _sync_folder(path.parent)
    finally:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)


@contextmanager
def folder_beside(path: Path) -> Iterator[Path]:
    """A temporary folder beside `path`, removed at the end unless `rename_folder` renamed it."""
    part = beside(path, "dir")
    try:
        with explained(path, "folder"):
            remove_leftovers(path.parent, glob.escape(path.name))
            shutil.rmtree(part, ignore_errors=True)  # of a killed program whose number this one has got
            part.mkdir(parents=True)
            yield part
    finally:
        shutil.rmtree(part, ignore_errors=True)


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A folder among the system's temporary files, removed at the end; those of killed programs are removed first."""
    root = Path(gettempdir())
    remove_leftovers(root, "assay-*")
    suffix = beside(root / "assay", "dir").name.removeprefix(".assay")
    with TemporaryDirectory(prefix=".assay-", suffix=suffix, ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def move_file(path: Path, target: Path) -> None:
    """Move a file within a disk, in place of what is there."""
    with explained(target, "file"):
        _replace(path, target)
        _sync_folder(target.parent)


def rename_folder(folder: Path, path: Path) -> None:
    """Rename a complete folder. An empty folder of that name is replaced; anything else is an error."""
    with explained(path, "folder"):
        if path.is_dir():
            path.rmdir()
        _replace(folder, path)
        _sync_folder(path.parent)


def beside(path: Path, ending: str) -> Path:
    """The hidden temporary file or folder of this process for `path`.

    Its name has the machine and the process, because machines may share a folder.
    """
    return path.with_name(f".{path.name}.{_machine()}-{os.getpid()}.{ending}")


def remove_leftovers(folder: Path, pattern: str = "*") -> None:
    """Remove temporary files that killed programs of this machine left in this folder.

    pattern: only those for files or folders whose name matches.
    """
    for path in folder.glob(".*"):
        match = _LEFT.fullmatch(path.name)
        if match is None or match["machine"] != _machine() or not fnmatch.fnmatchcase(match["name"], pattern):
            continue
        if not _alive(int(match["process"])):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=True)
            else:
                with contextlib.suppress(OSError):
                    path.unlink()


def is_leftover(path: Path, name: str) -> bool:
    """Whether this is the temporary file of a killed program, on any machine, for a file of this name."""
    match = _LEFT.fullmatch(path.name)
    return match is not None and match["name"] == name and path.is_file()


_LEFT = re.compile(r"\.(?P<name>.+)\.(?P<machine>[A-Za-z0-9]*)-(?P<process>[0-9]{1,9})\.(tmp|dir)")


def _machine() -> str:
    return re.sub(r"[^A-Za-z0-9]", "", platform.node())


if sys.platform == "win32":
    import ctypes

    _WAITS = (0.01, 0.03, 0.1, 0.3, 1.0)  # seconds

    def _replace(part: Path, path: Path) -> None:
        """Rename; waits for programs that read either of them, such as scanners for viruses, which Windows minds."""
        for wait in _WAITS:
            try:
                part.replace(path)
            except PermissionError:
                time.sleep(wait)
            else:
                return
        part.replace(path)

    _SYNCHRONIZE, _INVALID_PARAMETER, _TIMEOUT = 0x100000, 87, 0x102

    def _alive(pid: int) -> bool:
        """Whether a process runs. Without os.kill, which would end it on Windows."""
        kernel = ctypes.WinDLL("kernel32", use_last_error=True)
        process = kernel.OpenProcess(_SYNCHRONIZE, False, pid)
        if not process:
            return ctypes.get_last_error() != _INVALID_PARAMETER  # it is somebody else's program
        try:
            return bool(kernel.WaitForSingleObject(process, 0) == _TIMEOUT)
        finally:
            kernel.CloseHandle(process)

else:

    def _replace(part: Path, path: Path) -> None:
        """Rename, in place of what is there."""
        part.replace(path)

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
    """Whether an error of any library means that no space is left."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return True
    return any(text in str(error) for text in _FULL_DISK_TEXTS)


def of_system(error: BaseException, path: Path | str | None = None, kind: str = "file") -> AssayError | None:
    """An error of any library about memory, devices or files, as one with a remedy; None if it is something else.

    path, kind: the file or folder that was being written.
    """
    if isinstance(error, AssayError):
        return error
    if is_out_of_memory(error):
        remedy = "Close other programs, or ask about less (--limit); the same command uses what is stored already."
        return UsageError("there is not enough memory.", remedy, code="out-of-memory")
    if is_of_device(error):
        remedy = "Close other programs that use it, or choose another --device; the same command uses what is stored."
        return ModelError(f"the device failed ({str(error).splitlines()[0]}).", remedy, code="no-device")
    if is_full_disk(error):
        code, problem = "no-space", f"no space left to write this {kind}."
        remedy = (
            "Free some space, or point --out and ASSAY_CACHE at a larger disk; then run the same command to resume."
        )
    elif path is not None and isinstance(error, IsADirectoryError):
        code, problem = "cannot-write", f"there is a folder of this name, which this {kind} cannot replace."
        remedy = "Remove or rename that folder; then run the same command again."
    elif path is not None and isinstance(error, OSError):
        code, problem = "cannot-write", f"cannot be written ({error.strerror or error})."
        remedy = "Choose a writable folder with --out, and with ASSAY_CACHE for the stored answers."
    elif isinstance(error, OSError) and error.errno:
        code, problem = "unreadable-file", f"{error.strerror}."
        remedy = "Check this name, and who may read and write there."
    else:
        return None
    if path is None and isinstance(error, OSError):
        path = error.filename
    return UsageError(problem, remedy, code=code, file=path)


@contextmanager
def explained(path: Path, kind: str) -> Iterator[None]:
    """Turn errors of any library while writing a file or folder into a UsageError with a remedy."""
    try:
        yield
    except AssayError:
        raise
    except Exception as error:
        foreseen = of_system(error, path, kind)
        if foreseen is None:
            raise
        raise foreseen from error
