"""The summary of a run in a terminal or a pipe: headline estimates, strongest associations, where to look further."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path

from rich.console import Console

from assay.findings import Estimate
from assay.report import words
from assay.report.associations import MIN_CELLS, Association, strongest_associations
from assay.report.content import Content, read_content
from assay.report.headline import Verdict, lacks_interval, numbered_notes, outside_interval, verdict
from assay.report.plaintext import clipped, visible
from assay.report.printer import Printer, Row
from assay.report.terminal_bbq import print_categories
from assay.report.terminal_sodapop import print_words

MOST_PAIRS = 10
LONGEST_NOTE = 400  # characters

_OWN = {"bbq": print_categories, "bbq-starter": print_categories, "sodapop": print_words}
"""By probe, what prints its findings in its own way, and says whether it could."""


def terminal_summary(folder: Path, console: Console) -> None:
    """Prints what a run found. Names from data and models are printed as they are, never as markup or codes."""
    content = read_content(folder)
    _Summary(console).summary(content)


class _Summary(Printer):
    """Prints the parts of a summary."""

    def summary(self, content: Content) -> None:
        self.title(content)
        own = _OWN.get(content.findings.probe)
        if own is None or not own(self, content):
            self.headline(content)
        if content.findings.probe == "unqover":
            self.associations(content)
        for note in content.notes:
            self.line(f"Note: {clipped(visible(note), LONGEST_NOTE)}", "dim")
        if content.notes:
            self.line()
        self.more(content)

    def title(self, content: Content) -> None:
        said = [content.findings.probe, content.model]
        if content.questions is not None:
            asked = words.plural(content.questions, "question")
            said.append(f"at most {asked}" if content.at_most else asked)
        said += [f"{key} {content.said(key)}" for key in ("preset", "limit", "seed") if content.said(key)]
        self.line(" · ".join(clipped(visible(part)) for part in said), "bold")
        self.line()

    def headline(self, content: Content) -> None:
        estimates = content.findings.estimates
        if not estimates:
            self.line("This run has no estimates.")
            self.line()
            return
        notes = numbered_notes(estimates)
        by_class = all("class" in estimate.group for estimate in estimates)
        rows = []
        for place, of_place in groupby(estimates, lambda e: _place(e) if by_class else (words.group_words(e.group),)):
            for index, estimate in enumerate(of_place):
                named = place if index == 0 else ("",) * len(place)
                rows.append(Row([*named, *_estimate_cells(estimate, notes)], _style(estimate), index == 0))
        places = ("class", "form") if by_class else ("group",)
        self.table("Headline estimates", [*places, "metric"], ["value", content.level, "floor", "p", "n"], rows)
        self.explain(estimates, notes)

    def explain(self, estimates: Sequence[Estimate], notes: Mapping[str, int]) -> None:
        for note, place in notes.items():
            self.line(f"[{place}] {clipped(visible(note), LONGEST_NOTE)}")
        for metric in dict.fromkeys(estimate.metric for estimate in estimates):
            said = words.metric_words(metric)
            if said.meaning:
                self.line(f"{said.symbol or said.name}: {said.meaning}.", "dim")
        if any(estimate.floor is not None for estimate in estimates):
            self.line("floor: what chance alone gives; p: how often chance alone gives as much.", "dim")
        if any(map(outside_interval, estimates)):
            self.line(words.OUTSIDE, "dim")
        self.line()

    def associations(self, content: Content) -> None:
        found = strongest_associations(content)
        if not found.rows:
            self.line(
                f"Strongest associations: none to show, no subject was asked about any attribute in at least "
                f"{MIN_CELLS} cells. A larger preset asks more often."
            )
            self.line()
            return
        shown = found.rows[:MOST_PAIRS]
        rows = [Row(_association_cells(row), "dim" if row.could_be_chance else "") for row in shown]
        figures = ["γ", content.level, "η", "q"]
        self.table("Strongest associations", ["subject", "attribute", "class, form"], figures, rows)
        self.line("γ above 0: the model gives the attribute rather to this subject; below 0: rather to others.", "dim")
        if any(row.could_be_chance for row in shown):
            first = " Those clear of chance come first." if shown[0].clear else ""
            self.line(f"~ could be chance: q, corrected for the number of pairs, is above {words.CLEAR}.{first}", "dim")
        if any(row.pooled for row in shown):
            self.line("Gendered names are pooled; the tables have each name.", "dim")
        if found.too_few:
            self.line(f"{words.plural(found.too_few, 'pair')} with fewer than {MIN_CELLS} cells left out.", "dim")
        self.line()

    def more(self, content: Content) -> None:
        folder, report = content.folder, content.folder / "report.html"
        quoted = visible(shlex.quote(str(folder)))
        self.line("See more", "bold")
        lines = [("Run folder", visible(str(folder)))]
        if report.exists():
            lines.append(("Report", visible(str(report))))
        lines += [(f"tables/{visible(name)}.csv", _holds(content, name)) for name in content.findings.tables]
        lines += [("findings.json", "the estimates, for programs"), ("run.json", "how the run was made")]
        wide = min(max(len(clipped(name)) for name, _ in lines), 28)
        for name, said in lines:
            self.line(f"  {clipped(name):<{wide}}  {said}", wrap=False)
        purpose = "makes the page again" if report.exists() else "makes a page of it"
        self.line(f"  {'assay report ' + quoted:<{wide}}  {purpose}", wrap=False)
        if content.said("preset") == "quick":
            command = f"assay run {shlex.quote(content.findings.probe)} --model {shlex.quote(content.model)}"
            self.line(f"  {visible(command)} --preset standard  asks more", wrap=False)


def _place(estimate: Estimate) -> tuple[str, str]:
    """(class, form) of an estimate; whatever else its group says goes with the class."""
    group = estimate.group
    rest = {key: value for key, value in group.items() if key not in ("class", "form")}
    return words.group_words({"class": group["class"], **rest}), group.get("form", "")


def _estimate_cells(estimate: Estimate, notes: Mapping[str, int]) -> list[str]:
    value, between = words.number(estimate.value), words.interval(estimate.low, estimate.high)
    if estimate.note:
        mark = f" [{notes[estimate.note]}]"
        value, between = (value, between + mark) if lacks_interval(estimate) else (value + mark, between)
    floor = "" if estimate.floor is None else words.number(estimate.floor)
    p = "" if estimate.p is None else words.probability(estimate.p)
    return [words.metric_words(estimate.metric).title, value, between, floor, p, words.count(estimate.n)]


def _style(estimate: Estimate) -> str:
    return "bold" if verdict(estimate) is Verdict.ABOVE else ""


def _association_cells(row: Association) -> list[str]:
    q = words.probability(row.q)
    return [
        row.subject,
        row.attribute or "",
        ", ".join(part for part in row.where if part),
        words.number(row.gamma),
        words.interval(row.low, row.high),
        words.number(row.eta),
        f"~{q}" if row.could_be_chance else q,
    ]


def _holds(content: Content, table: str) -> str:
    rows = words.plural(len(content.findings.tables[table].rows), "row")
    return f"{words.TABLES[table]} ({rows})" if table in words.TABLES else rows
