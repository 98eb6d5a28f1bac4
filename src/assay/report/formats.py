"""Runs in other formats than a page: Markdown, JSON, CSV and a model card."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.findings import Cell
from assay.ranking import Leaderboard
from assay.report.headline import estimates_table
from assay.report.markdown import markdown_report
from assay.report.model_card import model_card
from assay.report.texts import in_order, known
from assay.run import Run

SCHEMA = 1

_ESSENTIAL = (
    *("model", "others", "settings", "preset", "limit", "seed", "questions", "stages", "data"),
    *("endpoint", "versions", "command", "notes", "near_ties", "started", "finished"),
)
"""The keys of run.json that mean something on another machine."""


def report_text(runs: Sequence[Run], form: str, boards: Sequence[Leaderboard] = ()) -> str:
    """The report of one run or many in one of FORMATS; `boards` rank the models."""
    return FORMATS[form](in_order(runs), boards)


def _names(runs: Sequence[Run]) -> list[str]:
    """The runs' folders, named from where they part."""
    folders = [run.folder.resolve() for run in runs]
    above = Path(os.path.commonpath(folders)) if len(folders) > 1 else folders[0].parent
    return [folder.relative_to(above).as_posix() for folder in folders]


def json_report(runs: Sequence[Run], boards: Sequence[Leaderboard] = ()) -> str:
    """One JSON document: for each run its findings.json, that file's digest, and the essentials of run.json.

    With several models, `leaderboards` has their ranks.
    """
    each = [
        {
            "run": name,
            "findings_sha256": run.findings_digest,
            "findings": json.loads(run.findings.to_json()),
            "made": _portable({key: said[key] for key in _ESSENTIAL if key in said}),
        }
        for name, run, said in zip(_names(runs), runs, (known(run.info) for run in runs), strict=True)
    ]
    ranks = {"leaderboards": [board.as_json() for board in boards]} if boards else {}
    return json.dumps({"schema": SCHEMA, **ranks, "runs": each}, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def csv_report(runs: Sequence[Run], boards: Sequence[Leaderboard] = ()) -> str:
    """All estimates of all runs, one a row, with a column for each key of their groups; with `boards`, also the rank
    that the model has by this estimate. People open it in spreadsheets, so it has no formulas.
    """
    every = [(name, run, e) for name, run in zip(_names(runs), runs, strict=True) for e in run.findings.estimates]
    about: dict[str, list[Cell]] = {
        "run": [name for name, _, _ in every],
        "probe": [run.probe for _, run, _ in every],
        "model": [run.model for _, run, _ in every],
    }
    if boards:
        ranks = {
            (id(each.run), id(each.estimate)): each.rank
            for board in boards
            for ranking in board.rankings
            for each in ranking.models
        }
        about |= {"rank": [ranks.get((id(run), id(e)), "") for _, run, e in every]}
    return estimates_table([e for _, _, e in every], about).for_spreadsheets().to_csv()


def _portable(value: Any) -> Any:
    """A JSON value without the folders that models lay in."""
    if isinstance(value, Mapping):
        return {key: _portable(inner) for key, inner in value.items() if key != "place"}
    return [_portable(inner) for inner in value] if isinstance(value, list) else value


FORMATS: Mapping[str, Callable[[Sequence[Run], Sequence[Leaderboard]], str]] = {
    "md": markdown_report,
    "json": json_report,
    "csv": csv_report,
    "model-card": model_card,
}
