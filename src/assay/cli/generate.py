"""`assay generate`: the questions as files, or as requests for a service that answers files."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from assay.cli.tools import add_shared, examples_of, settings_of, shown_progress

NAME = "generate"
HELP = "write the questions: in the authors' own file format, or as a batch of requests"


_BATCHES = """  assay generate PROBE --format openai-batch --model NAME --limit 200 --out requests.jsonl
                                                          requests for a service that answers files; with the settings
                                                          of `assay run`. Then: assay score PROBE RESULTS.jsonl
"""


def examples() -> str:
    return examples_of(NAME, lambda probe: probe.generate_settings, between=_BATCHES)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("probe", metavar="PROBE")
    parser.add_argument("--out", required=True, metavar="PATH", help="the file or folder to write")
    parser.add_argument(
        "--format", default="authors", metavar="FORMAT", help="authors (their files) or openai-batch (requests)"
    )
    parser.add_argument(
        "--model",
        metavar="SPEC",
        help="keep only subjects that are one token of this model; of a batch: who shall answer (NAME or api:NAME@URL)",
    )
    add_shared(parser, "--set")
    parser.add_argument("--preset", default="quick", metavar="P", help="of a batch: quick, standard or paper")
    parser.add_argument("--limit", type=int, metavar="N", help="of a batch: about N questions, balanced across groups")
    parser.add_argument("--seed", type=int, metavar="S", help="for what is drawn at random (0)")
    parser.add_argument(
        "--skip-bad", action="store_true", help="of a batch: leave out rows of data that cannot be used"
    )
    add_shared(parser, "--data")


def call(options: argparse.Namespace) -> int:
    from assay.runs.generate import generate

    with shown_progress() as progress:
        done = generate(
            options.probe,
            Path(options.out),
            settings=settings_of(options.set),
            model=options.model,
            preset=options.preset,
            limit=options.limit,
            skip_bad=options.skip_bad,
            format=options.format,
            seed=options.seed or 0,
            data=options.data,
            progress=progress,
        )
    for note in done.notes:
        print(f"note: {note}", file=sys.stderr)
    print(f"{done.examples:,} {done.called} ({done.counted}) in {options.out}")
    return 0
