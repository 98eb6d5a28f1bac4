"""The headline estimates, arranged for showing: grouped by metric, with numbered notes and a verdict on chance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from assay.findings import Cell, Estimate, Table
from assay.report.bars import Bar, Scale, bar, scale_for
from assay.report.words import CLEAR, MetricWords, group_words, interval, metric_words, number


class Verdict(Enum):
    """Whether an estimate exceeds what chance alone gives."""

    ABOVE = "above chance"
    WITHIN = "within chance"
    UNTOLD = "no comparison with chance"
    UNDEFINED = "undefined"


def verdict(estimate: Estimate) -> Verdict:
    """By q, else p, where there is one (at most 0.05 is above); else by whether the interval lies above the floor.

    >>> verdict(Estimate("mu", {}, 0.3, p=0.001)), verdict(Estimate("mu", {}, 0.3, low=0.1, floor=0.2))
    (<Verdict.ABOVE: 'above chance'>, <Verdict.WITHIN: 'within chance'>)
    """
    if estimate.value is None:
        return Verdict.UNDEFINED
    p = estimate.q if estimate.q is not None else estimate.p
    if p is not None:
        return Verdict.ABOVE if p <= CLEAR else Verdict.WITHIN
    if estimate.floor is not None and estimate.low is not None:
        return Verdict.ABOVE if estimate.low > estimate.floor else Verdict.WITHIN
    return Verdict.UNTOLD


def lacks_interval(estimate: Estimate) -> bool:
    """Whether there is a value but no interval, which is then what a note explains."""
    return estimate.value is not None and estimate.low is None


def outside_interval(estimate: Estimate) -> bool:
    """Whether the interval leaves its own value out, as it may where the value is a maximum or an absolute value."""
    value, low, high = estimate.value, estimate.low, estimate.high
    return value is not None and low is not None and high is not None and not low <= value <= high


def numbered_notes(estimates: Sequence[Estimate]) -> Mapping[str, int]:
    """Each different note once, numbered from 1 in order of appearance.

    >>> numbered_notes([Estimate("mu", {}, None, note="b"), Estimate("eta", {}, None, note="b")])
    {'b': 1}
    """
    notes = dict.fromkeys(estimate.note for estimate in estimates if estimate.note)
    return {note: place for place, note in enumerate(notes, start=1)}


@dataclass(frozen=True)
class Line:
    """One estimate of the headline table."""

    group: str
    estimate: Estimate
    note: int | None
    bar: Bar | None
    verdict: Verdict

    @property
    def lacks_interval(self) -> bool:
        return lacks_interval(self.estimate)


@dataclass(frozen=True)
class Block:
    """All estimates of one metric, on one scale (none where nothing can be drawn)."""

    words: MetricWords
    scale: Scale | None
    lines: Sequence[Line]


def headline_blocks(estimates: Sequence[Estimate], notes: Mapping[str, int]) -> list[Block]:
    """The estimates by metric, both in order of appearance; `notes` has the number of each of their notes."""
    metrics = dict.fromkeys(estimate.metric for estimate in estimates)
    return [_block(metric, [e for e in estimates if e.metric == metric], notes) for metric in metrics]


def line_of(
    estimate: Estimate,
    said: str,
    notes: Mapping[str, int],
    scale: Scale,
    *,
    chance: float | None = None,
    reference: float | None = None,
) -> Line:
    """The line of an estimate, called `said`; `chance` is its floor where it has none of its own."""
    e = estimate
    floor = chance if e.floor is None else e.floor
    description = _description(e, floor, reference)
    drawn = bar(scale, e.value, e.low, e.high, floor, _title(e), description, reference)
    return Line(said, e, notes[e.note] if e.note else None, drawn, verdict(e))


def _block(metric: str, estimates: Sequence[Estimate], notes: Mapping[str, int]) -> Block:
    drawn = [e for e in estimates if e.value is not None]
    scale = scale_for(mark for e in drawn for mark in (e.value, e.low, e.high, e.floor))
    lines = [line_of(e, group_words(e.group), notes, scale) for e in estimates]
    return Block(metric_words(metric), scale if drawn else None, lines)


def _title(estimate: Estimate) -> str:
    return f"{metric_words(estimate.metric).title}, {group_words(estimate.group)}: {number(estimate.value)}"


def _description(estimate: Estimate, floor: float | None, reference: float | None) -> str:
    said = []
    if estimate.low is not None and estimate.high is not None:
        said.append(f"Interval {interval(estimate.low, estimate.high)}.")
    if floor is not None:
        said.append(f"Chance alone gives {number(floor)}.")
    if reference is not None:
        said.append(f"For comparison: {number(reference)}.")
    return " ".join(said)


def estimates_table(estimates: Sequence[Estimate]) -> Table:
    """The estimates as a table, with a column for each key of their groups."""
    keys = list(dict.fromkeys(key for estimate in estimates for key in estimate.group))
    rows: list[list[Cell]] = [
        [e.metric, *(e.group.get(key) for key in keys), e.value, e.low, e.high, e.level, e.n, e.p, e.q, e.floor, e.note]
        for e in estimates
    ]
    return Table(("metric", *keys, "value", "low", "high", "level", "n", "p", "q", "floor", "note"), rows)
