"""`assay debias`: a debiased model, and what debiasing cost."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from assay.asking.progress import shown_progress
from assay.cli.common import add_shared, settings_listed, settings_of, write_json

NAME = "debias"
HELP = "debias a model and measure what it costs"

_EXAMPLES = """examples:
  assay debias inlp --model hf:./siqa --attribute gender --corpus text.txt.xz --eval dev.jsonl --out models/inlp-gender
  assay debias sentence --model builtin --set head=choice --attribute race --corpus text.txt --out models/sentence-race
  assay debias cda --model hf:ORG/NAME@REVISION --attribute gender --corpus text.txt.gz --out models/cda-gender
  assay debias cda --model builtin --attribute religion --corpus text.txt --words words.json --out models/cda-religion
  assay debias dropout --model builtin --corpus text.txt --set max_steps=500 --set batch=16 --out models/dropout
  # then, as cda and dropout give a masked language model
  assay train choice --base hf:./models/cda-gender --data train.jsonl --preset sodapop --out models/cda-gender-siqa
"""


def examples(about: str | None) -> str:
    from assay.lab.debiasing import METHODS

    methods = "".join(f"  {method.name:<10} {method.does}\n" for method in METHODS.values())
    settings = settings_listed(None, {method.name: method.settings for method in METHODS.values()}, about)
    return f"methods:\n{methods}\n{_EXAMPLES}\n{settings}More: docs/debias.md\n"


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("method", metavar="METHOD", help="a debiasing method; see below")
    parser.add_argument("--model", required=True, metavar="SPEC", help="builtin, hf:./folder or hf:ORG/NAME@REVISION")
    parser.add_argument("--attribute", metavar="NAME", help="gender, race, religion, or another attribute from --words")
    parser.add_argument("--corpus", required=True, metavar="FILE", help="a text file: plain, .gz or .xz")
    parser.add_argument("--words", metavar="FILE", help="attribute words in JSON or TOML (default: assay's own list)")
    parser.add_argument("--eval", metavar="PATH", help="data of the model's task, to measure what debiasing costs")
    add_shared(parser, "--set")
    parser.add_argument("--out", required=True, metavar="DIR", help="a new folder for the model")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="seed for all random choices (0)")
    parser.add_argument("--device", default="auto", help="cpu, cuda or mps (default: the best available)")
    parser.add_argument("--dtype", default="auto", help="number type for training: bfloat16 (default on cuda), float32")
    parser.add_argument("--json", action="store_true", help="print assay.json instead of a summary")


def call(options: argparse.Namespace) -> int:
    from assay.lab.debiasing import debias
    from assay.lab.debiasing.method import EvaluateOn

    with shown_progress(True) as progress:
        evaluate = None
        if options.eval is not None:
            evaluate = EvaluateOn(Path(options.eval), options.device, options.seed, progress)
        same = {name: getattr(options, name) for name in ("corpus", "attribute", "words", "seed", "device", "dtype")}
        settings = settings_of(options.set)
        result = debias(
            options.method, options.model, options.out, settings=settings, evaluate=evaluate, progress=progress, **same
        )
    if options.json:
        write_json(result.report)
        return 0
    print(*summary(result.report), f"Model: hf:{result.folder}", sep="\n")
    return 0


def summary(report: Mapping[str, Any]) -> Iterator[str]:
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
        yield f"loss {first['loss']:.4f} at the start, {last['loss']:.4f} at the end"
        yield f"weights changed: encoder by {100 * changed['encoder']:.2g}%, head by {100 * changed['head']:.2g}%"
    if report["scores"] is None:
        yield "the cost was not measured; pass --eval PATH"
    else:
        for name, cost in report["scores"]["cost"].items():
            before, after = report["scores"]["before"][name], report["scores"]["after"][name]
            yield f"{name}: {before:.4f} before, {after:.4f} after; {_change(cost)}"
    for note in report.get("notes", ()):
        yield f"note: {note}"


def _change(cost: float) -> str:
    """
    >>> _change(0.005), _change(-0.005), _change(0.0)
    ('it fell by 0.0050', 'it rose by 0.0050', 'it did not change')
    """
    return f"it {'fell' if cost > 0 else 'rose'} by {abs(cost):.4f}" if cost else "it did not change"


def _probe_lines(report: Mapping[str, Any]) -> Iterator[str]:
    probe = report["probe"]
    if report["method"] == "inlp":
        accuracy = probe["accuracy"]
        rounds = len(accuracy) - 1
        yield (
            f"accuracy of a linear probe: {accuracy[0]:.3f} before, {accuracy[min(1, rounds)]:.3f} after round 1, "
            f"{accuracy[-1]:.3f} after round {rounds}; chance level {probe['majority']:.3f}"
        )
    for key, label in (("held_out", "on held-out sentences"), ("first_token", "from the first token alone")):
        yield "{label}: {before:.3f} before, {after:.3f} after; chance level {majority:.3f}".format(
            label=label, **probe[key]
        )
