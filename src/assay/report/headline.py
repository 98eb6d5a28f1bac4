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
    scores_by_metric: dict[str, list[HeadlineEstimate]] = {}
    for score in scores:
        scores_by_metric.setdefault(score.estimate.metric, []).append(score)
    return scores_by_metric


def estimates_block(
    groups: Sequence[tuple[str, Sequence[HeadlineEstimate]]], level: str, probe: str = "", **chart: Any
) -> DisplayTable:
    """Estimates of a probe under the heads of their groups, which then have scales of their own; `level` is what
    intervals are called. Columns for which no estimate has anything are left out.
    """
    estimates = [score.estimate for _, members in groups for score in members]
    optional = {
        "corrected": TableColumn("corrected for chance", CellKind.NUMBER),
        "low": TableColumn(level, CellKind.INTERVAL),
        "floor": TableColumn("chance level", CellKind.NUMBER),
        "p": TableColumn("p", CellKind.PROBABILITY),
        "q": TableColumn("q", CellKind.PROBABILITY),
    }
    has = {
        key: column
        for key, column in optional.items()
        if any(getattr(estimate, key) is not None for estimate in estimates)
    }
    headed = any(head for head, _ in groups)
    columns = [
        *(TableColumn("asked about", CellKind.TEXT), TableColumn("value", CellKind.NUMBER)),
        TableColumn("on its scale" if headed else "value", CellKind.DOTS, signed=False, by_group=headed),
        *(*has.values(), TableColumn("n", CellKind.COUNT)),
    ]

    def row(score: HeadlineEstimate) -> TableRow:
        estimate = score.estimate
        unsure = lacks_interval(estimate) and "low" in has
        cells: list[TableCell] = [
            score.said,
            MarkedCell(estimate.value, note=None if unsure else estimate.note),
            dot_of(estimate, probe),
        ]
        optional_cells: dict[str, TableCell] = {
            key: "" if (number := getattr(estimate, key)) is None else number for key in has
        }
        if "low" in has:
            optional_cells["low"] = MarkedCell((estimate.low, estimate.high), note=estimate.note if unsure else None)
        cells += optional_cells.values()
        return TableRow([*cells, estimate.n], score.examples)

    rows = [RowGroup([row(score) for score in members], head) for head, members in groups]
    return DisplayTable(columns=columns, groups=rows, **chart)


def scorecard_table(card: Scorecard, level: str, *, by_place: bool = False) -> DisplayTable:
    """Headline estimates in full, for views that cannot draw; `level` is what their intervals are called.

    With `by_place` the rows of a place are a group that names it once, and only the p that decides is shown.
    """
    decides = "q" if any(estimate.q is not None for estimate in card.estimates) else "p"
    tests = [decides] if by_place else ["p", "q"]
    columns = [
        *(TableColumn(head, CellKind.TEXT) for head in ([*card.places, "metric"] if by_place else ["metric", "about"])),
        TableColumn("value", CellKind.NUMBER),
        TableColumn(level, CellKind.INTERVAL),
        TableColumn("level", CellKind.NUMBER, over="chance"),
        *(TableColumn(test, CellKind.PROBABILITY) for test in tests),
        TableColumn("n", CellKind.COUNT),
    ]

    def row(estimate: Estimate, before: Sequence[str] = (), after: Sequence[str] = ()) -> TableRow:
        unsure = lacks_interval(estimate)
        clear = True if estimate.chance is Chance.ABOVE else None
        cells: list[TableCell] = [*before, metric_named(card.probe, estimate.metric).title, *after]
        cells.append(MarkedCell(estimate.value, clear, None if unsure else estimate.note))
        cells.append(MarkedCell(format_estimate_interval(estimate), note=estimate.note if unsure else None))
        numbers = (estimate.floor, *(getattr(estimate, test) for test in tests))
        return TableRow([*cells, *("" if number is None else number for number in numbers), estimate.n])

    if not by_place:
        rows = [row(score.estimate, after=[score.said]) for score in card.scores]
        return DisplayTable(columns=columns, groups=[RowGroup(rows)])
    groups = []
    for place, (first, *others) in groupby(card.scores, key=lambda score: tuple(score.place) or (score.said,)):
        rows = [row(first.estimate, before=place), *(row(score.estimate, before=[""] * len(place)) for score in others)]
        groups.append(RowGroup(rows))
    return DisplayTable(title="Headline estimates", columns=columns, groups=groups)


def dot_of(estimate: Estimate, probe: str) -> DotCell:
    """An estimate drawn, hollow where it is not distinguishable from chance; the dot is the number that the interval
    belongs to.
    """
    e, hollow, neutral = estimate, estimate.could_be_chance, metric_named(probe, estimate.metric).neutral
    if e.corrected is None:
        return DotCell(e.value, e.low, e.high, e.floor, hollow=hollow, neutral=neutral)
    explanation = f"The paper’s value is {format_number(e.value)}."
    return DotCell(e.corrected, e.low, e.high, e.floor, e.value, hollow, explanation, neutral)


def estimates_across_runs(runs: Sequence[Run], headlines: Sequence[Sequence[Estimate]]) -> Block:
    """The headline estimates that at least two runs of a probe have, model by model."""
    probe = runs[0].probe
    by_group: dict[str, dict[str, list[tuple[str, Estimate]]]] = {}
    for name, estimates in zip(run_names(runs), headlines, strict=True):
        for estimate in estimates:
            by_group.setdefault(estimate.metric, {}).setdefault(say_group(probe, estimate.group), []).append(
                (name, estimate)
            )
    lines = [
        (metric, about, name, estimate)
        for metric, groups in by_group.items()
        for about, members in groups.items()
        if sum(estimate.value is not None for _, estimate in members) > 1
        for name, estimate in members
    ]
    if not lines:
        return Paragraphs(["No estimate is defined in more than one of these runs."])
    lines_shown, n_omitted = lines[:MOST_LINES], len(lines) - MOST_LINES
    numbers = ("value", "corrected", "low", "high", "floor", "p", "q", "n")
    data = [
        [metric, about, name, *(getattr(estimate, number) for number in numbers)]
        for metric, about, name, estimate in lines
    ]
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
                [
                    TableRow([about, name, dot_of(estimate, probe), estimate.value, (estimate.low, estimate.high)])
                    for _, about, name, estimate in members
                ],
                metric_named(probe, metric).title,
            )
            for metric, members in groupby(lines_shown, key=itemgetter(0))
        ],
        after=[f"{plural(n_omitted, 'more row')}: see “Data as CSV” above."] if n_omitted > 0 else (),
    )


_NUMBERS = ("value", "corrected", "low", "high", "level", "n", "p", "q", "claimed", "floor", "note")


def estimates_table(estimates: Sequence[Estimate], before: Mapping[str, Sequence[Cell]] | None = None) -> Data:
    """The estimates as a table, with a column for each key of their groups; `before` are more columns, before these."""
    more = before or {}
    keys = list(dict.fromkeys(key for estimate in estimates for key in estimate.group))
    taken = {*more, "metric", *_NUMBERS}
    rows = [
        [*cells, estimate.metric, *map(estimate.group.get, keys), *(getattr(estimate, name) for name in _NUMBERS)]
        for estimate, *cells in zip(estimates, *more.values(), strict=True)
    ]
    return Data([*more, "metric", *(f"group_{key}" if key in taken else key for key in keys), *_NUMBERS], rows)
