"""One program at a time in a folder.

The lock is an empty file `.lock` in it. Its holder removes it at the end; after a killed program it stays, unlocked.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from assay.errors import UsageError
from assay.files.atomic import is_leftover

LOCK = ".lock"

_LOCKED = 1 << 30
"""The byte that is locked where locks have places (Windows), so that the others can be read."""

_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_OTHER = "Choose another folder with --out."


def is_new(folder: Path, first: str) -> bool:
    """Whether a folder is missing, or has only the leftovers of a program that was killed at its start.

    These are its lock, and a part of the `first` file that it writes, which identifies the folder.
    """
    try:
        return all(entry.name == LOCK or is_leftover(entry, first) for entry in folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):  # what is no folder cannot be made one, as `held` says
        return True
    except OSError as error:
        raise UsageError(f"cannot be read ({error.strerror}).", _OTHER, code="unreadable-file", file=folder) from None


@contextmanager
def held(folder: Path, doing: str) -> Iterator[None]:
    """Create a folder if needed, and hold its lock. `doing` completes the message "another program is …".

    Callers must check first that the folder is new or their own. Folders that were created and are still empty at the
    end are removed.
    """
    try:
        new_folders = [path for path in (folder, *folder.parents) if not path.exists()]
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot be created ({error.strerror}).", _OTHER, code="cannot-write", file=folder) from None
    try:
        path = folder / LOCK
        handle = _acquired(path, doing)
        try:
            yield
        finally:
            _release(handle, path)
    finally:
        for new_folder in new_folders:
            with contextlib.suppress(OSError):  # there is something in it
                new_folder.rmdir()


def hold(path: Path) -> int:
    """Create a file and hold its lock; returns its handle, which appends. `let_go` releases the lock."""
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | _NO_LINK, 0o666)
        with contextlib.suppress(BlockingIOError):  # another program is looking whether it is free
            if _is_locked(handle, path, _LOCKED):
                return handle


def let_go(handle: int, path: Path) -> None:
    """Remove a file that `hold` has locked."""
    os.lseek(handle, _LOCKED, os.SEEK_SET)
    _release(handle, path)


def remove_if_free(path: Path) -> bool:
    """Remove a file whose lock no program holds; whether it is gone."""
    try:
        handle = os.open(path, os.O_RDWR | _NO_LINK)
        if _is_locked(handle, path, _LOCKED):
            _release(handle, path)
    except FileNotFoundError:
        return True
    except OSError:  # somebody else's, or held
        return False
    return True


def _acquired(path: Path, doing: str) -> int:
    """The open lock, held."""
    while True:
        handle = _opened(path)
        try:
            if _is_locked(handle, path):
                return handle
        except BlockingIOError:
            remedy = "Wait until it is finished, or choose another folder with --out."
            raise UsageError(f"another program is {doing}.", remedy, code="in-use", file=path.parent) from None
        except OSError as error:
            problem = f"cannot be locked ({error.strerror})."
            raise UsageError(problem, _OTHER, code="cannot-write", file=path) from None


def _is_locked(handle: int, path: Path, at: int = 0) -> bool:
    """Lock an open file, and close it if that fails; False if another file has taken its place."""
    try:
        os.lseek(handle, at, os.SEEK_SET)
        if _take(handle, path):
            return True
    except OSError:
        os.close(handle)
        raise
    os.close(handle)
    return False


def _opened(path: Path) -> int:
    """The open lock file; refuses links and other files of that name."""
    foreign = UsageError("this is not a lock file of assay, which would be empty.", _OTHER, code="not-new", file=path)
    if path.is_symlink():
        raise foreign
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | _NO_LINK, 0o666)
    except OSError as error:
        remedy = "Choose a writable folder with --out."
        raise UsageError(f"cannot be written ({error.strerror}).", remedy, code="cannot-write", file=path) from None
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode) or status.st_size:
        os.close(handle)
        raise foreign
    return handle


if sys.platform == "win32":
    import msvcrt

    def _take(handle: int, path: Path) -> bool:
        """Lock an open file. It is still in the folder, as an open file cannot be removed."""
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except PermissionError:
            raise BlockingIOError from None
        return True

    def _release(handle: int, path: Path) -> None:
        msvcrt.locking(handle, msvcrt.LK_UNLCK, 1)
        os.close(handle)
        with contextlib.suppress(OSError):  # another program has opened it
            path.unlink()

else:
    import fcntl

    def _take(handle: int, path: Path) -> bool:
        """Lock an open file; False if its last holder has removed it, as another one may be there now."""
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return _is_at(handle, path)

    def _release(handle: int, path: Path) -> None:
        for _ in range(2):  # a disk may fail once
            with contextlib.suppress(OSError):
                if _is_at(handle, path):
                    path.unlink()  # while it is held: afterwards it may be another program's
                break
        os.close(handle)

    def _is_at(handle: int, path: Path) -> bool:
        try:
            return os.path.samestat(os.fstat(handle), path.lstat())
        except FileNotFoundError:
            return False
