"""`assay report`: the page, or a run's numbers in other formats."""

from __future__ import annotations

import argparse
from pathlib import Path

from assay.cli.tools import add_shared, write
from assay.errors import UsageError

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
  assay report runs/my-run --format model-card     metadata and a section to paste into a model's README.md
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add_shared(parser, "folder")
    add("--format", metavar="NAME", default=PAGE, help=f"{PAGE} (the default) goes into DIR; the others are printed")
    add("--no-examples", action="store_true", help="no texts of questions on the page")
    add("--out", metavar="FILE", help="write there, not to standard output (all formats but html)")


def call(options: argparse.Namespace) -> int:
    from assay.runs.folder import open_runs

    folder = Path(options.folder)
    if options.format == PAGE:
        from assay.report import write_html

        if options.out:
            problem = "the page goes into the folder that it is about."
            raise UsageError(problem, "Leave --out out.", code="bad-option", key="out")
        print(write_html(folder, open_runs(folder), examples=not options.no_examples))
        return 0
    from assay.report.formats import FORMATS, report_text

    if options.format not in FORMATS:
        problem = f"--format is {options.format!r}, expected one of {', '.join((PAGE, *FORMATS))}."
        raise UsageError(problem, "--format md", code="bad-option", key="format")
    write(report_text(open_runs(folder), options.format), options.out)
    if options.out:
        print(options.out)
    return 0
