"""Runs in other formats than a page: Markdown, JSON, CSV and a model card."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.findings import Cell, Table
from assay.probes import PROBES
from assay.report.content import Content, read_content
from assay.report.folders import run_folders
from assay.report.md import markdown_report
from assay.report.model_card import model_card

SCHEMA = 1

_ESSENTIAL = (
    "model",
    "others",
    "settings",
    "preset",
    "limit",
    "seed",
    "questions",
    "stages",
    "data",
    "versions",
    "command",
    "notes",
    "near_ties",
    "started",
    "finished",
)
"""The keys of run.json that mean something on another machine."""

_BEFORE = ("run", "probe", "model", "metric")
_AFTER = ("value", "low", "high", "level", "n", "p", "q", "floor", "note")


def report_text(folder: Path, form: str) -> str:
    """The report of a run, or of all runs in a folder, in one of FORMATS."""
    return FORMATS[form](sorted(map(read_content, run_folders(folder)), key=_place))


def _place(content: Content) -> int:
    """The probes in the order of their list; runs of one stay in the order of their paths."""
    return [*PROBES].index(content.findings.probe) if content.findings.probe in PROBES else len(PROBES)


def _names(contents: Sequence[Content]) -> list[str]:
    """The runs' folders, named from where they part."""
    folders = [content.folder.resolve() for content in contents]
    above = Path(os.path.commonpath(folders)) if len(folders) > 1 else folders[0].parent
    return [folder.relative_to(above).as_posix() for folder in folders]


def json_report(contents: Sequence[Content]) -> str:
    """One JSON document: for each run its findings.json, that file's digest, and the essentials of run.json."""
    runs = [
        {
            "run": name,
            "findings_sha256": content.findings_digest,
            "findings": json.loads(content.findings.to_json()),
            "made": _portable({key: content.run[key] for key in _ESSENTIAL if key in content.run}),
        }
        for name, content in zip(_names(contents), contents, strict=True)
    ]
    return json.dumps({"schema": SCHEMA, "runs": runs}, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def csv_report(contents: Sequence[Content]) -> str:
    """All estimates of all runs, one a row, with a column for each key of their groups."""
    named = zip(_names(contents), contents, strict=True)
    every = [(name, content, estimate) for name, content in named for estimate in content.findings.estimates]
    keys = list(dict.fromkeys(key for _, _, estimate in every for key in estimate.group))
    rows: list[list[Cell]] = [
        [
            name,
            content.findings.probe,
            content.model,
            e.metric,
            *(e.group.get(key) for key in keys),
            *(e.value, e.low, e.high, e.level, e.n, e.p, e.q, e.floor, e.note),
        ]
        for name, content, e in every
    ]
    taken = {*_BEFORE, *_AFTER}
    return Table([*_BEFORE, *(f"group_{key}" if key in taken else key for key in keys), *_AFTER], rows).to_csv()


def _portable(value: Any) -> Any:
    """A JSON value without what JSON cannot say (NaN), and without the folders that models lay in."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {key: _portable(inner) for key, inner in value.items() if key != "place"}
    return [_portable(inner) for inner in value] if isinstance(value, list) else value


FORMATS: Mapping[str, Callable[[Sequence[Content]], str]] = {
    "md": markdown_report,
    "json": json_report,
    "csv": csv_report,
    "model-card": model_card,
}
