"""One audit: find the model, set up the probe, ask, analyse, write the run folder. A tour is one for every probe."""

from __future__ import annotations

import platform
import re
import shlex
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from assay import __version__
from assay.engine.ask import Asker, Resume
from assay.engine.endpoints import Desk
from assay.engine.executor import Executor, LocalExecutor, Settings
from assay.engine.spending import Spending
from assay.engine.store import BlockStore
from assay.errors import UsageError
from assay.files.cache import cache_folder
from assay.models import find_model, load
from assay.models.base import ModelSpec, Options
from assay.models.python import python_model
from assay.probes import concluded, described, method_of, tour_probes
from assay.probes.base import Method, Request, Stage
from assay.progress import Progress, Silent
from assay.queries import OF_ENDPOINTS, OF_THE_TOKENIZER
from assay.run import Run, RunInfo
from assay.runs.folder import open_for_writing, open_run
from assay.settings import read_settings

LOCAL = "local"
"""The name of the executor that is this process."""


@dataclass(frozen=True)
class Size:
    """What a run would take: its parts, expected seconds, and expected memory in bytes without the model.

    `sees` says what bias a run of this size finds; empty where that was not measured.
    """

    stages: tuple[Stage, ...]
    seconds: float
    memory: int
    sees: str = ""


class Listener:
    """Hears what an audit is about to do; the command line prints it."""

    def begins(self, probe: str, stages: tuple[Stage, ...], notes: tuple[str, ...], folder: Path) -> None:
        pass

    def skips(self, probe: str, why: str) -> None:
        pass


def audit(
    model: str | Callable[[Any], Any] = "builtin",
    probe: str | None = None,
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
    spending: Spending | None = None,
) -> Run:
    """Run a probe on a model and write a run folder; resumes where an earlier attempt at the same run ended.

    `model` is a model's name, or a function that answers queries (see assay.models.python); `probe` the first of the
    tour where none is named. `data` is a folder or file of official data, `skip_bad` leaves out rows of it that cannot
    be used. `spending` has what asking an endpoint may cost, and at the end what it did.
    """
    request = Request(preset, limit, seed, settings or {}, place_of(data), skip_bad)
    method = _method(probe, request)
    probe = method.probe.name
    if isinstance(model, str):
        spec, executor = find_model(model, options), executor or new_executor()
    else:
        spec, executor = _function(model, executor)
    folder_path = Path(out) if out is not None else Path("runs") / default_name(probe, spec.name, preset, limit)
    engine = engine or Settings()
    find = partial(find_model, options=options)
    desk = new_desk(spending)
    ask = Asker(spec, BlockStore.default(), executor, engine, resume=resume, find=find, desk=desk)
    prepared = method.prepare(request, ask)
    sizes = {"block_size": engine.block_size, "token_budget": engine.budget_for(spec)}
    info = RunInfo(
        probe,
        identity={
            "probe": probe,
            "model": spec.digest,
            "device": spec.device.split(":")[0],
            "dtype": spec.dtype,
            "size": preset if limit is None else limit,
            "seed": seed,
            "settings": dict(prepared.settings),
            "engine": sizes,
            "data": dict(prepared.data),
            "others": {name: other.digest for name, other in ask.others.items()},
            **({"brought": dict(prepared.brought)} if prepared.brought else {}),  # not in runs of before there were any
        },
        model=spec,
        others=dict(ask.others),
        settings=dict(prepared.settings),
        preset=preset,
        limit=limit,
        seed=seed,
        questions=sum(stage.questions for stage in prepared.stages),
        stages={stage.label: stage.questions for stage in prepared.stages},
        data=dict(prepared.data),
        data_folder=str(request.data) if request.data else None,
        skip_bad=skip_bad,
        engine=sizes,
        notes=list(prepared.notes),
        prompts=dict(prepared.prompts),
        brought=dict(prepared.brought),
        **stamp(),
    )
    with open_for_writing(folder_path, info, resume) as folder:
        if folder.finished_before and resume is Resume.ONLY_MISSING:
            return open_run(folder_path)  # not made by this process
        (listener or Listener()).begins(probe, tuple(prepared.stages), tuple(prepared.notes), folder_path)
        ask.progress, ask.backed_off, ask.remember = progress or Silent(), dict(folder.info.backed_off), folder.remember
        began, before = time.perf_counter(), len(ask.asked)
        gathered = method.gather(prepared, ask)
        findings = described(replace(concluded(method, prepared, gathered), probe=probe, model=spec.name))
        folder.write_blocks(ask.asked)
        folder.write_findings(findings)
        whole, asking = time.perf_counter() - began, sum(each.seconds for each in ask.asked[before:])
        timings = {"run": round(whole, 3), "asking": round(asking, 3), "analysing": round(whole - asking, 3)}
        notes = [*prepared.notes, *ask.notes, *findings.notes]
        spent = desk.spending.as_json(ask.billed) if spec.endpoint else {}
        folder.note(notes=notes, finished=now(), timings=timings, spent=spent)
    return reported(Run(folder_path, folder.info, findings))


def _method(probe: str | None, request: Request) -> Method[Any, Any]:
    """The probe's method; settings that are wrong are said before a model's weights are read."""
    method = method_of(probe or tour_probes()[0].name)
    read_settings(method.probe.settings, request.settings, method.probe.name)
    return method


def _function(function: Callable[[Any], Any], executor: Executor | None) -> tuple[ModelSpec, Executor]:
    """A function as a model, and who asks it: this process, the only one that has it."""
    if executor is not None:
        problem = "a Python function is asked by this process."
        raise UsageError(problem, "Leave the executor out.", code="bad-option", key="executor")
    model = python_model(function)
    return model.spec, LocalExecutor(lambda spec: model if spec == model.spec else load(spec))


def reported(run: Run) -> Run:
    """The run, with its page written into its folder."""
    _write_page(run.folder, [run])
    return run


def _write_page(folder: Path, runs: Sequence[Run]) -> None:
    from assay.report import write_html

    write_html(folder, runs)


def expect(
    model: str = "builtin",
    probe: str | None = None,
    *,
    preset: str = "quick",
    limit: int | None = None,
    seed: int = 0,
    settings: Mapping[str, str] | None = None,
    options: Options | None = None,
    data: str | Path | None = None,
    skip_bad: bool = False,
    executor: Executor | None = None,
) -> Size:
    """How large a run would be, and how long: a few questions are asked to see how fast the model is here."""
    request = Request(preset, limit, seed, settings or {}, place_of(data), skip_bad)
    method, spec = _method(probe, request), find_model(model, options)
    with TemporaryDirectory(prefix="assay-") as folder:  # nothing of the trial is kept
        find = partial(find_model, options=options)
        ask = Asker(spec, BlockStore(Path(folder)), executor or new_executor(), find=find)
        whole = method.prepare(request, ask)
        stages = tuple(whole.stages)
        total = sum(stage.questions for stage in stages)
        began = time.perf_counter()
        prepared = method.prepare(replace(request, limit=min(_TRIAL * len(stages), total)), ask)
        method.findings(prepared, method.gather(prepared, ask))
        put = [each for each in ask.asked if each.ability not in OF_THE_TOKENIZER]
        asking, questions = sum(each.seconds for each in put), sum(each.questions for each in put)
        analysis = time.perf_counter() - began - asking
    as_measured = whole.measured and limit is None and not settings  # any setting may change the size
    sees = method.probe.sees.get(preset, "") if as_measured else ""
    return Size(stages, total * asking / questions + analysis, 200_000_000 + 60 * total, sees)


_TRIAL = 256
"""Questions asked in each stage, where there are so many, to see how fast a model is."""


def tour(
    model: str = "builtin",
    *,
    preset: str = "quick",
    limit: int | None = None,
    out: str | Path | None = None,
    options: Options | None = None,
    listener: Listener | None = None,
    executor: Executor | None = None,
    **more: Any,
) -> tuple[Path, list[Run]]:
    """Audit a model with every probe that it can answer; `limit` is for each, and the other options are `audit`'s.

    Returns the folder, with its report.html, and the run of each probe in it.
    """
    folder = Path(out) if out is not None else Path("runs") / default_name("tour", model, preset, limit)
    _require_tour(folder)
    executor = executor or new_executor()  # loads the model once for all
    common = {**more, "preset": preset, "limit": limit, "options": options, "listener": listener, "executor": executor}
    runs = [audit(model, probe, out=folder / probe, **common) for probe in answerable(model, options, listener)]
    _write_page(folder, runs)
    return folder, runs


def answerable(model: str, options: Options | None = None, listener: Listener | None = None) -> list[str]:
    """The probes of the tour that a model can answer; if it can answer none, the first, which says what it lacks."""
    abilities = find_model(model, options).abilities
    able = [probe.name for probe in tour_probes() if probe.abilities & abilities]
    for probe in tour_probes():
        if able and probe.name not in able:
            needed = " or ".join(sorted(probe.abilities - OF_ENDPOINTS))
            (listener or Listener()).skips(probe.name, f"it needs a model with the ability {needed}")
    return able or [tour_probes()[0].name]


def _require_tour(folder: Path) -> None:
    """Nothing but a tour may lie in a tour's folder: its page is about all runs there."""
    others = {file.parent.name for file in folder.glob("*/run.json")} - {probe.name for probe in tour_probes()}
    held = "one run, not a tour" if (folder / "run.json").exists() else f"another run, {min(others)}" if others else ""
    if held:
        problem = f"this folder holds {held}."
        raise UsageError(problem, "Choose another folder with --out.", code="other-run", file=folder)


def default_name(probe: str, model: str, preset: str, limit: int | None) -> str:
    """The run folder's name where the user gives none: the same command finds the same folder."""
    slug = "-".join(part for word in re.split(r"[^\w.]+", model) if (part := word.strip(".")))
    return f"{probe}-{slug}-{preset if limit is None else f'limit{limit}'}"


def new_executor(name: str = LOCAL) -> Executor:
    """Who computes, by name (`--executor`); it keeps the model that it loaded last."""
    if name != LOCAL:
        problem = f"unknown executor {name!r}; expected {LOCAL}."
        raise UsageError(problem, f"--executor {LOCAL}", code="bad-option", key="executor")
    return LocalExecutor(load)


def new_desk(spending: Spending | None = None) -> Desk:
    """Where endpoints are asked from: their journals lie beside the blocks."""
    return Desk(load, cache_folder() / "journal", spending or Spending())


def place_of(data: str | Path | None) -> Path | None:
    return None if data is None else Path(data).expanduser().resolve()


def stamp() -> dict[str, Any]:
    """With what, where, by which command and when: for run.json."""
    machine = {"system": platform.platform(), "processor": platform.machine()}
    return {"versions": _versions(), "machine": machine, "command": _command(), "started": now()}


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


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
