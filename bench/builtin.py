"""How fast the built-in model answers on this machine, compared with the same weights in torch.

    python bench/builtin.py            about eight minutes on two cores
    python bench/builtin.py --quick    fewer questions and rounds
    python bench/builtin.py --threads 1

onnxruntime (the built-in model) and torch (an hf: model from `write_builtin`) answer the same batches with the same
number of threads, in turns: questions of UnQover's quick preset, as spans and as masks, and multiple-choice questions
made up here, of a usual length. Rates are sequences per second, medians over the rounds. Ratios are medians, too, each
within one round; they matter most, since they do not depend on the machine's speed. The script also prints how long
each takes in a fresh process until its first answer, and the largest difference of the scores.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from assay.asking.queries import ChoiceColumns, QueryColumns, StringColumn
from assay.engine.ask import LiveAsk
from assay.engine.executor import EngineSettings, LocalExecutor, batches
from assay.engine.store import BlockStore
from assay.models import find_model, load
from assay.models.base import ModelSpec, Options
from assay.models.builtin import Head, usable_cpus, write_builtin
from assay.probes import method_of
from assay.probes.base import Request
from assay.probes.unqover.method import UnqoverPrepared
from assay.probes.unqover.plan import ClassForm

HEADS: tuple[Head, ...] = ("span", "mask", "choice")

FIRST_ANSWER = """
import sys, time
began = time.perf_counter()
import assay, numpy as np
from assay.asking.queries import *
model = assay.load_model(sys.argv[1], device="cpu")
text, zero = Texts.of(["Ann sang."]), np.zeros((1, 1, 1), np.int32)
asked = {
    "span": SpanColumns(text, text, zero, zero + 3),
    "mask": FillColumns(text, Texts.of([f"{MASK} sang."])),
    "choice": ChoiceColumns(text, text, ["Yes.", "No."], np.array([[0, 1]], np.int32)),
}
model.forward(model.encode(asked[sys.argv[2]]))
print(time.perf_counter() - began)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="ask fewer questions in fewer rounds")
    parser.add_argument("--threads", type=int, default=usable_cpus())
    options = parser.parse_args()
    questions, rounds = (256, 3) if options.quick else (768, 7)
    builtin = find_model("builtin", Options(threads=options.threads))
    print(f"{options.threads} threads, {questions} questions, {rounds} rounds; sequences per second")
    print(f"  {'':8}{'built-in':>10}{'torch':>10}{'ratio':>8}   largest difference of scores")
    loading = {f"built-in, {head}": load_seconds("builtin", head) for head in HEADS}
    with tempfile.TemporaryDirectory() as place:
        for head in HEADS:
            folder = write_builtin(Path(place) / head, head)
            torch = find_model(f"hf:{folder}", Options("cpu"))
            measure(head, {"built-in": builtin, "torch": torch}, questions, rounds, options.threads)
            loading[f"torch, {head}"] = load_seconds(torch.name, head)
    print("seconds until the first answer in a fresh process, imports included")
    for name, seconds in loading.items():
        print(f"  {name:16}{seconds:6.2f}")


def measure(head: Head, specs: dict[str, ModelSpec], questions: int, rounds: int, threads: int) -> None:
    import torch

    torch.set_num_threads(threads)
    models: dict[str, Any] = {name: load(spec) for name, spec in specs.items()}
    columns = choices(questions) if head == "choice" else unqover(head, specs["built-in"])
    rows = np.linspace(0, len(columns) - 1, questions).astype(np.int64)
    tokens = {name: model.encode(columns).take(rows) for name, model in models.items()}
    one, other = tokens.values()
    if not np.array_equal(one.ids, other.ids):
        raise SystemExit("the models do not read the same tokens")
    groups = batches(one.lengths, EngineSettings().budget_for(specs["built-in"]))
    parts = {name: [each.take(group) for group in groups] for name, each in tokens.items()}
    sequences = questions * (one.marks["parts"].shape[1] - 1 if head == "choice" else 1)
    rates: dict[str, list[float]] = {name: [] for name in models}
    scores: dict[str, Any] = {}
    for number in range(rounds + 1):
        seconds = dict.fromkeys(models, 0.0)
        for batch in range(len(groups)):
            for name in list(models)[:: 1 if (number + batch) % 2 else -1]:  # neither always goes first
                began = time.perf_counter()
                scores[name] = models[name].forward(parts[name][batch])["score"]
                seconds[name] += time.perf_counter() - began
            apart = float(np.abs(scores["built-in"] - scores["torch"]).max())
            scores["apart"] = max(apart, scores.get("apart", 0.0))
        if number:  # the first round warms both
            for name in models:
                rates[name].append(sequences / seconds[name])
    ratio = median(ours / theirs for ours, theirs in zip(*rates.values(), strict=True))
    ours, theirs = (median(found) for found in rates.values())
    print(f"  {head:8}{ours:10,.0f}{theirs:10,.0f}{ratio:8.2f}   {scores['apart']:.1e}", flush=True)


def unqover(form: str, spec: ModelSpec) -> QueryColumns:
    """What UnQover's quick preset asks about gender."""
    with tempfile.TemporaryDirectory() as place:
        ask = LiveAsk(spec, BlockStore(Path(place)), LocalExecutor(load))
        prepared: UnqoverPrepared = method_of("unqover").prepare(Request("quick"), ask)
    plan = prepared.plans[ClassForm("gender", form)]
    return plan.columns(0, len(plan))


def choices(questions: int) -> ChoiceColumns:
    """Two people, what each did, a question and three options: 40 to 90 tokens."""
    chance = np.random.default_rng(0)
    people = ["the gardener", "my old neighbour", "a tall visitor", "the youngest cousin", "our new colleague"]
    deeds = [
        "had left a wet umbrella on the kitchen table before supper",
        "was looking for a lost key behind the curtains",
        "asked twice whether the last bus to the coast had gone already",
        "wrote a short letter and forgot to put a stamp on it",
    ]
    contexts, options = [], []
    for _ in range(questions):
        first, second = chance.choice(len(people), 2, replace=False).tolist()
        told = [deeds[deed] for deed in chance.integers(0, len(deeds), chance.integers(2, 5)).tolist()]
        people_here = [people[first], people[second]]
        contexts.append(" ".join(f"On Sunday {people_here[k % 2]} {deed}." for k, deed in enumerate(told)))
        options.append([first, second, len(people)])
    asked = [f"Who {deeds[deed]}?" for deed in chance.integers(0, len(deeds), questions).tolist()]
    texts = [*people, "Nothing in the story tells us"]
    return ChoiceColumns(StringColumn.of(contexts), StringColumn.of(asked), texts, np.array(options, np.int32))


def load_seconds(name: str, head: Head) -> float:
    """The median of three."""
    times = []
    for _ in range(3):
        done = subprocess.run(
            [sys.executable, "-c", FIRST_ANSWER, name, head], capture_output=True, text=True, check=True
        )
        times.append(float(done.stdout))
    return median(times)


if __name__ == "__main__":
    main()
