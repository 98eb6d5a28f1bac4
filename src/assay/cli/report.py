"""`assay report`: a run's page, or its numbers in other formats."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from assay.asking.progress import console_on
from assay.cli.common import add_shared, write
from assay.errors import UsageError, suggest

if TYPE_CHECKING:
    from assay.presentation.leaderboard import Leaderboard
    from assay.results.run import Run

NAME = "report"
HELP = "rebuild a run's page, or write its numbers in other formats"
PAGE = "html"


def examples(about: str | None) -> str:
    from assay.report.formats import FORMATS

    return f"""formats: {PAGE}, {", ".join(FORMATS)}

examples:
  # rebuild runs/my-run/report.html
  assay report runs/my-run
  # the same without the questions' texts
  assay report runs/my-run --no-examples
  # Markdown tables
  assay report runs/tour --format md
  # every estimate as one table
  assay report runs/tour --format csv --out all.csv
  # metadata and a section for a model's README.md
  assay report runs/my-run --format model-card
  # several models: a page that begins with their ranks
  assay report runs
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add_shared(parser, "folder")
    formats = f"{PAGE} (the default, written into DIR) or another, which is printed"
    add("--format", metavar="NAME", default=PAGE, help=formats)
    add("--no-examples", action="store_true", help="leave the questions' texts out of the page")
    add("--no-ranks", action="store_true", help="do not rank several models against each other")
    add("--out", metavar="FILE", help="write to this file instead of printing (all formats except html)")


def call(options: argparse.Namespace) -> int:
    from assay.report import print_sections, terminal_ranking, write_html
    from assay.report.formats import FORMATS, report_text
    from assay.runs.folder import open_runs

    if options.format == PAGE and options.out:
        problem = "--out cannot be used with --format html: the page is written into the run folder."
        raise UsageError(problem, "Omit --out.", code="bad-option", key="out")
    formats = (PAGE, *FORMATS)
    if options.format not in formats:
        problem = (
            f"--format is {options.format!r}, expected one of {', '.join(formats)}{suggest(options.format, formats)}"
        )
        raise UsageError(problem, "--format md", code="bad-option", key="format")
    folder = Path(options.folder)
    runs = open_runs(folder)
    boards = [] if options.no_ranks else _ranked(runs)
    if options.format == PAGE:
        page = write_html(folder, runs, examples=not options.no_examples, boards=boards)
        if boards:
            print_sections(terminal_ranking(boards), console_on(sys.stderr))
        print(page)
        return 0
    write(report_text(runs, options.format, boards), options.out)
    if options.out:
        print(options.out)
    return 0


def _ranked(runs: Sequence[Run]) -> Sequence[Leaderboard]:
    """The models ranked by bias, where there are several."""
    if len({run.probe for run in runs}) == len(runs):
        return []
    from assay.compare.leaderboards import leaderboards

    print("Comparing the models with each other; --no-ranks skips this.", file=sys.stderr)
    return leaderboards(runs)
