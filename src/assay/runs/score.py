"""Scores existing answers: files of predictions, or a run's stored answers. No model is loaded.

`recollect_answers` returns a run's answers: from the store, or from the files that were scored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from assay.engine.ask import Resume, StoredAsk
from assay.engine.executor import EngineSettings
from assay.engine.store import BlockStore
from assay.errors import DataError, UsageError
from assay.files.atomic import write_atomically
from assay.files.opening import digest_as_stored, open_bytes, read_whole
from assay.files.paths import in_name
from assay.files.rows import AnswerFileKind, kind_of
from assay.models.base import ModelSpec
from assay.probes import concluded, described, method_of
from assay.probes.base import Method, Prepared, Request
from assay.results.findings import Findings
from assay.results.formatting import without_folders
from assay.results.run import EndpointInfo, Run, RunInfo
from assay.results.run import RunKind as RunKind
from assay.runs.audit import data_path, provenance, reported
from assay.runs.folder import BLOCKS, INFO, info_in, open_for_writing, read_run, used_blocks
from assay.runs.question_files import ENDING, read_results

UNNAMED = "unnamed model"
_UNNAMED = "the files do not name the model; --set model=NAME does"


def score(
    probe: str,
    files: Sequence[str | Path],
    *,
    settings: Mapping[str, str] | None = None,
    seed: int | None = None,
    answers: str | None = None,
    labels_from: int = 0,
    only: Mapping[str, str] | None = None,
    data: str | Path | None = None,
    skip_bad: bool = False,
    out: str | Path | None = None,
) -> Run:
    """Compute a probe's findings from files of answers or from a run folder, and write a run folder.

    A folder that is not a run stands for the logs in it, if the probe reads logs. `answers` is the column of answers,
    if a file is a table of questions (`A,B` averages two of them), and `labels_from` what the first option is called
    there (0, or 1); `only` chooses the rows of a table that have these values, by column. `data` is a folder of
    official data that completes what a file leaves out. The setting `model` names the model for the report; without it
    the name comes from the logs, if they have one.
    """
    all_settings = dict(settings or {})
    named, changed = all_settings.get("model"), {key: value for key, value in all_settings.items() if key != "model"}
    paths = [Path(file) for file in files]
    logs = [log for path in paths for log in _logs(probe, path)]
    run = next((path for path in logs if path.is_dir()), None)
    if run is not None and len(paths) > 1:
        raise UsageError(
            "a run folder cannot be scored together with other files.",
            f"assay score {probe} {run}",
            code="bad-option",
            key="files",
        )
    name = f"{run.resolve().name}-again" if run else f"{probe}-scored-{in_name(paths[0].stem)}"
    folder = Path(out) if out else Path("runs") / name
    _require_no_run(folder)
    if run is not None:
        before = read_run(run)
        if before.probe != probe:
            remedy = f"assay score {before.probe} {run}"
            raise UsageError(f"this is a run of {before.probe}.", remedy, code="other-run", file=run, key="probe")
        findings, info = _again(before, changed, seed, data)
        scored = [str(before.info.identity)]
    else:
        request = Request(
            seed=seed or 0,
            settings=changed,
            data=data_path(data),
            skip_bad=skip_bad,
            labels_from=labels_from,
            only=dict(only or {}),
        )
        findings, info = _predictions(probe, logs, request, answers)
        scored = sorted(info.data.values())
    findings = described(replace(findings, probe=probe, model=named or without_folders(info.model.name)))
    info = replace(
        info,
        probe=probe,
        identity={
            "probe": probe,
            "scored": scored,
            "settings": all_settings,
            "skip_bad": skip_bad,
            "seed": info.seed,
            "answers": answers,
            **{name: value for name, value in (("labels_from", labels_from), ("only", dict(only or {}))) if value},
            "data": {},
        },
        model=replace(info.model, name=findings.model),
        notes=[*info.notes, *([_UNNAMED] if findings.model == UNNAMED else [])],
        **provenance(),
    )
    with open_for_writing(folder, info, Resume.NEVER) as opened:
        if run is not None and (run / BLOCKS).exists():
            write_atomically(folder / BLOCKS, read_whole(run / BLOCKS))  # the answers are the same
        opened.write_findings(findings)
        opened.note(finished=opened.info.started)
    return reported(Run(folder, opened.info, findings))


def _logs(probe: str, path: Path) -> Sequence[Path]:
    """The logs in a folder, or the path itself if it is a file or a run."""
    if not path.is_dir() or (path / INFO).exists():
        return [path]
    return method_of(probe).logs_in(path) or [path]


def _require_no_run(folder: Path) -> None:
    """Refuse a folder that holds a model's run; only scores may be replaced."""
    before = info_in(folder)
    if before is not None and before.kind is RunKind.ASKED:
        remedy = "Choose another folder with --out."
        raise UsageError("this folder holds a model's run.", remedy, code="other-run", file=folder)


def _again(
    before: Run, changed: Mapping[str, str], seed: int | None, data: str | Path | None
) -> tuple[Findings, RunInfo]:
    """The findings from a run's stored answers."""
    info = before.info
    if info.kind is RunKind.PREDICTIONS:
        problem = "this run scored prediction files; it has no stored answers of a model."
        remedy = "Score the files again: assay score PROBE FILE…"
        raise UsageError(problem, remedy, code="unsupported", file=before.folder)
    if seed not in (None, info.seed):
        problem = f"{before.folder} drew its questions with the seed {info.seed}, but --seed is {seed}."
        raise UsageError(problem, "Omit --seed, or repeat the run with it.", code="bad-option", key="seed")
    prepared, gathered = recollect_answers(before, changed, data)
    findings = concluded(method_of(before.probe), prepared, gathered)
    settings = {**prepared.settings, **info.settings, **changed}  # older versions recorded fewer
    return findings, replace(info, kind=RunKind.RESCORED, settings=settings, timings={}, backed_off={})


def _predictions(probe: str, files: Sequence[Path], request: Request, answers: str | None) -> tuple[Findings, RunInfo]:
    """The findings from files of predictions, in a format that the probe reads."""
    method = method_of(probe)
    for file in files:
        with open_bytes(file, None) as content:
            if not any(piece.strip() for piece in iter(partial(content.read, 1 << 20), b"")):
                raise DataError("this file is empty.", "Leave it out, or get a new copy.", code="empty-file", file=file)
    prepared, gathered = _read(method, files, request, answers)
    findings = concluded(method, prepared, gathered)
    info = RunInfo(
        kind=RunKind.PREDICTIONS,
        model=ModelSpec(prepared.model or UNNAMED),
        questions=sum(stage.questions for stage in prepared.stages) or None,
        stages={stage.label: stage.questions for stage in prepared.stages},
        settings=dict(request.settings),
        prompts=dict(prepared.prompts),
        brought=dict(prepared.brought),
        seed=request.seed,
        data={file.as_posix(): digest_as_stored(file) for file in files},
        skip_bad=request.skip_bad,
        notes=[*prepared.notes, *findings.notes],
        endpoint=EndpointInfo.of(prepared.served) if prepared.served else None,
    )
    return findings, info


def _read(
    method: Method[Any, Any], files: Sequence[Path], request: Request, answers: str | None
) -> tuple[Prepared, Any]:
    """The answers in files: batch results, or another format that the probe reads."""
    kinds = {file: kind_of(file) for file in files}
    _require_followed(method, request, batch=AnswerFileKind.BATCH_RESULTS in kinds.values())
    if AnswerFileKind.BATCH_RESULTS not in kinds.values():
        for file, kind in kinds.items():
            _require_answers(method, file, kind)
        return method.read_files(files, request, answers)
    if answers is not None:
        problem, remedy = "--answers cannot be used with batch results, whose format is known.", "Omit --answers."
        raise UsageError(problem, remedy, code="bad-option", key="answers")
    return read_results(method, files, request)


def _require_followed(method: Method[Any, Any], request: Request, *, batch: bool) -> None:
    """Refuse options about answers that would not be followed."""
    options = {"labels-from": request.labels_from, "only": request.only}
    for option in (name for name, value in options.items() if value and (batch or name not in method.answer_options)):
        subject = "batch results" if batch else f"files of {method.probe.name}"
        problem = f"--{option} cannot be used with {subject}."
        raise UsageError(problem, f"Omit --{option}.", code="bad-option", key=option)


_LOGS = {AnswerFileKind.LM_EVAL: "lm-evaluation-harness", AnswerFileKind.INSPECT: "Inspect"}
_SEE = "`assay score --help` shows what can be scored."


def _require_answers(method: Method[Any, Any], file: Path, kind: AnswerFileKind | None) -> None:
    """Refuse files that look like answers but have none, or none that the probe reads."""
    probe, samples = method.probe.name, _SEE
    if AnswerFileKind.LM_EVAL in method.logs:
        samples = f"Run lm_eval with --log_samples, then: assay score {probe} samples_TASK_DATE.jsonl"
    refusals = {
        AnswerFileKind.LM_EVAL_RESULTS: ("this file has results of lm-evaluation-harness, but no answers.", samples),
        AnswerFileKind.BATCH_REQUESTS: (
            "this file belongs to the requests of a batch and has no answers.",
            "Send the requests to the service, and score the results file that it returns.",
        ),
        AnswerFileKind.RUN: (
            "this file is part of a run.",
            f"Score the run's folder: assay score {probe} {file.parent}",
        ),
    }
    answer_kind = AnswerFileKind.BATCH_REQUESTS if file.name.endswith(ENDING) else kind
    if answer_kind in refusals:
        problem, remedy = refusals[answer_kind]
        raise DataError(problem, remedy, code="unsupported", file=file)
    if answer_kind is not None and answer_kind not in method.logs:
        problem = f"this is a log of {_LOGS[answer_kind]}, which {probe} cannot score."
        raise DataError(problem, _SEE, code="unsupported", file=file)


def recollect_answers(
    run: Run, settings: Mapping[str, str] | None = None, data: str | Path | None = None
) -> tuple[Prepared, Any]:
    """A run's probe, prepared as it was, and the answers that it gathered; settings may change formulas.

    `data` is the folder of the run's official data, if they have moved.
    """
    method, info = method_of(run.probe), run.info
    if info.kind is RunKind.PREDICTIONS:
        saved = {key: str(value) for key, value in info.settings.items() if key != "model"}
        selection = {name: info.identity[name] for name in ("labels_from", "only") if name in info.identity}
        request = Request(
            seed=info.seed or 0, settings=saved | dict(settings or {}), skip_bad=info.skip_bad, **selection
        )
        return _read(method, _unchanged_files(info.data), request, info.identity.get("answers"))
    before = info.data_folder
    moved = data is not None and before is not None  # what lay in the old folder is found in the new one
    saved = {
        key: str(value)
        for key, value in info.settings.items()
        if value is not None and not (moved and str(value).startswith(str(before)))
    }
    all_settings = {**saved, **(settings or {})}
    data_folder = data_path(data or before)
    request = Request(info.preset or "quick", info.limit, info.seed or 0, all_settings, data_folder, info.skip_bad)
    store = BlockStore.of_run(run.folder)
    if unknown := info.engine.keys() - EngineSettings.__dataclass_fields__.keys():
        problem = f'"engine" has an unknown key, {min(unknown)}.'
        raise DataError(
            problem, "Repeat the run to rewrite it.", code="unknown-key", file=run.folder / INFO, key="engine"
        )
    used = used_blocks(run.folder)
    ask = StoredAsk(info.model, store, used, EngineSettings(**info.engine), info.others, info.block_sizes)
    prepared = method.prepare(request, ask)
    if changed := [name for name, digest in info.brought.items() if prepared.brought.get(name) != digest]:
        problem = f"{changed[0]} has changed since this run."
        remedy = f"Restore it ({info.settings.get(changed[0])}), or repeat the run."
        raise DataError(problem, remedy, code="changed-file", file=run.folder, key=changed[0])
    return prepared, method.gather(prepared, ask)


def _unchanged_files(data: Mapping[str, str]) -> list[Path]:
    """The files of predictions that were scored; raises a DataError if one is missing or has changed."""
    for name, digest in data.items():
        if not Path(name).is_file():
            remedy = "Restore it, or score the predictions again."
            raise DataError("this file of predictions is gone.", remedy, code="missing-file", file=name)
        if digest_as_stored(Path(name)) != digest:
            problem = "this file of predictions has changed since it was scored."
            raise DataError(problem, "Score it again.", code="changed-file", file=name)
    return [Path(name) for name in data]
