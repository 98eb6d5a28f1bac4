"""`assay train`: models that probes can ask."""

from __future__ import annotations

import argparse

from assay.asking.progress import shown_progress
from assay.cli.common import add_shared, settings_listed, settings_of, write_json

NAME = "train"
HELP = "train an encoder into a model that probes can ask"

_RESUME = "a training that was started in DIR: resume it (always), or start over and replace it (never)"

_EXAMPLES = """examples:
  assay train span --base hf:ORG/NAME@REVISION --data train-v1.1.json --eval dev-v1.1.json --preset unqover --out DIR
  assay train choice --base hf:ORG/NAME@REVISION --data RACE/train --eval RACE/dev --preset bbq --out models/race
  assay train choice --base builtin --data train.jsonl --eval dev.jsonl --preset sodapop --out models/siqa
  assay train mask --base hf:./my-bert --data text.txt.xz --set max_steps=2000 --out models/further
  # then
  assay run --model hf:./models/race
"""


def examples(about: str | None) -> str:
    from assay.lab.training import KINDS
    from assay.lab.training.training_kind import TrainingSettings, presets

    kinds = "".join(f"  {kind.name:<9} {kind.does}\n" for kind in KINDS.values())
    data = "".join(
        f"  {kind.name if not i else '':<9} {line}\n" for kind in KINDS.values() for i, line in enumerate(kind.reads)
    )
    papers = ", ".join(f"{name} ({preset.kind})" for name, preset in presets().items())
    settings = settings_listed(TrainingSettings, {kind.name: kind.settings for kind in KINDS.values()}, about)
    return f"kinds:\n{kinds}\n{_EXAMPLES}\ndata:\n{data}\npresets (the papers' settings): {papers}\n\n{settings}"


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kind", metavar="KIND", help="what the model learns; see below")
    parser.add_argument("--base", required=True, metavar="SPEC", help="builtin, hf:./folder or hf:ORG/NAME@REVISION")
    parser.add_argument("--data", required=True, metavar="PATH", help="the training data: a file or a folder")
    parser.add_argument("--eval", metavar="PATH", help="data to evaluate the trained model on")
    parser.add_argument("--preset", metavar="NAME", help="a paper's settings; see below")
    add_shared(parser, "--set")
    parser.add_argument("--out", required=True, metavar="DIR", help="the folder for the model")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="seed for all random choices (0)")
    parser.add_argument("--device", default="auto", help="cpu, cuda or mps (default: the best available)")
    parser.add_argument("--dtype", default="auto", help="bfloat16 (default on cuda) or float32")
    parser.add_argument("--resume", choices=("always", "never"), default="always", help=_RESUME)
    parser.add_argument("--json", action="store_true", help="print assay.json instead of a summary")


def call(options: argparse.Namespace) -> int:
    from assay.lab.training import train

    with shown_progress(True) as progress:
        trained = train(
            options.kind,
            options.base,
            options.data,
            options.out,
            settings=settings_of(options.set),
            evaluation=options.eval,
            resume=options.resume == "always",
            progress=progress,
            **{name: getattr(options, name) for name in ("preset", "seed", "device", "dtype")},
        )
    if options.json:
        write_json(trained.info)
        return 0
    first, last = trained.info["curve"][0], trained.info["curve"][-1]
    print(f"{trained.info['steps']:,} steps; loss {first['loss']:.4f} at the start, {last['loss']:.4f} at the end")
    for estimate in trained.scores.estimates if trained.scores else ():
        of = "".join(f", {key} = {value}" for key, value in estimate.group.items())
        between = (
            "" if estimate.low is None or estimate.high is None else f" ({estimate.low:.4g} to {estimate.high:.4g})"
        )
        value = "undefined" if estimate.value is None else f"{estimate.value:.4g}"
        print(f"{estimate.metric}{of}: {value}{between}, n = {estimate.n:,}")
    print(*(f"note: {note}" for note in trained.info["notes"]), f"Model: {trained.model}", sep="\n")
    return 0
