"""UnQover's findings from files of predictions; no model is loaded."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from assay.errors import UsageError
from assay.findings import Findings
from assay.probes import Request
from assay.probes.unqover.analyse import analyse, merged
from assay.probes.unqover.predictions import read_predictions
from assay.probes.unqover.settings import Settings


def score_files(files: Sequence[Path], request: Request, skip_bad: bool) -> tuple[Findings, list[str]]:
    """The findings of predictions in the authors' format, a file for each class and form, and what was left out."""
    given = request.settings or {}
    wanted = Settings.parse(given)
    if wanted.form == "both" or ("class" in given and len(wanted.classes) > 1):
        raise UsageError("a predictions file has one class of subjects and one form.", "Name them, or leave them out.")
    results, notes = [], []
    seen: dict[tuple[str, str], Path] = {}
    for file in files:
        form = None if wanted.form == "auto" else wanted.form
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
                seed=request.seed,
                draws=wanted.draws,
                resamples=wanted.resamples,
                released=wanted.released,
            )
        )
    estimates, tables = merged(results)
    return Findings("unqover", files[0].stem, estimates, tables), notes
