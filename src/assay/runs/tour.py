"""The tour: every probe on one model, as a folder of runs with one page over them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from assay.engine.executor import Executor
from assay.errors import UsageError
from assay.models import find_model
from assay.models.base import Options
from assay.probes import tour_probes
from assay.run import Run
from assay.runs.audit import Listener, audit, default_name, new_executor


def tour(
    model: str = "builtin",
    *,
    preset: str = "quick",
    limit: int | None = None,
    out: str | Path | None = None,
    options: Options | None = None,
    listener: Listener | None = None,
    executor: Executor | None = None,
    **more: Any,
) -> tuple[Path, list[Run]]:
    """Audit a model with every probe that it can answer; `limit` is for each, and the other options are `audit`'s.

    Returns the folder, with its report.html, and the run of each probe in it.
    """
    folder = Path(out) if out is not None else Path("runs") / default_name("tour", model, preset, limit)
    _require_tour(folder)
    executor = executor or new_executor()  # loads the model once for all
    common = {**more, "preset": preset, "limit": limit, "options": options, "listener": listener, "executor": executor}
    runs = [audit(model, probe, out=folder / probe, **common) for probe in answerable(model, options, listener)]
    from assay.report import write_html

    write_html(folder, runs)
    return folder, runs


def answerable(model: str, options: Options | None = None, listener: Listener | None = None) -> list[str]:
    """The probes of the tour that a model can answer; if it can answer none, the first, which says what it lacks."""
    abilities = find_model(model, options).abilities
    able = [probe.name for probe in tour_probes() if probe.abilities & abilities]
    for probe in tour_probes():
        if able and probe.name not in able:
            needed = " or ".join(sorted(probe.abilities))
            (listener or Listener()).skips(probe.name, f"it needs a model with the ability {needed}")
    return able or [tour_probes()[0].name]


def _require_tour(folder: Path) -> None:
    """Nothing but a tour may lie in a tour's folder: its page is about all runs there."""
    others = {file.parent.name for file in folder.glob("*/run.json")} - {probe.name for probe in tour_probes()}
    held = "one run, not a tour" if (folder / "run.json").exists() else f"another run, {min(others)}" if others else ""
    if held:
        problem = f"this folder holds {held}."
        raise UsageError(problem, "Choose another folder with --out.", code="other-run", file=folder)
