"""One audit: find the model, set up the probe, ask, analyse, write the run folder."""

from __future__ import annotations

import platform
import re
import shlex
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from assay import __version__
from assay.engine.arrays import kept_in
from assay.engine.ask import Asker, Resume, StoredAsk
from assay.engine.executor import Executor, LocalExecutor, Settings
from assay.engine.progress import Progress, Silent
from assay.engine.run_folder import open_for_writing, read_info
from assay.engine.store import BlockStore
from assay.errors import UsageError
from assay.findings import Findings, read_findings
from assay.models import find_model, load
from assay.models.base import ModelSpec, Options
from assay.plan import Plan
from assay.probes import Probe, Request, Stage, make_probe
from assay.queries import OF_THE_TOKENIZER, Answers


@dataclass(frozen=True)
class Run:
    """A finished run: its folder, what was asked of whom (run.json) and what was found."""

    folder: Path
    info: Mapping[str, Any]
    findings: Findings

    def __repr__(self) -> str:
        return f"Run({str(self.folder)!r}: {self.findings!r})"

    def _repr_html_(self) -> str:
        from assay.report.notebook import run_html

        return run_html(self)


@dataclass(frozen=True)
class Size:
    """What a run would take: its parts, expected seconds, and expected memory in bytes without the model."""

    stages: tuple[Stage, ...]
    seconds: float
    memory: int


class Listener:
    """Hears what an audit is about to do; the command line prints it."""

    def begins(self, probe: str, stages: tuple[Stage, ...], notes: tuple[str, ...], folder: Path) -> None:
        pass

    def skips(self, probe: str, why: str) -> None:
        pass


def audit(
    model: str = "builtin",
    probe: str = "unqover",
    *,
    preset: str = "quick",
    limit: int | None = None,
    seed: int = 0,
    out: str | Path | None = None,
    settings: Mapping[str, str] | None = None,
    options: Options | None = None,
    engine: Settings | None = None,
    data: str | Path | None = None,
    skip_bad: bool = False,
    resume: Resume = Resume.ALWAYS,
    progress: Progress | None = None,
    listener: Listener | None = None,
    executor: Executor | None = None,
) -> Run:
    """Run a probe on a model and write a run folder; resumes where an earlier attempt at the same run ended.

    `data` is a folder or file of official data, `skip_bad` leaves out rows of it that cannot be used.
    """
    request = Request(preset, limit, seed, settings, _place(data), skip_bad)
    prepared = make_probe(probe, request)
    spec = find_model(model, options)
    folder_path = Path(out) if out is not None else Path("runs") / default_name(probe, model, preset, limit)
    engine = engine or Settings()
    ask = Asker(
        spec, BlockStore.default(), executor or LocalExecutor(load), engine, resume=resume, find=_finder(options)
    )
    stages = tuple(prepared.stages(ask))
    sizes = {"block_size": engine.block_size, "token_budget": engine.budget_for(spec)}
    info = {
        "schema": 1,
        "probe": probe,
        "model": spec.as_json(),
        "identity": {
            "probe": probe,
            "model": spec.digest,
            "device": spec.device.split(":")[0],
            "dtype": spec.dtype,
            "size": preset if limit is None else limit,
            "seed": seed,
            "settings": dict(prepared.settings()),
            "engine": sizes,
            "data": dict(prepared.data()),
            "others": {name: other.digest for name, other in ask.others.items()},
        },
        "others": {name: other.as_json() for name, other in ask.others.items()},
        "settings": dict(prepared.settings()),
        "preset": preset,
        "limit": limit,
        "seed": seed,
        "questions": sum(stage.questions for stage in stages),
        "stages": {stage.label: stage.questions for stage in stages},
        "data": dict(prepared.data()),
        "data_folder": str(request.data) if request.data else None,
        "skip_bad": skip_bad,
        "engine": sizes,
        "notes": list(prepared.notes()),
        **stamp(),
    }
    with open_for_writing(folder_path, info, resume) as folder:
        if folder.finished_before and resume is Resume.ONLY_MISSING:
            return open_run(folder_path)
        (listener or Listener()).begins(probe, stages, tuple(prepared.notes()), folder_path)
        ask.progress, ask.backed_off, ask.remember = progress or Silent(), dict(folder.backed_off), folder.remember
        began, before = time.perf_counter(), sum(ask.spent)
        findings = prepared.run(ask, spec.name)
        folder.write_blocks(ask.asked)
        folder.write_findings(findings)
        folder.info["notes"] = list(prepared.notes())  # a probe may learn more when it asks
        whole, asking = time.perf_counter() - began, sum(ask.spent) - before
        timings = {"run": round(whole, 3), "asking": round(asking, 3), "analysing": round(whole - asking, 3)}
        folder.info |= {"finished": _now(), "timings": timings}
        folder.write_info()
    from assay.report import write_html

    write_html(folder_path)
    return open_run(folder_path)


def open_run(folder: str | Path) -> Run:
    """A finished run."""
    path = Path(folder)
    return Run(path, read_info(path), read_findings(path))


@dataclass(frozen=True)
class Stored:
    """A run's probe, set up as it was, and an `ask` that only reads the run's stored answers."""

    probe: Probe
    ask: StoredAsk

    @property
    def model(self) -> str:
        return self.ask.model.name


def stored(folder: str | Path, settings: Mapping[str, str] | None = None, data: str | Path | None = None) -> Stored:
    """What a run's answers can be looked at with again, without the model; settings may change formulas.

    `data` is where the run's official data are now, if they are elsewhere.
    """
    info = read_info(Path(folder))
    if "engine" not in info:
        raise UsageError(
            f"{folder}: these are scores of predictions; no answers of a model are stored for them.",
            "Score the predictions again: assay score PROBE FILE….",
        )
    before = info.get("data_folder")
    moved = data is not None and before is not None  # what lay in the old folder is found in the new one
    saved = {
        key: str(value)
        for key, value in info["settings"].items()
        if value is not None and not (moved and str(value).startswith(str(before)))
    }
    wanted = {**saved, **(settings or {})}
    place, skip_bad = _place(data or before), info.get("skip_bad", False)
    probe = make_probe(info["probe"], Request(info["preset"], info["limit"], info["seed"], wanted, place, skip_bad))
    spec = ModelSpec.of_json(info["model"])
    others = {name: ModelSpec.of_json(other) for name, other in info.get("others", {}).items()}
    return Stored(probe, StoredAsk(spec, BlockStore.of_run(Path(folder)), Settings(**info["engine"]), others))


def rescore(folder: str | Path, settings: Mapping[str, str] | None = None, data: str | Path | None = None) -> Findings:
    """The findings of a run computed again from its stored answers, without the model; as `stored`."""
    found = stored(folder, settings, data)
    return found.probe.run(found.ask, found.model)


def expect(
    model: str = "builtin",
    probe: str = "unqover",
    *,
    preset: str = "quick",
    limit: int | None = None,
    seed: int = 0,
    settings: Mapping[str, str] | None = None,
    options: Options | None = None,
    data: str | Path | None = None,
    skip_bad: bool = False,
) -> Size:
    """How large a run would be, and how long: a few questions are asked to see how fast the model is here."""
    request = Request(preset, limit, seed, settings, _place(data), skip_bad)
    prepared = make_probe(probe, request)
    spec = find_model(model, options)
    executor = LocalExecutor(load)
    with TemporaryDirectory(prefix="assay-") as folder, kept_in(Path(folder)):  # nothing of the trial is kept
        trial = _Timed(Asker(spec, BlockStore(Path(folder)), executor, find=_finder(options)))
        stages = tuple(prepared.stages(trial))
        total = sum(stage.questions for stage in stages)
        asked = min(_TRIAL * len(stages), total)
        began = time.perf_counter()
        make_probe(probe, replace(request, limit=asked)).run(trial, spec.name)
        analysis = time.perf_counter() - began - trial.spent.seconds
    return Size(stages, total * trial.spent.seconds / trial.spent.questions + analysis, 200_000_000 + 60 * total)


_TRIAL = 256
"""Questions asked in each stage, where there are so many, to see how fast a model is."""


@dataclass
class _Spent:
    """How many questions were put to models, and how long they took."""

    questions: int = 0
    seconds: float = 0.0


@dataclass
class _Timed:
    """Asks, and notes what that took."""

    ask: Asker
    spent: _Spent = field(default_factory=_Spent)

    @property
    def abilities(self) -> frozenset[str]:
        return self.ask.abilities

    def of(self, model: str) -> _Timed:
        return _Timed(self.ask.of(model), self.spent)

    def __call__(self, plan: Plan, label: str) -> Answers:
        began = time.perf_counter()
        answers = self.ask(plan, label)
        if plan.ability not in OF_THE_TOKENIZER:
            self.spent.questions += len(plan)
            self.spent.seconds += time.perf_counter() - began
        return answers


def default_name(probe: str, model: str, preset: str, limit: int | None) -> str:
    """The run folder's name where the user gives none: the same command finds the same folder."""
    slug = "-".join(part for word in re.split(r"[^\w.]+", model) if (part := word.strip(".")))
    return f"{probe}-{slug}-{preset if limit is None else f'limit{limit}'}"


def _finder(options: Options | None) -> Callable[[str], ModelSpec]:
    return lambda name: find_model(name, options)


def _place(data: str | Path | None) -> Path | None:
    return None if data is None else Path(data).expanduser().resolve()


def stamp() -> dict[str, Any]:
    """With what, where, by which command and when: for run.json."""
    machine = {"system": platform.platform(), "processor": platform.machine()}
    return {"versions": _versions(), "machine": machine, "command": _command(), "started": _now()}


def _versions() -> dict[str, str]:
    versions = {"assay": __version__, "python": platform.python_version()}
    for package in ("numpy", "torch", "transformers", "tokenizers", "onnxruntime"):
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return versions


def _command() -> str:
    name = Path(sys.argv[0]).name
    return shlex.join(["assay", *sys.argv[1:]]) if name in ("assay", "__main__.py") else "assay.audit(…) from Python"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
