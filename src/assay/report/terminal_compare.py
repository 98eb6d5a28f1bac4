"""A comparison in a terminal or a pipe: differences first, then the tables side by side; models by number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from assay.differences import Difference
from assay.findings import Cell, Table
from assay.report import words
from assay.report.plaintext import visible
from assay.report.printer import Printer, Row

if TYPE_CHECKING:
    from rich.console import Console

    from assay.compare import Comparison

DIFFERENCES = "differences"
ENDS = 8  # rows of a long table at either end, for each class and form
MOST = 40
"""Differences that a terminal shows; where there are more, those that are clear of chance come first."""


def print_comparison(comparison: Comparison, console: Console) -> None:
    """Prints the differences, then the tables; of long ones the most telling rows."""
    printer = Printer(console)
    numbers = {name: f"[{place}]" for place, name in enumerate(comparison.models, 1)}
    for name, number in numbers.items():
        printer.line(visible(f"{number} {name}"))
    for part in comparison.parts or (comparison,):
        printer.line()
        if comparison.parts:
            printer.line(visible(part.probe), "bold")
        _print_part(printer, part, numbers)
    for note in comparison.notes if comparison.parts else ():
        printer.line(visible(f"Note: {note}"), "dim")


def _print_part(printer: Printer, part: Comparison, numbers: Mapping[str, str]) -> None:
    for name, own in part.counts.items():
        for each in own:
            printer.line(visible(f"{numbers[name]} {each}"), "dim")
    for note in part.notes:
        printer.line(visible(f"Note: {note}"), "dim")
    printer.line()
    if part.differences:
        _print_differences(printer, part.differences, numbers)
    for name, table in part.tables.items():
        if name != DIFFERENCES:
            _print_table(printer, part.titles[name], table, numbers)
    if not part.tables:
        printer.line("No estimate is defined in both: ask more, for example with --preset standard.")


def _print_differences(printer: Printer, found: Sequence[Difference], numbers: Mapping[str, str]) -> None:
    shown = sorted(
        sorted(range(len(found)), key=lambda place: (not found[place].clear, found[place].change.value is None))[:MOST]
    )
    several = len({each.model for each in found}) > 1
    rows = []
    for place in shown:
        each = found[place]
        change = each.change
        tested = change.q if change.q is not None else change.p
        who = [numbers[each.model]] if several else []
        rows.append(
            Row(
                [
                    *who,
                    words.metric_words(change.metric).title,
                    words.group_words(change.group),
                    words.number(each.before),
                    words.number(each.after),
                    words.number(change.value) + ("*" if each.clear else ""),
                    words.interval(change.low, change.high),
                    words.probability(tested),
                ],
                "bold" if each.clear else "",
            )
        )
    first = numbers[found[0].baseline]
    wordy = [*(["model"] if several else []), "metric", "asked about"]
    figures = [first, "model" if several else numbers[found[0].model], "change", "95% interval", "q"]
    printer.table("Differences on the items that both answered", wordy, figures, rows)
    printer.line(
        "* clear of chance: q (p where it stands alone) is at most 0.05, and 0 is outside the interval.", "dim"
    )
    if len(shown) < len(found):
        printer.line(f"{words.plural(len(found) - len(shown), 'more difference')}: --json has all.", "dim")
    printer.line()


def _print_table(printer: Printer, title: str, table: Table, numbers: Mapping[str, str]) -> None:
    """A table with its columns of words first."""
    rows = _trimmed(table.rows)
    places = range(len(table.columns))
    wordy = [k for k in places if any(isinstance(row[k], str) and row[k] != "…" for row in rows)]
    order = [*wordy, *(k for k in places if k not in wordy)]
    heads = [numbers.get(table.columns[k], table.columns[k].replace("_", " ")) for k in order]
    cells = [Row([_text(row[k], numbers) for k in order]) for row in rows]
    printer.table(title, heads[: len(wordy)], heads[len(wordy) :], cells)


def _trimmed(rows: Sequence[Sequence[Cell]]) -> list[Sequence[Cell]]:
    """For each class and form the first and last rows, as the paper's figures have them."""
    shown: list[Sequence[Cell]] = []
    for _, group in groupby(rows, key=lambda row: row[:2]):
        own = list(group)
        middle = [["…"] * len(own[0])] if len(own) > 2 * ENDS else []
        shown += own if not middle else [*own[:ENDS], *middle, *own[-ENDS:]]
    return shown


def _text(cell: Cell, numbers: Mapping[str, str]) -> str:
    if isinstance(cell, float):
        return words.number(cell)
    return words.UNDEFINED if cell is None else numbers.get(str(cell), str(cell))
