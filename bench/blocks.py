"""How much work this machine does in a second, for the constants of `assay.engine.choose_block_size`.

    python bench/blocks.py            about two minutes on two cores
    python bench/blocks.py --quick    fewer questions

The built-in model and two random GPT-2s (6 layers, 384 wide, 8,000 tokens; 12 layers, 768 wide) answer questions
through the engine. The script prints questions per second, characters of a question, parameters times characters times
`READ` per second, the size of a block, and how long a block takes.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from assay.asking.plan import Plan, digest_of
from assay.asking.queries import TextColumns, TextQuery
from assay.engine.ask import LiveAsk
from assay.engine.choose_block_size import FIRST, READ, choose_block_size, mean_length
from assay.engine.executor import EngineSettings, LocalExecutor
from assay.engine.store import BlockStore
from assay.models import find_model, load
from assay.models.base import ModelSpec, Options
from assay.probes.unqover.lists import read_lists
from assay.probes.unqover.plan import UnqoverPlan
from sized import SIZES, ChoicePlan, questions, sized


class TextPlan(ChoicePlan):
    """Asks the same questions for a text of 32 tokens."""

    @property
    def digest(self) -> str:
        return digest_of(["text", super().digest])

    def columns(self, lo: int, hi: int) -> TextColumns:  # type: ignore[override]  # the questions are those of the other
        return TextColumns.of([TextQuery(f"{query.context} {query.question}", 32) for query in self.queries[lo:hi]])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="ask fewer questions")
    share = 4 if parser.parse_args().quick else 1
    with tempfile.TemporaryDirectory() as place:
        built_in = find_model("builtin")
        for form in ("span", "mask"):
            lists = read_lists("gender", masked=form == "mask", header=False)
            plan = UnqoverPlan("gender", form, lists.digest, cells=512 // share, pronouns=False)
            measure(built_in, plan, Path(place))
        measure(built_in, ChoicePlan(questions(512 // share)), Path(place))
        for size, asked in (("mini", 256), ("base", 64)):
            spec = find_model(f"hf:{sized(Path(place) / size, 'causal', SIZES[size])}", Options("cpu"))
            measure(spec, ChoicePlan(questions(asked // share)), Path(place))
            measure(spec, TextPlan(questions(asked // share), "text"), Path(place))


def measure(spec: ModelSpec, plan: Plan, place: Path) -> None:
    executor, store = LocalExecutor(load), BlockStore(place / "blocks")
    executor.model(spec)
    began = time.perf_counter()
    size = choose_block_size(spec, plan, store.arrays)
    LiveAsk(spec, store, executor, EngineSettings(block_size=size))(plan, plan.ability)
    rate = len(plan) / (time.perf_counter() - began)
    length = mean_length(plan.columns(0, min(FIRST, len(plan))))
    work = rate * (spec.parameters or 0) * length * READ.get(plan.ability, 1.0)
    asked = f"{plan.ability:6} {rate:6.1f} questions/s of {length:4.0f} characters"
    print(
        f"{(spec.parameters or 0) / 1e6:6.1f} M parameters, {asked}: {work:.1e} a second; "
        f"blocks of {size:,} take {size / rate:.1f} s",
        flush=True,
    )


if __name__ == "__main__":
    main()
