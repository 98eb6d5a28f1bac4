"""How often SODAPOP's 95% intervals contain the truth, and how often a run without any bias claims some.

    python bench/sodapop_coverage.py                      1,000 data sets of quick and standard, 200 of paper
    python bench/sodapop_coverage.py --sets 20 --size quick --part words

Words: every name has a success rate for every word, drawn from a beta distribution around its group's. The truth is RD
of the groups' rates: what an endless number of names would give. Names are those of the presets, and as many words and
distractors as runs of the built-in model have; quick and standard have contexts, which are fooled more or less by a
word whoever is named. The paper's size is simulated at the level of rates, as if all distractors were of one context.
Scenarios say how much names, and groups of names, differ in truth; both corrections are compared: q over all contrasts
of a run, as assay does, and q within each contrast, as assay 0.1 did. KMeans' accuracy has no interval.

Names: the vectors of names are noise around a direction for each gender and race. The truth is what the mean over
splits is on average over data sets, which learn from as many names. Some names may belong to another group than they
stand for.
"""

from __future__ import annotations

import argparse
import os
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import product
from multiprocessing import get_context
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from assay.probes.sodapop import analyse
from assay.probes.sodapop.names import Groups, packaged_groups
from assay.probes.sodapop.rates import Rates
from assay.probes.sodapop.settings import PRESETS, Settings
from assay.probes.sodapop.traits import packaged_lexicon
from assay.probes.sodapop.uncertainty import rd_of
from assay.probes.sodapop_names import PRESETS as NAME_PRESETS
from assay.probes.sodapop_names.method import attributes_of, estimate_of
from assay.probes.sodapop_names.telling import tell
from assay.stats import benjamini_hochberg
from assay.verdict import CLEAR

Array = NDArray[np.float64]
Numbers = dict[str, tuple[float, ...]]


@dataclass(frozen=True)
class Size:
    """How many data sets of a preset are simulated; its words, contexts, and distractors of a name with each word."""

    sets: int
    words: int
    contexts: int
    distractors: int  # in every context


SIZES = {"quick": Size(1000, 12, 2, 3), "standard": Size(1000, 60, 6, 4), "paper": Size(200, 443, 1, 100)}


@dataclass(frozen=True)
class Scenario:
    """How much names and groups differ in truth: standard deviations of success rates."""

    name: str
    names: float
    groups: float = 0.0
    share: float = 1.0  # of the words, for which groups differ


SCENARIOS = (
    Scenario("null", 0.0),
    Scenario("names only", 0.05),
    Scenario("mild", 0.05, 0.02),
    Scenario("real-like", 0.05, 0.06),
    Scenario("strong", 0.05, 0.15),
    Scenario("sparse", 0.05, 0.15, 0.07),
)


def groups_of(size: str) -> Groups:
    return packaged_groups().take(PRESETS[size].get("names_per_group"))


# --- words


def group_rates(groups: Groups, words: int, scenario: Scenario) -> Array:
    """The success rates of every name's group (name, word): gender and race each add to a word's own rate."""
    rng = np.random.default_rng(words)
    rates = np.repeat(rng.uniform(0.1, 0.6, (1, words)), len(groups.all_names()), axis=0)
    some = np.arange(words) < max(round(scenario.share * words), 1)
    for values in attributes_of(groups).values():
        _, place = np.unique(values, return_inverse=True)
        effects = rng.normal(size=(place.max() + 1, words)) * some
        rates += scenario.groups / np.sqrt(2) * effects[place]
    return np.clip(rates, 0.02, 0.7)


def draw_rates(groups: Groups, size: Size, scenario: Scenario, rng: np.random.Generator) -> tuple[Rates, Array]:
    """A data set, and the true rates of the names' groups."""
    true = group_rates(groups, size.words, scenario)
    own = true
    if scenario.names:
        wide = np.minimum(scenario.names, 0.5 * np.sqrt(true * (1.0 - true)))
        weight = true * (1.0 - true) / wide**2 - 1.0
        own = rng.beta(true * weight, (1.0 - true) * weight)
    fooling = rng.uniform(0.6, 1.4, (size.contexts, 1, size.words)) if size.contexts > 1 else 1.0
    asked = np.full((size.contexts, *true.shape), size.distractors)
    won = rng.binomial(asked, np.minimum(own * fooling, 1.0)).astype(np.float64)
    words = tuple(f"w{number}" for number in range(size.words))
    return Rates(groups.all_names(), words, won, asked.astype(np.float64), np.zeros(won.shape)), true


def simulate_words(size: str, job: tuple[Scenario, int]) -> Numbers:
    """One run: the shares of its intervals with the truth and their width; whether it claims anything, and wrongly."""
    scenario, seed = job
    groups, rng = groups_of(size), np.random.default_rng([seed, len(scenario.name)])
    rates, true = draw_rates(groups, SIZES[size], scenario, rng)
    own = {key: value for key, value in PRESETS[size].items() if key in ("permutations", "resamples")}
    found = analyse.findings_of(rates, analyse.Study(groups, Settings(**own), packaged_lexicon(), seed=seed))
    records: list[dict[str, Any]] = list(found.tables["words"].records())
    result: Numbers = {}
    p, q, within, known = ([] for _ in range(4))
    inside: dict[bool, list[tuple[float, float]]] = defaultdict(list)
    for contrast in analyse.contrasts_of(groups):
        place = {f"w{number}": number for number in range(SIZES[size].words)}
        truth = rd_of(true[contrast.a].mean(axis=0), true[contrast.b].mean(axis=0))
        rows = [row for row in records if (row["group_a"], row["group_b"]) == (contrast.first, contrast.second)]
        tested = np.array([np.nan if row["p"] is None else row["p"] for row in rows], np.float64)
        p += tested.tolist()
        within += benjamini_hochberg(tested).tolist()
        q += [np.nan if row["q"] is None else row["q"] for row in rows]
        known += [float(truth[place[row["word"]]]) for row in rows]
        for row in (row for row in rows if row["low"] is not None):
            covered = row["low"] - 1e-9 <= truth[place[row["word"]]] <= row["high"] + 1e-9
            inside[contrast.pair].append((float(covered), row["high"] - row["low"]))
    for pair, shares in inside.items():
        result["RD of two groups" if pair else "RD, pooled"] = tuple(np.mean(shares, axis=0).tolist())
    null = np.abs(known) < 1e-9
    for name, corrected in (("over all contrasts", np.array(q)), ("within each contrast", np.array(within))):
        claimed = corrected <= CLEAR
        result[f"any word starred, q {name}"] = (float(claimed.any()),)
        if null.any() and not null.all():
            result[f"of starred words false, q {name}"] = (float(null[claimed].mean()) if claimed.any() else 0.0,)
    if not null.all():
        result["of words with a difference starred"] = (float((np.array(q)[~null] <= CLEAR).mean()),)
    apart = [e for e in found.estimates if e.p is not None]
    result["any pair told apart, q"] = (float(any((e.q or 0.0) <= CLEAR for e in apart)),)
    result["any pair told apart, p"] = (float(any((e.p or 0.0) <= CLEAR for e in apart)),)
    return result


# --- names

WIDTH = 128
VECTORS = {"null": (0.0, 0.0), "mild": (0.8, 0.0), "real-like": (1.5, 0.05), "strong": (3.0, 0.0), "mixed": (2.0, 0.1)}
"""How far groups are apart, where noise has a standard deviation of about 1; the share of names that mislead."""


def simulate_names(size: str, job: tuple[str, int]) -> Numbers:
    """One run: (value, low, high) of every attribute, and whether it is above chance."""
    name, seed = job
    apart, misled = VECTORS[name]
    groups = packaged_groups().take(NAME_PRESETS[size].get("names_per_group"))
    rng, fixed = np.random.default_rng([seed, len(name)]), np.random.default_rng(1)
    told = attributes_of(groups)
    vectors = rng.normal(size=(len(groups.all_names()), WIDTH)) * fixed.uniform(0.3, 2.0, WIDTH)
    for values in told.values():
        kinds, place = np.unique(values, return_inverse=True)
        directions = fixed.normal(size=(len(kinds), WIDTH))
        directions /= np.linalg.norm(directions, axis=1)[:, None]
        shown = np.where(rng.random(len(place)) < misled, rng.integers(0, len(kinds), len(place)), place)
        vectors += apart * directions[shown]
    result: Numbers = {}
    for number, (attribute, values) in enumerate(told.items()):
        estimate = estimate_of(attribute, tell(vectors, np.array(values), 50, [seed, number]), 50)
        result[attribute] = tuple(float(number or 0.0) for number in (estimate.value, estimate.low, estimate.high))
        result[f"{attribute} above chance, p"] = (float((estimate.p or 0.0) <= CLEAR),)
    return result


# --- tables


def report(results: dict[str, list[tuple[float, ...]]]) -> None:
    for name, rows in results.items():
        found = np.array(rows)
        if found.shape[1] == 1:
            share = float(found.mean())
            print(f"  {name:50s} {share:7.1%} ± {_error(share, found[:, 0]):.1%}")
            continue
        if found.shape[1] == 3:  # a value with its interval; the truth is its mean
            value, low, high = found.T
            truth = value.mean()
            apart = " OUTSIDE ITS INTERVAL" if ((value < low - 1e-9) | (value > high + 1e-9)).any() else ""
            name, found = (
                f"{name} (truth {truth:.3f}){apart}",
                np.column_stack([(low <= truth) & (truth <= high), high - low]),
            )
        share = float(found[:, 0].mean())
        print(f"  {name:50s} {share:7.1%} ± {_error(share, found[:, 0]):.1%} covered, width {found[:, 1].mean():.3f}")


def _error(share: float, each: Array) -> float:
    """One standard error of the simulation; with 0 or all of them, what one more would change."""
    return float(max(each.std() / np.sqrt(len(each)), 1.0 / len(each) if share in (0.0, 1.0) else 0.0))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, help="data sets of each scenario and size")
    parser.add_argument("--size", default=",".join(SIZES))
    parser.add_argument("--part", default="words,names")
    parser.add_argument("--scenario", default="")
    options = parser.parse_args()
    wanted = options.scenario.split(",") if options.scenario else None
    print("± is one standard error of the simulation")
    start = time.perf_counter()
    no_picture: Any = patch.object(analyse, "projection", lambda groups, vectors: {})  # t-SNE takes long
    with no_picture, get_context("fork").Pool(os.cpu_count()) as pool:
        for part, size in product(options.part.split(","), options.size.split(",")):
            simulate: Callable[[Any], Numbers] = partial(simulate_words if part == "words" else simulate_names, size)
            for scenario in SCENARIOS if part == "words" else VECTORS:
                name = scenario if isinstance(scenario, str) else scenario.name
                if wanted and name not in wanted:
                    continue
                sets = options.sets or SIZES[size].sets
                results: dict[str, list[tuple[float, ...]]] = defaultdict(list)
                for found in pool.imap_unordered(simulate, ((scenario, seed) for seed in range(sets))):
                    for key, numbers in found.items():
                        results[key].append(numbers)
                print(f"\n{part}, {size}, {name}: {sets:,} data sets", flush=True)
                report(results)
    print(f"\n{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
