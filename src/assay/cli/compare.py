"""`assay compare`: runs or tours, compared with the first."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from assay.asking.progress import console_on
from assay.cli.common import write

NAME = "compare"
HELP = "compare runs or tours; the first is the baseline"
EXAMPLES = """examples:
  # how the second run differs from the first, with intervals
  assay compare runs/lm runs/squad
  # two tours, probe by probe
  assay compare runs/tour-builtin runs/tour-mine
  # only the questions that both runs have, if their data differ
  assay compare runs/old runs/new --common
  # also as a page
  assay compare runs/old runs/new --out comparison.html
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("folders", nargs="+", metavar="DIR", help="runs of one probe, or folders of runs")
    add("--common", action="store_true", help="compare only the questions that both have, even if their data differ")
    add("--out", metavar="FILE", help="also write a page, for example comparison.html")
    add("--json", action="store_true", help="print JSON")


def call(options: argparse.Namespace) -> int:
    from assay.compare import compare
    from assay.compare.present import present_comparison, terminal_comparison, title_of
    from assay.report import print_sections, write_page

    comparison = compare([Path(folder) for folder in options.folders], common=options.common)
    if options.out:  # before printing, which may fail
        write_page(Path(options.out), title_of(comparison), present_comparison(comparison), "comparison")
    if options.json:
        write(comparison.to_json())
    else:
        print_sections(terminal_comparison(comparison), console_on(sys.stdout))
    if options.out:
        print(f"Report: {options.out}", file=sys.stderr)
    return 0
