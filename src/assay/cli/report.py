"""`assay report`: a run's page, or its numbers in other formats."""

from __future__ import annotations

import argparse
from pathlib import Path

from assay.cli.tools import add_shared, write
from assay.errors import UsageError, near

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
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add_shared(parser, "folder")
    add(
        "--format",
        metavar="NAME",
        default=PAGE,
        help=f"{PAGE} (the default, written into DIR) or another, which is printed",
    )
    add("--no-examples", action="store_true", help="leave the questions' texts out of the page")
    add("--out", metavar="FILE", help="write to this file instead of printing (all formats except html)")


def call(options: argparse.Namespace) -> int:
    from assay.runs.folder import open_runs

    folder = Path(options.folder)
    if options.format == PAGE:
        from assay.report import write_html

        if options.out:
            problem = "--out cannot be used with --format html: the page is written into the run folder."
            raise UsageError(problem, "Omit --out.", code="bad-option", key="out")
        print(write_html(folder, open_runs(folder), examples=not options.no_examples))
        return 0
    from assay.report.formats import FORMATS, report_text

    if options.format not in FORMATS:
        known = (PAGE, *FORMATS)
        problem = f"--format is {options.format!r}, expected one of {', '.join(known)}{near(options.format, known)}"
        raise UsageError(problem, "--format md", code="bad-option", key="format")
    write(report_text(open_runs(folder), options.format), options.out)
    if options.out:
        print(options.out)
    return 0
