"""How long SODAPOP takes at the paper's scale on this machine, extrapolated from a part of it.

    python bench/sodapop_scale.py --data DIR --device cuda
    python bench/sodapop_scale.py --data DIR --device cuda --size base --contexts 10
    python bench/sodapop_scale.py --data DIR --contexts 1 --names 2 --cap 200       a small part, on a CPU

All 220 names, distance 3, ten fills, pools of 10,000 for each name and context, as in the paper; but of its 50 contexts
(DIR/sodapop) only some, evenly spread over their answers' lengths. Both models have the built-in model's weights, in
torch (6 layers, 384 wide), or, with --size base, BERT's base size and random weights. Prints what filling, scoring and
the rest took, and what all 50 contexts would take: asking grows with them, the analysis hardly does (bench/sodapop.py).
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import assay
from assay.datasets.catalogue import data_folder
from assay.files.opening import open_text
from assay.models.base import Options
from assay.probes.sodapop.contexts import PAPER_CONTEXTS, paper_contexts, paper_file
from assay.probes.sodapop.split_words import split
from assay.runs.audit import audit
from memory import most_memory
from sized import SIZES, sized


@dataclass
class Clock:
    """Progress that notes when each plan began and how many of its questions were answered."""

    parts: dict[str, list[float]] = field(default_factory=dict)  # kind -> [seconds, questions]
    _kind: str = ""
    _began: float = 0.0

    def start(self, label: str, total: int, unit: str = "questions") -> None:
        self._kind = "scored" if "answers" in label else "filled" if "words" in label else "tokens"
        self._began = time.perf_counter()

    def advance(self, count: int, *, stored: bool = False) -> None:
        part = self.parts.setdefault(self._kind, [0.0, 0.0])
        now = time.perf_counter()
        part[0] += now - self._began
        part[1] += count
        self._began = now
        print(f"\r{self._kind} {part[1]:,.0f} in {part[0]:.0f} s", end="", file=sys.stderr)


def write_contexts(place: Path, count: int, out: Path) -> None:
    """A file of contexts whose answers' lengths are spread as those of all are."""
    contexts = paper_contexts(place)
    by_length = sorted(contexts, key=lambda context: len(split(context.answer).words))
    step = len(contexts) / count
    lines = {int(by_length[int(step * (turn + 0.5))].location.rpartition(" ")[2]) for turn in range(count)}
    with open_text(place) as file, out.open("w", encoding="utf-8") as chosen:
        chosen.writelines(line for number, line in enumerate(file, 1) if number in lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=None, help="official data (sodapop/)")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--dtype", default="auto")
    parser.add_argument("--size", choices=("builtin", *SIZES), default="builtin")
    parser.add_argument("--contexts", type=int, default=10)
    parser.add_argument("--names", type=int, default=None, help="names of each group (all)")
    parser.add_argument("--cap", type=int, default=10_000)
    given = parser.parse_args()
    place = paper_file(data_folder(given.data))
    with TemporaryDirectory(prefix="assay-bench-") as name:
        folder = Path(name)
        os.environ["ASSAY_CACHE"] = str(folder / "cache")
        contexts = folder / "contexts.jsonl"
        write_contexts(place, given.contexts, contexts)
        for head in ("mask", "choice"):
            if given.size == "builtin":
                assay.write_builtin(folder / head, head)
            else:
                sized(folder / head, head, SIZES[given.size], contexts.read_text(encoding="utf-8"))
        settings = {"texts": str(contexts), "cap": str(given.cap)}
        settings |= {"fill_model": f"hf:{folder / 'mask'}"}
        if given.names:
            settings["names_per_group"] = str(given.names)
        clock, began = Clock(), time.perf_counter()
        run = audit(
            f"hf:{folder / 'choice'}",
            "sodapop",
            preset="paper",
            settings=settings,
            out=folder / "run",
            options=Options(device=given.device, dtype=given.dtype),
            progress=clock,
        )
        total = time.perf_counter() - began
    for kind, (seconds, questions) in clock.parts.items():
        print(f"{kind:8} {questions:>13,.0f} in {seconds:7.1f} s: {questions / max(seconds, 1e-9):>9,.0f}/s")
    analysing = run.info.timings["analysing"]
    everything = (total - analysing) * PAPER_CONTEXTS / given.contexts + analysing
    names, words = (len(run.findings.tables[table].rows) for table in ("names", "words"))
    asked = f"{given.size}, {run.info.model.device} {run.info.model.dtype}"
    print(f"{asked}: {given.contexts} contexts, {names} names, {words:,} rows of words: {total:.0f} s in all")
    print(f"host memory at most {most_memory() / 1e9:.1f} GB; timings {run.info.timings}")
    print(f"all {PAPER_CONTEXTS} contexts, at this rate: {everything / 60:.0f} min")


if __name__ == "__main__":
    main()
