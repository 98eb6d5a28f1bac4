"""Disturbs this process at a chosen file-system call: before it, in the middle of a write, or after it.

It is killed, gets another signal, the call fails, or the cache vanishes (`FAULTS`). Calls are counted that change files
below a folder, in the order in which they come: those of `os`, and opening and writing files. What libraries in other
languages write is not seen, but what Python does before and after it is.
"""

from __future__ import annotations

import builtins
import errno
import io
import itertools
import os
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from types import SimpleNamespace
from typing import Any

BEFORE, HALF, AFTER = "before", "half", "after"

KILL, VANISH = "SIGKILL", "the cache vanishes"
ERRORS = ("ENOSPC", "EDQUOT", "EROFS", "EIO")
"""Of these, EIO is the error of one call; with the others, all later calls fail that need space, or change anything."""
SIGNALS = ("SIGTERM", "SIGHUP", "SIGINT")
FAULTS = (*ERRORS, *SIGNALS, VANISH)
_FREES_SPACE = ("unlink", "remove", "rmdir", "truncate", "ftruncate", "rename", "replace")

_BY_PATH = ("mkdir", "rename", "replace", "link", "symlink", "unlink", "remove", "rmdir", "truncate")
_BY_HANDLE = ("fsync", "write", "ftruncate", "sendfile")
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


class Points:
    """The calls below `root` so far; at the call `at` this process is disturbed by a `fault`.

    `at` is a number, from 1, or "NAME ENDING": the first call of this name for a path with this ending.
    """

    def __init__(self, root: str, at: int | str | None, when: str = BEFORE, fault: str = KILL) -> None:
        self.root, self.at, self.when, self.fault = Path(root).resolve(), at, when, fault
        self.seen: list[str] = []
        self.struck = False
        self._numbers = itertools.count(1)

    def watches(self, path: Any, more: dict[str, Any]) -> bool:
        if isinstance(path, int):
            try:
                path = Path(f"/proc/self/fd/{path}").readlink()
            except OSError:
                return False
        elif any(more.get(name) is not None for name in ("dir_fd", "src_dir_fd")):
            return True
        return Path(os.fsdecode(path)).absolute().is_relative_to(self.root)

    @contextmanager
    def call(self, name: str, path: Any) -> Iterator[bool]:
        """Around a call; tells whether it is the one to be disturbed in the middle of."""
        number = next(self._numbers)
        self.seen.append(name)
        chosen = number == self.at
        if isinstance(self.at, str):
            wanted, _, ending = self.at.partition(" ")
            chosen = name == wanted and os.fsdecode(path).endswith(ending)
        if (chosen and self.when == BEFORE) or (self.struck and self._fails_on(name)):
            self._strike(path)
        try:
            yield chosen and self.when == HALF
        finally:
            if chosen and self.when != BEFORE:
                self._strike(path)

    def _fails_on(self, name: str) -> bool:
        """Whether a later call fails, too."""
        return self.fault == "EROFS" or (self.fault in ("ENOSPC", "EDQUOT") and name not in _FREES_SPACE)

    def _strike(self, path: Any) -> None:
        self.struck = True
        if self.fault in ERRORS:
            number = getattr(errno, self.fault)
            raise OSError(number, os.strerror(number), *([] if isinstance(path, int) else [os.fsdecode(path)]))
        if self.fault == VANISH:
            shutil.rmtree(self.root / "cache", ignore_errors=True)
            return
        os.kill(os.getpid(), getattr(signal, self.fault))
        if self.fault == KILL:
            time.sleep(60)


def arm(root: str, at: int | str | None, when: str = BEFORE, fault: str = KILL) -> Points:
    """Count the calls of this process from now on, and disturb it at one of them."""
    points = Points(root, at, when, fault)
    for name in (*_BY_PATH, *_BY_HANDLE):
        setattr(os, name, _counted(points, name, getattr(os, name)))
    really_open = os.open

    @wraps(really_open)
    def open_(path: Any, flags: int, *rest: Any, **more: Any) -> int:
        if not flags & _WRITES or not points.watches(path, more):
            return really_open(path, flags, *rest, **more)
        with points.call("open", path):
            return really_open(path, flags, *rest, **more)

    os.open = open_  # type: ignore[assignment]
    io.open = builtins.open = _opening(points, io.open)  # type: ignore[assignment]
    return points


def _counted(points: Points, name: str, real: Any) -> Any:
    @wraps(real)
    def called(path: Any, *rest: Any, **more: Any) -> Any:
        if not points.watches(path, more):
            return real(path, *rest, **more)
        about = rest[0] if name in ("rename", "replace") and rest else path
        with points.call(name, about):
            return real(path, *rest, **more)

    return called


def _opening(points: Points, real: Any) -> Any:
    class Raw(io.FileIO):
        def write(self, content: Any, /) -> int:
            with points.call("write", self.name) as torn:
                return super().write(
                    memoryview(content).cast("B")[: memoryview(content).nbytes // 2] if torn else content
                )

    @wraps(real)
    def opened(
        file: Any,
        mode: str = "r",
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
        closefd: bool = True,
        opener: Any = None,
    ) -> Any:
        if isinstance(file, int) or opener or not {*mode} & {*"wax+"} or not points.watches(file, {}):
            return real(file, mode, buffering, encoding, errors, newline, closefd, opener)
        with points.call("open", file):
            raw = Raw(file, mode.replace("b", "").replace("t", ""))
        if buffering == 0:
            return raw
        buffer = io.BufferedRandom(raw) if "+" in mode else io.BufferedWriter(raw)
        return buffer if "b" in mode else io.TextIOWrapper(buffer, encoding or "utf-8", errors, newline)

    return opened


def stop_the_clock() -> None:
    """Have files say the same time, whenever they are written, so that their bytes can be compared."""
    import assay.engine.journal as journal
    import assay.runs.audit as audit

    audit.now = lambda: "2020-11-16T00:00:00+00:00"
    time.perf_counter = lambda: 0.0
    replies: Any = journal
    replies.time = SimpleNamespace(time=lambda: 1.6e9, time_ns=time.time_ns)  # blocks have the times of replies
    try:
        import assay.lab.training as training
    except ImportError:
        return
    real: Any = training.datetime

    class Stopped(real):  # type: ignore[misc]
        @classmethod
        def now(cls, zone: Any = None) -> Any:
            return real(2020, 11, 16, tzinfo=zone)

    training.datetime = Stopped  # type: ignore[misc]


def make_up_data(pinned: str) -> None:
    """Have `assay data fetch bbq` fetch the files of another manifest."""
    import assay.cli.data as data
    from assay.datasets.catalogue import DataSet

    data._named = lambda name: DataSet(name, "made up", "none", Path(pinned))
