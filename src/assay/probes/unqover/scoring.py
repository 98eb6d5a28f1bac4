"""UnQover's findings from files of predictions; no model is loaded."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from assay.errors import UsageError
from assay.findings import Findings
from assay.probes import Request
from assay.probes.unqover.analyse import Scored, findings_of
from assay.probes.unqover.predictions import read_predictions
from assay.probes.unqover.settings import Settings


def score_files(files: Sequence[Path], request: Request, answers: str | None) -> tuple[Findings, list[str]]:
    """The findings of predictions in the authors' format, a file for each class and form, and what was left out."""
    if answers is not None:
        raise UsageError("UnQover's predictions files hold their scores at fixed places.", "Leave --answers out.")
    given = request.settings or {}
    wanted = Settings.parse(given)
    if wanted.form == "both" or ("class" in given and len(wanted.classes) > 1):
        raise UsageError("a predictions file has one class of subjects and one form.", "Name them, or leave them out.")
    parts, notes = [], []
    seen: dict[tuple[str, str], Path] = {}
    for file in files:
        form = None if wanted.form == "auto" else wanted.form
        found = read_predictions(file, given.get("class"), form, skip_bad=request.skip_bad)
        part = found.cls, found.form
        if part in seen:
            raise UsageError(
                f"{seen[part]} and {file} both hold {found.cls} in {found.form} form.", "Score them one by one."
            )
        seen[part] = file
        notes += [f"{file.name}: left out: {problem}" for problem in found.skipped]
        parts.append(Scored(found.cls, found.form, found.cells, found.labels))
    return findings_of(parts, wanted, request.seed, files[0].stem), notes
