"""comparison.html: runs compared, on one page like a report's; what differs first, then the tables side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from assay.differences import Difference, tested_and_clear
from assay.files.atomic import write_atomically
from assay.findings import Table
from assay.report.bars import Scale, signed_scale
from assay.report.headline import Line, line_of
from assay.report.page import environment, script_and_digest
from assay.report.words import MetricWords, group_words, metric_words

if TYPE_CHECKING:
    from assay.compare import Comparison

MOST_ROWS = 60  # of a table that the page shows; its data have all
MOST_TOLD = 4  # differences in a sentence


@dataclass(frozen=True)
class Changed:
    """A difference with its line on the scale of its metric."""

    difference: Difference
    line: Line


@dataclass(frozen=True)
class Metric:
    words: MetricWords
    scale: Scale | None
    rows: Sequence[Changed]


@dataclass(frozen=True)
class Side:
    """A table of the comparison: the first rows, and how many more it has."""

    name: str
    title: str
    table: Table
    left_out: int

    @property
    def rows(self) -> Sequence[Sequence[object]]:
        return self.table.rows[:MOST_ROWS]


@dataclass(frozen=True)
class Part:
    """What the page says about one probe."""

    uid: str
    comparison: Comparison
    metrics: Sequence[Metric]
    clear: Sequence[Difference]  # the largest first
    tested: int
    differences: Table | None
    sides: Sequence[Side]

    @property
    def told(self) -> Sequence[Difference]:
        return self.clear[:MOST_TOLD]

    @property
    def has_q(self) -> bool:
        return any(each.change.q is not None for each in self.comparison.differences)


def write_comparison(comparison: Comparison, path: Path) -> Path:
    """Writes the page of a comparison and returns its path."""
    write_atomically(path, render_comparison(comparison).encode("utf-8", "replace"))
    return path


def render_comparison(comparison: Comparison) -> str:
    """The page as text."""
    parts = [_part(f"p{number}", part) for number, part in enumerate(comparison.parts or (comparison,), 1)]
    script, digest = script_and_digest()
    template = environment().get_template("comparison.html")
    return template.render(comparison=comparison, parts=parts, script=script, script_digest=digest)


def _part(uid: str, comparison: Comparison) -> Part:
    found = comparison.differences
    tested, clear = tested_and_clear(found)
    sides = [
        Side(name, comparison.titles.get(name, name), table, max(0, len(table.rows) - MOST_ROWS))
        for name, table in comparison.tables.items()
        if name != "differences"
    ]
    return Part(
        uid,
        comparison,
        metrics_of(found),
        clear,
        tested,
        comparison.tables.get("differences"),
        sides,
    )


def metrics_of(found: Sequence[Difference]) -> list[Metric]:
    """Differences by metric, each with its line on the metric's scale."""
    metrics = dict.fromkeys(each.change.metric for each in found)
    return [_metric(metric, [each for each in found if each.change.metric == metric]) for metric in metrics]


def _metric(metric: str, found: Sequence[Difference]) -> Metric:
    known = [each.change for each in found if each.change.value is not None]
    scale = signed_scale(mark for change in known for mark in (change.value, change.low, change.high))
    rows = [
        Changed(each, line_of(each.change, group_words(each.change.group), _unnumbered(each), scale)) for each in found
    ]
    return Metric(metric_words(metric), scale if known else None, rows)


def _unnumbered(difference: Difference) -> dict[str, int]:
    """Notes stand in the row itself, so they need no number."""
    note = difference.change.note
    return {note: 0} if note else {}
