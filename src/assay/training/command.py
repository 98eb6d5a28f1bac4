"""`assay train`: parse, call one library function, print."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from typing import Any

_EXAMPLES = """examples:
  assay train span --base hf:ORG/NAME@REVISION --data train-v1.1.json --eval dev-v1.1.json --preset unqover --out DIR
  assay train choice --base hf:ORG/NAME@REVISION --data RACE/train --eval RACE/dev --preset bbq --out models/race
  assay train choice --base builtin --data train.jsonl --eval dev.jsonl --preset sodapop --out models/siqa
  assay train mask --base hf:./my-bert --data text.txt.xz --set max_steps=2000 --out models/further
then:
  assay run bbq --model hf:./models/race

data:
  span      SQuAD v1 or v2 (JSON), MRQA (JSON lines): a file or a folder, plain or .gz
  choice    RACE's folder of articles (of RACE itself train/, and dev/ for --eval);
            Social IQa's .jsonl beside its -labels.lst, or with "correct" in every row
  mask      plain text: .txt, .txt.gz, .txt.xz or a folder of them

presets: unqover (span), bbq and sodapop (choice): the papers' settings

settings (--set key=value):
  epochs  rate  batch  accumulate  warmup (steps, or a share below 1)  weight_decay  max_steps
  head=auto|keep|new   dropout  attention_dropout   order=grouped|random   save_steps  keep_checkpoints  compile=off|on
  span: window=384  stride=128  windows=all|answer
  choice: length=512
  mask: length=512  blocks=joined|apart  masking=0.15
"""


def add_train(commands: Any, command: Callable[..., Any]) -> None:
    """Add the command to the command line; `command` makes a parser as the others have it."""
    train = command(commands, "train", _train, "train a model that a probe can ask, from any encoder", _EXAMPLES)
    train.add_argument("kind", choices=("span", "choice", "mask"), metavar="KIND", help="span, choice or mask")
    train.add_argument("--base", required=True, metavar="SPEC", help="builtin, hf:./folder or hf:ORG/NAME@REVISION")
    train.add_argument("--data", required=True, metavar="PATH", help="what to learn from: a file or a folder")
    train.add_argument("--eval", metavar="PATH", help="what to evaluate the trained model on")
    train.add_argument("--preset", metavar="NAME", help="a paper's settings: unqover, bbq or sodapop")
    train.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a setting (repeatable)")
    train.add_argument("--out", required=True, metavar="DIR", help="the folder for the model")
    train.add_argument("--seed", type=int, default=0, metavar="S", help="for new weights, order, masks, dropout (0)")
    train.add_argument("--device", default="auto", help="cpu, cuda or mps (default: the best there is)")
    train.add_argument("--dtype", default="auto", help="bfloat16 (default on cuda) or float32")
    train.add_argument("--resume", choices=("always", "never"), default="always", help=_RESUME)
    train.add_argument("--json", action="store_true", help="print assay.json instead of a summary")


_RESUME = "a training that was begun in DIR: go on with it (always), or begin anew and replace what it made (never)"


def _train(options: argparse.Namespace) -> int:
    from assay.cli_tools import settings_of, shown_progress
    from assay.training import train

    with shown_progress() as progress:
        trained = train(
            options.kind,
            options.base,
            options.data,
            options.out,
            preset=options.preset,
            settings=settings_of(options.set),
            evaluation=options.eval,
            seed=options.seed,
            device=options.device,
            dtype=options.dtype,
            resume=options.resume == "always",
            progress=progress,
        )
    if options.json:
        print(json.dumps(trained.info, indent=1, ensure_ascii=False))
        return 0
    first, last = trained.info["curve"][0], trained.info["curve"][-1]
    print(f"{trained.info['steps']:,} steps; loss {first['loss']:.4f} at first, {last['loss']:.4f} at the end")
    for each in trained.scores.estimates if trained.scores else ():
        of = "".join(f", {key} = {value}" for key, value in each.group.items())
        between = "" if each.low is None or each.high is None else f" ({each.low:.4g} to {each.high:.4g})"
        print(
            f"{each.metric}{of}: {'undefined' if each.value is None else f'{each.value:.4g}'}{between}, n = {each.n:,}"
        )
    for note in trained.info["notes"]:
        print(f"note: {note}")
    print(f"the model: {trained.model}")
    return 0
