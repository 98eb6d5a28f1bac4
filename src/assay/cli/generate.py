"""`assay generate`: a probe's questions as files, or as requests for a batch service."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from assay.asking.progress import shown_progress
from assay.cli.common import add_shared, examples_of, settings_of

NAME = "generate"
HELP = "write a probe's questions to files, or as requests for a batch service"


_BATCHES = """  # requests for a batch service, with the settings of `assay run`
  assay generate PROBE --format openai-batch --model NAME --limit 200 --out requests.jsonl
  # then, with the results
  assay score PROBE RESULTS.jsonl
"""


def examples(about: str | None) -> str:
    return examples_of(NAME, about, between=_BATCHES)


def add_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add_shared(parser, "probe")
    add("--out", required=True, metavar="PATH", help="the file or folder to write")
    formats = "authors (the papers' formats) or openai-batch (requests)"
    add("--format", default="authors", metavar="FORMAT", help=formats)
    model = "keep only subjects that are one token of this model; in a batch: the model to ask (NAME or api:NAME@URL)"
    add("--model", metavar="SPEC", help=model)
    add_shared(parser, "--set")
    add("--preset", default="quick", metavar="P", help="in a batch: quick, standard or paper")
    add("--limit", type=int, metavar="N", help="in a batch: about N questions, balanced across groups")
    add("--seed", type=int, metavar="S", help="seed for random choices (0)")
    add("--skip-bad", action="store_true", help="in a batch: leave out rows of the data that cannot be used")
    add_shared(parser, "--data")


def call(options: argparse.Namespace) -> int:
    from assay.runs.question_files import generate

    with shown_progress(True) as progress:
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
