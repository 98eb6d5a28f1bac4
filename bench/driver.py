"""What a run's driver does for each question while workers compute: plans it, checks it, stores its answer.

    python bench/driver.py            a few seconds

UnQover's questions about gender in blocks of 16,384, with made-up answers. Prints microseconds a question and how many
GPUs one core could feed that answer RATE questions per second each (docs/measurements.md, speed on a GPU).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from assay.asking.queries import Answers
from assay.engine.choose_block_size import MOST
from assay.engine.executor import ComputedBlock
from assay.engine.store import BlockStore
from assay.probes.unqover.lists import read_lists
from assay.probes.unqover.plan import UnqoverPlan

BLOCKS, RATE = 20, 80_000


def main() -> None:
    lists = read_lists("gender", masked=False, header=False)
    plan = UnqoverPlan("gender", "span", lists.digest, pronouns=False)
    starts = [round(turn * (len(plan) - MOST) / BLOCKS) for turn in range(BLOCKS)]
    answers = Answers(np.zeros(MOST, np.uint8), {"score": np.random.default_rng(0).random((MOST, 2), np.float32)})
    total = 0.0

    def timed(name: str, work: Callable[[], Any]) -> Any:
        nonlocal total
        began = time.perf_counter()
        result = work()
        each = (time.perf_counter() - began) / BLOCKS / MOST * 1e6
        total += each
        print(f"{name:8} {each:6.3f} µs a question")
        return result

    with TemporaryDirectory(prefix="assay-bench-") as folder:
        store = BlockStore(Path(folder))
        columns = timed("planned", lambda: [plan.columns(lo, lo + MOST) for lo in starts])
        digests = timed("checked", lambda: [each.digest() for each in columns])
        blocks = [ComputedBlock(lo, lo + MOST, digest, answers, 0) for lo, digest in zip(starts, digests, strict=True)]
        timed("stored", lambda: [store.write("key", block) for block in blocks])
        size = sum(path.stat().st_size for path in Path(folder).rglob("*.block")) / BLOCKS / MOST
    print(
        f"one core: {1e6 / total:,.0f} questions/s, {1e6 / total / RATE:.0f} GPUs; {size:.1f} bytes a question stored"
    )


if __name__ == "__main__":
    main()
