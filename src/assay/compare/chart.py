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

MOST_DRAWN = 8
"""Rows of the chart, for each probe."""


def changes_chart(found: Sequence[Difference], *, several: bool, language: str = "") -> DisplayTable | None:
    """The bias that models are ranked by, then the largest clear differences, each metric on its fixed scale; None
    where nothing has two values. `several` models need a column for their names, and `language` is the baseline's.
    """
    known = [each for each in changed(found) if each.before is not None and each.after is not None]
    clear = sorted((each for each in known if each.clear), key=lambda each: -abs(each.change.value or 0.0))
    shown = list(
        {id(each): each for each in (*_of(known, "ranked"), *_of(clear, "decisive"), *clear, *known[:1])}.values()
    )[:MOST_DRAWN]
    if not shown:
        return None
    groups: dict[tuple[str, str], list[TableRow]] = {}
    for each in shown:
        groups.setdefault((each.probe, each.change.metric), []).append(_row(each, several=several))
    what = "language" if language else "model"
    base = f"in {language}" if language else "baseline"
    return DisplayTable(
        title="Languages" if language else "Baseline and model",
        how=[
            *(
                "square ",
                ChartMark("before"),
                " ",
                Verbatim(base),
                "; dot ",
                ChartMark("dot"),
                f" {what}, hollow ",
                ChartMark("hollow"),
            ),
            *(
                " where the change is not statistically clear; thick line ",
                ChartMark("range"),
                " 95% interval of the change, ",
            ),
            "added to the baseline. Each metric has the same scale in every comparison.",
        ],
        columns=[
            *(TableColumn(head, CellKind.TEXT) for head in ("asked about", *([what] if several else []))),
            TableColumn("on its scale", CellKind.DOTS, by_group=True),
            *(
                TableColumn(Verbatim(base), CellKind.NUMBER),
                TableColumn(what, CellKind.NUMBER),
                TableColumn("change", CellKind.NUMBER),
            ),
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


def _of(found: Sequence[Difference], choice: Literal["ranked", "decisive"]) -> list[Difference]:
    """Of every model and probe, the changes of what models are ranked by, or of what decides the verdict."""
    own: dict[tuple[str, str], list[Difference]] = {}
    for each in found:
        own.setdefault((each.probe, each.model), []).append(each)
    changes = [(probe, [one.change for one in some]) for (probe, _), some in own.items()]
    ranked = {id(each) for probe, some in changes for each in getattr(known_probe(probe).claims, choice)(some)}
    return [each for each in found if id(each.change) in ranked]


def _row(each: Difference, *, several: bool) -> TableRow:
    change, before = each.change, each.before or 0.0
    low, high = (None if end is None else before + end for end in (change.low, change.high))
    neutral = metric_named(each.probe, change.metric).neutral
    dot = DotCell(each.after, low, high, hollow=not each.clear, neutral=neutral, before=each.before)
    cells: list[TableCell] = [say_group(each.probe, change.group), *([each.model] if several else []), dot]
    return TableRow([*cells, each.before, each.after, MarkedCell(change.value, clear=each.clear or None)])
