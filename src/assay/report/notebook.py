"""What a notebook shows of a run, its findings, a table or a comparison: HTML that fits into any page.

No script, no style sheet, no ids and only the page's own colours; everything that comes from data or a model is
escaped. Long tables are cut, and say so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from assay.findings import Cell, Estimate, Findings, Table
from assay.report import words
from assay.report.bars import Scale
from assay.report.headline import Block, Line, headline_blocks, numbered_notes
from assay.report.page import environment

if TYPE_CHECKING:
    from assay.audit import Run
    from assay.compare import Comparison

ROWS = 20
"""So many rows of a table are shown."""
LINES = 40
"""So many estimates of a metric are shown."""
OPEN = 24
"""Metrics are unfolded until so many estimates are in sight."""


@dataclass(frozen=True)
class _Has:
    """Which columns there is something for."""

    level: str = ""
    interval: bool = False
    floor: bool = False
    p: bool = False
    q: bool = False


@dataclass(frozen=True)
class _Shown:
    """The estimates of one metric."""

    title: str
    meaning: str
    count: str
    scale: Scale | None
    lines: Sequence[Line]
    left_out: int
    open: bool
    has: _Has


@dataclass(frozen=True)
class _Column:
    name: str
    numbers: bool


@dataclass(frozen=True)
class _Cut:
    """A table as it is shown."""

    title: str
    columns: Sequence[_Column]
    rows: Sequence[Sequence[str]]
    left_out: int


@dataclass(frozen=True)
class _Page:
    """All that the template needs."""

    title: str
    facts: Sequence[str]
    has: _Has = field(default_factory=_Has)
    blocks: Sequence[_Shown] = ()
    notes: Sequence[str] = ()
    tables: Sequence[_Cut] = ()


def findings_html(findings: Findings, more: Sequence[str] = ()) -> str:
    """The estimates by metric, each with its interval as a bar; `more` is said in the first line."""
    estimates = findings.estimates
    notes = numbered_notes(estimates)
    tables = [f"{name}: {words.plural(len(table.rows), 'row')}" for name, table in findings.tables.items()]
    facts = [findings.model, words.plural(len(estimates), "estimate"), *more]
    facts += [f"tables {', '.join(tables)}"] if tables else []
    shown = _opened(headline_blocks(estimates, notes))
    return _render(_Page(f"assay {findings.probe}", facts, _has(estimates), shown, list(notes)))


def run_html(run: Run) -> str:
    """The findings of a run, with what was asked and where it lies."""
    asked = run.info.get("questions")
    facts = [words.plural(asked, "question")] if type(asked) is int else []
    return findings_html(run.findings, [*facts, str(run.folder)])


def table_html(table: Table, title: str = "") -> str:
    """The first rows of a table."""
    size = f"{words.plural(len(table.rows), 'row')}, {words.plural(len(table.columns), 'column')}"
    return _render(_Page(title or "assay table", [size], tables=[_cut(table)]))


def comparison_html(comparison: Comparison) -> str:
    """The differences from the first model, by metric with their intervals as bars, then the other tables."""
    from assay.compare import DIFFERENCES

    if comparison.parts:
        return "".join(map(comparison_html, comparison.parts))
    several = len(comparison.models) > 2
    changes = [
        replace(each.change, group={"model": each.model, **each.change.group} if several else each.change.group)
        for each in comparison.differences
    ]
    notes = numbered_notes(changes)
    blocks = _opened(headline_blocks(changes, notes))
    tables = [
        _cut(table, comparison.titles.get(name, name))
        for name, table in comparison.tables.items()
        if name != DIFFERENCES or not changes
    ]
    first, *others = comparison.models
    facts = [f"{', '.join(others)} minus {first}", words.plural(len(changes), "paired difference"), *comparison.notes]
    title = f"assay comparison {comparison.probe}".strip()
    return _render(_Page(title, facts, _has(changes), blocks, list(notes), tables))


def _opened(blocks: Sequence[Block]) -> list[_Shown]:
    """Blocks cut to a length that can be read; the first of those with a value are unfolded."""
    shown: list[_Shown] = []
    seen = 0
    for block in blocks:
        lines = sorted(block.lines, key=lambda line: len(line.estimate.group))[:LINES]  # what is less divided first
        said = words.plural(len(block.lines), "estimate")
        left_out = len(block.lines) - len(lines)
        is_open = block.scale is not None and (not seen or seen + len(lines) <= OPEN)
        seen += len(lines) if is_open else 0
        has = _has([line.estimate for line in lines])
        shown.append(_Shown(block.words.title, block.words.meaning, said, block.scale, lines, left_out, is_open, has))
    return shown


def _has(estimates: Sequence[Estimate]) -> _Has:
    levels = {estimate.level for estimate in estimates}
    return _Has(
        f"{words.percent(levels.pop())} interval" if len(levels) == 1 else "interval",
        any(estimate.low is not None for estimate in estimates),
        any(estimate.floor is not None for estimate in estimates),
        any(estimate.p is not None for estimate in estimates),
        any(estimate.q is not None for estimate in estimates),
    )


def _cut(table: Table, title: str = "") -> _Cut:
    columns = [
        _Column(name, all(isinstance(row[place], int | float | None) for row in table.rows))
        for place, name in enumerate(table.columns)
    ]
    rows = [[_text(cell) for cell in row] for row in table.rows[:ROWS]]
    return _Cut(title, columns, rows, len(table.rows) - len(rows))


def _text(cell: Cell) -> str:
    if isinstance(cell, float):
        return _minus(words.number(cell))
    return words.UNDEFINED if cell is None else _minus(f"{cell:,}") if isinstance(cell, int) else cell


def _render(page: _Page) -> str:
    text = environment().get_template("notebook.html").render(vars(page))
    return text.encode("utf-8", "replace").decode()  # half of a surrogate pair would stop the notebook


def _minus(figures: str) -> str:
    return figures.replace("-", "−")
