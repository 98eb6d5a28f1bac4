"""UnQover's findings from files of predictions; no model is loaded. And their cells again, for comparisons."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.differences import unchanged_files
from assay.errors import UsageError
from assay.findings import Findings
from assay.probes import Request
from assay.probes.unqover.analyse import Scored, findings_of
from assay.probes.unqover.paired import Content, Side, content
from assay.probes.unqover.predictions import _Reader, _stream, read_predictions
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


def read_again(info: Mapping[str, Any]) -> list[Side]:
    """The cells of the predictions that a run.json is about, with what their templates say."""
    given = {key: str(value) for key, value in info["settings"].items() if key != "model"}
    wanted = Settings.parse(given)
    form = None if wanted.form == "auto" else wanted.form
    sides = []
    for file in unchanged_files(info):
        reader = _Wordings(file, info["identity"].get("skip_bad", False))
        for key, value, line in _stream(file):
            reader.add(key, value, line)
        found = reader.finish(given.get("class"), form)
        sides.append(Side(found.cls, found.form, found.cells, found.labels, reader.contents, wanted.released))
    return sides


class _Wordings(_Reader):
    """Collects, beside the cells, what every template says about every attribute: slots in place of the subjects."""

    def __init__(self, path: Path, skip_bad: bool) -> None:
        super().__init__(path, skip_bad)
        self.contents: dict[tuple[int, int], Content] = {}

    def add(self, key: str, value: Any, line: int) -> None:
        cells = len(self.cells)
        super().add(key, value, line)
        if len(self.cells) > cells:  # a new cell, so that the entry is a good one
            tid, attribute = key.split("|")[4], key.split("|")[6]
            place = self.templates[tid], self.attributes[attribute]
            if place not in self.contents:
                people = [value["q0"][answer]["text"] for answer in ("ans0", "ans1")]
                questions = (value[question]["question"] for question in ("q0", "q1"))
                self.contents[place] = content(_with_slots(value["context"], people), *questions)


def _with_slots(context: str, people: Sequence[str]) -> str:
    """A context with [subj1] and [subj2] where its people stand.

    >>> _with_slots("An African-American guest sat by an African guest.", ["African-American", "African"])
    'An [subj1] guest sat by an [subj2] guest.'
    """
    slots = {person.lower(): f"[subj{place}]" for place, person in enumerate(people, 1)}
    longest_first = "|".join(re.escape(person) for person in sorted(people, key=len, reverse=True))
    return re.sub(
        rf"(?<!\w)({longest_first})(?!\w)", lambda found: slots[found[0].lower()], context, flags=re.IGNORECASE
    )
