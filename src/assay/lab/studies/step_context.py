"""Doing a step: who trains, debiases and audits, what becomes of errors, and steps in processes of their own."""

from __future__ import annotations

import os
import signal
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from assay.asking.progress import Progress, SilentProgress
from assay.compare import compare
from assay.compare.comparison import Comparison
from assay.errors import AssayError, ModelError
from assay.files.atomic import of_system, write_atomically
from assay.lab.debiasing import debias
from assay.lab.studies.steps import Step
from assay.lab.training import evaluate, train
from assay.models import find_model
from assay.models.base import ModelSpec, Options
from assay.models.builtin import usable_cpus
from assay.models.hf_files import first_line
from assay.runs.audit import audit

Outcome = Mapping[str, Any] | AssayError
"""What study.json shall say about a step that was done, or why it failed."""


def _compare(baseline: Path, run: Path) -> Comparison:
    return compare([baseline, run], common=True)


def _evaluate(kind: str, folder: Path, data: Path, device: str) -> Mapping[str, Any]:
    return evaluate(kind, f"hf:{folder}", data, device=device).as_json()


@dataclass(frozen=True)
class StudyActions:
    """Who does a study's work; tests put others in their places.

    `evaluate(kind, folder, data, device)` gives a model's scores on task data as assay.json has them.
    """

    train: Callable[..., Any] = train
    debias: Callable[..., Any] = debias
    audit: Callable[..., Any] = audit
    compare: Callable[[Path, Path], Comparison] = _compare
    find: Callable[[str, Options], ModelSpec] = find_model
    evaluate: Callable[[str, Path, Path, str], Mapping[str, Any]] = _evaluate


@dataclass(frozen=True)
class StepContext:
    """What every step needs. `specs` are the models' names for assay, `heads` the kinds of training behind their heads.

    `device` and `dtype` are for the models that have a choice: the built-in one has none.
    """

    out: Path
    makers: StudyActions
    specs: Mapping[str, str]
    heads: Mapping[str, str | None]
    device: str = "auto"
    dtype: str = "auto"

    def options(self, spec: str) -> Options:
        return Options() if spec == "builtin" else Options(self.device, self.dtype)

    def attempt(self, step: Step, folder: Path, progress: Progress) -> Outcome:
        """Do a step; whatever a model, or a library, does about it is told, not raised."""
        try:
            return step.do(self, folder, progress)
        except Exception as error:  # the other steps are not lost by it
            if foreseen := of_system(error):
                return foreseen
            log = self.out / "logs" / f"{step.name}.txt"
            write_atomically(log, traceback.format_exc().encode("utf-8", "replace"))
            return ModelError(f"{type(error).__name__}: {first_line(error)}", f"See {log}.", code="step-failed")


@dataclass
class StepProcesses:
    """A process for every step, at most `jobs` at a time; no step is hurt by the memory or the crash of another."""

    work: StepContext
    jobs: int
    _running: dict[Any, tuple[BaseProcess, Step]] = field(default_factory=dict)  # by connection: Windows has two kinds

    def has_room(self) -> bool:
        return len(self._running) < self.jobs

    def take(self, step: Step, folder: Path) -> None:
        context = get_context("spawn")  # a fork would share what a GPU's driver cannot share
        receiver, sender = context.Pipe(duplex=False)
        process = context.Process(target=_do, args=(sender, self.work, step, folder), name=f"assay study {step.name}")
        with _threads(self.jobs):
            process.start()
        sender.close()
        self._running[receiver] = (process, step)

    def done(self) -> tuple[Step, Outcome]:
        """The next step that is done, with what came of it; waits for it. Only where one was taken."""
        finished = wait(self._running)
        ready = next(connection for connection in self._running if connection in finished)
        process, step = self._running.pop(ready)
        outcome: Outcome | None = None
        with suppress(EOFError):  # it may end without a word
            outcome = ready.recv()
        process.join()
        ready.close()
        return step, _lost(process.exitcode or 0) if outcome is None else outcome

    def __enter__(self) -> StepProcesses:
        return self

    def __exit__(self, *error: object) -> None:
        """End what still runs; the same study goes on from what it stored."""
        for process, _ in self._running.values():
            process.terminate()
        for process, _ in self._running.values():
            process.join()


def _do(sender: Connection, work: StepContext, step: Step, folder: Path) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who began this process ends it
    threading.Thread(target=_end_with_parent, daemon=True).start()
    sender.send(work.attempt(step, folder, SilentProgress()))


def _end_with_parent() -> None:
    """End a step whose study was killed: its result would be lost, and the next attempt repeats it."""
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def _lost(code: int) -> ModelError:
    ending = f"exit code {code}"
    with suppress(ValueError):
        ending = signal.Signals(-code).name
    remedy = "It may have run out of memory: try again with fewer --jobs."
    return ModelError(f"its process ended without a result ({ending}).", remedy, code="step-failed")


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
