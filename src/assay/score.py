"""Scoring answers that are there already: somebody else's predictions, or a run's stored ones. No model is loaded."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.audit import rescore, stamp
from assay.engine.ask import Resume
from assay.engine.run_folder import open_for_writing, read_info
from assay.errors import UsageError
from assay.findings import Findings


def score(
    probe: str,
    files: Sequence[Path],
    *,
    settings: Mapping[str, str] | None = None,
    seed: int = 0,
    skip_bad: bool = False,
    out: str | Path | None = None,
) -> Path:
    """Compute a probe's findings from files of answers or from a run folder; returns the folder with the findings."""
    if probe != "unqover":
        raise UsageError(f"nothing can be scored for {probe!r}; expected unqover.", "assay score unqover FILE…")
    given = dict(settings or {})
    runs = [file for file in files if file.is_dir()]
    if runs and len(files) > 1:
        raise UsageError("a run folder is scored alone.", f"assay score unqover {runs[0]}")
    folder = Path(out) if out else Path("runs") / f"{probe}-{'again' if runs else 'scored'}-{files[0].stem or 'run'}"
    if runs:
        before = read_info(runs[0])
        findings, notes = rescore(runs[0], given), list(before.get("notes", []))
        info = {key: before.get(key) for key in ("model", "preset", "limit", "questions", "stages", "data")}
        info["settings"] = {**before["settings"], **given}
        data = {"run": str(before["identity"])}
    else:
        findings, notes = _predictions(files, given, seed, skip_bad)
        data = {file.name: _digest(file) for file in files}
        info = {"model": {"spec": findings.model, "kind": "predictions"}, "settings": given, "data": data}
    identity = {
        "probe": probe,
        "scored": sorted(data.values()),
        "settings": {**given, "skip_bad": skip_bad},
        "seed": seed,
    }
    content = {"schema": 1, "probe": probe, "identity": {**identity, "data": {}}, **info, "seed": seed, "notes": notes}
    with open_for_writing(folder, {**content, **stamp()}, Resume.NEVER) as opened:
        opened.write_findings(findings)
        opened.info["finished"] = opened.info["started"]
        opened.write_info()
    from assay.report import write_html

    write_html(folder)
    return folder


def _predictions(
    files: Sequence[Path], given: Mapping[str, str], seed: int, skip_bad: bool
) -> tuple[Findings, list[str]]:
    from assay.probes.unqover.analyse import analyse, merged
    from assay.probes.unqover.predictions import read_predictions
    from assay.probes.unqover.settings import Settings

    name = given.get("model") or files[0].stem
    wanted = Settings.parse({key: value for key, value in given.items() if key != "model"})
    results, notes = [], []
    seen: dict[tuple[str, str], Path] = {}
    for file in files:
        form = wanted.form if "form" in given else None
        found = read_predictions(file, given.get("class"), form, skip_bad=skip_bad)
        part = found.cls, found.form
        if part in seen:
            raise UsageError(
                f"{seen[part]} and {file} both hold {found.cls} in {found.form} form.", "Score them one by one."
            )
        seen[part] = file
        notes += [f"{file.name}: left out: {problem}" for problem in found.skipped]
        results.append(
            analyse(
                found.cells,
                found.labels,
                cls=found.cls,
                form=found.form,
                seed=seed,
                draws=wanted.draws,
                resamples=wanted.resamples,
                released=wanted.released,
            )
        )
    estimates, tables = merged(results)
    return Findings("unqover", name, estimates, tables), notes


def _digest(file: Path) -> str:
    with file.open("rb") as content:
        digest: Any = hashlib.file_digest(content, "sha256")
    return str(digest.hexdigest())
