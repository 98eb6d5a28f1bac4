"""UnQover's cells from files of predictions; no model is loaded."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from assay.errors import UsageError
from assay.probes.unqover.analyse import Scored
from assay.probes.unqover.contents import Contents
from assay.probes.unqover.predictions import read_predictions
from assay.probes.unqover.settings import LLM_FORMS, Settings


def scored_files(
    files: Sequence[Path], settings: Settings, named: bool, *, skip_bad: bool
) -> tuple[list[Scored], list[str]]:
    """The cells of predictions in the authors' format, a file for each class and form, and what was left out.

    `named` says whether the class was set; otherwise the files tell it.
    """
    if settings.form in LLM_FORMS:
        problem = f"form={settings.form} is for runs: the authors' format has span questions and masked sentences."
        raise UsageError(problem, "Ask a language model with `assay run unqover`.", code="unsupported", key="form")
    if settings.form == "both" or (named and len(settings.classes) > 1):
        raise UsageError(
            "a predictions file has one class of subjects and one form.",
            "Name them, or leave them out.",
            code="bad-setting",
            key="form" if settings.form == "both" else "class",
        )
    cls, form = settings.cls if named else None, None if settings.form == "auto" else settings.form
    parts, notes = [], []
    seen: dict[tuple[str, str], Path] = {}
    for file in files:
        found = read_predictions(file, cls, form, skip_bad=skip_bad, word_lists=settings.word_lists)
        part = found.cls, found.form
        if part in seen:
            raise UsageError(
                f"{seen[part]} and {file} both hold {found.cls} in {found.form} form.",
                "Score them one by one.",
                code="duplicate",
            )
        seen[part] = file
        notes += [f"{file.name}: {each}" for each in found.righted]
        notes += [f"{file.name}: left out: {problem}" for problem in found.skipped]
        contents = partial(_known, found.contents)
        parts.append(Scored(found.cls, found.form, found.cells, found.labels, None, contents, settings.released))
    return parts, notes


def _known(contents: Contents) -> Contents:
    return contents
