"""Studies: many models, some made on the way, asked many probes, from one file; with one page over everything.

A study is read, prepared, gone through, and shown on a page; or only planned. Each step is done unless that was done
before, as soon as what it needs is there; one that fails does not stop the others.

study_file.py     what a study file says, and who came from whom
schedule.py       who is made from whom, what is asked of whom, in which order
steps.py          the three kinds of steps: make a model, run a probe, compare two runs
prepare.py        files and models found, everything checked, counted and digested before anything runs
step_context.py   who trains, debiases and audits; one step, in this process or in another
study_record.py   study.json: what was done, from which recipes
page.py           report.html: models, probes, and what changed against the models that they are compared with
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay.asking.progress import Progress, SilentProgress
from assay.errors import AssayError, UsageError
from assay.lab.studies.page import write_page
from assay.lab.studies.prepare import Study, prepare
from assay.lab.studies.step_context import Outcome, StepContext, StepProcesses, StudyActions
from assay.lab.studies.steps import Step
from assay.lab.studies.study_file import StudyFile, find_study, packaged_studies, read_study
from assay.lab.studies.study_record import StepState, StudyRecord, open_record, read_record, require_study, set_aside
from assay.runs.audit import provenance

__all__ = ["StepFailure", "StepState", "StudyActions", "StudyListener", "StudyPreview", "StudyResult"]
__all__ += ["packaged_studies", "plan", "read_study", "require_jobs", "study"]


@dataclass(frozen=True)
class StepFailure:
    """A step that failed, and why; `because` names one that failed before, without which this one could not begin."""

    step: str
    error: AssayError | None
    because: str | None = None


@dataclass(frozen=True)
class StudyResult:
    """A study that was gone through: folder, the content of study.json, what failed, and the page if there is one."""

    folder: Path
    record: Mapping[str, Any]
    failures: Sequence[StepFailure]
    page: Path | None

    @property
    def exit_code(self) -> int:
        """0, or that of the first failure."""
        return next((failure.error.exit_code for failure in self.failures if failure.error is not None), 0)


@dataclass(frozen=True)
class StudyPreview:
    """What a study would do: its steps in their order, each with how far it is."""

    folder: Path
    study: Study
    steps: Sequence[tuple[Step, StepState]]


class StudyListener:
    """Hears what a study is doing; the command line prints it."""

    def begins(self, step: Step, number: int, total: int, state: StepState) -> None:
        pass

    def moved(self, step: Step, folder: Path) -> None:
        pass

    def done(self, step: Step, seconds: float) -> None:
        pass

    def failed(self, step: Step, failure: StepFailure) -> None:
        pass


def study(
    file: str | Path,
    out: str | Path | None = None,
    *,
    data: str | Path | None = None,
    only: Sequence[str] = (),
    device: str = "auto",
    dtype: str = "auto",
    jobs: int = 1,
    progress: Progress | None = None,
    listener: StudyListener | None = None,
    makers: StudyActions | None = None,
) -> StudyResult:
    """Make a study's models, ask its questions, and write one page about all of it.

    file: a study file, or the name of one that comes with assay. out: the study's folder (runs/study-NAME). data: the
    folder that names of files are looked for in. only: patterns of the steps to do, with what they need. jobs: how many
    steps to do at a time, each in a process of its own if more than one (a script then has to call this under
    `if __name__ == "__main__":`). The same call again goes on where it ended; what has changed in the file is made
    again, with all that depends on it.
    """
    require_jobs(jobs)
    read, folder = _opened(file, out)
    ready = prepare(read, folder, makers or StudyActions(), data=data, only=only, fetch=True)
    with open_record(folder, read) as record:
        record.begin(ready)
        work = ready.work(device, dtype)
        failures = _Runner(
            ready.steps, work, record, jobs, progress or SilentProgress(), listener or StudyListener()
        ).run()
        page = write_page(folder, read, ready.schedule.runs, record)
        if not failures and not only:
            record.content["finished"] = provenance()["started"]
        record.write()
    return StudyResult(folder, record.content, failures, page)


def plan(
    file: str | Path,
    out: str | Path | None = None,
    *,
    data: str | Path | None = None,
    only: Sequence[str] = (),
    makers: StudyActions | None = None,
) -> StudyPreview:
    """What `study` would do with the same arguments; everything is checked, nothing is made, asked or fetched."""
    read, folder = _opened(file, out)
    ready = prepare(read, folder, makers or StudyActions(), data=data, only=only, fetch=False)
    record = read_record(folder)
    return StudyPreview(folder, ready, [(step, record.state(step)) for step in ready.steps])


def require_jobs(jobs: int) -> None:
    if jobs < 1:
        problem = f"jobs is {jobs}, expected at least 1."
        raise UsageError(problem, "--jobs 1 runs one step at a time.", code="bad-option", key="jobs")


def _opened(file: str | Path, out: str | Path | None) -> tuple[StudyFile, Path]:
    """A study's file, and its folder, in which nothing else may lie."""
    read = read_study(find_study(file))
    usual = Path("runs") / (read.name if read.name.startswith("study") else f"study-{read.name}")
    folder = usual if out is None else Path(out).expanduser()
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file.", "Choose a folder with --out.", code="bad-option", key="out")
    require_study(folder.absolute(), read)
    return read, folder.absolute()


@dataclass
class _Runner:
    """Has a study's steps done, `jobs` at a time; notes what came of them."""

    steps: Sequence[Step]
    work: StepContext
    record: StudyRecord
    jobs: int
    progress: Progress
    listener: StudyListener
    failures: dict[str, StepFailure] = field(default_factory=dict)
    began: dict[str, float] = field(default_factory=dict)  # when, of the steps that are being done

    def run(self) -> list[StepFailure]:
        """All steps; returns what failed, in the steps' order."""
        waiting = dict(enumerate(self.steps, 1))
        if self.jobs > 1:
            self.progress.start("study", len(self.steps), "steps")
        with StepProcesses(self.work, self.jobs) as processes:
            for number in self._settled(waiting):
                self._begin(waiting.pop(number), number, processes)
            while waiting or self.began:
                missing = {step.name for step in waiting.values()} | self.began.keys()
                ready = [number for number, step in waiting.items() if missing.isdisjoint(step.needs)]
                if ready and processes.has_room():
                    self._begin(waiting.pop(ready[0]), ready[0], processes)
                else:
                    self._finish(*processes.done())
        return [self.failures[step.name] for step in self.steps if step.name in self.failures]

    def _settled(self, waiting: Mapping[int, Step]) -> list[int]:
        """The finished steps with all that they need; reported first, so progress continues where it stopped."""
        open_, settled = {step.name for step in waiting.values()}, []
        for number, step in waiting.items():
            if open_.isdisjoint(step.needs) and self.record.state(step) is StepState.DONE:
                open_.discard(step.name)
                settled.append(number)
        return settled

    def _begin(self, step: Step, number: int, processes: StepProcesses) -> None:
        state = self.record.state(step)
        self.listener.begins(step, number, len(self.steps), state)
        lost = next((name for name in step.needs if name in self.failures), None)
        if lost is not None:
            self._failed(step, StepFailure(step.name, None, because=lost))
        elif state is StepState.DONE:
            self._count(stored=True)
        else:
            try:
                folder = self._ready(step, state)
            except AssayError as error:
                self._failed(step, StepFailure(step.name, error))
                return
            self.began[step.name] = time.perf_counter()
            if self.jobs > 1:
                processes.take(step, folder)
            else:
                self._finish(step, self.work.attempt(step, folder, self.progress))

    def _ready(self, step: Step, state: StepState) -> Path:
        """A step's folder, with nothing in it but what the step goes on from; that it begins is noted."""
        folder = step.folder(self.record.out)
        if state is StepState.BEGUN and not step.can_go_on(self.work, folder):
            state = StepState.CHANGED
        if state is StepState.CHANGED:
            self.listener.moved(step, set_aside(folder, self.record.out))
        outdated = () if state is StepState.BEGUN else ("digest", "finished", "seconds", "findings", "scores")
        facts = {**dict.fromkeys(outdated), "recipe": step.recipe, "content": dict(step.content), "error": None}
        facts |= {"started": provenance()["started"], "from": self.record.digests(step.needs), **step.facts}
        self.record.note(step, **facts)
        return folder

    def _finish(self, step: Step, outcome: Outcome) -> None:
        seconds = time.perf_counter() - self.began.pop(step.name)
        if isinstance(outcome, AssayError):
            self._failed(step, StepFailure(step.name, outcome))
            return
        spent = self.record.of(step).get("seconds", 0.0) + seconds
        self.record.note(step, **outcome, seconds=round(spent, 1), finished=provenance()["started"])
        self.listener.done(step, seconds)
        self._count()

    def _failed(self, step: Step, failure: StepFailure) -> None:
        error = failure.error
        if error is not None:
            message = {"problem": error.problem, "remedy": error.remedy, "exit_code": error.exit_code}
            self.record.note(step, error=message)
        self.failures[step.name] = failure
        self.listener.failed(step, failure)
        self._count()

    def _count(self, *, stored: bool = False) -> None:
        if self.jobs > 1:  # else the steps show progress of their own
            self.progress.advance(1, stored=stored)
