"""Train the built-in model: one command, some minutes on one H200.

    python training/builtin/train.py --data DIR --base DIR --out DIR [--set name=value …]

Each of the three stages is kept in OUT, so a second call continues where the first one ended. It may change settings
that only later stages use:

1. read: the base encoder learns from more text (masked words of prose and of short sentences).
2. teach: several copies of it learn one task each; together they judge all training questions.
3. learn: the encoder learns everything at once; its targets are the truth and the teachers' judgement.

OUT/weights.safetensors is the result, OUT/log.jsonl the log. Only the train and the validation part of
the data are looked at; `evaluate.py` has the test.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import platform
import time
from collections.abc import Callable
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from data import Data, read
from evaluate import figures
from model import BuiltIn, from_weights
from recipe import Recipe
from stages import Trainer

STAGES = {"read": "read.safetensors", "teach": "judged.safetensors", "learn": "weights.safetensors"}
LOG = "log.jsonl"

_BASE = ("model.safetensors", "tokenizer.json")
_LIBRARIES = ("torch", "transformers", "tokenizers", "safetensors", "numpy")
_OTHERWISE = "Delete it, or choose another folder for --out."

Tensors = dict[str, Tensor]


def train(data: Data, base: Path, out: Path, recipe: Recipe) -> None:
    """All stages; those that are in the folder already are not repeated."""
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    files = {"data": data.digests, "base": {name: _sha256(base / name) for name in _BASE}}
    _check_kept(out, recipe, files)
    out.mkdir(parents=True, exist_ok=True)
    began = time.perf_counter()

    def log(**entry: Any) -> None:
        line = json.dumps({"at": round(time.perf_counter() - began, 1), **entry})
        print(line, flush=True)
        with (out / LOG).open("a", encoding="utf-8") as file:
            file.write(line + "\n")

    def kept(stage: str, make: Callable[[], Tensors]) -> Path:
        """The file of a stage, which is made unless it is there; half a file never has its name."""
        file = out / STAGES[stage]
        if file.exists():
            log(kept=file.name, sha256=_sha256(file))
            return file
        unfinished = file.with_suffix(".part")
        save_file(make(), unfinished)
        log(made=file.name, sha256=_sha256(unfinished))
        unfinished.replace(file)
        return file

    log(recipe=asdict(recipe), **files, **_surroundings(device))
    trainer = Trainer(data, recipe, device, log)
    encoder_file = kept("read", lambda: _halves(trainer.read(base)))
    encoder = from_weights(encoder_file, dropout=recipe.dropout).to(device)
    judged_file = kept("teach", lambda: {name: value.half() for name, value in trainer.teach(encoder).items()})
    judged = {name: value.float() for name, value in load_file(judged_file).items()}
    weights_file = kept("learn", lambda: _halves(trainer.learn(encoder, judged)))
    log(stage="done", validation=figures(from_weights(weights_file).to(device), data, "validation"))


def _check_kept(out: Path, recipe: Recipe, files: dict[str, dict[str, str]]) -> None:
    """What the folder keeps must be what this call would make, or its stages would not fit each other."""
    lines = (out / LOG).read_text(encoding="utf-8").splitlines() if (out / LOG).exists() else []
    begun: dict[str, Any] = {}
    made: dict[str, dict[str, Any]] = {}  # what the log says of the call that made a file
    for entry in map(json.loads, lines):
        begun = entry if "recipe" in entry else begun
        if "made" in entry:
            made[entry["made"]] = begun
    for stage, name in STAGES.items():
        if not (out / name).exists():
            continue
        if name not in made:
            raise SystemExit(f"{out / name}: {LOG} does not say how it was made. {_OTHERWISE}")
        inputs: dict[str, dict[str, Any]] = {"recipe": recipe.until(stage), **files}
        for what, key in ((what, key) for what, now in inputs.items() for key in now):
            before, now = made[name][what][key], inputs[what][key]
            if before != now:
                difference = f"the {what}'s {key} was {before} when this was made, and is {now} now"
                raise SystemExit(f"{out / name}: {difference}. {_OTHERWISE}")


def _surroundings(device: torch.device) -> dict[str, Any]:
    """What else decides the last digits: versions and the machine."""
    versions = {name: import_module(name).__version__ for name in _LIBRARIES} | {"python": platform.python_version()}
    if device.type == "cpu":
        return {"versions": versions, "machine": platform.machine()}
    return {"versions": versions | {"cuda": torch.version.cuda}, "machine": torch.cuda.get_device_name()}


def _halves(model: BuiltIn) -> Tensors:
    return {name: value.detach().half().cpu().contiguous() for name, value in model.state_dict().items()}


def _sha256(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder with socialiqa/, qamr/ and text/")
    parser.add_argument("--base", type=Path, required=True, help="the folder that base.py wrote")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="change the recipe")
    arguments = parser.parse_args()
    try:
        recipe = Recipe().changed(arguments.set)
    except ValueError as wrong:
        parser.error(f"--set: {wrong}")
    train(read(arguments.data, arguments.base / "tokenizer.json"), arguments.base, arguments.out, recipe)


if __name__ == "__main__":
    main()
