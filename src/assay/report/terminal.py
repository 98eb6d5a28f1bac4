"""The summary of a run in a terminal or a pipe: headline estimates, what its probe shows in short, where to look."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from itertools import groupby

from rich.console import Console

from assay.blocks import Block, Marked, Part, Pick, Prose, Role, Scorecard, Section, Table, TableCell, notes_in, plain
from assay.blocks import Row as TableRow
from assay.findings import Estimate
from assay.probes import metric_named, present, table_words
from assay.report.cells import printed, printed_cells
from assay.report.headline import OUTSIDE, measured, numbered, outside_interval
from assay.report.made import asked, facts
from assay.report.printer import Printer, Row
from assay.run import Run
from assay.verdict import Verdict, verdict
from assay.wording import clipped, count, number, plural, probability, visible

LONGEST_NOTE = 400  # characters
CLEAR, UNCLEAR = "*", "~"  # marks of what is clear of chance, and of what could be chance


def terminal_summary(run: Run, console: Console) -> None:
    """Prints what a run found. Names from data and models are printed as they are, never as markup or codes."""
    Summary(console).summary(run)


def print_sections(sections: Sequence[Section], console: Console) -> None:
    """Prints sections, then the notes on what they show."""
    summary, notes = Summary(console), numbered(notes_in(sections))
    for section in sections:
        summary.section(section, notes)
    summary.notes(notes)


class Summary(Printer):
    """Prints the parts of a summary."""

    def summary(self, run: Run) -> None:
        self.title(run)
        shown = present(run)
        sections = shown.terminal or shown.summary
        notes = numbered([*(e.note for e in shown.scorecard.estimates), *notes_in(sections)])
        if not shown.terminal:
            self.scorecard(shown.scorecard, run.level, notes)
        for section in sections:
            self.section(section, notes)
        for note in run.notes:
            self.line(f"Note: {clipped(visible(note), LONGEST_NOTE)}", "dim")
        if run.notes:
            self.line()
        self.more(run)

    def title(self, run: Run) -> None:
        said = [run.probe, run.model, *filter(None, [asked(run)])]
        said += [" ".join(fact) for fact in facts(run, "preset", "limit", "seed")]
        self.line(" · ".join(clipped(visible(part)) for part in said), "bold")
        self.line()

    def notes(self, notes: Mapping[str, int]) -> None:
        for note, place in notes.items():
            self.line(f"[{place}] {clipped(visible(note), LONGEST_NOTE)}")

    def scorecard(self, card: Scorecard, level: str, notes: Mapping[str, int]) -> None:
        if not card.scores:
            self.line("This run has no estimates.")
            self.line()
            return
        rows = []
        for place, of_place in groupby(card.scores, lambda score: tuple(score.place) or (score.said,)):
            for index, score in enumerate(of_place):
                named = place if index == 0 else ("",) * len(place)
                e = score.estimate
                rows.append(Row([*named, *_estimate_cells(card.probe, e, notes)], _style(e), index == 0))
        self.table("Headline estimates", [*card.places, "metric"], ["value", level, "floor", "p", "n"], rows)
        self.explain(card.probe, card.estimates, notes)

    def explain(self, probe: str, estimates: Sequence[Estimate], notes: Mapping[str, int]) -> None:
        self.notes(notes)
        for metric in dict.fromkeys(estimate.metric for estimate in estimates):
            said = metric_named(probe, metric)
            if said.meaning:
                self.line(f"{said.symbol or said.name}: {said.meaning}.", "dim")
        if any(estimate.floor is not None for estimate in estimates):
            self.line("floor: what chance alone gives; p: how often chance alone gives as much.", "dim")
        if any(map(outside_interval, estimates)):
            self.line(OUTSIDE, "dim")
        self.line()

    def section(self, section: Section, notes: Mapping[str, int]) -> None:
        if section.title:
            self.line(visible(section.title), "bold")
        for block in section.blocks:
            self.block(block, notes)

    def block(self, block: Block, notes: Mapping[str, int]) -> None:
        """A block; pictures are left to the page."""
        match block:
            case Prose():
                style = {Role.SMALL: "dim", Role.WARNING: "bold"}.get(block.role, "")
                for text in block.paragraphs:
                    self.line(visible(plain(text)), style)
                self.line()
            case Table():
                self.block_table(block, notes)
            case Pick():
                for part in block.parts:
                    self.block(part, notes)
            case Part():
                for own in block.blocks:
                    self.block(own, notes)

    def block_table(self, block: Table, notes: Mapping[str, int]) -> None:
        def marked(said: str, cell: TableCell) -> str:
            if not isinstance(cell, Marked):
                return said
            said = f"{UNCLEAR if cell.clear is False else ''}{said}{CLEAR if cell.clear else ''}"
            return said + (f" [{notes[cell.note]}]" if cell.note else "")

        words, figures, rows = printed(block)
        lines = []
        for group, row, starts in rows:
            if isinstance(row, TableRow):
                cells = [cell for side in printed_cells(block, group, row, starts, marked) for cell in side]
                lines.append(Row(cells, _row_style(row), starts and (bool(group.head) or group.whole)))
            else:
                lines.append(Row([plain(row.said), *[""] * (len(words) + len(figures) - 1)], "dim"))
        self.table(block.title, [*map(_head, words)], [*map(_head, figures)], lines)

    def more(self, run: Run) -> None:
        folder, report = run.folder, run.folder / "report.html"
        quoted = visible(shlex.quote(str(folder)))
        self.line("See more", "bold")
        lines = [("Run folder", visible(str(folder)))]
        if report.exists():
            lines.append(("Report", visible(str(report))))
        lines += [(f"tables/{visible(name)}.csv", _holds(run, name)) for name in run.findings.tables]
        lines += [("findings.json", "the estimates, for programs"), ("run.json", "how the run was made")]
        wide = min(max(len(clipped(name)) for name, _ in lines), 28)
        for name, said in lines:
            self.line(f"  {clipped(name):<{wide}}  {said}", wrap=False)
        purpose = "makes the page again" if report.exists() else "makes a page of it"
        self.line(f"  {'assay report ' + quoted:<{wide}}  {purpose}", wrap=False)
        if run.info.preset == "quick":
            command = f"assay run {shlex.quote(run.probe)} --model {shlex.quote(run.model)}"
            self.line(f"  {visible(command)} --preset standard  asks more", wrap=False)


def _estimate_cells(probe: str, estimate: Estimate, notes: Mapping[str, int]) -> list[str]:
    floor = "" if estimate.floor is None else number(estimate.floor)
    p = "" if estimate.p is None else probability(estimate.p)
    return [metric_named(probe, estimate.metric).title, *measured(estimate, notes), floor, p, count(estimate.n)]


def _style(estimate: Estimate) -> str:
    return "bold" if verdict(estimate) is Verdict.ABOVE else ""


def _head(head: tuple[str, str]) -> str:
    return "\n".join(visible(part) for part in head if part)


def _row_style(row: TableRow) -> str:
    """What is clear of chance stands out, what could be chance steps back."""
    told = {cell.clear for cell in row.cells if isinstance(cell, Marked)}
    return "bold" if True in told else "dim" if False in told else ""


def _holds(run: Run, table: str) -> str:
    rows = plural(len(run.findings.tables[table].rows), "row")
    holds = table_words(run.probe, table)
    return f"{holds} ({rows})" if holds else rows
