"""Going through a study's steps: each is made or asked unless that is done; one that fails does not stop the others."""

from __future__ import annotations

import hashlib
import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from assay.audit import Listener, stamp
from assay.debias import FOLDED
from assay.engine.ask import Resume
from assay.engine.files import write_atomically
from assay.engine.progress import Progress, Silent
from assay.errors import AssayError, ModelError
from assay.models.base import Options
from assay.models.hf_files import first_line
from assay.study.makers import Makers
from assay.study.order import needs_of
from assay.study.prepare import Prepared, ToMake, ToRun, head_of
from assay.study.record import Record, State, identity_of, is_made, model_report, set_aside
from assay.study.task import scores_of


@dataclass(frozen=True)
class Failure:
    """A step that failed, and why; `because` names one that failed before, without which this one could not begin."""

    step: str
    error: AssayError | None
    because: str | None = None


class Told:
    """Hears what a study is doing; the command line prints it."""

    def begins(self, step: ToMake | ToRun, number: int, total: int, state: State) -> None:
        pass

    def moved(self, step: ToMake | ToRun, place: Path) -> None:
        pass

    def done(self, step: ToMake | ToRun, seconds: float) -> None:
        pass

    def failed(self, step: ToMake | ToRun, failure: Failure) -> None:
        pass


@dataclass
class Runner:
    """Does a study's steps. `device` and `dtype` are for the models that have a choice: the built-in one has none."""

    prepared: Prepared
    record: Record
    makers: Makers
    device: str = "auto"
    dtype: str = "auto"
    progress: Progress = field(default_factory=Silent)
    told: Told = field(default_factory=Told)

    def run(self) -> list[Failure]:
        """All steps; returns what failed, the first failure first."""
        failures: dict[str, Failure] = {}
        steps = self.prepared.steps
        for number, step in enumerate(steps, 1):
            state = self.record.state(step)
            self.told.begins(step, number, len(steps), state)
            lost = next((name for name in _needs(step) if name in failures), None)
            if lost is not None:
                failures[step.name] = Failure(step.name, None, because=lost)
                self.told.failed(step, failures[step.name])
                continue
            if state is State.DONE:
                continue
            began = time.perf_counter()
            try:
                self._do(step, state)
            except AssayError as error:
                failures[step.name] = self._failed(step, error)
            except Exception as error:  # whatever a model, or a library, does: the other steps are not lost by it
                log = self.record.out / "logs" / f"{step.name}.txt"
                write_atomically(log, traceback.format_exc().encode("utf-8", "replace"))
                said = ModelError(f"{type(error).__name__}: {first_line(error)}", f"See {log}.")
                failures[step.name] = self._failed(step, said)
            else:
                self.told.done(step, time.perf_counter() - began)
        return list(failures.values())

    def _do(self, step: ToMake | ToRun, state: State) -> None:
        folder = self.record.folder(step)
        if state is State.BEGUN and isinstance(step, ToRun) and not self._same_device(step, folder):
            state = State.CHANGED  # answers of two devices do not go into one run
        if state is State.CHANGED:
            self.told.moved(step, set_aside(folder, self.record.out))
        fresh = state in (State.NEW, State.CHANGED)
        forgotten = dict.fromkeys(("digest", "finished", "models", "seconds", "findings", "scores"))
        self.record.note(
            step,
            **{**(forgotten if fresh else {}), "recipe": step.recipe, "content": dict(step.content)},
            error=None,
            started=stamp()["started"],
            **_facts(step),
        )
        began = time.perf_counter()
        if isinstance(step, ToMake):
            scores = None if is_made(folder) else self._make(step, folder)  # it may only lack its note
            found = self.makers.find(self.prepared.spec_of(step.name), Options(device="cpu"))
            noted: dict[str, Any] = {"digest": found.digest, "scores": scores or model_report(folder).get("scores")}
        else:
            self._ask(step, folder)
            digests = {name: known["digest"] for name in step.cell.needs if (known := self.record.models.get(name))}
            noted = {"models": digests, "findings": _sha256(folder / "findings.json")}
        spent = (0.0 if fresh else self.record.of(step).get("seconds", 0.0)) + time.perf_counter() - began
        self.record.note(step, **noted, seconds=round(spent, 1), finished=stamp()["started"])

    def _make(self, step: ToMake, folder: Path) -> Mapping[str, Any] | None:
        """Make a model; returns its scores where they are more than what it says about itself."""
        entry, files = step.entry, step.files
        source = self.prepared.spec_of(entry.source or "")
        common: dict[str, Any] = {
            "settings": dict(entry.settings),
            "seed": step.seed,
            "device": self.device,
            "dtype": "auto" if entry.value in FOLDED else self.dtype,
            "progress": self.progress,
        }
        if entry.how == "train":
            self.makers.train(
                entry.value,
                source,
                files["data"],
                folder,
                preset=entry.preset,
                evaluation=files.get("eval"),
                resume=True,
                **common,
            )
            return None
        seen: list[Mapping[str, Any]] = []
        head = head_of(entry, self.prepared.file.models)
        evaluate = partial(self._evaluated, head, files["eval"], seen) if head is not None and "eval" in files else None
        self.makers.debias(
            entry.value,
            source,
            folder,
            attribute=entry.attribute,
            corpus=files["corpus"],
            words=files.get("words"),
            evaluate=evaluate,
            **common,
        )
        return seen[-1] if seen else None

    def _evaluated(self, head: str, data: Path, seen: list[Mapping[str, Any]], folder: Path) -> dict[str, float]:
        """A model's scores for a debiasing method, which keeps values alone; `seen` has their intervals, too."""
        seen.append(self.makers.evaluate(head, folder, data, self.device))
        found = scores_of(seen[-1])
        return {name: each.value for name, each in found.items() if each.value is not None}

    def _ask(self, step: ToRun, folder: Path) -> None:
        cell, request = step.cell, step.request
        spec = self.prepared.spec_of(cell.model)
        self.makers.audit(
            spec,
            cell.probe,
            preset=request.preset,
            limit=request.limit,
            seed=request.seed,
            out=folder,
            settings=request.settings,
            options=self._options(spec),
            data=request.data,
            skip_bad=request.skip_bad,
            resume=Resume.ALWAYS,
            progress=self.progress,
            listener=Listener(),
        )

    def _options(self, spec: str) -> Options:
        return Options() if spec == "builtin" else Options(self.device, self.dtype)

    def _same_device(self, step: ToRun, folder: Path) -> bool:
        """Whether a run that began would go on with the same kind of device and numbers."""
        spec = self.prepared.spec_of(step.cell.model)
        now, began = self.makers.find(spec, self._options(spec)), identity_of(folder)
        return began.get("device") in (None, now.device.split(":")[0]) and began.get("dtype") in (None, now.dtype)

    def _failed(self, step: ToMake | ToRun, error: AssayError) -> Failure:
        self.record.note(step, error={"problem": error.problem, "remedy": error.remedy, "exit_code": error.exit_code})
        failure = Failure(step.name, error)
        self.told.failed(step, failure)
        return failure


def _needs(step: ToMake | ToRun) -> Sequence[str]:
    return needs_of(step.entry if isinstance(step, ToMake) else step.cell)


def _facts(step: ToMake | ToRun) -> dict[str, Any]:
    """What the record says of a step besides its recipe."""
    if isinstance(step, ToMake):
        entry = step.entry
        return {"title": entry.title, "how": entry.how, "value": entry.value, "source": entry.source}
    return {"probe": step.cell.probe, "model": step.cell.model, "questions": step.questions}


def _sha256(path: Path) -> str | None:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None
