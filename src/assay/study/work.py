"""One step of a study: a model made, a run asked, two compared. Nothing is noted here, so any process may do it."""

from __future__ import annotations

import hashlib
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from assay.audit import Listener
from assay.debias import FOLDED
from assay.engine.ask import Resume
from assay.engine.progress import Progress
from assay.errors import AssayError, ModelError
from assay.files.atomic import write_atomically
from assay.models.base import Options
from assay.models.hf_files import first_line
from assay.study.makers import Makers
from assay.study.prepare import Prepared, Step, ToCompare, ToMake, ToRun, run_folder
from assay.study.record import COMPARISON, identity_of, is_made, model_report
from assay.study.task import scores_of

Outcome = Mapping[str, Any] | AssayError
"""What study.json shall say about a step that was done, or why it failed."""


@dataclass(frozen=True)
class Work:
    """Does steps. `device` and `dtype` are for the models that have a choice: the built-in one has none."""

    prepared: Prepared
    makers: Makers
    device: str = "auto"
    dtype: str = "auto"

    def attempt(self, step: Step, folder: Path, progress: Progress) -> Outcome:
        """Do a step; whatever a model, or a library, does about it is told, not raised."""
        try:
            if isinstance(step, ToMake):
                return self._make(step, folder, progress)
            return self._compare(step, folder) if isinstance(step, ToCompare) else self._ask(step, folder, progress)
        except AssayError as error:
            return error
        except Exception as error:  # the other steps are not lost by it
            log = self.prepared.out / "logs" / f"{step.name}.txt"
            write_atomically(log, traceback.format_exc().encode("utf-8", "replace"))
            return ModelError(f"{type(error).__name__}: {first_line(error)}", f"See {log}.")

    def same_device(self, step: ToRun, folder: Path) -> bool:
        """Whether a run that began would go on with the same kind of device and numbers."""
        spec = self.prepared.spec_of(step.cell.model)
        now, began = self.makers.find(spec, self._options(spec)), identity_of(folder)
        return began.get("device") in (None, now.device.split(":")[0]) and began.get("dtype") in (None, now.dtype)

    def _make(self, step: ToMake, folder: Path, progress: Progress) -> dict[str, Any]:
        scores = None if is_made(folder) else self._made(step, folder, progress)  # it may only lack its note
        found = self.makers.find(self.prepared.spec_of(step.name), Options(device="cpu"))
        return {"digest": found.digest, "scores": scores or model_report(folder).get("scores")}

    def _made(self, step: ToMake, folder: Path, progress: Progress) -> Mapping[str, Any] | None:
        """Make a model; returns its scores where they are more than what it says about itself."""
        entry, files = step.entry, step.files
        source = self.prepared.spec_of(entry.source or "")
        common: dict[str, Any] = {
            "settings": dict(entry.settings),
            "seed": step.seed,
            "device": self.device,
            "dtype": "auto" if entry.value in FOLDED else self.dtype,
            "progress": progress,
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
        head = self.prepared.head_of(entry.name)
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

    def _ask(self, step: ToRun, folder: Path, progress: Progress) -> dict[str, Any]:
        request = step.request
        spec = self.prepared.spec_of(step.cell.model)
        self.makers.audit(
            spec,
            step.cell.probe,
            preset=request.preset,
            limit=request.limit,
            seed=request.seed,
            out=folder,
            settings=request.settings,
            options=self._options(spec),
            data=request.data,
            skip_bad=request.skip_bad,
            resume=Resume.ALWAYS,
            progress=progress,
            listener=Listener(),
        )
        return {"findings": hashlib.sha256((folder / "findings.json").read_bytes()).hexdigest()}

    def _compare(self, step: ToCompare, folder: Path) -> dict[str, Any]:
        found = self.makers.compare(*(run_folder(self.prepared.out, name) for name in step.needs))
        found.write_html(folder / "comparison.html")
        write_atomically(folder / COMPARISON, found.to_json().encode())  # last: it says that all is there
        return {}

    def _options(self, spec: str) -> Options:
        return Options() if spec == "builtin" else Options(self.device, self.dtype)
