"""How fast the engine asks UnQover's questions on this machine, compared with two usual loops over the same questions.

    python bench/speed.py            about four minutes on two cores
    python bench/speed.py --quick    fewer questions
    python bench/speed.py --size base --questions 400000 --device cuda --dtype bfloat16

A random BERT of MiniLM's size (6 layers, 384 wide; `--size base`: 12 layers, 768 wide) answers the same sample of
questions about gender four times: through the engine (tokenising, batching and writing blocks included), in a loop of
one question at a time, in a loop of 64 padded to 64 tokens, and through the engine again, to see how steady this
machine is. Span questions come first, then masked sentences. The scores must agree to 1e-5. Compare the ratios; the
rates depend on the machine.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.asking.queries import MASK, MaskQuery, SpanQuery
from assay.engine.ask import LiveAsk, Resume
from assay.engine.executor import LocalExecutor
from assay.engine.store import BlockStore
from assay.models import find_model, load
from assay.models.base import Options
from assay.probes.unqover.lists import read_lists
from assay.probes.unqover.plan import UnqoverPlan
from sized import SIZES, sized

Scores = NDArray[np.float32]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="ask fewer questions")
    parser.add_argument("--questions", type=int, default=4096)
    parser.add_argument("--size", choices=SIZES, default="mini", help="the model's size")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--dtype", default="auto")
    options = parser.parse_args()
    questions = 1024 if options.quick else options.questions
    with tempfile.TemporaryDirectory() as place:
        for form in ("span", "mask"):
            folder = sized(Path(place) / form, form, SIZES[options.size])
            measure(form, folder, questions, Options(options.device, options.dtype), Path(place))


def measure(form: str, folder: Path, questions: int, options: Options, place: Path) -> None:
    lists = read_lists("gender", masked=form == "mask", header=False)
    plan = UnqoverPlan("gender", form, lists.digest, cells=questions // 4, pronouns=False)
    spec = find_model(f"hf:{folder}", options)
    executor = LocalExecutor(load)
    model: Any = executor.model(spec)

    def engine() -> Scores:
        ask = LiveAsk(spec, BlockStore(place / "blocks"), executor, resume=Resume.NEVER)
        return np.asarray(ask(plan, form)["score"])

    columns = plan.columns(0, len(plan))
    queries = [columns.row(row) for row in range(len(plan))]
    stride = max(1, len(queries) // 512)
    few, some = queries[::stride], queries[:16384]
    loops: dict[str, tuple[Callable[[], Scores], int]] = {
        "engine": (engine, len(queries)),
        "one at a time": (lambda: loop(model, few, 1, None), len(few)),
        "64, padded to 64": (lambda: loop(model, some, 64, 64), len(some)),
        "engine again": (engine, len(queries)),
    }
    rates, scores = {}, {}
    engine()  # warm: the first batches of a process are slow in every loop
    for name, (call, count) in loops.items():
        began = time.perf_counter()
        scores[name] = call()
        rates[name] = count / (time.perf_counter() - began)
    fastest = rates["engine"]
    print(f"{form}: {len(queries):,} questions, {spec.device} {spec.dtype}")
    for name, rate in rates.items():
        print(f"  {name:18} {rate:9,.0f} questions/s   engine is {fastest / rate:5.2f} times as fast")
    difference = max(
        float(np.abs(scores["engine"][: len(some)] - scores["64, padded to 64"]).max()),
        float(np.abs(scores["engine"][::stride] - scores["one at a time"]).max()),
    )
    print(f"  largest difference of scores: {difference:.1e}")
    if difference > 1e-5 and spec.dtype == "float32":
        raise SystemExit("the scores differ by more than 1e-5")


def loop(model: Any, queries: list[Any], size: int, width: int | None) -> Scores:
    """What people write: tokenizer call, forward, softmax, pick; `size` at a time, padded to `width`."""
    import torch

    tokenizer, network = model.encoder.tokeniser.tokenizer, model._model
    results = []
    with torch.inference_mode():
        for lo in range(0, len(queries), size):
            batch = queries[lo : lo + size]
            padding: Any = "max_length" if width else True
            if isinstance(batch[0], SpanQuery):
                texts: tuple[list[str], ...] = [query.question for query in batch], [query.context for query in batch]
            else:
                texts = ([query.text.replace(MASK, tokenizer.mask_token) for query in batch],)
            inputs = tokenizer(*texts, padding=padding, max_length=width, return_tensors="pt")
            outputs = network(**inputs.to(network.device))
            for row, query in enumerate(batch):
                results.append(pick(tokenizer, inputs, outputs, row, query))
    return np.array(results, np.float32)


def pick(tokenizer: Any, inputs: Any, outputs: Any, row: int, query: SpanQuery | MaskQuery) -> list[float]:
    if isinstance(query, MaskQuery):
        place = inputs["input_ids"][row].tolist().index(tokenizer.mask_token_id)
        probabilities = outputs.logits[row, place].softmax(-1)
        return [float(probabilities[tokenizer.convert_tokens_to_ids(word.lower())]) for word in query.subjects]
    there = inputs["attention_mask"][row].bool()
    start = outputs.start_logits[row][there].softmax(-1)
    end = outputs.end_logits[row][there].softmax(-1)
    scores = []
    for lo, hi in query.subjects:
        first, last = inputs.char_to_token(row, lo, 1), inputs.char_to_token(row, hi - 1, 1)
        scores.append(float((start[first] * end[last]).sqrt()))
    return scores


if __name__ == "__main__":
    main()
