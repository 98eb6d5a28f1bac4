"""`assay generate`: the questions as files."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from assay.cli.tools import add_shared, examples_of, settings_of, shown_progress

NAME = "generate"
HELP = "write the questions in the authors' own file format"


def examples() -> str:
    return examples_of(NAME, lambda probe: probe.generate_settings)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("probe", metavar="PROBE")
    parser.add_argument("--out", required=True, metavar="PATH", help="the file or folder to write")
    parser.add_argument("--model", metavar="SPEC", help="keep only subjects that are one token of this model")
    add_shared(parser, "--set")
    parser.add_argument("--seed", type=int, metavar="S", help="for what is drawn at random (0)")
    add_shared(parser, "--data")


def call(options: argparse.Namespace) -> int:
    from assay.runs.generate import generate

    with shown_progress() as progress:
        done = generate(
            options.probe,
            Path(options.out),
            settings=settings_of(options.set),
            model=options.model,
            seed=options.seed or 0,
            data=options.data,
            progress=progress,
        )
    for note in done.notes:
        print(f"note: {note}", file=sys.stderr)
    print(f"{done.examples:,} examples ({done.counted}) in {options.out}")
    return 0
