"""The tour: every probe on one model, as a folder of runs with one page over them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from assay.audit import Run, audit, default_name
from assay.engine.executor import LocalExecutor
from assay.errors import UsageError
from assay.models import load
from assay.probes import TOUR


def tour(
    model: str = "builtin",
    *,
    preset: str = "quick",
    limit: int | None = None,
    out: str | Path | None = None,
    **options: Any,
) -> tuple[Path, list[Run]]:
    """Audit a model with every probe; `limit` is for each of them, and the other options are those of `audit`.

    Returns the folder, with its report.html, and the run of each probe in it.
    """
    folder = Path(out) if out is not None else Path("runs") / default_name("tour", model, preset, limit)
    _require_tour(folder)
    executor = LocalExecutor(load)  # loads the model once for all
    runs = [
        audit(model, probe, preset=preset, limit=limit, out=folder / probe, executor=executor, **options)
        for probe in TOUR
    ]
    from assay.report import write_html

    write_html(folder)
    return folder, runs


def _require_tour(folder: Path) -> None:
    """Nothing but a tour may lie in a tour's folder: its page is about all runs there."""
    if (folder / "run.json").exists():
        raise UsageError(f"{folder}: this folder holds one run, not a tour.", "Choose another folder with --out.")
    if other := sorted({file.parent.name for file in folder.glob("*/run.json")} - {*TOUR}):
        raise UsageError(f"{folder}: this folder holds another run, {other[0]}.", "Choose another folder with --out.")
