"""Whole papers on this machine: every question, from the start of the command to the report.

    python bench/paper_scale.py --data DIR --device cuda                  UnQover and BBQ, one table
    python bench/paper_scale.py --only gender,religion --dtype bfloat16
    python bench/paper_scale.py --quick --device cpu                      small models, few questions

UnQover's four classes are asked of a random BERT of base size (12 layers, 768 wide), BBQ's 58,492 questions (made from
the authors' templates in DIR/bbq/templates) of a multiple-choice model of that size and of a GPT-2 of 1.1 billion
parameters. Each audit runs in a process of its own, which also measures two ceilings afterwards: the model alone, on
questions that are tokenised and batched already, and how fast this GPU multiplies large matrices of the same number
type. Memory is what the process had at most on the host, weights included.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from assay.asking.plan import AnyPlan
from assay.asking.progress import LineProgress
from assay.engine.executor import ComputedBlock, EngineSettings, LocalExecutor, batches
from assay.engine.store import ArraySource, columns_of
from assay.models import load
from assay.models.base import ModelSpec, Options
from assay.runs.audit import audit
from memory import most_memory
from sized import SIZES, sized

CLASSES = ("gender", "religion", "ethnicity", "nationality")
WHOLE = {**dict.fromkeys(CLASSES, ("span", "base")), "bbq encoder": ("choice", "base"), "bbq causal": ("causal", "1b")}
SAMPLED = 1e13
"""Parameters times questions that the ceiling is measured with."""


@dataclass(frozen=True)
class Row:
    """What one audit took; rates are in questions per second, `busy` is the share of the GPU's matrix rate."""

    questions: int
    seconds: float
    asking: float
    alone: float
    busy: float | None
    memory: int
    device: str
    dtype: str


@dataclass
class Watched(LocalExecutor):
    """Remembers the last plan whose questions a model answered."""

    last: list[Any] = field(default_factory=list)

    def run(
        self, model: ModelSpec, plan: AnyPlan, blocks: Iterable[range], settings: EngineSettings, arrays: ArraySource
    ) -> Iterator[ComputedBlock]:
        if plan.ability in ("span", "choice"):
            self.last = [model, plan, settings, arrays]
        return super().run(model, plan, blocks, settings, arrays)


def measure(name: str, given: argparse.Namespace, place: Path) -> Row:
    form, size = WHOLE[name]
    probe, settings = ("bbq", {}) if name.startswith("bbq") else ("unqover", {"class": name, "form": form})
    data = made_bbq(given.data, place) if probe == "bbq" else None
    text = "\n".join(file.read_text() for file in data.glob("*.jsonl")) if data else ""
    folder = sized(place / "model", form, SIZES["mini" if given.quick else size], text)
    executor = Watched(load)
    began = time.perf_counter()
    run = audit(
        f"hf:{folder}",
        probe,
        preset="quick" if given.quick else "paper",
        limit=200 if given.quick else None,
        settings=settings,
        options=Options(given.device, given.dtype),
        out=place / "run",
        data=data,
        progress=LineProgress(),
        executor=executor,
    )
    seconds, memory = time.perf_counter() - began, most_memory()
    alone, busy = ceilings(executor)
    spec = executor.last[0]
    asking = (run.info.questions or 0) / run.info.timings["asking"]
    return Row(run.info.questions or 0, seconds, asking, alone, busy, memory, spec.device, spec.dtype)


def made_bbq(data: Path, place: Path) -> Path:
    """All questions, from the authors' templates."""
    templates = f"templates={data / 'bbq' / 'templates'}"
    command = [sys.executable, "-m", "assay", "generate", "bbq", "--set", templates, "--out", str(place / "bbq")]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return place / "bbq"


def ceilings(executor: Watched) -> tuple[float, float | None]:
    """Questions per second of the model alone, and which share of the matrix rate the engine's own pace is."""
    spec, plan, settings, arrays = executor.last
    model: Any = executor.model(spec)
    rows = min(int(SAMPLED / (spec.parameters or 1)), len(plan))
    tokens = model.encode(columns_of(plan, arrays, (len(plan) - rows) // 2, (len(plan) + rows) // 2))
    parts = [tokens.take(rows) for rows in batches(tokens.lengths, settings.budget_for(spec))]

    def forward() -> float:
        began = time.perf_counter()
        for part in parts:
            model.forward(part)
        return time.perf_counter() - began

    forward()
    seconds = min(forward() for _ in range(2))
    work = 2 * network_weights(model) * int(tokens.lengths.sum())
    return rows / seconds, work / seconds / matrix_rate(spec) if spec.device.startswith("cuda") else None


def network_weights(model: Any) -> int:
    """The weights that every token meets: all but the embeddings, of which it takes one row."""
    tables = {
        id(each)
        for module in model._model.modules()
        if "Embedding" in type(module).__name__
        for each in module.parameters()
    }
    return sum(each.numel() for each in model._model.parameters() if id(each) not in tables)


def matrix_rate(spec: ModelSpec) -> float:
    """Multiplications and additions per second of two large matrices."""
    import torch

    torch.set_float32_matmul_precision("high" if spec.dtype == "tf32" else "highest")
    kind = getattr(torch, "float32" if spec.dtype == "tf32" else spec.dtype)
    one, other = (torch.randn(8192, 8192, device=spec.device, dtype=kind) for _ in range(2))
    times = []
    for _ in range(8):
        torch.cuda.synchronize()
        began = time.perf_counter()
        _ = one @ other
        torch.cuda.synchronize()
        times.append(time.perf_counter() - began)
    return 2 * 8192**3 / min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="official data (bbq/templates)")
    parser.add_argument("--only", default=",".join(WHOLE), help=f"some of {', '.join(WHOLE)}")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--dtype", default="auto")
    parser.add_argument("--quick", action="store_true", help="small models, few questions")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        with tempfile.TemporaryDirectory() as place:
            os.environ["ASSAY_CACHE"] = f"{place}/cache"
            print(json.dumps(asdict(measure(given.one, given, Path(place)))))
        return
    print(
        "| | questions | time | questions/s | asking alone | the model alone | of the GPU's matrix rate | host memory |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for name in given.only.split(","):
        command = [sys.executable, __file__, *sys.argv[1:], "--one", name]
        row = Row(
            **json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()[-1])
        )
        busy = "" if row.busy is None else f"{row.busy * row.asking / row.alone:.0%}"
        rate = row.questions / row.seconds
        print(
            f"| {name}, {row.device} {row.dtype} | {row.questions:,} | {row.seconds:,.0f} s | {rate:,.0f} "
            f"| {row.asking:,.0f} | {row.alone:,.0f} | {busy} | {row.memory / 1e9:.1f} GB |",
            flush=True,
        )


if __name__ == "__main__":
    main()
