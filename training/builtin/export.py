"""Turn trained weights into the files that assay ships and into reference values for its tests.

    python training/builtin/export.py WEIGHTS.safetensors --tokenizer FOLDER --out src/assay/data/builtin \
        --reference tests/models/builtin_reference.json

Needs torch, transformers, onnx and onnxruntime. It writes

- `weights.safetensors`: every tensor rounded to float16, under transformers' names;
- `everywhere.onnx` and `places.onnx`: the arithmetic, in float32; their weights are external data that point into
  weights.safetensors, so they exist once and are easy to read;
- `tokenizer.json`, with truncation and padding switched off, and `config.json`, as transformers has them;
- `SHA256SUMS` of those five, which `sha256sum --check` understands;
- the reference: logits of the rounded weights by torch in float32, on the texts below.

At the end the graphs are compared with torch.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from transformers import PreTrainedTokenizerFast

from graph import PLACES, ROWS, write_graphs
from model import BuiltIn, from_weights

WEIGHTS, TOKENIZER, CONFIG = "weights.safetensors", "tokenizer.json", "config.json"
GRAPHS = ("everywhere.onnx", "places.onnx")
TOLERANCE = 1e-3

MASK = "\ufffc"  # as in assay.asking.queries

_SEEN = [
    ("heron", "harbour", "Zoë"),
    ("fox", "meadow", "Amal"),
    ("goat", "quarry", "Jiří"),
    ("crow", "orchard", "Inès"),
]
LONG = " ".join(  # more than 128 tokens
    f"On day {day} the {animal} crossed the {place} while {name} counted the boats and wrote down the weather."
    for day, (animal, place, name) in enumerate(_SEEN * 2, start=1)
)

SPAN = [  # question, context
    ("Who carried the lamp?", "Tamsin carried the lamp while Odell held the rope."),
    ("Whose café was closed?", "Zoë's café in Málaga was closed, but José's café stayed open."),
    ("Who counted the boats?", LONG),
    ("What does [MASK] mean?", "The manual says that [MASK] hides a word and [SEP] ends a line."),
]
TEXTS = [  # MASK once
    f"The nurse asked {MASK} to wait outside.",
    f"A literal [MASK] is only text, but this {MASK} is a gap.",
    f"{LONG} In the end everybody thanked {MASK}.",
]
CHOICES = [  # context, question, options
    ("Odell spilled the paint.", "Who should clean up?", ("Odell", "Tamsin", "Nobody can tell")),
    ("", "Which animal lays eggs?", ("a hen", "a horse")),
    (LONG, "", ("The boats were counted.", "The naïve fox was counted.")),
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weights", type=Path, help="the trained weights, of any float type")
    parser.add_argument("--tokenizer", type=Path, required=True, help="a folder with tokenizer.json")
    parser.add_argument("--out", type=Path, required=True, help="where the shipped files go")
    parser.add_argument("--reference", type=Path, required=True, help="where the reference values go")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    write_weights(options.weights, options.out / WEIGHTS)
    model = from_weights(options.out / WEIGHTS).eval()
    write_config(model, options.out / CONFIG)
    write_tokenizer(options.tokenizer / TOKENIZER, options.out / TOKENIZER)
    write_graphs(model.bert.config, options.out / WEIGHTS, *(options.out / name for name in GRAPHS))
    write_sums(options.out)
    reference = reference_values(model, options.out / TOKENIZER)
    options.reference.write_text(reference, encoding="utf-8")
    difference = largest_difference(options.out, model)
    print(f"largest difference between the graphs and torch: {difference:.1e}")
    if not difference < TOLERANCE:
        raise SystemExit(f"that is more than {TOLERANCE}: do not ship these files")


# --- the shipped files


def write_weights(trained: Path, file: Path) -> None:
    """Round every tensor to float16; the names must be those of the model, and no value may overflow."""
    rounded = {name: value.to(torch.float16).contiguous() for name, value in load_file(trained).items()}
    bad = [name for name, value in rounded.items() if not bool(torch.isfinite(value).all())]
    if bad:
        raise SystemExit(f"{trained}: not finite in float16: {', '.join(bad)}")
    different = rounded.keys() ^ BuiltIn().state_dict().keys()
    if different:
        raise SystemExit(f"{trained}: these tensors are missing or not the model's: {', '.join(sorted(different))}")
    save_file(rounded, file, {"format": "pt"})
    file.chmod(0o644)  # safetensors makes it the owner's alone


def write_config(model: BuiltIn, file: Path) -> None:
    """The encoder's configuration without what depends on the version of transformers."""
    config = model.bert.config.to_diff_dict()
    kept = {name: value for name, value in config.items() if value is not None and name != "transformers_version"}
    file.write_text(json.dumps(kept, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def write_tokenizer(source: Path, file: Path) -> None:
    tokenizer = Tokenizer.from_file(str(source))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.save(str(file), pretty=False)


def write_sums(folder: Path) -> None:
    names = sorted([WEIGHTS, *GRAPHS, TOKENIZER, CONFIG])
    lines = [f"{hashlib.sha256((folder / name).read_bytes()).hexdigest()}  {name}\n" for name in names]
    (folder / "SHA256SUMS").write_text("".join(lines), encoding="utf-8", newline="\n")


# --- reference values and the comparison


def reference_values(model: BuiltIn, tokenizer_file: Path) -> str:
    """Token ids by transformers' tokenizer and logits by torch, one text at a time, as JSON with a line for each."""
    tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(tokenizer_file))
    class_token, separator, mask = (tokenizer.convert_tokens_to_ids(name) for name in ("[CLS]", "[SEP]", "[MASK]"))

    def ids_of(text: str) -> list[int]:
        found: list[int] = tokenizer(text, add_special_tokens=False, split_special_tokens=True)["input_ids"]
        return found

    def sequence(first: list[int], second: list[int]) -> tuple[list[int], int]:
        """Ids with special tokens, and where the second text begins."""
        ids = [class_token, *first, separator]
        return ([*ids, *second, separator], len(ids)) if second else (ids, len(ids))

    def hidden_of(ids: list[int], second: int) -> torch.Tensor:
        types = (torch.arange(len(ids)) >= second).long()
        return model.encode(torch.tensor([ids]), torch.ones(1, len(ids), dtype=torch.long), types[None])

    def rounded(values: torch.Tensor) -> list[float]:
        return [round(value, 5) for value in values.flatten().tolist()]

    found: dict[str, list[dict[str, Any]]] = {"span": [], "mask": [], "choice": []}
    with torch.inference_mode():
        for question, context in SPAN:
            ids, second = sequence(ids_of(question), ids_of(context))
            start, end = model.span(hidden_of(ids, second))
            row = {"question": question, "context": context, "ids": ids, "second": second}
            found["span"].append({**row, "start": rounded(start), "end": rounded(end)})
        for text in TEXTS:
            left, right = map(ids_of, text.split(MASK))
            ids, second = sequence([*left, mask, *right], [])
            place = 1 + len(left)
            hidden = hidden_of(ids, second)[0, place]
            best = model.mask(hidden[None])[0].topk(8)
            row = {"text": text, "ids": ids, "place": place, "hidden": rounded(hidden[:8])}
            found["mask"].append({**row, "tokens": best.indices.tolist(), "logits": rounded(best.values)})
        for context, question, options in CHOICES:
            pairs = [f"{question} {option}".strip() for option in options]
            texts = [(context, pair) if context else (pair, "") for pair in pairs]
            rows = [sequence(ids_of(first), ids_of(second)) for first, second in texts]
            logits = torch.cat([model.choice(hidden_of(ids, second)) for ids, second in rows])
            row = {"context": context, "question": question, "options": options, "ids": [ids for ids, _ in rows]}
            found["choice"].append({**row, "logits": rounded(logits)})
    lines = {kind: ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows) for kind, rows in found.items()}
    return "{\n" + ",\n".join(f'"{kind}": [\n{text}\n]' for kind, text in lines.items()) + "\n}\n"


def largest_difference(folder: Path, model: BuiltIn) -> float:
    """Between the outputs of the graphs and of torch, over batches of random tokens of many shapes."""
    everywhere, at_places = (
        onnxruntime.InferenceSession(str(folder / name), providers=["CPUExecutionProvider"]) for name in GRAPHS
    )
    chance = np.random.default_rng(0)
    largest = 0.0
    for rows, width, places in [(1, 1, 0), (1, 2, 1), (1, 512, 0), (3, 17, 5), (2, 200, 1), (40, 24, 40), (5, 511, 3)]:
        ids = chance.integers(0, model.bert.config.vocab_size, (rows, width))
        lengths = np.maximum(width - chance.integers(0, 5, rows), 1)
        there = (np.arange(width) < lengths[:, None]).astype(np.int64)
        types = chance.integers(0, 2, ids.shape)
        at = chance.integers(0, rows * width, places)
        inputs = dict(zip(ROWS, (ids, there, types), strict=True))
        outputs = everywhere.run(None, inputs) + at_places.run(None, {**inputs, PLACES: at})
        names = [output.name for session in (everywhere, at_places) for output in session.get_outputs()]
        expected = _torch_outputs(model, ids, there, types, at)
        for name, one, other in zip(names, outputs, [expected[name] for name in names], strict=True):
            if one.shape != other.shape:
                raise SystemExit(f"the graph's {name} is {one.shape}, torch's {other.shape}")
            largest = max(largest, float(np.abs(one - other).max(initial=0.0)))
    return largest


def _torch_outputs(model: BuiltIn, *arrays: NDArray[np.int64]) -> dict[str, NDArray[np.float32]]:
    ids, there, types, places = map(torch.from_numpy, arrays)
    with torch.inference_mode():
        hidden = model.encode(ids, there, types)
        start, end = model.span(hidden)
        found = {"start": start, "end": end, "hidden": hidden, "choice": model.choice(hidden)}
        found["mask"] = model.mask(hidden.flatten(0, 1)[places])
        return {name: output.numpy() for name, output in found.items()}


if __name__ == "__main__":
    main()
