"""The tables of llm.md, from its runs: ASSAY_CACHE=… ASSAY_DATA=… python docs/studies/llm_tables.py RUNS

Also writes RUNS/averaged-NAME.jsonl: BBQ's rows with the option that a model prefers on average over all orders.
"""

from __future__ import annotations

import csv
import gzip
import itertools
import json
import os
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt

from assay.engine.store import BlockStore

Array = npt.NDArray[np.float64]
VARIANTS = ("q", "q+if", "baseline", "reprompt", "explain", "q-200", "q+if-200", "q+if+cot-200")
ORDERS = np.array(list(itertools.permutations(range(3))))  # (order, place): the option that is listed there
CATEGORY, CONTEXT = "category", "context"


def probabilities(run: Path) -> Array:
    """The letters' probabilities in the order of the questions; each row sums to 1. (question, place)"""
    (asked,) = json.loads((run / "blocks.json").read_text(encoding="utf-8"))
    blocks = [BlockStore.default().read(asked["key"], lo, hi) for lo, hi, _ in asked["blocks"]]
    scores = np.concatenate([block[0].answers.arrays["score"] for block in blocks if block]).astype(float)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares: Array = weights / weights.sum(axis=1, keepdims=True)
    return shares


def rows_of(run: Path) -> list[dict[str, str]]:
    with (run / "tables" / "answers.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def estimate(run: Path, metric: str, context: str) -> str:
    """A metric of all categories together, with its interval."""
    found = json.loads((run / "findings.json").read_text(encoding="utf-8"))["estimates"]
    (one,) = [e for e in found if e["metric"] == metric and e["group"] == {CATEGORY: "all", CONTEXT: context}]
    return f"{one['value']:.3f} ({one['low']:.3f} to {one['high']:.3f})".replace("-", "−")


def places(run: Path) -> str:
    """The shares of answers at each place."""
    found = json.loads((run / "findings.json").read_text(encoding="utf-8"))["diagnosis"]["places"]
    return " / ".join(f"{100 * each['share']:.1f}" for each in found)


def by_option(run: Path) -> Array:
    """The probability of each option in each order. (question, order, option)"""
    listed = probabilities(run).reshape(-1, len(ORDERS), 3)  # (question, order, place)
    moved = np.empty_like(listed)
    for order, options in enumerate(ORDERS):
        moved[:, order, options] = listed[:, order]
    return moved


def explained(run: Path) -> tuple[float, float]:
    """How much of the variance of an option's probability is due to its place alone, and to the option alone."""
    moved = by_option(run)
    listed = probabilities(run)
    total = ((moved - 1 / 3) ** 2).mean()
    place = ((listed.mean(axis=0) - 1 / 3) ** 2).mean()
    option = ((moved.mean(axis=1) - 1 / 3) ** 2).mean()
    return place / total, option / total


def write_averaged(run: Path, data: Path, out: Path) -> None:
    """BBQ's rows with the option that has the largest probability on average over all orders."""
    answered = by_option(run).mean(axis=1).argmax(axis=1)
    asked = rows_of(run)[:: len(ORDERS)]
    files = [row[CATEGORY].removesuffix(" (names)") for row in asked]
    wanted = {(name, row["example_id"]): int(option) for name, row, option in zip(files, asked, answered, strict=True)}
    with out.open("w", encoding="utf-8") as file:
        for category in sorted({category for category, _ in wanted}):
            with gzip.open(data / "bbq" / "data" / f"{category}.jsonl.gz", "rt", encoding="utf-8") as rows:
                for row in map(json.loads, rows):
                    if (option := wanted.get((category, str(row["example_id"])))) is not None:
                        file.write(json.dumps({**row, "prediction": row[f"ans{option}"]}, ensure_ascii=False) + "\n")


def side_by_side(one: Path, other: Path) -> list[str]:
    """How far two ways of asking the same questions agree."""
    first, second = probabilities(one), probabilities(other)
    names = [[row["content"] for row in rows_of(run)] for run in (one, other)]
    assert names[0] == names[1], "the runs did not ask the same questions"
    apart = np.abs(first - second)
    return [
        f"| same answer | {int((first.argmax(1) == second.argmax(1)).sum())} of {len(first)} |",
        "| difference of a probability: mean, 95th percentile, largest | "
        f"{apart.mean():.4f}, {np.quantile(apart, 0.95):.4f}, {apart.max():.4f} |",
        "| correlation of the letters' probabilities over questions: A, B, C | "
        + ", ".join(f"{np.corrcoef(first[:, k], second[:, k])[0, 1]:.3f}" for k in range(3))
        + " |",
    ]


def change(file: Path, metric: str, context: str) -> str:
    """A paired difference of all categories together, with its interval."""
    found = [each["change"] for each in json.loads(file.read_text(encoding="utf-8"))["differences"]]
    (one,) = [c for c in found if c["metric"] == metric and c["group"] == {CATEGORY: "all", CONTEXT: context}]
    return f"{one['value']:+.3f} ({one['low']:.3f} to {one['high']:.3f})".replace("-", "−")


def main(runs: Path) -> None:
    print(
        "| run | A / B / C, % | accuracy, ambiguous | accuracy, disambiguated "
        "| bias score, ambiguous | bias score, disambiguated |"
    )
    print("|---|---|---|---|---|---|")
    for name in ("letters", "options", *VARIANTS, "qwen"):
        run = runs / name
        cells = [
            estimate(run, metric, context) for metric in ("accuracy", "bias_score") for context in ("ambig", "disambig")
        ]
        print(f"| {name} | {places(run)} | {' | '.join(cells)} |")
    print(
        "\n| | bias score, ambiguous | accuracy, disambiguated | “cannot be determined”, ambiguous |\n|---|---|---|---|"
    )
    for pair in ("q-q+if", "baseline-reprompt", "baseline-explain", "q-200-q+if", "q-200-q+if+cot"):
        asked = (("bias_score", "ambig"), ("accuracy", "disambig"), ("unknown_rate", "ambig"))
        print(f"| {pair} | {' | '.join(change(runs / f'{pair}.json', *of) for of in asked)} |")
    print("\n| | place alone | option alone | the rest |\n|---|---|---|---|")
    for name in ("letters", "qwen"):
        place, option = explained(runs / name)
        print(f"| {name} | {100 * place:.1f}% | {100 * option:.1f}% | {100 * (1 - place - option):.1f}% |")
        write_averaged(runs / name, Path(os.environ["ASSAY_DATA"]), runs / f"averaged-{name}.jsonl")
    print()
    print("\n".join(side_by_side(runs / "side-by-side", runs / "endpoint")))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
