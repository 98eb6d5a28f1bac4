"""Who does the steps: this process, one after the other, or several processes beside each other."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Protocol

from assay.errors import ModelError
from assay.lab.studies.steps import Step
from assay.lab.studies.work import Outcome, Work
from assay.models.builtin import usable_cpus
from assay.progress import Progress, Silent


class Hands(Protocol):
    """Take steps while there is room, and hand back one that is done, with what came of it."""

    def has_room(self) -> bool: ...

    def take(self, step: Step, folder: Path) -> None: ...

    def done(self) -> tuple[Step, Outcome]:
        """The next step that is done; waits for it. Only where one was taken."""


@dataclass
class Own:
    """The hands of this process, with its progress bar."""

    work: Work
    progress: Progress
    _taken: tuple[Step, Path] | None = None

    def has_room(self) -> bool:
        return self._taken is None

    def take(self, step: Step, folder: Path) -> None:
        self._taken = (step, folder)

    def done(self) -> tuple[Step, Outcome]:
        assert self._taken is not None
        (step, folder), self._taken = self._taken, None
        return step, self.work.attempt(step, folder, self.progress)


@dataclass
class Several:
    """A process for every step, at most `jobs` at a time; no step is hurt by the memory or the crash of another."""

    work: Work
    jobs: int
    _running: dict[Connection, tuple[BaseProcess, Step]] = field(default_factory=dict)

    def has_room(self) -> bool:
        return len(self._running) < self.jobs

    def take(self, step: Step, folder: Path) -> None:
        context = get_context("spawn")  # a fork would share what a GPU's driver cannot share
        here, there = context.Pipe(duplex=False)
        process = context.Process(target=_do, args=(there, self.work, step, folder), name=f"assay study {step.name}")
        with _threads(self.jobs):
            process.start()
        there.close()
        self._running[here] = (process, step)

    def done(self) -> tuple[Step, Outcome]:
        told = wait(self._running)
        ready = next(connection for connection in self._running if connection in told)
        process, step = self._running.pop(ready)
        outcome: Outcome | None = None
        with suppress(EOFError):  # it may end without a word
            outcome = ready.recv()
        process.join()
        ready.close()
        return step, _lost(process.exitcode or 0) if outcome is None else outcome

    def stop(self) -> None:
        """End what still runs; the same study goes on from what it stored."""
        for process, _ in self._running.values():
            process.terminate()
        for process, _ in self._running.values():
            process.join()
        self._running.clear()


@contextmanager
def hands(work: Work, jobs: int, progress: Progress) -> Iterator[Hands]:
    """Hands for so many steps at a time; nothing runs on when the block is left."""
    if jobs == 1:
        yield Own(work, progress)
        return
    several = Several(work, jobs)
    try:
        yield several
    finally:
        several.stop()


def _do(told: Connection, work: Work, step: Step, folder: Path) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who began this process ends it
    threading.Thread(target=_end_with_parent, daemon=True).start()
    told.send(work.attempt(step, folder, Silent()))


def _end_with_parent() -> None:
    """Nobody hears of a step whose study was killed, and the next one would do it, too."""
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def _lost(code: int) -> ModelError:
    how = f"exit code {code}"
    with suppress(ValueError):
        how = signal.Signals(-code).name
    return ModelError(
        f"its process ended without a result ({how}).",
        "Perhaps memory ran out: try it again with fewer --jobs.",
        code="step-failed",
    )


@contextmanager
def _threads(jobs: int) -> Iterator[None]:
    """Processes that begin in this block share the CPUs, unless the user has said otherwise."""
    name = "OMP_NUM_THREADS"
    if name in os.environ:
        yield
        return
    os.environ[name] = str(max(1, usable_cpus() // jobs))
    try:
        yield
    finally:
        del os.environ[name]
