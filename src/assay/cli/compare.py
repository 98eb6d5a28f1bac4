"""`assay compare`: runs beside the first of them."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

NAME = "compare"
HELP = "compare runs or tours; the first is the baseline"
EXAMPLES = """examples:
  assay compare runs/lm runs/squad                 how the second differs from the first, with intervals
  assay compare runs/tour-builtin runs/tour-mine   two tours, probe by probe
  assay compare runs/old runs/new --common         only the items that both have, though the data differ
  assay compare runs/old runs/new --out comparison.html        as a page, too
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("folders", nargs="+", metavar="DIR", help="runs of one probe, or folders of runs")
    add("--common", action="store_true", help="compare only the items that both have, though the data differ")
    add("--out", metavar="FILE", help="write it as a page, too, for example comparison.html")
    add("--json", action="store_true", help="print JSON")


def call(options: argparse.Namespace) -> int:
    from assay.compare import compare
    from assay.compare.present import present_comparison, terminal_comparison, title_of
    from assay.report import print_sections, write_page

    comparison = compare([Path(folder) for folder in options.folders], common=options.common)
    if options.out:  # first: it is not lost
        write_page(Path(options.out), title_of(comparison), present_comparison(comparison), "comparison")
    if options.json:
        print(comparison.to_json(), end="")
    else:
        from rich.console import Console

        print_sections(terminal_comparison(comparison), Console())
    if options.out:
        print(f"Report: {options.out}", file=sys.stderr)
    return 0
