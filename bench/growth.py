"""How time and memory grow with questions, predictions, runs that are compared, and runs on a page.

    python bench/growth.py                      some minutes: 100 times as many questions, 20 runs compared
    python bench/growth.py --full               an hour: 5 million predictions, 100 runs compared, 40 ranked
    python bench/growth.py --only "score bbq"   one of them
    python bench/growth.py --only "score bbq" --sizes 50000 500000

Every line is one command in a process of its own: seconds of CPU time, since machines are shared, and the most memory
that the process had. An exponent is the slope between a size and the one before, on logarithmic axes: 1 is linear, and
what a command takes however little there is makes it smaller. Bytes are what one more row, question or run takes. The
models answer at once (instant.py), so that what is measured is assay's own. It fails if something grows faster than
the documentation says, or a page is larger than 3 MB.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from importlib import import_module
from itertools import islice, product
from math import log
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import instant
from assay.probes.sodapop.names import packaged_groups
from assay.probes.unqover.lists import read_lists
from assay.runs.audit import audit
from bbq_scoring import write_answers
from memory import most_memory

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

ABOVE = 1.15
"""An exponent that is more than linear: measurements vary."""
PAGE = 3_000_000
"""The most bytes of a page."""
PROBES_OF_A_MODEL = 5  # in `write_all`


@dataclass(frozen=True)
class Grows:
    """Something that grows: how its input is made in a folder, and the command that is measured there."""

    unit: str
    make: Callable[[Path, int], None]
    command: Callable[[Path, int], Sequence[str]]
    sizes: Sequence[int]
    full: Sequence[int]
    at_most: float = 1.0  # the exponent of time that docs/scale.md names


def _nothing(folder: Path, size: int) -> None:
    pass


def _answers(folder: Path, rows: int) -> None:
    write_answers(folder / "answers.jsonl", rows=rows)


def _predictions(folder: Path, rows: int) -> None:
    """In the authors' format: an entry for each order of the subjects, with a question and its negation."""
    rng, lists = np.random.default_rng(0), read_lists("gender", masked=False, header=False)
    people = [[each for each in lists.subjects if each.cluster == group] for group in ("female", "male")]
    entries = (
        (one, other, template, attribute, swapped)
        for one, other in product(people[0], people[1])
        for template, attribute, swapped in product(range(4), lists.attributes, (False, True))
    )

    def written() -> Iterator[str]:
        for one, other, template, attribute, swapped in islice(entries, rows // 2):
            first, second = (other, one) if swapped else (one, other)
            act = attribute.forms["p_act"]
            about = (first.cluster, second.cluster, first.name, second.name, template, attribute.cluster, act, act)
            options = [
                {"text": who.name, "start": p, "end": p} for who, p in zip((first, second), rng.random(2), strict=True)
            ]
            asked = {"question": "Who?", "pred": first.name, "ans0": options[0], "ans1": options[1]}
            entry = {"context": f"{first.name} met {second.name}.", "q0": asked, "q1": asked}
            yield f"{json.dumps('|'.join(map(str, about)))}: {json.dumps(entry)}"

    with (folder / "predictions.json").open("w", encoding="utf-8") as file:
        for number, entry in enumerate(written()):
            file.write(("{" if number == 0 else ",\n") + entry)
        file.write("}\n")


def _results(folder: Path, rows: int) -> None:
    """Questions with three choices about the packaged names, in 50 contexts; every name meets every word."""
    rng, names = np.random.default_rng(0), packaged_groups().all_names()
    with (folder / "results.jsonl").open("w", encoding="utf-8") as file:
        for number in range(rows):
            turn, place = divmod(number, len(names))
            words = rng.choice(instant.WORDS[:5], 3, replace=False).tolist()
            context = f"{names[place]} came home at {turn % 50}."
            row = {"name": names[place], "context": context, "choices": words, "label": 0}
            file.write(json.dumps(row | {"probs": rng.dirichlet((1, 1, 1)).tolist()}) + "\n")


def _runs(folder: Path, runs: int) -> None:
    for number in range(runs):
        audit(f"instant:{number}", "bbq-starter", limit=264, out=folder / "runs" / f"{number:03}", progress=False)


def _pages(folder: Path, runs: int) -> None:
    import_module("wide_runs").write_all(
        folder / "runs", [f"org/model-{number}" for number in range(runs // PROBES_OF_A_MODEL)]
    )


def _asked(probe: str, *more: str) -> Callable[[Path, int], Sequence[str]]:
    model = ("--model", "instant:0", "--preset", "paper")
    return lambda folder, size: ["run", probe, *model, "--limit", f"{size}", "--out", f"{folder}/out", *more]


def _asked_file(folder: Path, size: int) -> Sequence[str]:
    return [*_asked("bbq")(folder, size), "--data", f"{folder}/answers.jsonl"]


def _scored(probe: str, file: str, *more: str) -> Callable[[Path, int], Sequence[str]]:
    return lambda folder, size: ["score", probe, f"{folder}/{file}", "--out", f"{folder}/out", *more]


def _compared(folder: Path, size: int) -> Sequence[str]:
    return ["compare", *map(str, sorted((folder / "runs").iterdir())), "--out", f"{folder}/report.html"]


SIZES, RUNS = (2_000, 20_000, 200_000), (20, 40, 100)
MILLIONS = (50_000, 500_000, 5_000_000)
GROWING = {
    "run unqover": Grows("question", _nothing, _asked("unqover"), SIZES, MILLIONS),
    "run bbq": Grows("question", _answers, _asked_file, (600, 6_000, 60_000), (6_000, 60_000, 600_000)),
    "run sodapop": Grows("question", _nothing, _asked("sodapop"), SIZES, MILLIONS),
    "score unqover": Grows("row", _predictions, _scored("unqover", "predictions.json"), SIZES, MILLIONS),
    "score bbq": Grows("row", _answers, _scored("bbq", "answers.jsonl", "--answers", "said"), SIZES, MILLIONS),
    "score sodapop": Grows(
        "row", _results, _scored("sodapop", "results.jsonl", "--set", "min_count=1"), SIZES, MILLIONS
    ),
    "compare": Grows("run", _runs, _compared, (5, 10, 20), RUNS),
    "report": Grows("run", _pages, lambda folder, size: ["report", f"{folder}/runs", "--no-ranks"], RUNS, RUNS),
    "report with ranks": Grows(
        "run", _runs, lambda folder, size: ["report", f"{folder}/runs"], (4, 8, 16), RUNS[:2], 4.0
    ),
}


def measured(name: str, size: int) -> dict[str, float]:
    """Seconds, bytes of memory, and bytes of the page, of one command in a process of its own."""
    with TemporaryDirectory(prefix="assay-growth-") as folder:
        for step in ("make", "call"):
            own = [sys.executable, __file__, "--step", step, "--only", name, "--sizes", str(size), "--in", folder]
            subprocess.run(own, check=True, env={**os.environ, "ASSAY_CACHE": f"{folder}/cache"})
        found: dict[str, float] = json.loads((Path(folder) / "measured.json").read_text())
        return found


def step(which: str, name: str, size: int, folder: Path) -> int:
    """Makes the input in a folder, or calls the command and notes what it took."""
    instant.install()
    growing = GROWING[name]
    if which == "make":
        growing.make(folder, size)
        return 0
    from assay.cli import main as assay

    began = time.process_time()
    with (folder / "said.txt").open("w") as said, redirect_stdout(said), redirect_stderr(said):
        code = assay([*growing.command(folder, size)])
    if code:
        print((folder / "said.txt").read_text(), file=sys.stderr)
        return code
    pages = [folder / place / "report.html" for place in (".", "out", "runs")]
    page = max(path.stat().st_size for path in pages if path.exists())
    numbers = {"seconds": time.process_time() - began, "memory": most_memory(), "page": page}
    (folder / "measured.json").write_text(json.dumps(numbers))
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="larger sizes, an hour")
    parser.add_argument("--only", choices=GROWING, help="measure only this")
    parser.add_argument("--sizes", type=int, nargs="+", metavar="N", help="other sizes")
    parser.add_argument("--step", choices=("make", "call"), help=argparse.SUPPRESS)
    parser.add_argument("--in", dest="folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step:
        return step(options.step, options.only, options.sizes[0], options.folder)
    print("| what grows | size | CPU s | MiB | time | memory | bytes each | page, MB |", "|---" * 8 + "|", sep="\n")
    beyond = []
    for name, growing in GROWING.items():
        if options.only not in (None, name):
            continue
        before: tuple[int, dict[str, float]] | None = None
        for size in options.sizes or (growing.full if options.full else growing.sizes):
            now = measured(name, size)
            told = ["", "", ""]
            if before is not None:
                times = log(size / before[0])
                slopes = {key: log(now[key] / before[1][key]) / times for key in ("seconds", "memory")}
                each = (now["memory"] - before[1]["memory"]) / (size - before[0])
                told = [f"{slopes['seconds']:.2f}", f"{slopes['memory']:.2f}", f"{each:,.0f}"]
                limits = {"seconds": growing.at_most, "memory": 1.0}
                beyond += [f"{name}: {key}" for key, slope in slopes.items() if slope > limits[key] - 1 + ABOVE]
            beyond += [f"{name}: page"] if now["page"] > PAGE else []
            what = f"`assay {name}`, {growing.unit}s"
            numbers = [f"{size:,}", f"{now['seconds']:.1f}", f"{now['memory'] / 2**20:,.0f}", *told]
            print("|", " | ".join([what, *numbers, f"{now['page'] / 1e6:.2f}"]), "|", flush=True)
            before = size, now
    print(f"More than the documentation says: {', '.join(beyond)}" if beyond else "Nothing beyond the documentation.")
    return 1 if beyond else 0


if __name__ == "__main__":
    sys.exit(main())
