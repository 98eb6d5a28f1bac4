"""Plain text on one console: lines and tables in which nothing that comes from data or a model can act."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from assay.report.plaintext import encodable
from assay.wording import clipped, visible

ROOMY = 100  # columns of a console from which tables get wider gaps
LONG_FIGURE, LONG_WORD = 18, 20  # characters from which a cell may be broken
WHOLE = ("form", "metric", "question")  # columns of words that are broken only when they are long


class Row(NamedTuple):
    """The cells of a table's row; it may begin a section."""

    cells: Sequence[str]
    style: str = ""
    starts_section: bool = False


class Printer:
    """Prints on one console, everything as plain text."""

    def __init__(self, console: Console) -> None:
        self.console = console

    def text(self, said: str, style: str = "") -> Text:
        return Text(encodable(said, self.console.encoding), style)

    def line(self, said: str = "", style: str = "", *, wrap: bool = True) -> None:
        self.console.print(self.text(said, style), soft_wrap=not wrap)

    def table(self, title: str, wordy: Sequence[str], figures: Sequence[str], rows: Sequence[Row]) -> None:
        """A table of columns of words, then columns of figures; only words, and very long figures, are broken."""
        if title:
            self.line(visible(title), "bold")
        gap = 0 if self.console.width < ROOMY else 1
        table = Table(box=box.SIMPLE_HEAD, padding=(0, gap, 0, 0), pad_edge=False, show_edge=False)
        for index, name in enumerate([*wordy, *figures]):
            is_figure = index >= len(wordy)
            longest = max(len(row.cells[index]) for row in rows)
            whole = longest <= LONG_FIGURE if is_figure else name in WHOLE and longest <= LONG_WORD
            table.add_column(self.text(name), justify="right" if is_figure else "left", overflow="fold", no_wrap=whole)
        for index, row in enumerate(rows):
            if row.starts_section and index:
                table.add_section()
            table.add_row(*(self.text(clipped(visible(cell))) for cell in row.cells), style=row.style)
        self.console.print(table)
        self.line()
