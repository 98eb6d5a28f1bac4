"""`assay export`: a run bundled with its stored answers."""

from __future__ import annotations

import argparse
import sys

from assay.cli.common import add_shared

NAME = "export"
HELP = "bundle a run with its stored answers"
EXAMPLES = """examples:
  # put the answers into runs/my-run/blocks
  assay export runs/my-run
  # write a copy to send to somebody
  assay export runs/my-run --out my-run.zip
  # then, on another machine and without the model
  assay score unqover my-run --set draws=10000
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    add_shared(parser, "folder")
    parser.add_argument("--out", metavar="PATH", help="a new folder or .zip for a copy (default: add them to DIR)")
    parser.add_argument("--no-examples", action="store_true", help="leave the questions' texts out of the copy")


def call(options: argparse.Namespace) -> int:
    from assay.results.formatting import plural
    from assay.runs.export import export

    done = export(options.folder, options.out, examples=not options.no_examples)
    answers = f"{plural(done.blocks, 'block')} of answers ({done.size / 1e3:,.0f} kB)"
    print(f"{done.place}: {', '.join(done.runs)} with {answers}")
    for note in done.notes:
        print(f"note: {note}", file=sys.stderr)
    return 0
