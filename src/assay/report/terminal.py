"""A run in a terminal or a pipe: its card in words; on request its tables as well.

Everything is plain text: names from data and models are never read as markup or terminal codes.
"""

from __future__ import annotations

import shlex
import unicodedata
from collections.abc import Mapping, Sequence
from itertools import groupby
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
from assay.probes import metric_named, present, table_words
from assay.report.bottom_line import bottom_section
from assay.report.card_text import card_section
from assay.report.shared import facts, measured, notes_of, on_intervals, printed, questions_label, readable
from assay.report.verdict_sections import diagnosis_sections, verdict_sections
from assay.results.findings import Estimate, table_path
from assay.results.formatting import clipped, escape_control_characters, format_count, format_number, format_p, plural
from assay.results.run import Run
from assay.results.verdict import Chance

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
    summary = TerminalPrinter(console)
    summary.card(run, brief=brief)
    if verbose:
        summary.tables(run)


def terminal_where(page: Path, console: Console, following: Sequence[tuple[str, str]] = ()) -> None:
    """Prints where the page is, and the commands that could follow, each with its purpose."""
    summary = TerminalPrinter(console)
    summary.line(f"Report: {escape_control_characters(str(page))}", wrap=False)
    for purpose, command in following:
        summary.line(f"{escape_control_characters(purpose)}: {escape_control_characters(command)}", wrap=False)


def terminal_bottom_line(runs: Sequence[Run], console: Console) -> None:
    """Prints what several runs say together; nothing for a single one."""
    for section in bottom_section(runs):
        summary = TerminalPrinter(console)
        summary.paragraphs(section, "bold")
        summary.line()


def print_sections(sections: Sequence[Section], console: Console) -> None:
    """Prints sections, then the notes on what they show."""
    summary, notes = TerminalPrinter(console), notes_of(sections)
    for section in sections:
        summary.section(section, notes)
    summary.notes(notes)


class TerminalRow(NamedTuple):
    """The cells of a table's row; it may begin a section."""

    cells: Sequence[str]
    style: str = ""
    starts_section: bool = False


class TerminalPrinter:
    """Prints the parts of a summary on one console."""

    def __init__(self, console: Console) -> None:
        self.console = console

    def text(self, said: str, style: str = "") -> Text:
        return Text(encodable(said, self.console.encoding), style)

    def line(self, said: str = "", style: str = "", *, wrap: bool = True) -> None:
        self.console.print(self.text(said, style), soft_wrap=not wrap)

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
            whole = longest <= LONG_FIGURE if is_figure else name in WHOLE and longest <= LONG_WORD
            table.add_column(self.text(name), justify="right" if is_figure else "left", overflow="fold", no_wrap=whole)
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

    def card(self, run: Run, *, brief: bool) -> None:
        """What the page's first screen says about a run."""
        self.title(run, gap=not brief)
        *warnings, card = card_section(run, example=not brief).blocks
        for section in (Section(warnings), *verdict_sections(run.findings)):
            self.paragraphs(section, "bold")
        self.paragraphs(Section([card]))
        if run.notes and not brief:
            self.line(f"{plural(len(run.notes), 'note')} from the run: see the report, or use --verbose.", "dim")
        self.line()

    def paragraphs(self, section: Section, style: str = "") -> None:
        for text in (text for block in section.blocks if isinstance(block, Paragraphs) for text in block.paragraphs):
            self.line(clipped(escape_control_characters(plain(text)), LONGEST_SAID), style)

    def tables(self, run: Run) -> None:
        """All numbers that fit into a terminal, and where to find the others."""
        shown = present(run)
        sections = [*(shown.terminal or shown.summary), *diagnosis_sections(run.findings)]
        notes = notes_of(sections, shown.scorecard.estimates)
        if not shown.terminal:
            self.scorecard(shown.scorecard, run.level, notes)
        for section in sections:
            self.section(section, notes)
        for note in run.notes:
            self.line(f"Note: {clipped(escape_control_characters(note), LONGEST_NOTE)}", "dim")
        if run.notes:
            self.line()
        self.files(run)

    def title(self, run: Run, *, gap: bool) -> None:
        said = [run.probe, *filter(None, [present(run).questions]), run.model, *filter(None, [questions_label(run)])]
        said += [" ".join(fact) for fact in facts(run, "preset", "limit", "seed")]
        self.line(" · ".join(clipped(escape_control_characters(part)) for part in said), "bold")
        if gap:
            self.line()

    def notes(self, notes: Mapping[str, int]) -> None:
        for note, place in notes.items():
            self.line(f"[{place}] {clipped(escape_control_characters(note), LONGEST_NOTE)}")

    def scorecard(self, card: Scorecard, level: str, notes: Mapping[str, int]) -> None:
        if not card.scores:
            self.line("This run has no estimates.")
            self.line()
            return
        tested = "q" if any(e.q is not None for e in card.estimates) else "p"
        rows = []
        for place, of_place in groupby(card.scores, lambda score: tuple(score.place) or (score.said,)):
            for index, score in enumerate(of_place):
                named = place if index == 0 else ("",) * len(place)
                e = score.estimate
                rows.append(
                    TerminalRow([*named, *_estimate_cells(card.probe, e, notes, tested)], _style(e), index == 0)
                )
        self.table("Headline estimates", [*card.places, "metric"], ["value", level, "chance\nlevel", tested, "n"], rows)
        self.explain(card.probe, card.estimates, notes)

    def explain(self, probe: str, estimates: Sequence[Estimate], notes: Mapping[str, int]) -> None:
        self.notes(notes)
        for metric in dict.fromkeys(estimate.metric for estimate in estimates):
            said = metric_named(probe, metric)
            if said.meaning:
                self.line(f"{said.symbol or said.name}: {said.meaning}.", "dim")
        if any(estimate.floor is not None for estimate in estimates):
            told = "q: how often chance gives as much, corrected" if any(e.q is not None for e in estimates) else _P
            self.line(f"chance level: the value expected by chance; {told}.", "dim")
        if told := on_intervals(estimates):
            self.line(told, "dim")
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

    def block_table(self, block: DisplayTable, notes: Mapping[str, int]) -> None:
        words, figures, lines = printed(block, notes, str, CLEAR, UNCLEAR)
        rows = [
            TerminalRow(
                cells, _row_style(row), starts and isinstance(row, TableRow) and (bool(group.head) or group.whole)
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
        for name, said in lines:
            self.line(f"  {clipped(name):<{wide}}  {said}", wrap=False)
        quoted = escape_control_characters(shlex.quote(str(run.folder)))
        purpose = "rebuild the page" if (run.folder / "report.html").exists() else "build a page"
        self.line(f"  {'assay report ' + quoted:<{wide}}  {purpose}", wrap=False)
        self.line()


_P = "p: how often chance gives as much"


def _estimate_cells(probe: str, estimate: Estimate, notes: Mapping[str, int], tested: str) -> list[str]:
    floor = "" if estimate.floor is None else format_number(estimate.floor)
    chance = "" if (p := getattr(estimate, tested)) is None else format_p(p)
    return [
        metric_named(probe, estimate.metric).title,
        *measured(estimate, notes),
        floor,
        chance,
        format_count(estimate.n),
    ]


def _style(estimate: Estimate) -> str:
    return "bold" if estimate.chance is Chance.ABOVE else ""


def _head(head: tuple[str, str]) -> str:
    return "\n".join(escape_control_characters(part) for part in head if part)


def _row_style(row: TableRow | OmittedRows) -> str:
    """Bold for what is statistically clear, dim for what is not and for rows that are left out."""
    if isinstance(row, OmittedRows):
        return "dim"
    told = {cell.clear for cell in row.cells if isinstance(cell, MarkedCell)}
    return "bold" if True in told else "dim" if False in told else ""


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
