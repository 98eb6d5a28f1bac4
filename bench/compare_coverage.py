"""How often intervals of differences between two models contain the truth, and how often p finds a false difference.

    python bench/compare_coverage.py                       1,000 pairs of models of each kind
    python bench/compare_coverage.py --probe unqover --sets 50 --class religion
    python bench/compare_coverage.py --probe bbq --size quick

UnQover: two models with independent preferences for subjects and effects of templates, each as bench/coverage.py draws
them, for the comparisons that a preset makes. "none" has two models of one population: every true difference is 0.
"more" has a second model whose subjects differ twice as much.

BBQ: two models that answer independently of each other, each as bench/bbq_coverage.py draws them; "more" has a second
model with more bias. The table has the mean over single categories. What is reported is corrected over all changes of a
kind, and over kinds.
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
from assay.probes.bbq import ALL, compare_runs, family_of
from assay.probes.bbq.tallies import ResampledTallies
from assay.probes.unqover.analyse import ScoredCells
from assay.probes.unqover.cells import Cells
from assay.probes.unqover.compare_runs import changes
from assay.probes.unqover.settings import CLASSES
from assay.probes.unqover.slots import Contents
from assay.stats import MIN_UNITS, benjamini_hochberg, holm, logit_interval
from bbq_coverage import METRICS as BBQ_METRICS
from bbq_coverage import SCENARIOS as BBQ_SCENARIOS
from bbq_coverage import error
from bbq_simulated import Array, questions
from bbq_simulated import Scenario as BBQScenario
from coverage import (
    GROUPED,
    NAMES,
    SINGLE,
    Numbers,
    Scenario,
    design,
    draw_effects,
    draw_scores,
    outside,
    population,
    truth,
)


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
    scored, true = [], []
    for scenario in kinds(own.grouped)[kind]:
        preferences = np.random.default_rng([seed, attributes])  # equal scenarios prefer the same
        effect = scenario.group_effect(attributes, preferences) if own.grouped else np.zeros(attributes)
        scores = outside(draw_scores(own, draw_effects(scenario, subjects, attributes, templates, rng), effect, rng))
        cells = Cells(own.cells.template, own.cells.first, own.cells.second, own.cells.attribute, scores)
        scored.append(ScoredCells(cls, "span", cells, own.labels, contents=lambda: said(cls, size)))
        true.append(truth(scenario, effect, grouped=own.grouped))
    before, after = true
    found: Numbers = {}
    for change in changes(probe_named("unqover"), *scored)[0]:
        made = change.change
        name = f"pooled {made.metric}" if "subjects" in made.group else made.metric
        if made.value is not None and made.low is not None and made.high is not None and made.p is not None:
            found[name] = (made.value, made.low, made.high, after[name] - before[name], made.p)
    return found


# --- BBQ

EXCHANGES = 999  # fewer than a comparison makes: enough for p <= 0.05


def bbq_kinds() -> dict[str, tuple[BBQScenario, BBQScenario]]:
    own = {each.name: each for each in BBQ_SCENARIOS}
    one, weak = own["real-like"], own["templates only"]
    return {"none": (one, one), "none, no bias": (weak, weak), "more": (one, replace(one, agrees=0.8, gap=0.15))}


def bbq_pairs(job: tuple[str, str, str, int, int]) -> tuple[dict[str, Array], Array]:
    """Pairs of models: for every number (pair, 5) as `simulate` has them, and whether anything is claimed (pair,)."""
    probe, size, kind, pairs, seed = job
    asked, rng = questions(probe, size), np.random.default_rng([seed, len(kind)])
    models = bbq_kinds()[kind]
    answers = [asked.answers(scenario, pairs, rng) for scenario in models]
    expected = [asked.expected(scenario) for scenario in models]
    found: dict[str, list[Array]] = defaultdict(list)
    p_of: dict[str, list[Array]] = defaultdict(list)
    for cell, atoms in ((cell, atoms) for cell, atoms in asked.cells if "comparison" not in cell.group):
        both = [asked.drawn(own, atoms) for own in answers]
        apart = [compare_runs._exchanged(_of_pair(both, pair)) for pair in range(pairs)]
        for metric in cell.metrics:
            if metric.name not in BBQ_METRICS[cell.group["context"]]:
                continue
            one, other = (own.of(metric) for own in both)
            fewer = one.effective - one.strata < other.effective - other.strata
            span = metric.bounds[1] - metric.bounds[0]
            ends = logit_interval(
                other.values - one.values,
                (other.replicates - one.replicates).T,
                np.where(fewer, one.effective, other.effective),
                strata=np.where(fewer, one.strata, other.strata),
                bounds=(-span, span),
            )
            enough = np.all([own.units - own.strata >= MIN_UNITS - 1 for own in (one, other)], axis=0)
            low, high = (np.where(enough, end, np.nan) for end in ends)
            values = zip(one.values, other.values, strict=True)
            p = np.array(
                [
                    compare_runs._p(metric, np.stack([own.tally[pair] for own in both]), np.array(ends_of), apart[pair])
                    for pair, ends_of in enumerate(values)
                ]
            )
            before, after = (float(metric.of(own[atoms].sum(axis=0))) for own in expected)
            whose = ALL if cell.group["category"] == ALL else "each"
            true = np.full(pairs, after - before)
            found[f"{metric.name}, {cell.group['context']}, {whose}"].append(
                np.stack([other.values - one.values, low, high, true, p], axis=1)
            )
            p_of[family_of(metric.name, cell.group)].append(p)
    least = [np.array([benjamini_hochberg(own).min() for own in np.stack(p, axis=1)]) for p in p_of.values()]
    claimed = np.array([holm(own).min() <= 0.05 for own in np.stack(least, axis=1)])
    return {name: np.concatenate(own) for name, own in found.items()}, claimed


def _of_pair(both: list[ResampledTallies], pair: int) -> ResampledTallies:
    tally, total, again = (np.stack([getattr(own, name)[pair] for own in both]) for name in ("tally", "total", "again"))
    return ResampledTallies(tally, total, again, both[0].strata)


def report_bbq(size: str, sets: int) -> None:
    compare_runs.SWAPS = EXCHANGES
    for kind in bbq_kinds():
        batches = [bbq_pairs(("bbq", size, kind, 100, seed)) for seed in range(-(-sets // 100))]
        print(f"\nbbq, {size}, change: {kind}, {100 * len(batches):,} pairs", flush=True)
        report({name: [tuple(row) for found, _ in batches for row in found[name]] for name in batches[0][0]})
        share, pairs = float(np.mean([own.mean() for _, own in batches])), 100 * len(batches)
        print(f"  anything is reported in {share:.1%} ± {error(share, pairs):.1%} of pairs")


def report(results: dict[str, list[tuple[float, ...]]]) -> None:
    print(f"  {'':30s} {'truth':>8s} {'found':>8s} {'width':>7s} {'coverage':>17s} {'p <= 0.05':>17s}")
    for name, rows in results.items():
        found = np.array(rows)
        value, low, high, true, p = found[np.isfinite(found).all(axis=1)].T
        shares = ((low <= true) & (true <= high)).mean(), (p <= 0.05).mean()
        shown = [f"{share:8.1%} ± {error(float(share), len(p)):.1%}" for share in shares]
        numbers = f"{true[0]:8.4f} {value.mean():8.4f} {(high - low).mean():7.4f}"
        print(f"  {name:30s} {numbers} {shown[0]:>17s} {shown[1]:>17s}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=1000, help="pairs of models of each kind")
    parser.add_argument("--probe", default="unqover,bbq")
    parser.add_argument("--class", dest="classes", default=",".join(CLASSES))
    parser.add_argument("--size", default="quick,standard", help="presets, or numbers of comparisons")
    options = parser.parse_args()
    print("± is one standard error of the simulation")
    start = time.perf_counter()
    for size in options.size.split(",") if "bbq" in options.probe else ():
        report_bbq(size, options.sets)
    if "unqover" in options.probe:
        unqover(options)
    print(f"\n{time.perf_counter() - start:.0f} s")


def unqover(options: argparse.Namespace) -> None:
    with get_context("fork").Pool(len(os.sched_getaffinity(0))) as pool:
        for cls, size in product(options.classes.split(","), options.size.split(",")):
            own = design(cls, size)
            for kind, scenarios in kinds(own.grouped).items():
                for scenario in scenarios:
                    population(design(cls, size).shape[1], scenario)  # before the processes begin
                results: dict[str, list[tuple[float, ...]]] = defaultdict(list)
                jobs = ((cls, size, kind, seed) for seed in range(options.sets))
                for found in pool.imap_unordered(simulate, jobs, chunksize=max(1, options.sets // 200)):
                    for name, numbers in found.items():
                        results[name].append(numbers)
                print(
                    f"\n{cls}, {size} ({len(own.cells):,} comparisons), change: {kind}, {options.sets:,} pairs",
                    flush=True,
                )
                report(results)


if __name__ == "__main__":
    main()
