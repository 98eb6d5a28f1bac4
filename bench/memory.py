"""How much memory UnQover's full gender set takes (5,488,000 questions), in addition to the model's.

    python bench/memory.py            about a minute on two cores
    python bench/memory.py --quick    a tenth of the comparisons

A stand-in for the model gives made-up scores at once, so the memory measured is assay's own.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.asking.queries import QueryColumns, WordColumns
from assay.asking.tokens import Tokens
from assay.engine.ask import LiveAsk
from assay.engine.executor import LocalExecutor
from assay.engine.store import BlockStore
from assay.models.base import ModelSpec
from assay.probes import method_of
from assay.probes.base import Request

SPEC = ModelSpec("stand-in", "none", "", "0", frozenset({"span", "word"}), "cpu", "float32")


class StandIn:
    """Scores drawn from the questions' own numbers: the same for the same block, at no cost."""

    spec = SPEC

    def encode(self, columns: QueryColumns) -> Tokens:
        rows = len(columns)
        marks: dict[str, NDArray[Any]] = {}
        if isinstance(columns, WordColumns):
            marks = {"pieces": np.ones(rows, np.int32), "key": np.arange(rows, dtype=np.uint64)}
        offsets = np.arange(rows + 1, dtype=np.int64)
        return Tokens(columns.ability, np.zeros(rows, np.int32), offsets, np.zeros(rows, np.int32), marks)

    def forward(self, tokens: Tokens) -> dict[str, NDArray[Any]]:
        if tokens.ability == "word":
            return dict(tokens.marks)
        rng = np.random.default_rng(len(tokens))
        return {"score": rng.random((len(tokens), 2), np.float32) / 2}


def most_memory() -> int:
    """The most memory that this process had, in bytes; what getrusage says includes what its parent had."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(re.search(r"VmHWM:\s*(\d+) kB", status.read_text())[1]) * 1024  # type: ignore[index]
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the comparisons")
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON")
    options = parser.parse_args()
    request = Request("paper", limit=548_800 if options.quick else None, settings={"class": "gender", "form": "span"})
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as place:
        ask = LiveAsk(SPEC, BlockStore(Path(place)), LocalExecutor(lambda spec: StandIn()))
        method = method_of("unqover")
        prepared = method.prepare(request, ask)
        questions = sum(stage.questions for stage in prepared.stages)
        findings = method.findings(prepared, method.gather(prepared, ask))
        stored = sum(path.stat().st_size for path in Path(place).rglob("*.block"))
    seconds = time.perf_counter() - began
    peak = most_memory()
    numbers = {
        "questions": questions,
        "rows_of_gamma": len(findings.tables["gamma"].rows),
        "peak_bytes": peak,
        "stored_bytes": stored,
        "seconds": round(seconds, 1),
    }
    if options.json:
        print(json.dumps(numbers))
    else:
        print(f"{questions:,} questions planned, stored and analysed in {seconds:.0f} s")
        print(f"peak memory {peak / 1e6:,.0f} MB, stored blocks {stored / 1e6:,.0f} MB")


if __name__ == "__main__":
    main()
