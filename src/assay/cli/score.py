"""`assay score`: existing answers."""

from __future__ import annotations

import argparse
from pathlib import Path

from assay.cli.common import add_shared, examples_of, settings_of, show, values_of, write

NAME = "score"
HELP = "score existing answers: files, logs or a run; no model is loaded"


def examples(about: str | None) -> str:
    return examples_of(NAME, about)


def add_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add_shared(parser, "probe")
    files = "predictions, batch results, logs or a folder of logs, or a run folder"
    add("files", nargs="+", metavar="FILE", help=files)
    answers = "the column of answers, in a table of questions; several, as A,B, are averaged"
    add("--answers", metavar="COLUMN", help=answers)
    labels = "what the first option is called: 1 if labels are 1 to 3, or B to D (0)"
    add("--labels-from", type=int, choices=(0, 1), default=0, help=labels)
    only = "score only the rows with this value, such as model=NAME (repeatable)"
    add("--only", action="append", default=[], metavar="COLUMN=VALUE", help=only)
    add("--skip-bad", action="store_true", help="leave out entries that cannot be used")
    add_shared(parser, "--out", "--set", "--seed", "--data", "--json", "--verbose")


def call(options: argparse.Namespace) -> int:
    from assay.runs.score import score

    run = score(
        options.probe,
        [Path(file) for file in options.files],
        settings=settings_of(options.set),
        seed=options.seed,
        answers=options.answers,
        labels_from=options.labels_from,
        only=values_of("only", options.only, "COLUMN=VALUE", "model=NAME"),
        data=options.data,
        skip_bad=options.skip_bad,
        out=options.out,
    )
    if options.json:
        write(run.findings.to_json())
    else:
        show([run], run.folder / "report.html", options)
    return 0
