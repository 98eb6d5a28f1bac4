"""A study from beginning to end: read, prepared, gone through, and shown on a page; or only planned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.errors import UsageError
from assay.lab.studies.file import find_study, read_study
from assay.lab.studies.makers import Makers
from assay.lab.studies.page import write_page
from assay.lab.studies.prepare import Study, prepare
from assay.lab.studies.record import State, open_record, read_record, require_study
from assay.lab.studies.runner import Failure, Runner, Told
from assay.lab.studies.steps import Step
from assay.progress import Progress, Silent
from assay.runs.audit import stamp


@dataclass(frozen=True)
class Studied:
    """A study that was gone through: folder, the content of study.json, what failed, and the page if there is one."""

    folder: Path
    record: Mapping[str, Any]
    failures: Sequence[Failure]
    page: Path | None

    @property
    def exit_code(self) -> int:
        """0, or that of the first failure."""
        return next((failure.error.exit_code for failure in self.failures if failure.error is not None), 0)


@dataclass(frozen=True)
class Planned:
    """What a study would do: its steps in their order, each with how far it is."""

    folder: Path
    study: Study
    steps: Sequence[tuple[Step, State]]


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
    told: Told | None = None,
    makers: Makers | None = None,
) -> Studied:
    """Make a study's models, ask its questions, and write one page about all of it.

    file: a study file, or the name of one that comes with assay. out: the study's folder (runs/study-NAME). data: the
    folder that names of files are looked for in. only: patterns of the steps to do, with what they need. jobs: how many
    steps to do at a time, each in a process of its own if more than one (a script then has to call this under
    `if __name__ == "__main__":`). The same call again goes on where it ended; what has changed in the file is made
    again, with all that depends on it.
    """
    require_jobs(jobs)
    read = read_study(find_study(file))
    folder, makers = _folder(read.name, out), makers or Makers()
    if folder.exists():
        require_study(folder, read)
    ready = prepare(read, folder, data=data, only=only, makers=makers, fetch=True)
    with open_record(folder, read) as record:
        record.begin(ready)
        work = ready.work(device, dtype)
        failures = Runner(ready.steps, work, record, jobs, progress or Silent(), told or Told()).run()
        page = write_page(folder, read, ready.schedule.runs, record)
        if not failures and not only:
            record.content["finished"] = stamp()["started"]
        record.write()
    return Studied(folder, record.content, failures, page)


def require_jobs(jobs: int) -> None:
    if jobs < 1:
        raise UsageError(
            f"jobs is {jobs}, expected at least 1.",
            "--jobs 1 does one step after the other.",
            code="bad-option",
            key="jobs",
        )


def plan(
    file: str | Path,
    out: str | Path | None = None,
    *,
    data: str | Path | None = None,
    only: Sequence[str] = (),
    makers: Makers | None = None,
) -> Planned:
    """What `study` would do with the same arguments; everything is checked, nothing is made, asked or fetched."""
    read = read_study(find_study(file))
    folder = _folder(read.name, out)
    if folder.exists():
        require_study(folder, read)
    ready = prepare(read, folder, data=data, only=only, makers=makers)
    record = read_record(folder)
    return Planned(folder, ready, [(step, record.state(step)) for step in ready.steps])


def _folder(name: str, out: str | Path | None) -> Path:
    folder = (
        Path(out).expanduser()
        if out is not None
        else Path("runs") / (name if name.startswith("study") else f"study-{name}")
    )
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file.", "Choose a folder with --out.", code="bad-option", key="out")
    return folder.absolute()
