"""Scoring answers that are there already: somebody else's predictions, or a run's stored ones. No model is loaded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from assay.audit import rescore, stamp
from assay.engine.ask import Resume
from assay.engine.run_folder import open_for_writing, read_info
from assay.errors import UsageError
from assay.files.opening import digest_as_stored
from assay.findings import Findings
from assay.probes import Request, probe_part


def score(
    probe: str,
    files: Sequence[Path],
    *,
    settings: Mapping[str, str] | None = None,
    seed: int | None = None,
    answers: str | None = None,
    data: str | Path | None = None,
    skip_bad: bool = False,
    out: str | Path | None = None,
) -> Path:
    """Compute a probe's findings from files of answers or from a run folder; returns the folder with the findings.

    `answers` is the column that holds them, where a file is a table of questions; `data` a folder of official data that
    completes what a file leaves out.
    """
    given = dict(settings or {})
    run = next((file for file in files if file.is_dir()), None)
    if run is not None and len(files) > 1:
        raise UsageError("a run folder is scored alone.", f"assay score {probe} {run}")
    name = f"{run.resolve().name}-again" if run else f"{probe}-scored-{files[0].stem}"
    folder = Path(out) if out else Path("runs") / name
    _require_no_run(folder)
    request = Request(seed=seed or 0, settings=given, data=Path(data) if data else None, skip_bad=skip_bad)
    findings, info, scored = _again(run, given, seed, data) if run else _predictions(probe, files, request, answers)
    identity = {"probe": probe, "scored": scored, "settings": given, "skip_bad": skip_bad, "seed": info["seed"]}
    identity["answers"] = answers
    content = {"schema": 1, "probe": probe, "identity": {**identity, "data": {}}, **info, **stamp()}
    with open_for_writing(folder, content, Resume.NEVER) as opened:
        opened.write_findings(findings)
        opened.info["finished"] = opened.info["started"]
        opened.write_info()
    from assay.report import write_html

    write_html(folder)
    return folder


def _require_no_run(folder: Path) -> None:
    """Scores may replace scores, but never a run: it took a model to make."""
    if (folder / "run.json").exists() and "scored" not in read_info(folder)["identity"]:
        raise UsageError(f"{folder}: this folder holds a run of a model.", "Choose another folder with --out.")


Scored = tuple[Findings, dict[str, Any], list[str]]  # findings, what to write into run.json, what was scored


def _again(run: Path, given: Mapping[str, str], seed: int | None, data: str | Path | None) -> Scored:
    """A run's stored answers."""
    before = read_info(run)
    if seed not in (None, before["seed"]):
        raise UsageError(
            f"{run} has the seed {before['seed']}, which its questions were drawn with; --seed is {seed}.",
            "Leave --seed out, or make another run with it.",
        )
    named = given.get("model")
    changed = {key: value for key, value in given.items() if key != "model"}
    findings = rescore(run, changed, data)
    info = {key: before[key] for key in _KEPT if key in before}
    info["settings"] = {**before["settings"], **changed}
    return replace(findings, model=named) if named else findings, info, [str(before["identity"])]


_KEPT = (
    *("model", "others", "preset", "limit", "seed", "questions", "stages"),
    *("data", "data_folder", "skip_bad", "engine", "notes"),
)


def _predictions(probe: str, files: Sequence[Path], request: Request, answers: str | None) -> Scored:
    """Somebody else's predictions, in a format that the probe reads."""
    given = dict(request.settings or {})
    name = given.get("model") or files[0].stem
    changed = {key: value for key, value in given.items() if key != "model"}
    findings, notes = probe_part(probe, "scoring").score_files(files, replace(request, settings=changed), answers)
    data = {str(file): digest_as_stored(file) for file in files}
    model = {"spec": name, "kind": "predictions"}
    info = {"model": model, "settings": given, "seed": request.seed, "data": data, "notes": notes}
    return replace(findings, model=name, probe=probe), info, sorted(data.values())
