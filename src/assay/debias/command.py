"""`assay debias`: parse, call one library function, print."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.engine.progress import Progress

_METHODS = ("inlp", "sentence", "cda", "dropout")

_EXAMPLES = """methods:
  inlp       remove what linear classifiers find of the attribute in the encoder's output (post hoc)
  sentence   SentenceDebias: remove the first principal component of counterparts' differences (post hoc)
  cda        go on with masked training, on text and on copies of it with attribute words swapped
  dropout    go on with masked training, with other rates of dropout; about no attribute in particular

examples:
  assay debias inlp --model hf:./siqa --attribute gender --corpus text.txt.xz --eval dev.jsonl --out models/inlp-gender
  assay debias sentence --model builtin --set head=choice --attribute race --corpus text.txt --out models/sentence-race
  assay debias cda --model hf:ORG/NAME@REVISION --attribute gender --corpus text.txt.gz --out models/cda-gender
  assay debias cda --model builtin --attribute religion --corpus text.txt --words words.json --out models/cda-religion
  assay debias dropout --model builtin --corpus text.txt --set max_steps=500 --set batch=16 --out models/dropout
then, since cda and dropout give a model that fills masks:
  assay train choice --base hf:./models/cda-gender --data train.jsonl --preset sodapop --out models/cda-gender-siqa

settings (--set key=value; more in docs/debias.md):
  inlp       rounds=80   stop=never|chance   clip=random|never   least_words=5
  sentence   components=1
  both       sentences=10000   case=lower|keep   match=word|token   length   head=choice|span|mask (of builtin)
  cda        compat=assay|released
  dropout    keep_dropout=yes|no   dropout   attention_dropout
  both       max_steps=2000   batch=32   accumulate=16   length=512   and all others of `assay train mask`
"""


def add_debias(commands: Any, command: Callable[..., Any]) -> None:
    """Add the command to the command line; `command` makes a parser as the others have it."""
    what = "make a model with less of an attribute in it, and see what that cost"
    debias = command(commands, "debias", _debias, what, _EXAMPLES)
    debias.add_argument("method", choices=_METHODS, metavar="METHOD", help=", ".join(_METHODS))
    debias.add_argument("--model", required=True, metavar="SPEC", help="builtin, hf:./folder or hf:ORG/NAME@REVISION")
    debias.add_argument("--attribute", metavar="NAME", help="gender, race or religion, or another one of --words")
    debias.add_argument("--corpus", required=True, metavar="FILE", help="text to learn from: plain, .gz or .xz")
    debias.add_argument("--words", metavar="FILE", help="attribute words in JSON or TOML (default: assay's own list)")
    debias.add_argument("--eval", metavar="PATH", help="data of the model's task: what did it cost?")
    debias.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a setting (repeatable)")
    debias.add_argument("--out", required=True, metavar="DIR", help="the folder for the model; a new one")
    debias.add_argument("--seed", type=int, default=0, metavar="S", help="for sentences, order, masks, dropout (0)")
    debias.add_argument("--device", default="auto", help="cpu, cuda or mps (default: the best there is)")
    debias.add_argument("--dtype", default="auto", help="of training: bfloat16 (default on cuda) or float32")
    debias.add_argument("--json", action="store_true", help="print assay.json instead of a summary")


def _debias(options: argparse.Namespace) -> int:
    from assay.cli_tools import settings_of, shown_progress
    from assay.debias import debias

    with shown_progress() as progress:
        evaluate = None
        if options.eval is not None:
            evaluate = EvaluateOn(Path(options.eval), options.device, options.seed, progress)
        made = debias(
            options.method,
            options.model,
            options.out,
            corpus=options.corpus,
            attribute=options.attribute,
            words=options.words,
            settings=settings_of(options.set),
            seed=options.seed,
            device=options.device,
            dtype=options.dtype,
            evaluate=evaluate,
            progress=progress,
        )
    if options.json:
        print(json.dumps(made.report, indent=1, ensure_ascii=False))
        return 0
    for line in summary(made.report):
        print(line)
    print(f"the model: hf:{made.folder}")
    return 0


@dataclass(frozen=True)
class EvaluateOn:
    """Scores on data of the task that a model's head is for: accuracy, or EM and F1, or how likely hidden words are."""

    data: Path
    device: str = "auto"
    seed: int = 0
    progress: Progress | None = None

    def __post_init__(self) -> None:
        from assay.training.files import existing

        existing(self.data)

    def __call__(self, folder: Path) -> Mapping[str, float]:
        from assay.errors import UsageError
        from assay.models import find_model
        from assay.models.base import Options
        from assay.training import evaluate
        from assay.training.settings import KINDS

        name = f"hf:{folder.absolute()}"
        kind = next((each for each in KINDS if each in find_model(name, Options(device=self.device)).abilities), None)
        if kind is None:
            raise UsageError(f"{folder} has no head that could be evaluated.", "Leave --eval out.")
        scores = evaluate(kind, name, self.data, seed=self.seed, device=self.device, progress=self.progress)
        return dict(_higher_is_better(scores.estimates))


def _higher_is_better(estimates: Any) -> Iterator[tuple[str, float]]:
    for each in estimates:
        if each.value is not None and not each.group:
            yield (
                ("log_likelihood", -math.log(each.value)) if each.metric == "perplexity" else (each.metric, each.value)
            )


def summary(report: Mapping[str, Any]) -> Iterator[str]:
    """What was done to a model, for people."""
    about = f", {report['attribute']}" if report["attribute"] else ""
    if "removed" in report:
        removed = report["removed"]
        yield f"{report['method']}{about}: {removed['directions']} of {removed['of']} directions removed"
        yield from _probe_lines(report)
    else:
        training, changed = report["training"], report["changed"]
        first, last = training["curve"][0], training["curve"][-1]
        blocks = training["counts"]["blocks"]
        yield f"{report['method']}{about}: {training['steps']:,} steps on {blocks:,} blocks of text"
        yield f"loss {first['loss']:.4f} at first, {last['loss']:.4f} at the end"
        yield f"weights moved: encoder by {100 * changed['encoder']:.2g}%, head by {100 * changed['head']:.2g}%"
    if report["scores"] is None:
        yield "what it cost was not measured (--eval PATH)"
    else:
        for name, cost in report["scores"]["cost"].items():
            before, after = report["scores"]["before"][name], report["scores"]["after"][name]
            yield f"{name}: {before:.4f} before, {after:.4f} after; it cost {cost:+.4f}"
    for note in report.get("notes", ()):
        yield f"note: {note}"


def _probe_lines(report: Mapping[str, Any]) -> Iterator[str]:
    probe = report["probe"]
    if report["method"] == "inlp":
        accuracy = probe["accuracy"]
        rounds = len(accuracy) - 1
        yield (
            f"a linear probe's accuracy: {accuracy[0]:.3f} before, {accuracy[min(1, rounds)]:.3f} after round 1, "
            f"{accuracy[-1]:.3f} after round {rounds}; guessing gives {probe['majority']:.3f}"
        )
    for name, said in (("held_out", "on held-out sentences"), ("first_token", "by their first token alone")):
        told = probe[name]
        yield (f"{said}: {told['before']:.3f} before, {told['after']:.3f} after; guessing gives {told['majority']:.3f}")
