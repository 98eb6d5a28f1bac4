"""How well the workers of a Ray cluster on this machine are used: UnQover, the built-in model, one thread each.

    python bench/scaling.py            20,000 questions, 1 and 2 workers: about four minutes on two free cores
    python bench/scaling.py --quick    fewer questions

Ray must be installed: pip install "assay-bias[ray]". For each number of workers the script prints the seconds until all
of them are ready, and then for one plan: wall time, the time that the model computed (summed over all blocks), the
efficiency, which is computing time / (wall time x workers), what a block costs besides computing, and the speed-up
against one worker. Blocks are stored as in a run. The scores must be the same bytes. With fewer free cores than workers
the efficiency says nothing: workers wait for the cores while they compute.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.asking.queries import QueryColumns
from assay.asking.tokens import Tokens
from assay.engine.ask import LiveAsk
from assay.engine.ray_executor import RayExecutor
from assay.engine.store import BlockStore
from assay.models import find_model, load_elsewhere
from assay.models.base import ModelSpec, Options
from assay.probes.unqover.lists import read_lists
from assay.probes.unqover.plan import UnqoverPlan


class Timed:
    """A model whose answers also say how long they took to compute."""

    def __init__(self, spec: ModelSpec) -> None:
        self.spec = spec
        self._model: Any = load_elsewhere(spec)

    def encode(self, columns: QueryColumns) -> Tokens:
        tokens: Tokens = self._model.encode(columns)
        return tokens

    def forward(self, tokens: Tokens) -> dict[str, NDArray[Any]]:
        began = time.perf_counter()
        answers = self._model.forward(tokens)
        seconds = (time.perf_counter() - began) / len(tokens)
        return {**answers, "seconds": np.full(len(tokens), seconds)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="ask fewer questions")
    parser.add_argument("--questions", type=int, default=20_000)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    plan = unqover("gender", 1024 if options.quick else options.questions)
    print(f"{len(plan):,} questions; {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    print("workers  ready after  wall time  computing  efficiency  besides, a block  against 1 worker")
    alone, scores = 0.0, []
    for workers in sorted({1, options.workers}):
        wall, found = measure(plan, workers, alone)
        alone = alone or wall
        scores.append(found)
    if not all(np.array_equal(scores[0], each) for each in scores):
        raise SystemExit("the scores differ")


def unqover(cls: str, questions: int) -> UnqoverPlan:
    lists = read_lists(cls, masked=False, header=False)
    return UnqoverPlan(cls, "span", lists.digest, cells=questions // 4, pronouns=False)


def measure(plan: UnqoverPlan, workers: int, alone: float) -> tuple[float, NDArray[np.float32]]:
    """Wall time and scores; `alone` is the wall time of one worker, 0 for that one itself."""
    spec = find_model("builtin", Options(threads=1))
    with tempfile.TemporaryDirectory() as place, RayExecutor(Timed, workers=workers) as executor:
        ask = LiveAsk(spec, BlockStore(Path(place)), executor)
        began = time.perf_counter()
        warm = 0
        while not warm or not all(worker.ready for worker in executor.pool):
            warm += 1
            ask(unqover("religion", 128 * warm), "until all are ready")
        ready, began = time.perf_counter() - began, time.perf_counter()
        answers = ask(plan, "gender")
        wall = time.perf_counter() - began
        blocks = len(ask.asked[-1].blocks)
    computing = float(answers["seconds"].sum())
    besides = (wall * workers - computing) / blocks
    print(
        f"{workers:7}  {ready:9.1f} s  {wall:7.1f} s  {computing:7.1f} s  {computing / (wall * workers):10.2f}"
        f"  {1000 * besides:13.0f} ms  {(alone or wall) / wall:14.2f}x"
    )
    return wall, answers["score"]


if __name__ == "__main__":
    main()
