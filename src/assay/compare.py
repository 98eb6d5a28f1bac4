"""Several finished runs side by side."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from assay.audit import Run, open_run
from assay.errors import UsageError
from assay.findings import Cell, Table

if TYPE_CHECKING:
    from rich.console import Console

_MOST_ROWS = 24
_TITLES = {
    "intensity": "Bias intensity by model",
    "shift": "Shift of μ from language model to fine-tuned model",
    "ranks": "Ranks of subjects by γ over models (1: most preferred; for negative attributes, most negative)",
    "shared": "Attributes among the ten strongest of every model",
}


@dataclass(frozen=True)
class Comparison:
    """Tables over the compared runs, by name."""

    runs: Sequence[str]
    tables: Mapping[str, Table]

    def to_json(self) -> str:
        content = {"runs": list(self.runs), "tables": {name: list(t.records()) for name, t in self.tables.items()}}
        return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"

    def show(self, console: Console) -> None:
        """Print the tables; long ones in part (`--json` has all)."""
        from rich.table import Table as Shown
        from rich.text import Text

        for name, table in self.tables.items():
            shown = Shown(title=_TITLES.get(name, name), title_justify="left")
            for column in table.columns:
                shown.add_column(column.replace("_", " "))
            half = _MOST_ROWS // 2
            long = len(table.rows) > _MOST_ROWS
            rows = [*table.rows[:half], ["…"] * len(table.columns), *table.rows[-half:]] if long else table.rows
            for row in rows:
                shown.add_row(*(Text(_text(cell)) for cell in row))
            console.print(shown)
        if not self.tables:
            console.print("These runs have nothing in common that could be set side by side.")


def compare(folders: Sequence[str | Path]) -> Comparison:
    """Set runs of one probe side by side; refuses runs whose questions were made from different data."""
    if len(folders) < 2:
        raise UsageError("a comparison needs at least two run folders.", "assay compare DIR DIR …")
    runs = [open_run(folder) for folder in folders]
    probes = {run.findings.probe for run in runs}
    if probes != {"unqover"}:
        raise UsageError(f"these runs are of {', '.join(sorted(probes))}.", "Compare runs of unqover with each other.")
    _require_same_data(runs)
    from assay.probes.unqover.compare import comparison

    return Comparison(
        [str(run.folder) for run in runs], comparison([(name, run.findings) for name, run in _named(runs)])
    )


def _named(runs: Sequence[Run]) -> list[tuple[str, Run]]:
    """Runs by their model's name, or by their folder where two models have the same."""
    names = [run.findings.model for run in runs]
    return [(name if names.count(name) == 1 else str(run.folder), run) for name, run in zip(names, runs, strict=True)]


def _require_same_data(runs: Sequence[Run]) -> None:
    first: dict[str, tuple[str, Path]] = {}
    for run in runs:
        for name, digest in (run.info.get("data") or {}).items():
            before, folder = first.setdefault(name, (digest, run.folder))
            if before != digest and not name.endswith(".json"):
                raise UsageError(
                    f"{folder} and {run.folder} were asked from different data ({name}), so their numbers are not "
                    "comparable.",
                    "Repeat one of them with the other's data.",
                )


def _text(cell: Cell) -> str:
    return "–" if cell is None else f"{cell:.4g}" if isinstance(cell, float) else str(cell)
