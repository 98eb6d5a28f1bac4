"""Headline estimates as tables: by metric, each metric on a scale of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from assay.blocks import Block, Code, Column, Dot, Group, Kind, Mark, Marked, Prose, Row, Score, Table, TableCell
from assay.findings import Cell, Estimate
from assay.findings import Table as Data
from assay.probes import metric_named, say_group
from assay.run import Run, run_names
from assay.verdict import Verdict, verdict
from assay.wording import interval, number

OUTSIDE = (
    "An interval may lie below its value: maxima and absolute values come out too high by chance, "
    "and the interval allows for that."
)


def lacks_interval(estimate: Estimate) -> bool:
    """Whether there is a value but no interval, which is then what a note explains."""
    return estimate.value is not None and estimate.low is None


def outside_interval(estimate: Estimate) -> bool:
    """Whether the interval leaves its own value out, as it may where the value is a maximum or an absolute value."""
    value, low, high = estimate.value, estimate.low, estimate.high
    return value is not None and low is not None and high is not None and not low <= value <= high


def numbered(notes: Sequence[str | None]) -> Mapping[str, int]:
    """Each different note once, numbered from 1 in order of appearance.

    >>> numbered(["b", None, "a", "b"])
    {'b': 1, 'a': 2}
    """
    return {note: place for place, note in enumerate(dict.fromkeys(filter(None, notes)), start=1)}


def described(low: float | None, high: float | None, floor: float | None, reference: float | None = None) -> str:
    """What is drawn besides a value, in words.

    >>> described(0.1, 0.3, 0.05), described(None, None, None)
    ('Interval 0.100 to 0.300. Chance alone gives 0.050.', '')
    """
    said = []
    if low is not None and high is not None:
        said.append(f"Interval {interval(low, high)}.")
    if floor is not None:
        said.append(f"Chance alone gives {number(floor)}.")
    if reference is not None:
        said.append(f"For comparison: {number(reference)}.")
    return " ".join(said)


def measured(estimate: Estimate, notes: Mapping[str, int]) -> list[str]:
    """The value and the interval of an estimate; the one that is missing has the number of the note that says why."""
    value, between = number(estimate.value), interval(estimate.low, estimate.high)
    if not estimate.note:
        return [value, between]
    mark = f" [{notes[estimate.note]}]"
    return [value, between + mark] if lacks_interval(estimate) else [value + mark, between]


def by_metric(scores: Sequence[Score]) -> dict[str, list[Score]]:
    """Scores by their metric, both in order of appearance."""
    found: dict[str, list[Score]] = {}
    for score in scores:
        found.setdefault(score.estimate.metric, []).append(score)
    return found


def estimates_block(groups: Sequence[tuple[str, Sequence[Score]]], level: str, **chart: Any) -> Table:
    """Estimates under the heads of their groups, which then have scales of their own; `level` is what intervals are
    called. Columns for which no estimate has anything are left out.
    """
    every = [score.estimate for _, own in groups for score in own]
    optional = {
        "low": Column(level, Kind.INTERVAL),
        "floor": Column("chance gives", Kind.NUMBER),
        "p": Column("p", Kind.PROBABILITY),
        "q": Column("q", Kind.PROBABILITY),
    }
    has = {key: column for key, column in optional.items() if any(getattr(e, key) is not None for e in every)}
    headed = any(head for head, _ in groups)
    columns = [
        *(Column("asked about", Kind.TEXT), Column("value", Kind.NUMBER)),
        Column("on its scale" if headed else "value", Kind.DOTS, signed=False, by_group=headed),
        *(*has.values(), Column("n", Kind.COUNT)),
    ]

    def row(score: Score) -> Row:
        e = score.estimate
        unsure = lacks_interval(e) and "low" in has
        cells: list[TableCell] = [score.said, Marked(e.value, note=None if unsure else e.note), dot_of(e)]
        cells += [Marked((e.low, e.high), note=e.note if unsure else None)] if "low" in has else []
        cells += ["" if (value := getattr(e, key)) is None else value for key in has if key != "low"]
        return Row([*cells, e.n], score.examples)

    rows = [Group([row(score) for score in own], head) for head, own in groups]
    return Table(columns=columns, groups=rows, **chart)


def dot_of(estimate: Estimate) -> Dot:
    """An estimate drawn, hollow where it could be chance."""
    e = estimate
    return Dot(e.value, e.low, e.high, e.floor, hollow=verdict(e) is Verdict.WITHIN)


def beside(runs: Sequence[Run], headlines: Sequence[Sequence[Estimate]]) -> Block:
    """The headline estimates that at least two runs of a probe have, model by model."""
    probe = runs[0].probe
    found: dict[str, dict[str, list[tuple[str, Estimate]]]] = {}
    for name, estimates in zip(run_names(runs), headlines, strict=True):
        for e in estimates:
            found.setdefault(e.metric, {}).setdefault(say_group(probe, e.group), []).append((name, e))
    shared = {
        metric: {said: own for said, own in groups.items() if sum(e.value is not None for _, e in own) > 1}
        for metric, groups in found.items()
    }
    groups, rows = [], []
    for metric, own in shared.items():
        lines = [(said, name, e) for said, estimates in own.items() for name, e in estimates]
        if lines:
            shown = [Row([said, name, dot_of(e), e.value, (e.low, e.high)]) for said, name, e in lines]
            groups.append(Group(shown, metric_named(probe, metric).title))
            rows += [[metric, said, name, e.value, e.low, e.high, e.floor, e.p, e.q, e.n] for said, name, e in lines]
    if not groups:
        return Prose(["No estimate is defined in more than one of these runs."])
    return Table(
        title="Headline numbers by model",
        how=[
            *("each dot ", Mark("dot"), " is a model’s estimate, the line its interval, the tick ", Mark("floor")),
            " what chance alone gives. Overlapping intervals do not show that two models are alike; ",
            *(Code("assay compare"), " tests differences on the same questions."),
        ],
        data=Data(("metric", "group", "model", "value", "low", "high", "floor", "p", "q", "n"), rows),
        file=f"{probe}-models",
        anchor="models",
        columns=[
            *(Column("asked about", Kind.TEXT), Column("model", Kind.TEXT)),
            Column("on its scale", Kind.DOTS, signed=False, by_group=True),
            *(Column("value", Kind.NUMBER), Column("interval", Kind.INTERVAL)),
        ],
        groups=groups,
    )


def estimates_table(estimates: Sequence[Estimate]) -> Data:
    """The estimates as a table, with a column for each key of their groups."""
    keys = list(dict.fromkeys(key for estimate in estimates for key in estimate.group))
    rows: list[list[Cell]] = [
        [e.metric, *(e.group.get(key) for key in keys), e.value, e.low, e.high, e.level, e.n, e.p, e.q, e.floor, e.note]
        for e in estimates
    ]
    return Data(("metric", *keys, "value", "low", "high", "level", "n", "p", "q", "floor", "note"), rows)
