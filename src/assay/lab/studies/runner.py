"""Going through a study's steps: each is made or asked unless that is done; one that fails does not stop the others."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from assay.errors import AssayError
from assay.lab.studies.processes import Hands, hands
from assay.lab.studies.record import Record, State, set_aside
from assay.lab.studies.steps import Step
from assay.lab.studies.work import Outcome, Work
from assay.progress import Progress, Silent
from assay.runs.audit import stamp


@dataclass(frozen=True)
class Failure:
    """A step that failed, and why; `because` names one that failed before, without which this one could not begin."""

    step: str
    error: AssayError | None
    because: str | None = None


class Told:
    """Hears what a study is doing; the command line prints it."""

    def begins(self, step: Step, number: int, total: int, state: State) -> None:
        pass

    def moved(self, step: Step, place: Path) -> None:
        pass

    def done(self, step: Step, seconds: float) -> None:
        pass

    def failed(self, step: Step, failure: Failure) -> None:
        pass


@dataclass
class Runner:
    """Has a study's steps done, each as soon as what it needs is there, `jobs` at a time; notes what came of them."""

    steps: Sequence[Step]
    work: Work
    record: Record
    jobs: int = 1
    progress: Progress = field(default_factory=Silent)
    told: Told = field(default_factory=Told)
    _failures: dict[str, Failure] = field(default_factory=dict)
    _began: dict[str, float] = field(default_factory=dict)  # of the steps that are being done

    def run(self) -> list[Failure]:
        """All steps; returns what failed, in the steps' order."""
        waiting = dict(enumerate(self.steps, 1))
        if self.jobs > 1:
            self.progress.start("study", len(self.steps), "steps")
        with hands(self.work, self.jobs, self.progress) as doing:
            for number in self._settled(waiting):
                self._begin(waiting.pop(number), number, doing)
            while waiting or self._began:
                ready = self._next(waiting) if doing.has_room() else None
                if ready is not None:
                    self._begin(waiting.pop(ready), ready, doing)
                else:
                    self._finish(*doing.done())
        return [self._failures[step.name] for step in self.steps if step.name in self._failures]

    def _settled(self, waiting: Mapping[int, Step]) -> list[int]:
        """The steps that are done, with all that they need: told first, so that progress begins where it ended."""
        open_, found = {step.name for step in waiting.values()}, []
        for number, step in waiting.items():
            if open_.isdisjoint(step.needs) and self.record.state(step) is State.DONE:
                open_.discard(step.name)
                found.append(number)
        return found

    def _next(self, waiting: Mapping[int, Step]) -> int | None:
        """The first step that waits for no other one."""
        missing = {step.name for step in waiting.values()} | self._began.keys()
        return next((number for number, step in waiting.items() if missing.isdisjoint(step.needs)), None)

    def _begin(self, step: Step, number: int, doing: Hands) -> None:
        state = self.record.state(step)
        self.told.begins(step, number, len(self.steps), state)
        lost = next((name for name in step.needs if name in self._failures), None)
        if lost is not None:
            self._failed(step, Failure(step.name, None, because=lost))
        elif state is State.DONE:
            self._count(stored=True)
        else:
            try:
                folder = self._ready(step, state)
            except AssayError as error:
                self._failed(step, Failure(step.name, error))
                return
            self._began[step.name] = time.perf_counter()
            doing.take(step, folder)

    def _ready(self, step: Step, state: State) -> Path:
        """A step's folder, with nothing in it but what the step goes on from; that it begins is noted."""
        folder = step.folder(self.record.out)
        if state is State.BEGUN and not step.can_go_on(self.work, folder):
            state = State.CHANGED
        if state is State.CHANGED:
            self.told.moved(step, set_aside(folder, self.record.out))
        forgotten = dict.fromkeys(("digest", "finished", "seconds", "findings", "scores"))
        self.record.note(
            step,
            **{**(forgotten if state is not State.BEGUN else {}), "recipe": step.recipe, "content": dict(step.content)},
            error=None,
            started=stamp()["started"],
            **{"from": self.record.digests(step.needs)},
            **step.facts,
        )
        return folder

    def _finish(self, step: Step, outcome: Outcome) -> None:
        seconds = time.perf_counter() - self._began.pop(step.name)
        if isinstance(outcome, AssayError):
            self._failed(step, Failure(step.name, outcome))
            return
        spent = self.record.of(step).get("seconds", 0.0) + seconds
        self.record.note(step, **outcome, seconds=round(spent, 1), finished=stamp()["started"])
        self.told.done(step, seconds)
        self._count()

    def _failed(self, step: Step, failure: Failure) -> None:
        error = failure.error
        if error is not None:
            said = {"problem": error.problem, "remedy": error.remedy, "exit_code": error.exit_code}
            self.record.note(step, error=said)
        self._failures[step.name] = failure
        self.told.failed(step, failure)
        self._count()

    def _count(self, *, stored: bool = False) -> None:
        if self.jobs > 1:  # else the steps show progress of their own
            self.progress.advance(1, stored=stored)
