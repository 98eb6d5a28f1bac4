"""One audit: find the model, prepare the probe, ask, analyse, write the run folder."""

from __future__ import annotations

import platform
import shlex
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.asking.plan import digest_of
from assay.asking.progress import Progress, SilentProgress, shown_progress
from assay.asking.queries import TOKENIZER_ABILITIES
from assay.config.settings import names_of, read_settings
from assay.engine.ask import LiveAsk, Resume
from assay.engine.choose_dtype import settled_before
from assay.engine.endpoints import EndpointExecutor
from assay.engine.executor import EngineSettings, Executor, LocalExecutor
from assay.engine.executors import LOCAL, ExecutorRequest, executor_named
from assay.engine.spending import Spending
from assay.engine.store import OWN_BLOCKS, BlockStore
from assay.errors import DataError, UsageError
from assay.files.atomic import temporary_folder
from assay.files.paths import cache_folder, in_name
from assay.models import find_model, find_second, load, load_elsewhere
from assay.models.base import AUTO, ModelSpec, Options
from assay.models.python_function import python_model
from assay.probes import concluded, described, method_of, tour_probes
from assay.probes.base import Method, Prepared, Request, Stage
from assay.results.formatting import without_folders
from assay.results.run import EndpointInfo, Run, RunInfo
from assay.runs.folder import info_in, open_for_writing, read_run, used_blocks
from assay.version import __version__

if TYPE_CHECKING:
    from assay.runs.dry_run import RequestEstimate

PAGE = "report.html"


@dataclass(frozen=True)
class RunSize:
    """The expected size of a run: its parts, seconds, and memory in bytes without the model.

    `sees` says what bias a run of this size finds; empty if that was not measured.
    """

    stages: tuple[Stage, ...]
    seconds: float
    memory: int
    sees: str = ""


class AuditListener:
    """Receives the events of an audit; the command line prints them."""

    def begins(self, probe: str, stages: tuple[Stage, ...], notes: tuple[str, ...], folder: Path) -> None:
        pass

    def skips(self, probe: str, why: str) -> None:
        pass

    def fails(self, probe: str, error: Exception) -> None:
        """A probe of a tour failed; the tour continues."""
        warnings.warn(f"{probe} failed: {error}", stacklevel=2)

    def sends(self, calls: Mapping[str, RequestEstimate]) -> None:
        """What each probe of a tour would send to an endpoint. An error raised here ends the tour before it starts."""


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
    engine: EngineSettings | None = None,
    data: str | Path | None = None,
    skip_bad: bool = False,
    resume: Resume = Resume.ALWAYS,
    progress: Progress | bool | None = None,
    listener: AuditListener | None = None,
    executor: Executor | None = None,
    spending: Spending | None = None,
) -> Run:
    """Run a probe on a model and write a run folder; resumes an earlier attempt at the same run.

    `model` is a model's name, or a function that answers queries (see assay.models.python_function). `probe` defaults
    to the first probe of the tour. `data` is a folder or file of official data; `skip_bad` leaves out rows of it that
    cannot be used. `progress` is shown on a terminal and in a notebook; `False` hides it, `True` shows it everywhere.
    `spending` limits what asking an endpoint may cost, and afterwards holds what it did cost.
    """
    request = Request(preset, limit, seed, settings or {}, data_path(data), skip_bad)
    with shown_progress(progress) as meter:  # also while it is tested what an endpoint can do
        begun = prepare_audit(
            model,
            probe,
            request,
            out=out,
            options=options,
            engine=engine,
            resume=resume,
            executor=executor,
            spending=spending,
        )
        return run_audit(begun, meter, listener)


@dataclass(frozen=True)
class PreparedAudit:
    """An audit whose questions are known but not asked yet."""

    method: Method[Any, Any]
    prepared: Prepared
    ask: LiveAsk
    info: RunInfo
    folder: Path
    spending: Spending

    @property
    def questions(self) -> int:
        return sum(stage.questions for stage in self.prepared.stages)


def prepare_audit(
    model: str | Callable[[Any], Any] | ModelSpec,
    probe: str | None,
    request: Request,
    *,
    out: str | Path | None = None,
    options: Options | None = None,
    engine: EngineSettings | None = None,
    resume: Resume = Resume.ALWAYS,
    executor: Executor | None = None,
    spending: Spending | None = None,
) -> PreparedAudit:
    """Find the model, unless a `ModelSpec` is given, and prepare the probe; the options are `audit`'s."""
    method = _method(probe, request)
    probe = method.probe.name
    if isinstance(model, str | ModelSpec):
        spec = find_model(model, options) if isinstance(model, str) else model
        require_askable(spec, executor)
        executor = executor or new_executor()
    else:
        spec, executor = _function(model, executor)
    name = default_name(probe, spec.name, request.preset, request.limit)
    folder = Path(out) if out is not None else Path("runs") / name
    before = RunInfo()
    if resume is not Resume.NEVER:
        with suppress(DataError):  # whether it is the same run is checked later
            before = info_in(folder) or before
    engine = engine or EngineSettings()
    engine = replace(engine, block_size=engine.block_size or before.engine.get("block_size", 0))
    find = partial(find_second, options=options)
    desk = new_desk(spending, folder)
    store = BlockStore(BlockStore.default().root, (folder / OWN_BLOCKS,))  # its own after `assay export`
    ask = LiveAsk(spec, store, executor, engine, resume=resume, find=find, desk=desk)
    ask.run = digest_of(str(folder.resolve()))[:12]
    ask.used = {} if resume is Resume.NEVER else used_blocks(folder)
    ask.sizes.update(before.block_sizes)
    _settle_as_before(ask, before)
    prepared = method.prepare(request, ask)
    ask.expected = sum(stage.questions for stage in prepared.stages)
    fixed = {"block_size": engine.block_size} if engine.block_size else {}
    sizes = {**fixed, "token_budget": engine.budget_for(spec)}
    info = RunInfo(
        probe,
        identity={
            "probe": probe,
            "model": spec.digest,
            "device": spec.device.split(":")[0],
            "dtype": before.identity.get("dtype", AUTO) if spec in ask.types else spec.dtype,
            "size": request.preset if request.limit is None else request.limit,
            "seed": request.seed,
            "settings": dict(prepared.settings),
            "engine": sizes,
            "data": dict(prepared.data),
            "others": {name: spec.digest for name, spec in ask.others.items()},
            "brought": dict(prepared.brought),
        },
        model=ask.types.get(spec, spec),
        others=dict(ask.others),
        settings=_found_from_anywhere(method.probe.settings, prepared.settings),
        preset=request.preset,
        limit=request.limit,
        seed=request.seed,
        questions=ask.expected,
        stages={stage.label: stage.questions for stage in prepared.stages},
        data=dict(prepared.data),
        data_folder=str(request.data) if request.data else None,
        skip_bad=request.skip_bad,
        engine=sizes,
        block_sizes=dict(ask.sizes),
        notes=list(prepared.notes),
        prompts=dict(prepared.prompts),
        brought=dict(prepared.brought),
        **provenance(),
    )
    return PreparedAudit(method, prepared, ask, info, folder, desk.spending)


def _found_from_anywhere(kind: type, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings for run.json: the files that they name are found from every folder."""
    named = {name for name in names_of(kind, "path") if settings.get(name) and Path(str(settings[name])).exists()}
    return {key: str(Path(str(value)).resolve()) if key in named else value for key, value in settings.items()}


def run_audit(begun: PreparedAudit, progress: Progress | None = None, listener: AuditListener | None = None) -> Run:
    """Ask, analyse and write the run folder."""
    method, prepared, ask = begun.method, begun.prepared, begun.ask
    probe, spec, resume = method.probe.name, ask.model, ask.resume
    with open_for_writing(begun.folder, begun.info, resume) as folder:
        if folder.finished_before and resume is Resume.ONLY_MISSING:
            run = read_run(begun.folder)  # not made by this process
            cost = (int(run.info.spent.get(name) or 0) for name in ("input_tokens", "output_tokens"))
            begun.spending.reuse_block(begun.folder, *cost)
            return run if (begun.folder / PAGE).exists() else reported(run)
        (listener or AuditListener()).begins(probe, tuple(prepared.stages), tuple(prepared.notes), begun.folder)
        ask.progress = progress or SilentProgress()
        ask.backed_off, ask.remember = dict(folder.info.backed_off), folder.remember
        if resume is not Resume.NEVER:  # else the folder may hold another run until this one is finished
            ask.resized = folder.size_blocks
            ask.typed = lambda: folder.note(**_models(begun))
        began, before = time.perf_counter(), len(ask.asked)
        gathered = method.gather(prepared, ask)
        findings = described(
            replace(concluded(method, prepared, gathered), probe=probe, model=without_folders(spec.name))
        )
        folder.write_blocks(ask.asked)
        folder.write_findings(findings)
        seconds, asking = time.perf_counter() - began, sum(plan.seconds for plan in ask.asked[before:])
        timings = {"run": round(seconds, 3), "asking": round(asking, 3), "analysing": round(seconds - asking, 3)}
        notes = [*prepared.notes, *ask.notes, *findings.notes]
        spent = begun.spending.as_json(ask.billed) if spec.endpoint else {}
        results: dict[str, Any] = {"notes": notes, "timings": timings, "spent": spent, "block_sizes": dict(ask.sizes)}
        if spec.endpoint:
            results["endpoint"] = EndpointInfo.of(ask.served)
        folder.info = replace(folder.info, finished=now(), **results, **_models(begun))
        run = reported(Run(begun.folder, folder.info, findings))  # before run.json says that the run is finished
        folder.note()
    return run


def _settle_as_before(ask: LiveAsk, before: RunInfo) -> None:
    """Take number types that were left open from an earlier attempt at this run."""
    find = ask.find

    def settle(model: ModelSpec, earlier: ModelSpec | None) -> ModelSpec:
        same = settled_before(model, earlier) if earlier else None
        if same is not None:
            ask.types[model] = same
        return model

    settle(ask.model, before.model)
    if find is not None:
        ask.find = lambda name: settle(find(name), before.others.get(name))


def _models(begun: PreparedAudit) -> dict[str, Any]:
    """The models of a run with the number types in which they answer."""
    types = begun.ask.types
    others = {name: types.get(spec, spec) for name, spec in begun.ask.others.items()}
    return {"model": types.get(begun.info.model, begun.info.model), "others": others}


def _method(probe: str | None, request: Request) -> Method[Any, Any]:
    """The probe's method; checks the settings before a model's weights are read."""
    method = method_of(probe or tour_probes()[0].name)
    read_settings(method.probe.settings, request.settings, method.probe.name)
    return method


def _function(function: Callable[[Any], Any], executor: Executor | None) -> tuple[ModelSpec, Executor]:
    """A function as a model, and an executor in this process, the only one that has the function."""
    if executor is not None:
        problem = "a Python function can only be asked in this process."
        raise UsageError(problem, "Omit the executor.", code="bad-option", key="executor")
    model = python_model(function)
    return model.spec, LocalExecutor(lambda spec: model if spec == model.spec else load(spec))


def reported(run: Run) -> Run:
    """Write the run's page into its folder; returns the run."""
    write_page(run.folder, [run])
    return run


def write_page(folder: Path, runs: Sequence[Run]) -> None:
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
) -> RunSize:
    """The expected size and time of a run; asks a few questions to measure the model's speed."""
    request = Request(preset, limit, seed, settings or {}, data_path(data), skip_bad)
    method, spec = _method(probe, request), find_model(model, options)
    with temporary_folder() as folder:  # nothing of the trial is kept
        find = partial(find_second, options=options)
        ask = LiveAsk(spec, BlockStore(folder), executor or new_executor(), find=find)
        full = method.prepare(request, ask)
        stages = tuple(full.stages)
        total = sum(stage.questions for stage in stages)
        began = time.perf_counter()
        prepared = method.prepare(replace(request, limit=min(_TRIAL * len(stages), total)), ask)
        method.findings(prepared, method.gather(prepared, ask))
        plans = [plan for plan in ask.asked if plan.ability not in TOKENIZER_ABILITIES]
        asking, questions = sum(plan.seconds for plan in plans), sum(plan.questions for plan in plans)
        analysis = time.perf_counter() - began - asking
    as_measured = full.measured and limit is None and not settings  # any setting may change the size
    size = method.probe.presets.get(preset) if as_measured else None
    return RunSize(stages, total * asking / questions + analysis, 200_000_000 + 60 * total, size.finds if size else "")


_TRIAL = 256
"""The most questions asked in each stage to measure a model's speed."""


def default_name(probe: str, model: str, preset: str, limit: int | None) -> str:
    """The default name of a run folder; the same command gives the same name."""
    return f"{probe}-{in_name(model)}-{preset if limit is None else f'limit{limit}'}"


def new_executor(
    name: str = LOCAL, workers: int | None = None, gpus: float | None = None, key_env: str = ""
) -> Executor:
    """An executor by its name (`--executor`). `workers`, `gpus` (for each worker) and `key_env` are Ray's, and one that
    starts workers has to be closed.
    """
    return executor_named(name, ExecutorRequest(load, load_elsewhere, workers, gpus, key_env))


def require_askable(model: ModelSpec, executor: Executor | None) -> None:
    """Refuse to ask an endpoint elsewhere: one process keeps its journal, its pace and its budget."""
    if model.endpoint is not None and executor is not None and not isinstance(executor, LocalExecutor):
        problem = f"{model.name} is an endpoint, which only this process can ask."
        raise UsageError(problem, "Omit --executor.", code="unsupported", key="executor")


def new_desk(spending: Spending | None = None, run: Path | None = None) -> EndpointExecutor:
    """A desk to ask endpoints for a run in a folder; their journals are beside the blocks."""
    return EndpointExecutor(load, cache_folder() / "journal", spending or Spending(), run)


def data_path(data: str | Path | None) -> Path | None:
    return None if data is None else Path(data).expanduser().resolve()


def provenance() -> dict[str, Any]:
    """Versions, machine, command and time, for run.json."""
    versions = {"assay": __version__, "python": platform.python_version()}
    for package in ("numpy", "torch", "transformers", "tokenizers", "onnxruntime"):
        with suppress(metadata.PackageNotFoundError):
            versions[package] = metadata.version(package)
    machine = {"system": platform.platform(), "processor": platform.machine()}
    is_program = Path(sys.argv[0]).name in ("assay", "__main__.py")
    command = shlex.join(["assay", *sys.argv[1:]]) if is_program else "assay.audit(…) from Python"
    return {"versions": versions, "machine": machine, "command": command, "started": now()}


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
