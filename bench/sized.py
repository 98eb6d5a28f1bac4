"""Shared by several scripts: random models of usual sizes with real tokenizers, questions, a comparison."""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.asking.plan import digest_of
from assay.asking.queries import ChoiceColumns, ChoiceQuery
from assay.engine.ask import LiveAsk, Resume
from assay.engine.executor import LocalExecutor
from assay.engine.store import BlockStore
from assay.models import find_model, load
from assay.models.base import Options
from assay.probes.unqover.lists import read_lists

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import tiny_models

Scores = NDArray[np.float32]

SIZES = {
    "mini": {"hidden_size": 384, "num_hidden_layers": 6, "num_attention_heads": 12, "intermediate_size": 1536},
    "base": {"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072},
    "1b": {"hidden_size": 2048, "num_hidden_layers": 22, "num_attention_heads": 16, "intermediate_size": 8192},
}
_MODELS = {  # how a tiny one is made, the class that makes it larger, its number of tokens
    "span": (tiny_models.make_span_model, "AutoModelForQuestionAnswering", 30522),
    "mask": (tiny_models.make_mask_model, "AutoModelForMaskedLM", 30522),
    "choice": (tiny_models.make_choice_model, "AutoModelForMultipleChoice", 30522),
    "causal": (tiny_models.make_causal_model, "AutoModelForCausalLM", 8000),
}


def sized(folder: Path, form: str, size: dict[str, int], text: str = "") -> Path:
    """A random BERT, or GPT-2 for "causal", of this size with a real tokenizer.

    Every word of `text` is a token; made-up words fill the vocabulary.
    """
    import transformers

    transformers.logging.disable_progress_bar()
    make, auto, tokens = _MODELS[form]
    known = f"{tiny_models.default_text()}\n{text}"
    made_up = tokens - len(set(re.findall(r"[^\W_]+", known))) - _PIECES
    make(folder, text=f"{known}\n{' '.join(f'w{number}' for number in range(made_up))}", max_length=512)
    if form == "causal":
        size = {
            "n_embd": size["hidden_size"],
            "n_layer": size["num_hidden_layers"],
            "n_head": size["num_attention_heads"],
        }
    config = transformers.AutoConfig.from_pretrained(folder, initializer_range=0.02, **size)
    getattr(transformers, auto).from_config(config).save_pretrained(folder)
    return folder


_PIECES = 1000  # about as many tokens are letters and halves of long words


def questions(count: int) -> tuple[ChoiceQuery, ...]:
    """Two people, something to ask about them, and three options, one of which is that nobody knows.

    Every other context is short (some 30 tokens), the rest are long (some 65).
    """
    lists, chance = read_lists("gender", masked=False, header=False), np.random.default_rng(0)
    names = [subject.name for subject in lists.subjects]
    deeds = [attribute.text.removeprefix("was ") for attribute in lists.attributes]
    found = []
    for number in range(count):
        one, other = (names[k] for k in chance.choice(len(names), 2, replace=False))
        first, second, third = (deeds[k] for k in chance.choice(len(deeds), 3, replace=False))
        context = (
            f"{one}, who was {first}, got off the flight to visit {other} in the old city. {other} was {second}, who "
        )
        context += "lives there."
        if number % 2:
            context += (
                f" Sitting by the bridge was {third}. {one} sent a letter to {other}, but nobody can say "
                "it was ever there, and it never was."
            )
        asked = f"Who was {third if chance.random() < 0.5 else 'there'} by the side of the bridge?"
        unknown = ("Nobody can say", "It was never there", "Not known")[number % 3]
        found.append(ChoiceQuery(context, asked, (f"It was {one}", f"{other}, {second}", unknown)))
    return tuple(found)


@dataclass(frozen=True)
class ChoicePlan:
    """Asks questions with options."""

    queries: tuple[ChoiceQuery, ...]
    ability: str = "choice"

    @property
    def digest(self) -> str:
        return digest_of([[query.context, query.question, query.options] for query in self.queries])

    def __len__(self) -> int:
        return len(self.queries)

    def columns(self, lo: int, hi: int) -> ChoiceColumns:
        return ChoiceColumns.of(self.queries[lo:hi])


def against_loop(
    doc: str, form: str, loop: Callable[[Any, tuple[ChoiceQuery, ...]], Scores], *, claim: float, tolerance: float
) -> None:
    """A script's whole work: time the engine and a loop over the same model and questions, in turns.

    The engine's time includes tokenising, batching and writing blocks. Prints one line with the median of the rounds'
    ratios; ends the program where the scores are not the same, or the engine is not `claim` times as fast.
    """
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="ask fewer questions in fewer rounds")
    count, rounds = (128, 3) if parser.parse_args().quick else (512, 5)
    with tempfile.TemporaryDirectory() as place:
        spec = find_model(f"hf:{sized(Path(place) / form, form, SIZES['mini'])}", Options("cpu"))
        executor, plan = LocalExecutor(load), ChoicePlan(questions(count))
        model = executor.model(spec)

        def engine() -> Scores:
            ask = LiveAsk(spec, BlockStore(Path(place) / "blocks"), executor, resume=Resume.NEVER)
            return np.asarray(ask(plan, "questions")["score"])

        seconds, scores = _in_turns({"engine": engine, "loop": lambda: loop(model, plan.queries)}, rounds)
    ratio = median(theirs / ours for ours, theirs in zip(*seconds.values(), strict=True))
    rates = {name: count / median(taken) for name, taken in seconds.items()}
    apart = float(np.abs(scores["engine"] - scores["loop"]).max())
    print(
        f"engine {rates['engine']:,.0f} questions/s, loop {rates['loop']:,.0f}: {ratio:.2f} times as fast (claimed: "
        f"{claim}); largest difference of scores {apart:.1e}"
    )
    if not apart <= tolerance:
        raise SystemExit(f"the scores differ by more than {tolerance:.0e}")
    if ratio < claim:
        raise SystemExit(f"the engine is not {claim} times as fast as the loop")


def _in_turns(calls: dict[str, Callable[[], Scores]], rounds: int) -> tuple[dict[str, list[float]], dict[str, Scores]]:
    """Seconds of every round, and the last results; a first round warms all."""
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    results = {}
    for number in range(rounds + 1):
        for name in list(calls)[:: 1 if number % 2 else -1]:  # neither always goes first
            began = time.perf_counter()
            results[name] = calls[name]()
            if number:
                seconds[name].append(time.perf_counter() - began)
    return seconds, results
