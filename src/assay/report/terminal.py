"""A run in a terminal or a pipe: its card in words; on request its tables as well.

Everything is plain text: names from data and models are never read as markup or terminal codes.
"""

from __future__ import annotations

import shlex
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table as RichTable
from rich.text import Text

from assay.presentation.elements import DisplayTable, MarkedCell, OmittedRows, Paragraphs, Scorecard, Section, TextRole
from assay.presentation.elements import TableRow as TableRow
from assay.presentation.rich_text import plain
from assay.probes import metric_named, table_words
from assay.report.headline import scorecard_table
from assay.report.run_summary import TextReport, bottom_section, card_section, verdict_sections
from assay.report.shared import notes_of, on_intervals, printed, readable
from assay.results.findings import Estimate, table_path
from assay.results.formatting import clipped, escape_control_characters, plural
from assay.results.run import Run

LONGEST_NOTE, LONGEST_SAID = 400, 600  # characters
CLEAR, UNCLEAR = "*", "~"  # marks of what is statistically clear, and of what is not
UNBOUNDED = 10_000  # columns in which every table fits
ROOMY = 100  # columns of a console from which tables get wider gaps
LONG_FIGURE, LONG_WORD = 24, 20  # characters from which a cell may be broken
WHOLE = ("form", "metric", "question")  # columns of words that are broken only when they are long
_IN_LETTERS = {"–": "-", "…": "...", "·": "|", "“": '"', "”": '"', "’": "'"}


def terminal_summary(run: Run, console: Console, *, verbose: bool = False, brief: bool = False) -> None:
    """Prints a run's card; `verbose` adds its tables, notes and files, `brief` leaves the example out.

    Names from data and models are printed as they are, never as markup or codes.
    """
    printer, summary = TerminalPrinter(console), TextReport.of(run)
    printer.card(summary, brief=brief)
    if verbose:
        printer.tables(summary)


def terminal_where(page: Path, console: Console, following: Sequence[tuple[str, str]] = ()) -> None:
    """Prints where the page is, and the commands that could follow, each with its purpose."""
    printer = TerminalPrinter(console)
    printer.line(f"Report: {escape_control_characters(str(page))}", wrap=False)
    for purpose, command in following:
        printer.line(f"{escape_control_characters(purpose)}: {escape_control_characters(command)}", wrap=False)


def terminal_bottom_line(runs: Sequence[Run], console: Console) -> None:
    """Prints what several runs say together; nothing for a single one."""
    for section in bottom_section(runs):
        printer = TerminalPrinter(console)
        printer.paragraphs(section, "bold")
        printer.line()


def print_sections(sections: Sequence[Section], console: Console) -> None:
    """Prints sections, then the notes on what they show."""
    printer, notes = TerminalPrinter(console), notes_of(sections)
    for section in sections:
        printer.section(section, notes)
    printer.notes(notes)


class TerminalRow(NamedTuple):
    """The cells of a table's row; it may begin a section."""

    cells: Sequence[str]
    style: str = ""
    starts_section: bool = False


class TerminalPrinter:
    """Prints the parts of a summary on one console."""

    def __init__(self, console: Console) -> None:
        self.console = console

    def text(self, text: str, style: str = "") -> Text:
        return Text(encodable(text, self.console.encoding), style)

    def line(self, text: str = "", style: str = "", *, wrap: bool = True) -> None:
        self.console.print(self.text(text, style), soft_wrap=not wrap)

    def table(self, title: str, wordy: Sequence[str], figures: Sequence[str], rows: Sequence[TerminalRow]) -> None:
        """A table of columns of words, then columns of figures; only words, and very long figures, are broken.

        Where the console is too narrow for that, each row is a paragraph.
        """
        if title:
            self.line(escape_control_characters(title), "bold")
        gap = 0 if self.console.width < ROOMY else 1
        table = RichTable(box=box.SIMPLE_HEAD, padding=(0, gap, 0, 0), pad_edge=False, show_edge=False)
        for index, name in enumerate([*wordy, *figures]):
            is_figure = index >= len(wordy)
            longest = max(len(row.cells[index]) for row in rows)
            is_unbroken = longest <= LONG_FIGURE if is_figure else name in WHOLE and longest <= LONG_WORD
            table.add_column(
                self.text(name), justify="right" if is_figure else "left", overflow="fold", no_wrap=is_unbroken
            )
        for index, row in enumerate(rows):
            if row.starts_section and index:
                table.add_section()
            table.add_row(*(self.text(clipped(escape_control_characters(cell))) for cell in row.cells), style=row.style)
        if (
            Measurement.get(self.console, self.console.options.update(width=UNBOUNDED), table).minimum
            <= self.console.width
        ):
            self.console.print(table)
        else:
            for row in rows:
                cells = [clipped(escape_control_characters(cell)) for cell in row.cells]
                pairs = zip(figures, cells[len(wordy) :], strict=True)
                named = [f"{' '.join(name.split())} {cell}" for name, cell in pairs if cell]
                self.line("; ".join([" ".join(filter(None, cells[: len(wordy)])), *named]), row.style)
        self.line()

    def card(self, summary: TextReport, *, brief: bool) -> None:
        """What the page's first screen says about a run."""
        run = summary.run
        self.title(summary, gap=not brief)
        *warnings, card = card_section(run, summary.shown, example=not brief).blocks
        for section in (Section(warnings), *verdict_sections(run.findings)):
            self.paragraphs(section, "bold")
        self.paragraphs(Section([card]))
        if run.notes and not brief:
            self.line(f"{plural(len(run.notes), 'note')} from the run: see the report, or use --verbose.", "dim")
        self.line()

    def paragraphs(self, section: Section, style: str = "") -> None:
        for text in (text for block in section.blocks if isinstance(block, Paragraphs) for text in block.paragraphs):
            self.line(clipped(escape_control_characters(plain(text)), LONGEST_SAID), style)

    def tables(self, summary: TextReport) -> None:
        """All numbers that fit into a terminal, and where to find the others."""
        run, presentation = summary.run, summary.shown
        if presentation.terminal:
            summary = replace(summary, shown=replace(presentation, summary=presentation.terminal))
        else:
            self.scorecard(presentation.scorecard, run.level, summary.notes)
        for section in summary.sections:
            self.section(section, summary.notes)
        for note in run.notes:
            self.line(f"Note: {clipped(escape_control_characters(note), LONGEST_NOTE)}", "dim")
        if run.notes:
            self.line()
        self.files(run)

    def title(self, summary: TextReport, *, gap: bool) -> None:
        run = summary.run
        parts = [run.probe, *filter(None, [summary.shown.questions]), run.model, *summary.facts]
        self.line(" · ".join(clipped(escape_control_characters(part)) for part in parts), "bold")
        if gap:
            self.line()

    def notes(self, notes: Mapping[str, int]) -> None:
        for note, number in notes.items():
            self.line(f"[{number}] {clipped(escape_control_characters(note), LONGEST_NOTE)}")

    def scorecard(self, card: Scorecard, level: str, notes: Mapping[str, int]) -> None:
        if not card.scores:
            self.line("This run has no estimates.")
            self.line()
            return
        self.block_table(scorecard_table(card, level, by_place=True), notes, ("", ""), ruled=True)
        self.explain(card.probe, card.estimates, notes)

    def explain(self, probe: str, estimates: Sequence[Estimate], notes: Mapping[str, int]) -> None:
        self.notes(notes)
        for metric in dict.fromkeys(estimate.metric for estimate in estimates):
            description = metric_named(probe, metric)
            if description.meaning:
                self.line(f"{description.symbol or description.name}: {description.meaning}.", "dim")
        if any(estimate.floor is not None for estimate in estimates):
            explanation = (
                "q: how often chance gives as much, corrected"
                if any(estimate.q is not None for estimate in estimates)
                else _P
            )
            self.line(f"chance level: the value expected by chance; {explanation}.", "dim")
        if explanation := on_intervals(estimates):
            self.line(explanation, "dim")
        self.line()

    def section(self, section: Section, notes: Mapping[str, int]) -> None:
        if section.title:
            self.line(escape_control_characters(section.title), "bold")
        for block in readable(section.blocks):
            if isinstance(block, DisplayTable):
                self.block_table(block, notes)
                continue
            style = {TextRole.SMALL: "dim", TextRole.WARNING: "bold"}.get(block.role, "")
            for text in block.paragraphs:
                self.line(escape_control_characters(plain(text)), style)
            self.line()

    def block_table(
        self,
        block: DisplayTable,
        notes: Mapping[str, int],
        marks: tuple[str, str] = (CLEAR, UNCLEAR),
        *,
        ruled: bool = False,
    ) -> None:
        """`marks` are those of what is clear and of what is not; if `ruled`, groups without a head are apart, too."""
        words, figures, lines = printed(block, notes, str, *marks)
        rows = [
            TerminalRow(
                cells,
                _row_style(row),
                starts and isinstance(row, TableRow) and (ruled or bool(group.head) or group.whole),
            )
            for cells, group, row, starts in lines
        ]
        self.table(block.title, [*map(_head, words)], [*map(_head, figures)], rows)

    def files(self, run: Run) -> None:
        self.line("Files", "bold")
        lines = [("Run folder", escape_control_characters(str(run.folder)))]
        lines += [(table_path(escape_control_characters(name)), _holds(run, name)) for name in run.findings.tables]
        lines += [("findings.json", "the estimates, for programs"), ("run.json", "how the run was made")]
        wide = min(max(len(clipped(name)) for name, _ in lines), 28)
        for name, content in lines:
            self.line(f"  {clipped(name):<{wide}}  {content}", wrap=False)
        quoted = escape_control_characters(shlex.quote(str(run.folder)))
        purpose = "rebuild the page" if (run.folder / "report.html").exists() else "build a page"
        self.line(f"  {'assay report ' + quoted:<{wide}}  {purpose}", wrap=False)
        self.line()


_P = "p: how often chance gives as much"


def _head(head: tuple[str, str]) -> str:
    return "\n".join(escape_control_characters(part) for part in head if part)


def _row_style(row: TableRow | OmittedRows) -> str:
    """Bold for what is statistically clear, dim for what is not and for rows that are left out."""
    if isinstance(row, OmittedRows):
        return "dim"
    marks = {cell.clear for cell in row.cells if isinstance(cell, MarkedCell)}
    return "bold" if True in marks else "dim" if False in marks else ""


def _holds(run: Run, table: str) -> str:
    rows = plural(len(run.findings.tables[table].rows), "row")
    holds = table_words(run.probe, table)
    return f"{holds} ({rows})" if holds else rows


def encodable(text: str, encoding: str) -> str:
    r"""Text that a stream of this encoding can carry, Greek letters spelt out where it has none.

    >>> encodable("μ 0.1 – é", "utf-8"), encodable("μ 0.1 – é", "ascii")
    ('μ 0.1 – é', 'mu 0.1 - \\xe9')
    """
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        spelt = "".join(map(_spelt, text))
        return spelt.encode(encoding, "backslashreplace").decode(encoding)
    except LookupError:
        return encodable(text, "ascii")
    return text


def _spelt(character: str) -> str:
    """
    >>> "".join(map(_spelt, "μ – a"))
    'mu - a'
    """
    name = unicodedata.name(character, "")
    if name.startswith("GREEK SMALL LETTER "):
        return name.rpartition(" ")[2].lower()
    return _IN_LETTERS.get(character, character)
