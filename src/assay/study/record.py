"""study.json: what a study made and asked, from which recipes; what a later command goes on from."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

from assay.audit import stamp
from assay.errors import DataError, UsageError
from assay.files.atomic import remove_leftovers, write_atomically
from assay.files.lock import held, is_new
from assay.study.file import StudyFile
from assay.study.prepare import Prepared, Step, ToCompare, ToMake, comparison_folder, model_folder, run_folder

FILE = "study.json"
COMPARISON = "comparison.json"
"""What `assay compare --json` prints, in the folder of a comparison."""

REPLACED = "replaced"
"""The folder of models and runs whose recipes have changed since; nothing reads them, and they may be removed."""


class State(Enum):
    """How far a step is: nothing is there, it began, it is done, or what is there was made by another recipe."""

    NEW = "to do"
    BEGUN = "begun"
    DONE = "done"
    CHANGED = "changed"


@dataclass
class Record:
    """The content of study.json, written after every step; `models`, `runs` and `comparisons` are by name."""

    out: Path
    content: dict[str, Any] = field(default_factory=dict)

    @property
    def models(self) -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = self.content.setdefault("models", {})
        return found

    @property
    def comparisons(self) -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = self.content.setdefault("comparisons", {})
        return found

    @property
    def runs(self) -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = self.content.setdefault("runs", {})
        return found

    def of(self, step: Step) -> dict[str, Any]:
        """What is known of a step; empty where it never began."""
        return self._part(step).get(step.name, {})

    def note(self, step: Step, **told: Any) -> None:
        """Note something about a step, at once on disk; None takes a note away."""
        noted = {**self.of(step), **told}
        self._part(step)[step.name] = {key: value for key, value in noted.items() if value is not None}
        self.write()

    def _part(self, step: Step) -> dict[str, dict[str, Any]]:
        if isinstance(step, ToMake):
            return self.models
        return self.comparisons if isinstance(step, ToCompare) else self.runs

    def folder(self, step: Step) -> Path:
        if isinstance(step, ToMake):
            return model_folder(self.out, step.name)
        if isinstance(step, ToCompare):
            return comparison_folder(self.out, step.pair.run.name)
        return run_folder(self.out, step.name)

    def state(self, step: Step) -> State:
        """How far a step is, by its recipe and by what is in its folder."""
        folder, known = self.folder(step), self.of(step)
        if not folder.is_dir() or not any(folder.iterdir()):
            return State.NEW
        if known.get("recipe") != step.recipe:
            return State.CHANGED
        if not self.holds(known, step.needs):
            return State.CHANGED
        if isinstance(step, ToMake):
            return State.DONE if is_made(folder) and "digest" in known else State.BEGUN
        whole = (folder / COMPARISON).is_file() if isinstance(step, ToCompare) else _is_run(folder)
        return State.DONE if whole and "finished" in known else State.BEGUN

    def digests(self, names: Iterable[str]) -> dict[str, str]:
        """What tells models and runs of the study apart, of those that are there: of weights, or of findings."""
        known = {name: self.models.get(name) or self.runs.get(name) or {} for name in names}
        told = {name: found.get("digest") or found.get("findings") for name, found in known.items()}
        return {name: digest for name, digest in told.items() if digest}

    def holds(self, known: Mapping[str, Any], names: Iterable[str]) -> bool:
        """Whether a step was done from what is there now: what was made again by the same recipe may be another one."""
        before = known.get("from", {})
        return all(before.get(name, digest) == digest for name, digest in self.digests(names).items())

    def write(self) -> None:
        text = json.dumps(self.content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
        write_atomically(self.out / FILE, text.encode())

    def begin(self, prepared: Prepared) -> None:
        """Note what the study is about, and keep its file."""
        file = prepared.file
        self.content |= {
            "schema": 1,
            "name": file.name,
            "title": file.title,
            "seed": file.seed,
            "started": self.content.get("started") or stamp()["started"],
            "order": [entry.name for entry in prepared.whole.steps],
            "ready": {
                name: {
                    "title": file.models[name].title,
                    "spec": ready.spec,
                    "digest": ready.found.digest if ready.found else None,
                    "revision": ready.found.revision if ready.found else None,
                }
                for name, ready in prepared.ready.items()
            },
        }
        self.content["last"] = stamp()
        self.content.pop("finished", None)
        self.write()
        write_atomically(self.out / "study.toml", file.text.encode())


def set_aside(folder: Path, out: Path) -> Path:
    """Move what another recipe made to where it disturbs nobody: hours of work are not removed for a changed line."""
    place = out / REPLACED / folder.parent.name
    place.mkdir(parents=True, exist_ok=True)
    number = 1
    while (moved := place / f"{folder.name}-{number}").exists():
        number += 1
    shutil.move(folder, moved)
    return moved


def read_record(out: Path) -> Record:
    """The record of a study's folder; empty where there is none."""
    path = out / FILE
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return Record(out)
    except (OSError, ValueError) as error:
        raise DataError(f"cannot be read ({error}).", "Choose another folder with --out.", file=path) from None
    if not isinstance(content, dict) or content.get("schema") != 1:
        raise DataError("this is no study.json of assay.", "Choose another folder with --out.", file=path)
    return Record(out, content)


@contextmanager
def open_record(out: Path, file: StudyFile) -> Iterator[Record]:
    """The record of a study's folder, which nobody else may write meanwhile."""
    require_study(out, file)  # nothing is touched where it complains
    with held(out, "working on this study"):
        require_study(out, file)
        remove_leftovers(out)
        yield read_record(out)


def require_study(out: Path, file: StudyFile) -> None:
    """Nothing but this study may lie in its folder."""
    record = read_record(out)
    other = record.content.get("name")
    if other is not None and other != file.name:
        raise UsageError(f"{out}: this folder holds another study, {other}.", "Choose another folder with --out.")
    if other is None and not is_new(out, FILE):
        raise UsageError(f"{out}: this folder holds something else than a study.", "Choose another one with --out.")


def is_made(folder: Path) -> bool:
    """Whether a model's folder is finished: its assay.json is written last, or says so."""
    report = model_report(folder)
    return bool(report) and bool(report.get("finished", True)) and (folder / "config.json").is_file()


def model_report(folder: Path) -> Mapping[str, Any]:
    """What a made model says about itself in assay.json; empty where there is none."""
    return _object(folder / "assay.json")


def identity_of(folder: Path) -> Mapping[str, Any]:
    """What a run is about, from its run.json."""
    identity = _object(folder / "run.json").get("identity")
    return identity if isinstance(identity, dict) else {}


def _is_run(folder: Path) -> bool:
    return "finished" in _object(folder / "run.json") and (folder / "findings.json").is_file()


def _object(path: Path) -> Mapping[str, Any]:
    """A JSON object; empty where there is none."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}
