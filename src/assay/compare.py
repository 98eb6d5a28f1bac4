"""Several finished runs side by side."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from assay.audit import Run, open_run
from assay.errors import UsageError
from assay.findings import Cell, Table
from assay.probes import probe_part

if TYPE_CHECKING:
    from rich.console import Console

_ENDS = 8


@dataclass(frozen=True)
class Comparison:
    """Tables over the compared runs, by name, with their titles."""

    runs: Sequence[str]
    models: Sequence[str]
    tables: Mapping[str, Table]
    titles: Mapping[str, str]

    def to_json(self) -> str:
        tables = {name: list(table.records()) for name, table in self.tables.items()}
        content = {"runs": list(self.runs), "models": list(self.models), "tables": tables}
        return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"

    def show(self, console: Console) -> None:
        """Print the tables with models by number; of long ones the first and last rows of each class and form."""
        from rich.table import Table as Shown
        from rich.text import Text

        numbers = {name: f"[{place}]" for place, name in enumerate(self.models, 1)}
        for name, number in numbers.items():
            console.print(Text(f"{number} {name}"))
        for title, table in self.tables.items():
            shown = Shown(title=self.titles[title], title_justify="left", box=None)
            for column in table.columns:
                shown.add_column(Text(numbers.get(column, column.replace("_", " "))))
            for row in _trimmed(table.rows):
                shown.add_row(*(Text(numbers.get(_text(cell), _text(cell))) for cell in row))
            console.print()
            console.print(shown)
        if not self.tables:
            console.print("No estimate is defined in both: ask more, for example with --preset standard.")


def _trimmed(rows: Sequence[Sequence[Cell]]) -> list[Sequence[Cell]]:
    """For each class and form the first and last rows, as the paper's figures have them."""
    shown: list[Sequence[Cell]] = []
    for _, group in groupby(rows, key=lambda row: row[:2]):
        own = list(group)
        middle = [["…"] * len(own[0])] if len(own) > 2 * _ENDS else []
        shown += own if not middle else [*own[:_ENDS], *middle, *own[-_ENDS:]]
    return shown


def compare(folders: Sequence[str | Path]) -> Comparison:
    """Set runs of one probe side by side; refuses runs whose questions were made from different data."""
    if len(folders) < 2:
        raise UsageError("a comparison needs at least two run folders.", "assay compare DIR DIR …")
    if len({Path(folder).resolve() for folder in folders}) < len(folders):
        raise UsageError("a run folder is named twice.", "Compare a run with others.")
    runs = [open_run(folder) for folder in folders]
    probes = {run.findings.probe for run in runs}
    if len(probes) > 1:
        raise UsageError(f"these runs are of {', '.join(sorted(probes))}.", "Compare runs of one probe.")
    _require_same_data(runs)
    named = [(name, run.findings) for name, run in _named(runs)]
    part = probe_part(probes.pop(), "compare")
    tables = part.comparison(named)
    return Comparison([str(run.folder) for run in runs], [name for name, _ in named], tables, part.TITLES)


def _named(runs: Sequence[Run]) -> list[tuple[str, Run]]:
    """Runs by their model's name, or by their folder where two models have the same."""
    names = [run.findings.model for run in runs]
    return [(name if names.count(name) == 1 else str(run.folder), run) for name, run in zip(names, runs, strict=True)]


def _require_same_data(runs: Sequence[Run]) -> None:
    first: dict[str, tuple[str, Path]] = {}
    for run in runs:
        if run.info["model"].get("kind") == "predictions":
            continue  # nobody knows what they were made from
        for name, digest in (run.info.get("data") or {}).items():
            before, folder = first.setdefault(name, (digest, run.folder))
            if before != digest:
                raise UsageError(
                    f"{folder} and {run.folder} were asked from different data ({name}), so their numbers are not "
                    "comparable.",
                    "Repeat one of them with the other's data.",
                )


def _text(cell: Cell) -> str:
    return "–" if cell is None else f"{cell:.4g}" if isinstance(cell, float) else str(cell)
