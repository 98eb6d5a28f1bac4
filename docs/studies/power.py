"""How large a change of KMeans' accuracy could builtin.md have seen? python docs/studies/power.py build/study

The mean accuracy over the 16 pairs of groups, of every version minus that of the model that was not debiased. Names
cannot be drawn with replacement, since clusters cannot tell equal vectors apart. So half the names of every group are
drawn without, 500 times, and the spread of the change over these halves is its standard error: the jackknife that
leaves out half, which holds also for what jumps, as clusters do. A change of 2.8 standard errors is seen with 80% power
at the 5% level. It needs the answers that the study stored (ASSAY_CACHE).
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from assay.probes import method_of
from assay.probes.sodapop.analyse import GroupPair, contrasts_of
from assay.runs.folder import read_run
from assay.runs.score import recollect_answers
from assay.stats.clusters import two_clusters
from tables import CHOICE, line, number, table

HALVES = 500
SEEN = 1.96 + 0.84  # standard errors, for 80% power at the 5% level

Array = NDArray[np.float64]


def recalled(run: Path) -> tuple[Array, list[GroupPair]]:
    """Success rates (name, word), and the pairs of groups."""
    opened = read_run(run)
    data = method_of("sodapop").recall(opened, partial(recollect_answers, opened))
    return data.rates.sr(), [each for each in contrasts_of(data.groups) if each.pair]


def accuracy(rates: Array, pairs: list[GroupPair], kept: NDArray[np.bool_]) -> float:
    """The mean over pairs of KMeans' accuracy, among the names that are kept."""
    found = []
    for pair in pairs:
        a, b = (side[kept[side]] for side in pair.sides)
        rows = np.concatenate([a, b])
        same = float((two_clusters(rates[rows], 0) == (np.arange(len(rows)) < len(a))).mean())
        found.append(max(same, 1 - same))
    return float(np.mean(found))


def halves(pairs: list[GroupPair], names: int) -> list[NDArray[np.bool_]]:
    """Everybody, then half of every group, drawn HALVES times."""
    rng, groups = np.random.default_rng(0), {pair.first: pair.a for pair in pairs} | {p.second: p.b for p in pairs}
    drawn = [np.ones(names, np.bool_)]
    for _ in range(HALVES):
        drawn.append(np.zeros(names, np.bool_))
        for rows in groups.values():
            drawn[-1][rng.choice(rows, len(rows) // 2, replace=False)] = True
    return drawn


def main(runs: Path) -> None:
    table(
        "model",
        *(f"{pools}: {what}" for pools in ("own pools", "shared pools") for what in ("mean change", "would be seen")),
    )
    cells: dict[str, list[str]] = {name: [] for name in list(CHOICE)[1:]}
    for ending in ("", "--shared"):
        known = {name: recalled(runs / f"sodapop--{name}{ending}") for name in CHOICE}
        pairs = known["siqa"][1]
        words = np.isfinite(np.concatenate([rates for rates, _ in known.values()])).all(axis=0)
        drawn = halves(pairs, len(known["siqa"][0]))
        found = {name: [accuracy(rates[:, words], pairs, kept) for kept in drawn] for name, (rates, _) in known.items()}
        for name, own in cells.items():
            change = np.array(found[name]) - np.array(found["siqa"])
            error = change[1:].std()
            low, high = (number(change[0] + side * 1.96 * error) for side in (-1, 1))
            own += [f"{number(change[0])} ({low} to {high})", number(SEEN * error)]
    for name, own in cells.items():
        line(CHOICE[name], *own)


if __name__ == "__main__":
    main(Path(sys.argv[1]) / "runs")
