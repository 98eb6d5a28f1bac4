"""What a notebook shows of sections of blocks, a run, its findings or a table: HTML that fits into any page.

No script, no style sheet, no ids and only the page's own colours; everything that comes from data or a model is
escaped. Long tables are cut, and say so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from markupsafe import Markup, escape

from assay.presentation.elements import (
    Block,
    HeadlineEstimate,
    HeatMap,
    OmittedRows,
    Panel,
    Paragraphs,
    RowGroup,
    Scatter,
    Section,
    TableRow,
    TextRole,
    data_table,
)
from assay.presentation.elements import DisplayTable as TableBlock
from assay.presentation.rich_text import ChartMark, TableLink, Text, plain
from assay.probes import known_probe, metric_named, present, say_group
from assay.report.headline import by_metric, estimates_block
from assay.report.html_elements import ElementRenderer
from assay.report.html_tables import NOTHING
from assay.report.page_templates import environment
from assay.report.run_summary import bottom_section, card_section, diagnosis_sections, verdict_sections
from assay.report.shared import notes_of
from assay.results.findings import Findings, Table
from assay.results.formatting import plural
from assay.results.notebook_display import NotebookView, views
from assay.results.run import Run, Tour

ROWS = 20
"""Rows of a table that are shown."""
LINES = 40
"""Estimates of a metric, or rows of a group, that are shown."""
OPEN = 24
"""Metrics are unfolded until this many estimates are in sight."""


class NotebookRenderer(ElementRenderer):
    """Blocks for somebody else's page; pictures are left to our own."""

    BLOCKS = MARKS = "notebook.html"

    def text(self, text: Text) -> Markup:
        return escape(plain(text)) if isinstance(text, TableLink | ChartMark) else super().text(text)

    def note_link(self, number: int) -> Markup:
        return Markup(" [{}]").format(number)

    def block(self, block: Block, level: int = 4, *, bare: bool = False) -> Markup:
        if isinstance(block, HeatMap | Scatter):
            return NOTHING
        if isinstance(block, TableBlock):
            cut = [replace(group, rows=_cut(group.rows, LINES, "")) for group in block.groups]
            block = replace(block, groups=cut)
        return super().block(block, level, bare=bare)


def sections_html(title: str, facts: Sequence[str], sections: Sequence[Section]) -> str:
    """Sections below a line of facts, with the notes on what they show."""
    view = NotebookRenderer("", notes=notes_of(sections))
    content = {"title": title, "facts": facts, "inner": view.sections(sections), "notes": view.notes}
    text = environment().get_template("notebook.html").render(content)
    return text.encode("utf-8", "replace").decode()  # half of a surrogate pair would stop the notebook


def shown_html(view: NotebookView) -> str:
    return sections_html(view.title, view.facts, view.sections)


def findings_html(findings: Findings, more: Sequence[str] = (), card: Sequence[Section] = ()) -> str:
    """The estimates by metric, each with its interval as a bar, after the verdict and the `card` of their run; `more`
    are further facts for the first line.
    """
    estimates, probe = findings.estimates, findings.probe
    tables = [f"{name}: {plural(len(table.rows), 'row')}" for name, table in findings.tables.items()]
    facts = [findings.model, plural(len(estimates), "estimate"), *more]
    facts += [f"tables {', '.join(tables)}"] if tables else []
    parts: list[Block] = []
    seen = 0
    for metric, scores in by_metric(
        [HeadlineEstimate(estimate, say_group(probe, estimate.group)) for estimate in estimates]
    ).items():
        words = metric_named(probe, metric)
        lines = sorted(scores, key=lambda score: len(score.estimate.group))  # what is less divided is not cut off
        block, amount = estimates_block([("", lines)], findings.level, probe), min(len(lines), LINES)
        rows = _cut([replace(row, examples=None) for row in block.rows], LINES, ": findings.to_polars() has all")
        is_open = any(score.estimate.value is not None for score in lines) and (not seen or seen + amount <= OPEN)
        seen += amount if is_open else 0
        meaning = [Paragraphs([words.meaning], TextRole.SMALL)] if words.meaning else []
        label = f"{words.title}: {plural(len(lines), 'estimate')}"
        parts.append(Panel("", [*meaning, replace(block, groups=[RowGroup(rows)])], label, folded=True, open=is_open))
    legend = (
        "A dot is the estimate, the thick line its interval, a dashed tick the chance level; a hollow dot is not "
        "distinguishable from chance. A low score does not show that a model is unbiased."
    )
    section = Section([Paragraphs([legend], TextRole.SMALL), *parts] if parts else [])
    sections = [*verdict_sections(findings), *card, section, *diagnosis_sections(findings)]
    return sections_html(f"assay {probe}", facts, sections)


def run_html(run: Run) -> str:
    """The card of a run and its findings, with the number of questions and its folder."""
    questions = [] if run.questions is None else [plural(run.questions, "question")]
    return findings_html(run.findings, [*questions, str(run.folder)], [card_section(run, present(run))])


def tour_html(tour: Tour) -> str:
    """The card of every run of a tour, and which probes are missing."""
    models = dict.fromkeys(run.model for run in tour.runs)
    titles = [f"{known_probe(run.probe).title}{f' · {run.model}' if len(models) > 1 else ''}" for run in tour.runs]
    cards = bottom_section(tour.runs)
    for run, title in zip(tour.runs, titles, strict=True):
        parts = [*verdict_sections(run.findings), card_section(run, present(run))]
        cards.append(Section([block for part in parts for block in part.blocks], title))
    missing = [f"{known_probe(probe).title}: {reason}" for probe, reason in tour.missing.items()]
    facts = [*models, plural(len(tour.runs), "run"), str(tour.folder)]
    return sections_html(
        "assay tour", facts, [*cards, Section([Paragraphs(missing, TextRole.SMALL)])] if missing else cards
    )


def table_html(table: Table) -> str:
    """The first rows of a table."""
    size = f"{plural(len(table.rows), 'row')}, {plural(len(table.columns), 'column')}"
    block = data_table(table)
    rows = _cut(block.rows, ROWS, ": to_polars() and to_csv() have all")
    return sections_html("assay table", [size], [Section([replace(block, groups=[RowGroup(rows)])])])


def _cut(rows: Sequence[TableRow | OmittedRows], most: int, remedy: str) -> list[TableRow | OmittedRows]:
    """The first rows; `remedy` says where all are."""
    more = sum(isinstance(row, TableRow) for row in rows) - most
    return [*rows[:most], OmittedRows(f"… and {plural(more, 'more row')}{remedy}.")] if more > 0 else list(rows)


views.update({Findings: findings_html, Table: table_html, Run: run_html, NotebookView: shown_html, Tour: tour_html})
