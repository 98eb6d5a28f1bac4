"""How fast this machine writes SODAPOP's distractors, and analyses a run of the paper's size.

    python bench/sodapop.py            about three minutes on two cores
    python bench/sodapop.py --quick    fewer masks, rounds, contexts and resamples

Distractors: a masked language model (the built-in one's weights in torch: 6 layers, 384 wide) fills the masks of a
three-word answer about a name of each of the paper's groups, to distance 3: through the engine (Algorithm 1 breadth-
first, with tokenising, batching and writing blocks), and in a loop over every eighth of the same masks, one at a time,
as the authors' program asks them. They take turns; the ratio is the median over rounds. The engine's fills must be the
likeliest of the loop's. Exit code 1 where the engine is not 6 times as fast.

Analysis: 220 names, 443 words, 50 contexts, with made-up counts in which every tenth word depends on the names' group:
SR, RD with intervals, adaptive permutation tests, and KMeans with its chance level, for 16 pairs of groups and 7
contrasts by gender or race, t-SNE and traits, in a separate process. Exit code 1 where it takes more than 60 s.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.asking.plan import AnyPlan, Arrays, Ask
from assay.asking.queries import MASK, Answers, FillColumns
from assay.engine.ask import LiveAsk, Resume
from assay.engine.executor import LocalExecutor
from assay.engine.store import BlockStore, columns_of
from assay.models import find_model, load
from assay.models.base import Options
from assay.models.builtin import write_builtin
from assay.probes.sodapop.analyse import AnalysisInputs, findings_of
from assay.probes.sodapop.contexts import starter_contexts
from assay.probes.sodapop.names import control_columns, frequencies, packaged_groups
from assay.probes.sodapop.plans import FillPlan
from assay.probes.sodapop.pools import grow
from assay.probes.sodapop.rates import SuccessRates
from assay.probes.sodapop.settings import SodapopSettings
from assay.probes.sodapop.split_words import split
from assay.probes.sodapop.traits import packaged_lexicon

TIMES_AS_FAST, SECONDS = 6.0, 60.0
WORDS, CONTEXTS = 443, 50
FILLS, EACH = 10, 8
"""Every so many masks one is asked in the loop."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer masks, rounds, contexts and resamples")
    quick: bool = parser.parse_args().quick
    failed = []
    process = multiprocessing.get_context("spawn").Process(target=analysis, args=(quick,))
    process.start()  # first: a process begins with the peak of the one that starts it, and torch would be in that
    process.join()
    if process.exitcode:
        failed.append(f"the analysis took more than {SECONDS:.0f} s, or failed")
    ratio = distractors(names=2 if quick else 8, rounds=1 if quick else 3)
    if ratio < TIMES_AS_FAST:
        failed.append(f"the engine is {ratio:.2f} times as fast as the loop, not {TIMES_AS_FAST:.0f}")
    if failed:
        raise SystemExit("; ".join(failed))


# --- distractors


@dataclass
class Recorded:
    """Asks, and remembers which masks were filled with what."""

    ask: LiveAsk
    filled: list[tuple[FillPlan, NDArray[np.int32]]] = field(default_factory=list)

    @property
    def abilities(self) -> frozenset[str]:
        return self.ask.abilities

    @property
    def ways(self) -> tuple[str, ...]:
        return self.ask.ways

    def of(self, model: str) -> Ask:
        return self.ask.of(model)

    def keep(self, arrays: Arrays) -> str:
        return self.ask.keep(arrays)

    def __call__(self, plan: AnyPlan, label: str) -> Answers:
        answers = self.ask(plan, label)
        if isinstance(plan, FillPlan):
            self.filled.append((plan, answers["token"]))
        return answers


def distractors(names: int, rounds: int) -> float:
    """How many times as fast as the loop the engine fills masks."""
    context = next(each for each in starter_contexts() if len(split(each.answer).words) == 3)
    people = tuple(group.names[0] for group in packaged_groups().groups)[:names]
    with tempfile.TemporaryDirectory() as place:
        spec = find_model(f"hf:{write_builtin(Path(place) / 'model', 'mask')}", Options("cpu"))
        executor = LocalExecutor(load)
        model: Any = executor.model(spec)

        def engine() -> tuple[float, Recorded]:
            ask = Recorded(LiveAsk(spec, BlockStore(Path(place) / "blocks"), executor, resume=Resume.NEVER))
            began = time.perf_counter()
            grow(ask, context, people, SodapopSettings(fills=FILLS, cap=10**6), "context", seed=0)
            return time.perf_counter() - began, ask

        _, recorded = engine()  # warm
        texts, tokens = _masks(recorded)
        some = slice(None, None, EACH)
        loop(model, texts[:8])  # warm
        rates: dict[str, list[float]] = {"engine": [], "loop": []}
        for _ in range(rounds):
            seconds, _ = engine()
            rates["engine"].append(len(texts) / seconds)
            began = time.perf_counter()
            probabilities = loop(model, texts[some])
            rates["loop"].append(len(texts[some]) / (time.perf_counter() - began))
    ratio: float = median(ours / theirs for ours, theirs in zip(*rates.values(), strict=True))
    ours, theirs = (median(found) for found in rates.values())
    best = -np.sort(-probabilities, axis=1)[:, :FILLS]
    apart = float(np.abs(np.take_along_axis(probabilities, tokens[some].astype(np.int64), axis=1) - best).max())
    print(
        f"distractors: {len(texts):,} masks of {len(people)} names; engine {ours:,.0f} masks/s, loop {theirs:,.0f}: "
        f"{ratio:.2f} times as fast (claimed: {TIMES_AS_FAST:.0f}); probabilities of fills differ by {apart:.1e}",
        flush=True,
    )
    if not apart <= 1e-5:
        raise SystemExit("the engine's fills are not the likeliest ones")
    return ratio


def _masks(recorded: Recorded) -> tuple[list[str], NDArray[np.int32]]:
    """Every masked text that was asked, and the tokens that the engine filled it with."""
    texts = []
    for plan, _ in recorded.filled:
        columns = columns_of(plan, recorded.ask.store.arrays, 0, len(plan))
        assert isinstance(columns, FillColumns)
        texts += [columns.row(row).text for row in range(len(plan))]
    return texts, np.concatenate([tokens for _, tokens in recorded.filled])


def loop(model: Any, texts: list[str]) -> NDArray[np.float32]:
    """What people write: tokenizer call, forward, softmax at the mask; one text at a time (text, token)."""
    import torch

    tokenizer, network = model._tokenizer, model._model
    found = []
    with torch.inference_mode():
        for text in texts:
            inputs = tokenizer(text.replace(MASK, tokenizer.mask_token), return_tensors="pt")
            place = inputs["input_ids"][0].tolist().index(tokenizer.mask_token_id)
            probabilities = network(**inputs).logits[0, place].softmax(-1)
            probabilities.topk(FILLS)
            found.append(probabilities.numpy())
    return np.stack(found)


# --- analysis


def analysis(quick: bool) -> None:
    contexts, settings = (10, SodapopSettings(resamples=100)) if quick else (CONTEXTS, SodapopSettings())
    rates = made_up(contexts)
    chance = np.random.default_rng(1)
    controls = control_columns(rates.names, chance.integers(1, 4, len(rates.names)).astype(np.int32), frequencies())
    study = AnalysisInputs(packaged_groups(), settings, packaged_lexicon(), (), controls)
    before, began, cpu = peak(), time.perf_counter(), time.process_time()
    findings = findings_of(rates, study)
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    rows = list(findings.tables["words"].records())
    contrasts = len({(row["group_a"], row["group_b"]) for row in rows})
    many = sum(isinstance(row["p"], float) and row["p"] < 0.02 for row in rows)
    print(
        f"analysis: {len(rates.names)} names, {len(rates.words)} words, {contexts} contexts, {contrasts} contrasts, "
        f"{settings.resamples:,} resamples, {settings.permutations:,} permutations for {many:,} of {len(rows):,} rows: "
        f"{seconds:.1f} s ({cpu:.1f} s of CPU; claimed: {SECONDS:.0f}), peak {peak():,.0f} MiB ({before:,.0f} before)",
        flush=True,
    )
    if seconds > SECONDS:
        raise SystemExit(1)


def made_up(contexts: int) -> SuccessRates:
    """Counts as a run of the paper's size has them; every tenth word wins more often for some groups' names."""
    groups, chance = packaged_groups(), np.random.default_rng(0)
    names = groups.all_names()
    of_group = np.repeat(np.arange(len(groups.groups)), [len(group.names) for group in groups.groups])
    effect = chance.normal(0.0, 0.02, (len(groups.groups), WORDS)) * (np.arange(WORDS) % 10 == 0)
    rate = chance.uniform(0.1, 0.5, WORDS) + effect[of_group] + chance.normal(0.0, 0.01, (len(names), WORDS))
    counts = chance.poisson(40, (contexts, len(names), WORDS))
    won = chance.binomial(counts, np.clip(rate, 0, 1))
    letters = [f"{first}{second}" for first in "abcdefghijklmnopqrstuvwxyz" for second in "abcdefghijklmnopqrstuvwxyz"]
    blind = chance.binomial(counts, np.clip(rate.mean(axis=0), 0, 1))
    return SuccessRates(names, tuple(letters[:WORDS]), *(each.astype(np.float64) for each in (won, counts, blind)))


def peak() -> float:
    """The greatest memory of this process so far in MiB."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # bytes on macOS, KiB elsewhere
    return most / (2**20 if sys.platform == "darwin" else 2**10)


if __name__ == "__main__":
    main()
