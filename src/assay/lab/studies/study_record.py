"""study.json: what a study made and asked, from which recipes; what a later command goes on from."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, TypedDict

from assay.errors import DataError, UsageError
from assay.files.atomic import remove_leftovers, write_atomically
from assay.files.decoding import json_value, require_typed
from assay.files.lock import held, is_new
from assay.files.opening import read_whole, reason
from assay.lab.studies.prepare import Study
from assay.lab.studies.steps import Step, scores_of
from assay.lab.studies.study_file import StudyFile
from assay.lab.training.training_folder import as_json
from assay.results.findings import Estimate
from assay.runs.audit import provenance

FILE = "study.json"
_OTHER = "Choose another folder with --out."
REPLACED = "replaced"
"""The folder of models and runs whose recipes have changed since; nothing reads them, and they may be removed."""


class StepState(Enum):
    """How far a step is: nothing is there, it began, it is done, or what is there was made by another recipe."""

    NEW = "to do"
    BEGUN = "begun"
    DONE = "done"
    CHANGED = "changed"


@dataclass
class StudyRecord:
    """The content of study.json, written after every step; models, runs and comparisons by name."""

    out: Path
    content: dict[str, Any] = field(default_factory=dict)

    def part(self, name: str) -> dict[str, dict[str, Any]]:
        """What is known of all models, runs or comparisons, by their names."""
        entries: dict[str, dict[str, Any]] = self.content.setdefault(name, {})
        return entries

    def of(self, step: Step) -> dict[str, Any]:
        """What is known of a step; empty where it never began."""
        return self.part(step.part).get(step.name, {})

    def note(self, step: Step, **facts: Any) -> None:
        """Note something about a step, at once on disk; None takes a note away."""
        noted = {**self.of(step), **facts}
        self.part(step.part)[step.name] = {key: value for key, value in noted.items() if value is not None}
        self.write()

    def state(self, step: Step) -> StepState:
        """How far a step is, by its recipe and by what is in its folder."""
        folder, entry = step.folder(self.out), self.of(step)
        if not folder.is_dir() or not any(folder.iterdir()):
            return StepState.NEW
        if entry.get("recipe") != step.recipe or not self.holds(entry, step.needs):
            return StepState.CHANGED
        return StepState.DONE if step.is_done(folder, entry) else StepState.BEGUN

    def digests(self, names: Iterable[str]) -> dict[str, str]:
        """What tells models and runs of the study apart, of those that are there: of weights, or of findings."""
        entries = {name: self.part("models").get(name) or self.part("runs").get(name) or {} for name in names}
        digests = {name: entry.get("digest") or entry.get("findings") for name, entry in entries.items()}
        return {name: digest for name, digest in digests.items() if digest}

    def holds(self, entry: Mapping[str, Any], names: Iterable[str]) -> bool:
        """Whether a step was done from what is there now: what was made again by the same recipe may be another one."""
        before = entry.get("from", {})
        return all(before.get(name, digest) == digest for name, digest in self.digests(names).items())

    def write(self) -> None:
        write_atomically(self.out / FILE, as_json(self.content))

    def begin(self, study: Study) -> None:
        """Note what the study is about, and keep its file."""
        file = study.file
        self.content |= {
            "schema": 1,
            "name": file.name,
            "title": file.title,
            "seed": file.seed,
            "started": self.content.get("started") or provenance()["started"],
            "order": [step.name for step in study.schedule.steps],
            "ready": {
                name: {
                    "title": file.models[name].title,
                    "spec": ready.spec,
                    "digest": ready.model_spec.digest if ready.model_spec else None,
                    "revision": ready.model_spec.revision if ready.model_spec else None,
                }
                for name, ready in study.ready.items()
            },
        }
        self.content["last"] = provenance()
        self.content.pop("finished", None)
        self.write()
        write_atomically(self.out / "study.toml", file.toml.text.encode())


def set_aside(folder: Path, out: Path) -> Path:
    """Move the results of another recipe to `replaced/`: hours of work are not deleted for a changed line."""
    replaced = out / REPLACED / folder.parent.name
    replaced.mkdir(parents=True, exist_ok=True)
    number = 1
    while (moved := replaced / f"{folder.name}-{number}").exists():
        number += 1
    shutil.move(folder, moved)
    return moved


def read_record(out: Path) -> StudyRecord:
    """The record of a study's folder; empty where there is none."""
    path = out / FILE
    try:
        content = json_value(read_whole(path))
    except (FileNotFoundError, NotADirectoryError):
        return StudyRecord(out)
    except (OSError, ValueError) as error:
        raise DataError(f"cannot be read ({reason(error)}).", _OTHER, file=path, code="unreadable-file") from None
    if not isinstance(content, dict) or content.get("schema") != 1:
        raise DataError("this is not a study.json file of assay.", _OTHER, file=path, code="not-a-run")
    try:
        require_typed(content, _Content)
        for model in content.get("models", {}).values():
            scores_of(model.get("scores"))
    except ValueError as error:
        raise DataError(
            f"this is not a study.json file of assay ({error}).", _OTHER, file=path, code="bad-value"
        ) from None
    return StudyRecord(out, content)


# --- the types of what is read


class _Error(TypedDict):
    problem: str


class _Scores(TypedDict, total=False):
    after: dict[str, float]
    estimates: list[Estimate]


_Known = TypedDict(
    "_Known",
    {
        "recipe": str,
        "digest": str,
        "findings": str,
        "finished": str,
        "seconds": float,
        "error": _Error,
        "scores": _Scores | None,
        "from": dict[str, str],
    },
    total=False,
)


class _Pair(_Known):
    run: str
    baseline: str


class _LastCommand(TypedDict, total=False):
    command: str
    versions: dict[str, str | None]


class _Content(TypedDict, total=False):
    name: str
    started: str
    last: _LastCommand
    models: dict[str, _Known]
    runs: dict[str, _Known]
    comparisons: dict[str, _Pair]


@contextmanager
def open_record(out: Path, file: StudyFile) -> Iterator[StudyRecord]:
    """The record of a study's folder, locked against other writers."""
    require_study(out, file)  # nothing is touched where it complains
    with held(out, "working on this study"):
        require_study(out, file)
        remove_leftovers(out)
        yield read_record(out)


def require_study(out: Path, file: StudyFile) -> None:
    """Nothing but this study may lie in its folder."""
    name = read_record(out).content.get("name")
    if name is not None and name != file.name:
        raise UsageError(f"this folder holds another study, {name}.", _OTHER, code="other-run", file=out)
    if name is None and not is_new(out, FILE):
        problem = "this is not a study folder."
        raise UsageError(problem, "Choose another one with --out.", code="not-new", file=out)
