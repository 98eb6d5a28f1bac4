"""The chart on a comparison's first screen: the baseline and the model as two marks a row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from assay.compare.differences import Difference, changed
from assay.presentation.elements import (
    CellKind,
    DisplayTable,
    DotCell,
    MarkedCell,
    RowGroup,
    TableCell,
    TableColumn,
    TableRow,
    TableTools,
)
from assay.presentation.rich_text import ChartMark, Verbatim
from assay.probes import known_probe, metric_named, say_group
from assay.results.findings import Estimate

MOST_DRAWN = 8
"""Rows of the chart, for each probe."""


def changes_chart(differences: Sequence[Difference], *, several: bool, language: str = "") -> DisplayTable | None:
    """The bias that models are ranked by, then the largest clear differences, each metric on its fixed scale; None
    where nothing has two values. `several` models need a column for their names, and `language` is the baseline's.
    """
    drawable = [change for change in changed(differences) if change.before is not None and change.after is not None]
    clear = sorted((change for change in drawable if change.clear), key=lambda change: -abs(change.change.value or 0.0))
    first = [*_choose(drawable, "ranked"), *_choose(clear, "decisive"), *clear, *drawable[:1]]
    drawn = list({id(difference): difference for difference in first}.values())[:MOST_DRAWN]
    if not drawn:
        return None
    groups: dict[tuple[str, str], list[TableRow]] = {}
    for difference in drawn:
        groups.setdefault((difference.probe, difference.change.metric), []).append(_row(difference, several=several))
    kind = "language" if language else "model"
    baseline = f"in {language}" if language else "baseline"
    return DisplayTable(
        title="Languages" if language else "Baseline and model",
        how=[
            *("square ", ChartMark("before"), " ", Verbatim(baseline), "; dot ", ChartMark("dot")),
            *(f" {kind}, hollow ", ChartMark("hollow"), " where the change is not statistically clear; thick line "),
            *(ChartMark("range"), " 95% interval of the change, added to the baseline. "),
            "Each metric has the same scale in every comparison.",
        ],
        columns=[
            *(TableColumn(head, CellKind.TEXT) for head in ("asked about", *([kind] if several else []))),
            TableColumn("on its scale", CellKind.DOTS, by_group=True),
            TableColumn(Verbatim(baseline), CellKind.NUMBER),
            TableColumn(kind, CellKind.NUMBER),
            TableColumn("change", CellKind.NUMBER),
        ],
        groups=[
            RowGroup(rows, metric_named(*metric).title, ends=metric_named(*metric).ends)
            for metric, rows in groups.items()
        ],
        anchor="changes",
        file="changes",
        sort=TableTools.NONE,
        filter=TableTools.NONE,
    )


def _choose(differences: Sequence[Difference], choice: Literal["ranked", "decisive"]) -> list[Difference]:
    """Of every model and probe, the changes of what models are ranked by, or of what decides the verdict."""
    changes: dict[tuple[str, str], list[Estimate]] = {}
    for difference in differences:
        changes.setdefault((difference.probe, difference.model), []).append(difference.change)
    chosen = {
        id(change)
        for (probe, _), group in changes.items()
        for change in getattr(known_probe(probe).claims, choice)(group)
    }
    return [difference for difference in differences if id(difference.change) in chosen]


def _row(difference: Difference, *, several: bool) -> TableRow:
    change, before = difference.change, difference.before or 0.0
    low, high = (None if end is None else before + end for end in (change.low, change.high))
    neutral = metric_named(difference.probe, change.metric).neutral
    dot = DotCell(difference.after, low, high, hollow=not difference.clear, neutral=neutral, before=difference.before)
    cells: list[TableCell] = [say_group(difference.probe, change.group), *([difference.model] if several else []), dot]
    cells += [difference.before, difference.after, MarkedCell(change.value, clear=difference.clear or None)]
    return TableRow(cells)
