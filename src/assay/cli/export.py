"""`assay export`: a run with its answers, for another machine."""

from __future__ import annotations

import argparse
import sys

from assay.cli.tools import add_shared

NAME = "export"
HELP = "bundle a run with its stored answers"
EXAMPLES = """examples:
  assay export runs/my-run                         its answers go into runs/my-run/blocks
  assay export runs/my-run --out my-run.zip        a copy of everything, to send
then, elsewhere and without the model:
  assay score unqover my-run --set draws=10000
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    add_shared(parser, "folder")
    parser.add_argument("--out", metavar="PATH", help="a new folder or .zip for a copy (default: into DIR itself)")
    parser.add_argument("--no-examples", action="store_true", help="leave texts of questions out of the copy")


def call(options: argparse.Namespace) -> int:
    from assay.runs.export import export
    from assay.wording import plural

    done = export(options.folder, options.out, examples=not options.no_examples)
    answers = f"{plural(done.blocks, 'block')} of answers ({done.size / 1e3:,.0f} kB)"
    print(f"{done.place}: {', '.join(done.runs)} with {answers}")
    for note in done.notes:
        print(f"note: {note}", file=sys.stderr)
    return 0
