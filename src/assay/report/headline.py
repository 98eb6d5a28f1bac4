"""Headline estimates as tables: by metric, each metric on a scale of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from assay.presentation.elements import (
    Block,
    CellKind,
    DisplayTable,
    DotCell,
    HeadlineEstimate,
    MarkedCell,
    Paragraphs,
    RowGroup,
    Scorecard,
    TableCell,
    TableColumn,
    TableRow,
)
from assay.presentation.rich_text import ChartMark, Code
from assay.probes import metric_named, run_names, say_group
from assay.report.shared import lacks_interval
from assay.results.findings import Cell, Estimate
from assay.results.findings import Table as Data
from assay.results.formatting import format_estimate_interval, format_number, plural
from assay.results.run import Run
from assay.results.verdict import Chance

MOST_LINES = 400
"""Rows of the table of several models; its data have all."""


def by_metric(scores: Sequence[HeadlineEstimate]) -> dict[str, list[HeadlineEstimate]]:
    """Scores by their metric, both in order of appearance."""
    found: dict[str, list[HeadlineEstimate]] = {}
    for score in scores:
        found.setdefault(score.estimate.metric, []).append(score)
    return found


def estimates_block(
    groups: Sequence[tuple[str, Sequence[HeadlineEstimate]]], level: str, probe: str = "", **chart: Any
) -> DisplayTable:
    """Estimates of a probe under the heads of their groups, which then have scales of their own; `level` is what
    intervals are called. Columns for which no estimate has anything are left out.
    """
    every = [score.estimate for _, own in groups for score in own]
    optional = {
        "corrected": TableColumn("corrected for chance", CellKind.NUMBER),
        "low": TableColumn(level, CellKind.INTERVAL),
        "floor": TableColumn("chance level", CellKind.NUMBER),
        "p": TableColumn("p", CellKind.PROBABILITY),
        "q": TableColumn("q", CellKind.PROBABILITY),
    }
    has = {key: column for key, column in optional.items() if any(getattr(e, key) is not None for e in every)}
    headed = any(head for head, _ in groups)
    columns = [
        *(TableColumn("asked about", CellKind.TEXT), TableColumn("value", CellKind.NUMBER)),
        TableColumn("on its scale" if headed else "value", CellKind.DOTS, signed=False, by_group=headed),
        *(*has.values(), TableColumn("n", CellKind.COUNT)),
    ]

    def row(score: HeadlineEstimate) -> TableRow:
        e = score.estimate
        unsure = lacks_interval(e) and "low" in has
        cells: list[TableCell] = [score.said, MarkedCell(e.value, note=None if unsure else e.note), dot_of(e, probe)]
        found: dict[str, TableCell] = {key: "" if (own := getattr(e, key)) is None else own for key in has}
        if "low" in has:
            found["low"] = MarkedCell((e.low, e.high), note=e.note if unsure else None)
        cells += found.values()
        return TableRow([*cells, e.n], score.examples)

    rows = [RowGroup([row(score) for score in own], head) for head, own in groups]
    return DisplayTable(columns=columns, groups=rows, **chart)


def scorecard_table(card: Scorecard, level: str, *, by_place: bool = False) -> DisplayTable:
    """Headline estimates in full, for views that cannot draw; `level` is what their intervals are called.

    With `by_place` the rows of a place are a group that names it once, and only the p that decides is shown.
    """
    decides = "q" if any(e.q is not None for e in card.estimates) else "p"
    tests = [decides] if by_place else ["p", "q"]
    columns = [
        *(TableColumn(head, CellKind.TEXT) for head in ([*card.places, "metric"] if by_place else ["metric", "about"])),
        TableColumn("value", CellKind.NUMBER),
        TableColumn(level, CellKind.INTERVAL),
        TableColumn("level", CellKind.NUMBER, over="chance"),
        *(TableColumn(test, CellKind.PROBABILITY) for test in tests),
        TableColumn("n", CellKind.COUNT),
    ]

    def row(e: Estimate, before: Sequence[str] = (), after: Sequence[str] = ()) -> TableRow:
        unsure = lacks_interval(e)
        cells: list[TableCell] = [*before, metric_named(card.probe, e.metric).title, *after]
        cells.append(MarkedCell(e.value, True if e.chance is Chance.ABOVE else None, None if unsure else e.note))
        cells.append(MarkedCell(format_estimate_interval(e), note=e.note if unsure else None))
        numbers = (e.floor, *(getattr(e, test) for test in tests))
        return TableRow([*cells, *("" if number is None else number for number in numbers), e.n])

    if not by_place:
        rows = [row(score.estimate, after=[score.said]) for score in card.scores]
        return DisplayTable(columns=columns, groups=[RowGroup(rows)])
    groups = []
    for place, (first, *others) in groupby(card.scores, key=lambda score: tuple(score.place) or (score.said,)):
        rows = [row(first.estimate, before=place), *(row(other.estimate, before=[""] * len(place)) for other in others)]
        groups.append(RowGroup(rows))
    return DisplayTable(title="Headline estimates", columns=columns, groups=groups)


def dot_of(estimate: Estimate, probe: str) -> DotCell:
    """An estimate drawn, hollow where it is not distinguishable from chance; the dot is the number that the interval
    belongs to.
    """
    e, hollow, neutral = estimate, estimate.could_be_chance, metric_named(probe, estimate.metric).neutral
    if e.corrected is None:
        return DotCell(e.value, e.low, e.high, e.floor, hollow=hollow, neutral=neutral)
    told = f"The paper’s value is {format_number(e.value)}."
    return DotCell(e.corrected, e.low, e.high, e.floor, e.value, hollow, told, neutral)


def estimates_across_runs(runs: Sequence[Run], headlines: Sequence[Sequence[Estimate]]) -> Block:
    """The headline estimates that at least two runs of a probe have, model by model."""
    probe = runs[0].probe
    found: dict[str, dict[str, list[tuple[str, Estimate]]]] = {}
    for name, estimates in zip(run_names(runs), headlines, strict=True):
        for e in estimates:
            found.setdefault(e.metric, {}).setdefault(say_group(probe, e.group), []).append((name, e))
    lines = [
        (metric, said, name, e)
        for metric, groups in found.items()
        for said, own in groups.items()
        if sum(e.value is not None for _, e in own) > 1
        for name, e in own
    ]
    if not lines:
        return Paragraphs(["No estimate is defined in more than one of these runs."])
    shown, left = lines[:MOST_LINES], len(lines) - MOST_LINES
    numbers = ("value", "corrected", "low", "high", "floor", "p", "q", "n")
    data = [[metric, said, name, *(getattr(e, number) for number in numbers)] for metric, said, name, e in lines]
    return DisplayTable(
        title="Headline numbers by model",
        how=[
            *(
                "each dot ",
                ChartMark("dot"),
                " is a model’s estimate, the line its interval, the tick ",
                ChartMark("floor"),
            ),
            " the chance level. Overlapping intervals do not show that two models are equal; ",
            *(Code("assay compare"), " tests differences on the same questions."),
        ],
        data=Data(("metric", "group", "model", *numbers), data),
        file=f"{probe}-models",
        anchor="models",
        columns=[
            *(TableColumn("asked about", CellKind.TEXT), TableColumn("model", CellKind.TEXT)),
            TableColumn("on its scale", CellKind.DOTS, signed=False, by_group=True),
            *(TableColumn("value", CellKind.NUMBER), TableColumn("interval", CellKind.INTERVAL)),
        ],
        groups=[
            RowGroup(
                [TableRow([said, name, dot_of(e, probe), e.value, (e.low, e.high)]) for _, said, name, e in own],
                metric_named(probe, metric).title,
            )
            for metric, own in groupby(shown, key=itemgetter(0))
        ],
        after=[f"{plural(left, 'more row')}: see “Data as CSV” above."] if left > 0 else (),
    )


_NUMBERS = ("value", "corrected", "low", "high", "level", "n", "p", "q", "claimed", "floor", "note")


def estimates_table(estimates: Sequence[Estimate], before: Mapping[str, Sequence[Cell]] | None = None) -> Data:
    """The estimates as a table, with a column for each key of their groups; `before` are more columns, before these."""
    more = before or {}
    keys = list(dict.fromkeys(key for estimate in estimates for key in estimate.group))
    taken = {*more, "metric", *_NUMBERS}
    rows = [
        [*own, e.metric, *map(e.group.get, keys), *(getattr(e, name) for name in _NUMBERS)]
        for e, *own in zip(estimates, *more.values(), strict=True)
    ]
    return Data([*more, "metric", *(f"group_{key}" if key in taken else key for key in keys), *_NUMBERS], rows)
