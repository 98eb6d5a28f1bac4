"""How often the intervals of differences between two models contain the truth, and how often p finds one where none is.

    python bench/compare_coverage.py                       1,000 pairs of models of each kind
    python bench/compare_coverage.py --sets 50 --class religion

UnQover: two models that like subjects, and react to templates, independently of each other, each as bench/coverage.py
draws them, on the cells that a preset asks. "none" has two models of one population: every difference is 0 in truth.
"more" has a second model whose subjects differ twice as much.
"""

from __future__ import annotations

import argparse
import os
import time
from collections import defaultdict
from dataclasses import replace
from functools import cache
from itertools import product
from multiprocessing import get_context

import numpy as np

from assay.probes import probe_named
from assay.probes.unqover.analyse import Scored
from assay.probes.unqover.contents import Contents
from assay.probes.unqover.metrics import Cells
from assay.probes.unqover.paired import changes
from assay.probes.unqover.settings import CLASSES
from coverage import GROUPED, NAMES, SINGLE, Numbers, Scenario, design, draw_effects, draw_scores, outside, truth

DESIGNS = [(cls, size) for cls in CLASSES for size in ("quick", "standard")]


def kinds(grouped: bool) -> dict[str, tuple[Scenario, Scenario]]:
    """The two models' populations, by what changes."""
    one = next(own for own in (GROUPED if grouped else SINGLE) if own.name == "real-like")
    weak = Scenario("names only", NAMES) if grouped else SINGLE[0]
    more = replace(one, name="more", subjects=2 * one.subjects, groups=(2 * one.groups[0], one.groups[1]))
    return {"none": (one, one), "none, no preference": (weak, weak), "more": (one, more)}


@cache
def said(cls: str, size: str) -> Contents:
    own = design(cls, size)
    places = product(range(own.labels.templates), range(len(own.labels.attributes)))
    return {place: (str(place), "", "") for place in places}


def simulate(job: tuple[str, str, str, int]) -> Numbers:
    """One pair of models: for every number (change, low, high, truth, p)."""
    cls, size, kind, seed = job
    own, rng = design(cls, size), np.random.default_rng([seed, len(kind)])
    subjects, attributes, templates = own.shape
    scored = []
    for scenario in kinds(own.grouped)[kind]:
        effect = scenario.group_effect(attributes) if own.grouped else np.zeros(attributes)
        scores = outside(draw_scores(own, draw_effects(scenario, subjects, attributes, templates, rng), effect, rng))
        cells = Cells(own.cells.template, own.cells.first, own.cells.second, own.cells.attribute, scores)
        scored.append(Scored(cls, "span", cells, own.labels, contents=lambda: said(cls, size)))
    before, after = (truth(cls, size, scenario) for scenario in kinds(own.grouped)[kind])
    found: Numbers = {}
    for change in changes(probe_named("unqover"), *scored)[0]:
        made = change.change
        name = f"pooled {made.metric}" if "subjects" in made.group else made.metric
        if made.value is not None and made.low is not None and made.high is not None and made.p is not None:
            found[name] = (made.value, made.low, made.high, after[name] - before[name], made.p)
    return found


def report(results: dict[str, list[tuple[float, ...]]]) -> None:
    print(f"  {'':12s} {'truth':>8s} {'found':>8s} {'width':>7s} {'coverage':>17s} {'p <= 0.05':>17s}")
    for name, rows in results.items():
        value, low, high, true, p = np.array(rows).T
        shares = ((low <= true) & (true <= high)).mean(), (p <= 0.05).mean()
        shown = [f"{share:8.1%} ± {max(np.sqrt(share * (1 - share) / len(p)), 1 / len(p)):.1%}" for share in shares]
        numbers = f"{true[0]:8.4f} {value.mean():8.4f} {(high - low).mean():7.4f}"
        print(f"  {name:12s} {numbers} {shown[0]:>17s} {shown[1]:>17s}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=1000, help="pairs of models of each kind")
    parser.add_argument("--class", dest="classes", default=",".join(CLASSES))
    parser.add_argument("--size", default="quick,standard", help="presets, or numbers of cells")
    options = parser.parse_args()
    print("± is one standard error of the simulation")
    start = time.perf_counter()
    with get_context("fork").Pool(os.cpu_count()) as pool:
        for cls, size in product(options.classes.split(","), options.size.split(",")):
            own = design(cls, size)
            for kind, scenarios in kinds(own.grouped).items():
                for scenario in scenarios:
                    truth(cls, size, scenario)
                results: dict[str, list[tuple[float, ...]]] = defaultdict(list)
                jobs = ((cls, size, kind, seed) for seed in range(options.sets))
                for found in pool.imap_unordered(simulate, jobs, chunksize=max(1, options.sets // 200)):
                    for name, numbers in found.items():
                        results[name].append(numbers)
                print(f"\n{cls}, {size} ({len(own.cells):,} cells), change: {kind}, {options.sets:,} pairs", flush=True)
                report(results)
    print(f"\n{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
