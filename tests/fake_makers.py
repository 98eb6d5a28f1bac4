"""Who does a study's work in tests: what they are asked is noted, what they make is small and real enough."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import made_runs
from assay.compare.comparison import Comparison
from assay.compare.differences import Difference
from assay.lab.studies import StudyActions
from assay.models import find_model
from assay.results.findings import Estimate, read_findings

HEADS = {"span": "BertForQuestionAnswering", "choice": "BertForMultipleChoice", "mask": "BertForMaskedLM"}
FINDINGS = {"unqover": made_runs.unqover, "sodapop": made_runs.sodapop, "bbq-starter": made_runs.bbq}


@dataclass
class Fakes:
    """Notes every call. By names of folders: `broken` has errors that making or asking fails with, `acts` has what else
    is to be done first. Other processes can be handed it, but their notes do not come back.
    """

    calls: list[tuple[str, str, Mapping[str, Any]]] = field(default_factory=list)  # what, folder's name, arguments
    broken: dict[str, BaseException] = field(default_factory=dict)
    acts: dict[str, Callable[[Path], None]] = field(default_factory=dict)
    accuracy: float = 0.6
    version: int = 0  # the same recipe gives other weights in another one

    def train(self, kind: str, base: str, data: Path, out: Path, **more: Any) -> None:
        self._note("train", out, {"kind": kind, "base": base, "data": data, **more})
        scores = {"estimates": [_estimate(self.accuracy)]}
        self._model(out, HEADS[kind], {"made_by": "assay train", "seed": more["seed"], "scores": scores})

    def debias(self, method: str, model: str, out: Path, **more: Any) -> None:
        self._note("debias", out, {"method": method, "model": model, **more})
        scores = None
        if more["evaluate"] is not None:
            before, after = more["evaluate"](Path(model.removeprefix("hf:"))), more["evaluate"](out)
            scores = {"before": before, "after": after}
        head = HEADS["mask" if method in ("cda", "dropout") else "choice"]
        self._model(out, head, {"kind": "debiased", "scores": scores})

    def audit(self, model: str, probe: str, **more: Any) -> None:
        self._note("audit", more["out"], {"model": model, "probe": probe, **more})
        findings = replace(FINDINGS[probe](), probe=probe, model=model)
        info = {
            **made_runs.RUN,
            "identity": {},
            "probe": probe,
            "model": {"name": model, "digest": find_model(model).digest},
        }
        made_runs.write_run(more["out"], findings, info)

    def compare(self, baseline: Path, run: Path) -> Comparison:
        self._note("compare", run, {"baseline": baseline})
        models = [find.model for find in (read_findings(baseline), read_findings(run))]
        probe = read_findings(run).probe
        change = Estimate("mu", {"class": "religion", "form": "mask"}, 0.02, 0.01, 0.03, n=220, p=0.01, q=0.02)
        found = [Difference(models[1], models[0], change, change, 0.118, 0.138, probe)]
        return Comparison([str(baseline), str(run)], models, {}, {}, found, probe=probe)

    def evaluate(self, kind: str, folder: Path, data: Path, device: str) -> Mapping[str, Any]:
        return {"estimates": [_estimate(self.accuracy - 0.1)]}

    def of(self, what: str) -> list[str]:
        """The names of the folders that something was done for."""
        return [name for each, name, _ in self.calls if each == what]

    def arguments(self, name: str) -> Mapping[str, Any]:
        return next(arguments for _, own, arguments in self.calls if own == name)

    @property
    def makers(self) -> StudyActions:
        return StudyActions(self.train, self.debias, self.audit, self.compare, evaluate=self.evaluate)

    def _note(self, what: str, out: Path, arguments: Mapping[str, Any]) -> None:
        self.calls.append((what, out.name, arguments))
        if out.name in self.acts:
            self.acts[out.name](out)
        if out.name in self.broken:
            raise self.broken[out.name]

    def _model(self, out: Path, architecture: str, report: Mapping[str, Any]) -> None:
        out.mkdir(parents=True, exist_ok=True)
        (out / "config.json").write_text(json.dumps({"architectures": [architecture]}))
        (out / "model.safetensors").write_bytes(
            f"weights of {out.name}, call {len(self.calls)}, version {self.version}".encode()
        )
        (out / "assay.json").write_text(json.dumps(report))


def _estimate(value: float) -> dict[str, Any]:
    return {"metric": "accuracy", "group": {}, "value": value, "low": value - 0.02, "high": value + 0.02, "n": 50}
