"""`assay report`: the page, or a run's numbers in other formats."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from assay.cli.tools import add_shared, write
from assay.errors import UsageError

if TYPE_CHECKING:
    from assay.ranking import Leaderboard
    from assay.run import Run

NAME = "report"
HELP = "write a run's page again, or its numbers in other formats"
PAGE = "html"


def examples() -> str:
    from assay.report.formats import FORMATS

    return f"""formats: {PAGE}, {", ".join(FORMATS)}

examples:
  assay report runs/my-run                         writes runs/my-run/report.html
  assay report runs/my-run --no-examples           the same without texts of questions
  assay report runs/tour --format md               Markdown tables
  assay report runs/tour --format csv --out all.csv
  assay report runs                                several models: a page that begins with their ranks
  assay report runs/my-run --format model-card     metadata and a section to paste into a model's README.md
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add_shared(parser, "folder")
    add("--format", metavar="NAME", default=PAGE, help=f"{PAGE} (the default) goes into DIR; the others are printed")
    add("--no-examples", action="store_true", help="no texts of questions on the page")
    add("--no-ranks", action="store_true", help="do not compare several models with each other")
    add("--out", metavar="FILE", help="write there, not to standard output (all formats but html)")


def call(options: argparse.Namespace) -> int:
    from assay.report.formats import FORMATS
    from assay.runs.folder import open_runs

    if options.format == PAGE and options.out:
        problem = "the page goes into the folder that it is about."
        raise UsageError(problem, "Leave --out out.", code="bad-option", key="out")
    if options.format not in (PAGE, *FORMATS):
        problem = f"--format is {options.format!r}, expected one of {', '.join((PAGE, *FORMATS))}."
        raise UsageError(problem, "--format md", code="bad-option", key="format")
    folder = Path(options.folder)
    runs = open_runs(folder)
    boards = [] if options.no_ranks else _ranked(runs)
    if options.format == PAGE:
        return _page(folder, runs, boards, examples=not options.no_examples)
    from assay.report.formats import report_text

    write(report_text(runs, options.format, boards), options.out)
    if options.out:
        print(options.out)
    return 0


def _ranked(runs: Sequence[Run]) -> Sequence[Leaderboard]:
    """The models ranked by bias, where there are several."""
    if len({run.probe for run in runs}) == len(runs):
        return []
    from assay.compare.ranks import leaderboards

    print("Comparing the models with each other; --no-ranks skips this.", file=sys.stderr)
    return leaderboards(runs)


def _page(folder: Path, runs: Sequence[Run], boards: Sequence[Leaderboard], *, examples: bool) -> int:
    from assay.report import print_sections, terminal_ranking, write_html

    page = write_html(folder, runs, examples=examples, boards=boards)
    if boards:
        from rich.console import Console

        print_sections(terminal_ranking(boards), Console(stderr=True))
    print(page)
    return 0
