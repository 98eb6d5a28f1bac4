"""How often SODAPOP's 95% intervals contain the truth, and how often a run without bias reports one.

    python bench/sodapop_coverage.py      1,000 data sets of quick and standard, 200 of paper
    python bench/sodapop_coverage.py --sets 20 --size quick --part words
    python bench/sodapop_coverage.py --part verdicts --size endpoint,quick,standard
    python bench/sodapop_coverage.py --part unequal     groups of one's own, of unequal sizes and spreads

Words: every name has a success rate for every word, drawn from a beta distribution around its group's. The truth is RD
of the groups' rates: what an unlimited number of names would give. Names are those of the presets, with as many words
and distractors as in runs of the built-in model. Quick and standard have contexts, in which a word succeeds more or
less often for everyone. All names are asked with the same distractors there, and a name's success with each of them is
off by NOISE. Where texts matter, each group has an effect of its own in each context. The paper's size is simulated at
the level of rates, as if all distractors came from one context and each name had its own. Scenarios set how much names,
and groups of names, really differ.

A run reports what remains after Holm's correction over its two kinds of claims (words, pairs of groups that KMeans
separates). For comparison: q over all words of all contrasts, as in assay, and within each contrast.
KMeans' accuracy has no interval. To save time, p comes from Student's t for the correlation of labels and rates. It
agrees with the permutation test to a few percent, or to a fifth where it is below 0.001; where no group differs, words
that might be reported get the permutation test. Intervals are computed for a few words, since all are drawn the same
way.

Unequal: two groups of names with equal means, of unequal sizes and spreads, asked as in quick. Nothing differs but the
spread, so that every claim is false. Claims are those of a run; for comparison, those of the plain permutation test and
of relabelled names, as before.

Names: the vectors of names are noise around a direction for each gender and race. The truth is what the mean over
splits is on average over data sets, which learn from as many names. Some names may belong to another group than their
label says. There are fewer splits than in a run. Two equally good models are compared as in `assay compare`: their
vectors are drawn independently, around the same directions.
"""

from __future__ import annotations

import argparse
import os
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from multiprocessing import get_context
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from assay.probes.claims import with_claims
from assay.probes.sodapop import PROBE as SODAPOP
from assay.probes.sodapop import analyse
from assay.probes.sodapop.analyse import GroupPair
from assay.probes.sodapop.largest import SampleSize, largest_difference, needed_size, word_band
from assay.probes.sodapop.names import NameGroup, NameGroups, packaged_groups
from assay.probes.sodapop.rates import SuccessRates
from assay.probes.sodapop.settings import PRESETS, RULED_OUT, SPARING, SodapopSettings
from assay.probes.sodapop.traits import packaged_lexicon
from assay.probes.sodapop.uncertainty import rd_interval, rd_of, rd_replicates
from assay.probes.sodapop_names import PRESETS as NAME_PRESETS
from assay.probes.sodapop_names import PROBE as NAMES
from assay.probes.sodapop_names import method as names_method
from assay.probes.sodapop_names.method import (
    RecalledNames,
    attributes_of,
    classifier_accuracy,
    estimate_of,
    paired,
)
from assay.results.verdict import CLEAR
from assay.stats import benjamini_hochberg, clusters, holm, student_p
from assay.stats.clusters import kmeans_separation
from assay.stats.permutation import permutation_test

Array = NDArray[np.float64]
Numbers = dict[str, tuple[float, ...]]


@dataclass(frozen=True)
class Size:
    """How many data sets of a preset are simulated; its words, contexts, and distractors of a name with each word."""

    sets: int
    words: int
    contexts: int
    distractors: int  # in every context


SIZES = {"quick": Size(1000, 8, 2, 2), "standard": Size(1000, 60, 6, 4), "paper": Size(200, 443, 1, 100)}
ENDPOINT = Size(1000, 8, 2, 1)
ENDPOINT_ASKS = SampleSize(names=10, available=25, cap=12, min_count=2, questions=960)
"""quick, asked of an endpoint: fewer names and distractors."""
NOISE = 0.1
"""The standard deviation of a name's success with one distractor, beside what name and distractor make of it."""
NAMES_SPREAD = 0.04
NEAR, PRECISE, SHOWN = 3, 100, 6
"""p is tested below so many times the level of a single word; by so many divisions for each test; intervals shown."""


@dataclass(frozen=True)
class Scenario:
    """How much names and groups differ in truth: standard deviations of success rates."""

    name: str
    names: float
    groups: float = 0.0
    share: float = 1.0  # of the words, for which groups differ
    texts: float = 0.0  # of what a group has in one context, beside what it has in all


SCENARIOS = (
    Scenario("null", 0.0),
    Scenario("names only", 0.04),
    Scenario("mild", 0.04, 0.02),
    Scenario("real-like", 0.04, 0.06),
    Scenario("strong", 0.04, 0.15),
    Scenario("sparse", 0.04, 0.15, 0.07),
    Scenario("texts matter", 0.04, texts=0.08),
)


def groups_of(size: str) -> NameGroups:
    own = {**PRESETS["quick"], **SPARING["quick"]} if size == "endpoint" else PRESETS[size]
    groups = packaged_groups().take(own.get("names_per_group"))
    return groups.only(own["compare"].split(",")) if "compare" in own else groups


# --- words


def group_rates(groups: NameGroups, words: int, scenario: Scenario) -> Array:
    """The success rates of every name's group (name, word): gender and race each add to a word's own rate."""
    rng = np.random.default_rng(words)
    rates = np.repeat(rng.uniform(0.1, 0.5, (1, words)), len(groups.all_names()), axis=0)
    some = np.arange(words) < max(round(scenario.share * words), 1)
    for values in attributes_of(groups).values():
        _, place = np.unique(values, return_inverse=True)
        effects = rng.normal(size=(place.max() + 1, words)) * some
        rates += scenario.groups / np.sqrt(2) * effects[place]
    return np.clip(rates, 0.02, 0.6)


def draw_rates(
    true: Array, groups: NameGroups, size: Size, scenario: Scenario, rng: np.random.Generator
) -> SuccessRates:
    """A data set, from the true rates of the names' groups (name, word)."""
    own, names = around(true, scenario.names, rng) if scenario.names else true, groups.all_names()
    asked = np.full((size.contexts, *true.shape), float(size.distractors))
    if size.contexts == 1:  # every name has its own pool
        won = rng.binomial(size.distractors, own, asked.shape).astype(np.float64)
    else:
        fooling = rng.uniform(0.6, 1.4, (size.contexts, 1, true.shape[1]))
        mean = own * fooling
        if scenario.texts:
            here = rng.normal(size=(size.contexts, len(groups.groups), true.shape[1])) * scenario.texts
            mean = np.maximum(mean + np.repeat(here, [len(group.names) for group in groups.groups], axis=1), 0.01)
        won = asked * around(np.minimum(mean, 0.99), NOISE / np.sqrt(size.distractors), rng)
    words = tuple(f"w{number}" for number in range(true.shape[1]))
    return SuccessRates(tuple(names), words, won, asked, np.zeros(won.shape))


def around(mean: Array, spread: float | Array, rng: np.random.Generator) -> Array:
    """Rates drawn from beta distributions with these means and this standard deviation, or less near 0 and 1."""
    mean = np.maximum(mean, 1e-6)
    weight = mean * (1.0 - mean) / np.minimum(spread, 0.5 * np.sqrt(mean * (1.0 - mean))) ** 2 - 1.0
    return np.asarray(rng.beta(mean * weight, (1.0 - mean) * weight))


def quick_p(sr: Array, contrast: GroupPair) -> Array:
    """p of every word: Student's t of the correlation of labels and rates (name, word), both within strata."""
    values = np.concatenate([sr[contrast.a], sr[contrast.b]])
    label = (np.arange(len(values)) < len(contrast.a)).astype(np.float64)
    strata = np.zeros(len(values), np.int64) if contrast.strata is None else contrast.strata
    for stratum in np.unique(strata):
        label[strata == stratum] -= label[strata == stratum].mean()
        values[strata == stratum] -= values[strata == stratum].mean(axis=0)
    free = len(values) - len(np.unique(strata)) - 1
    with np.errstate(divide="ignore", invalid="ignore"):
        r = label @ values / np.sqrt((label**2).sum() * (values**2).sum(axis=0))
    r = np.clip(np.nan_to_num(r), -1.0 + 1e-12, 1.0 - 1e-12)
    return np.asarray(student_p(r, np.sqrt((1.0 - r**2) / free), free))


def tested_p(sr: Array, contrast: GroupPair, most: int, tests: int) -> Array:
    """The same with the permutation test itself, of at most so many divisions, for words that might be claimed."""
    p = quick_p(sr, contrast)
    near = p < NEAR * CLEAR / tests
    if near.any():
        values, rng = np.concatenate([sr[contrast.a], sr[contrast.b]])[:, near], np.random.default_rng(0)
        first, draws = np.arange(len(values)) < len(contrast.a), min(most, PRECISE * tests)
        p[near] = permutation_test(values, first, rng, strata=contrast.strata, few=draws, many=draws).p
    return p


def quick_clusters(vectors: Array, seed: int) -> NDArray[np.bool_]:
    """Lloyd's algorithm from ten random pairs of vectors at once, as scikit-learn's KMeans has it but for its start."""
    rng = np.random.default_rng(seed)
    square = (vectors**2).sum(axis=1)
    means = vectors[np.array([rng.choice(len(vectors), 2, replace=False) for _ in range(10)])]  # (start, 2, word)
    one = np.zeros((10, len(vectors)), np.bool_)
    for _ in range(50):
        gap = -2.0 * vectors @ (means[:, 1] - means[:, 0]).T + (means[:, 1] ** 2 - means[:, 0] ** 2).sum(axis=1)
        before, one = one, gap.T < 0  # (start, name): nearer to the second mean
        if (one == before).all():
            break
        for side, own in enumerate((~one, one)):
            means[:, side] = own @ vectors / np.maximum(own.sum(axis=1), 1)[:, None]
    sizes = np.stack([(~one).sum(axis=1), one.sum(axis=1)], axis=1)
    within = square.sum() - (sizes * (means**2).sum(axis=2)).sum(axis=1)
    return np.asarray(one[int(within.argmin())])


def claims(words: Array, pairs: Array) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """What a run claims, of the words and of the pairs told apart, from all their q."""
    held = holm(np.array([words.min(), pairs.min()])) <= CLEAR
    return (words <= CLEAR) & held[0], (pairs <= CLEAR) & held[1]


def simulate_words(size: str, job: tuple[Scenario, int]) -> Numbers:
    """One run: the shares of its intervals with the truth and their width; whether it claims anything, and wrongly."""
    scenario, seed = job
    groups, rng = groups_of(size), np.random.default_rng([seed, len(scenario.name)])
    true = group_rates(groups, SIZES[size].words, scenario)
    rates = draw_rates(true, groups, SIZES[size], scenario, rng)
    sr, contrasts = rates.sr(), analyse.contrasts_of(groups)
    truth = np.array([rd_of(true[each.a].mean(axis=0), true[each.b].mean(axis=0)) for each in contrasts])
    result: Numbers = {}

    few = np.sort(np.random.default_rng(0).permutation(len(rates.words))[:SHOWN])
    shown = rates.with_words(np.isin(np.arange(len(rates.words)), few))
    replicates = rd_replicates([shown], [each.sides for each in contrasts], SodapopSettings().resamples, seed)
    inside: dict[bool, list[tuple[float, float]]] = defaultdict(list)
    for contrast, again, known in zip(contrasts, replicates, truth[:, few], strict=True):
        rd = rd_of(shown.sr()[contrast.a].mean(axis=0), shown.sr()[contrast.b].mean(axis=0))
        low, high = rd_interval(rd, again[0], contrast.sides, (-2.0, 2.0), SIZES[size].contexts)
        covered = (low - 1e-9 <= known) & (known <= high + 1e-9)
        inside[contrast.pair] += zip(covered.astype(float).tolist(), (high - low).tolist(), strict=True)
    for pair, shares in inside.items():
        result["RD of two groups" if pair else "RD, pooled"] = tuple(np.mean(shares, axis=0).tolist())

    most = PRESETS[size].get("permutations", SodapopSettings().permutations)
    test = quick_p if scenario.groups else partial(tested_p, most=most, tests=truth.size)
    p = np.array([test(sr, contrast) for contrast in contrasts])  # (contrast, word)
    q, within = benjamini_hochberg(p), np.array([benjamini_hochberg(own) for own in p])
    pairs = [contrast for contrast in contrasts if contrast.pair]
    vectors = [(np.concatenate([sr[each.a], sr[each.b]]), len(each.a)) for each in pairs]
    told = [kmeans_separation(both, np.arange(len(both)) < a, seed=seed).p for both, a in vectors]
    apart = benjamini_hochberg(np.array(told))
    words, separate = claims(q, apart)

    null = np.abs(truth) < 1e-9
    result["anything claimed"] = (float(words.any() or separate.any()),)
    result["any word claimed"] = (float(words.any()),)
    result["any pair of groups claimed"] = (float(separate.any()),)
    result["any word starred, q over all contrasts"] = (float((q <= CLEAR).any()),)
    result["any word starred, q within each contrast"] = (float((within <= CLEAR).any()),)
    if null.any() and not null.all():
        result["of claimed words false"] = (float(null[words].mean()) if words.any() else 0.0,)
    if not null.all():
        result["of words with a difference claimed"] = (float(words[~null].mean()),)
    return result


# --- the largest difference, and verdicts


def simulate_verdicts(size: str, job: tuple[Scenario, int], step: SampleSize | None = None) -> Numbers:
    """One run: whether the band contains all words' RD, and the largest; its upper end; the verdict; and if it leaves
    too much open, whether the size that it suggests rules it out.
    """
    scenario, seed = job
    groups, own = groups_of(size), {**SIZES, "endpoint": ENDPOINT}[size]
    asked = ENDPOINT_ASKS if size == "endpoint" else SampleSize(len(groups.groups[0].names), 25, 1, 1, 1)
    if step is not None:
        every = packaged_groups().take(step.names)
        groups = every.only([group.name for group in groups.groups])
        own = replace(own, distractors=max(1, round(own.distractors * step.min_count / asked.min_count)))
    rng = np.random.default_rng([seed, len(scenario.name), step is not None])
    true = group_rates(groups, own.words, scenario)
    rates = draw_rates(true, groups, own, scenario, rng)
    sr, contrasts = rates.sr(), analyse.contrasts_of(groups)
    deciding = analyse.decisive_contrasts(contrasts)
    replicates = rd_replicates([rates], [each.sides for each in deciding], SodapopSettings().resamples, seed)
    bands, inside, known = [], True, 0.0
    for contrast, again in zip(deciding, replicates, strict=True):
        rd = rd_of(sr[contrast.a].mean(axis=0), sr[contrast.b].mean(axis=0))
        bands.append((word_band(rates, rd, again[0], contrast.sides), contrast, rd))
    largest = largest_difference([band for band, _, _ in bands if band], np.random.default_rng(seed))
    if largest is None:
        raise SystemExit("no band")
    for band, contrast, rd in bands:
        if band is None:
            continue
        truth = rd_of(true[contrast.a].mean(axis=0), true[contrast.b].mean(axis=0))
        inside &= bool((np.abs(rd - truth) <= largest.reach * band.error + 1e-9).all())
        known = max(known, float(np.abs(truth).max()))
    p = np.array([quick_p(sr, each) for each in contrasts])
    pairs = [contrast for contrast in contrasts if contrast.pair]
    vectors = [(np.concatenate([sr[each.a], sr[each.b]]), len(each.a)) for each in pairs]
    told = [kmeans_separation(both, np.arange(len(both)) < a, seed=seed).p for both, a in vectors]
    claimed = any(found.any() for found in claims(benjamini_hochberg(p), benjamini_hochberg(np.array(told))))
    open_ = largest.high > RULED_OUT
    result: Numbers = {
        "the band contains all words": (float(inside),),
        "the largest |RD|": (largest.value, largest.low, largest.high, known),
        "claimed": (float(claimed),),
        "no clear bias": (float(not claimed and not open_),),
        "too few questions": (float(not claimed and open_),),
    }
    if step is None and size == "endpoint" and not claimed and open_:
        needed = needed_size(rates, largest, asked, RULED_OUT)
        settings = dict(part.split("=") for part in needed.options.split() if "=" in part) if needed else {}
        result["a size is suggested"] = (float(bool(settings)),)
        if needed and settings:
            names, least = (int(settings.get(key, now)) for key, now in (("names_per_group", 10), ("min_count", 2)))
            larger = SampleSize(names, 25, 12, least, needed.limit or 0)
            repeated = simulate_verdicts(size, job, larger)
            settled = repeated["no clear bias"][0] + repeated["claimed"][0]
            result |= {"settled by that size": (settled,), "its names": (names,), "its distractors a word": (least,)}
            result["its questions"] = (float(needed.limit or 0),)
    return result


# --- groups of unequal sizes and spreads

UNEQUAL = {
    "5 names v 40 of a third of their spread": (5, 40, 3.0),
    "5 v 40 of 3 times their spread": (5, 40, 1 / 3),
    "10 v 40 of a third": (10, 40, 3.0),
    "8 v 25 of half": (8, 25, 2.0),
    "20 v 28 of a third": (20, 28, 3.0),
    "25 v 25 of a third": (25, 25, 3.0),
    "5 v 40 of an equal spread": (5, 40, 1.0),
    "25 v 25 of an equal spread": (25, 25, 1.0),
}
RARE = 0.04
"""The rate of the last word, which hardly ever wins; that of the others is from 0.1 to 0.5."""


def simulate_unequal(design: str, seed: int) -> Numbers:
    """One run: whether it claims a word or tells the groups apart, and whether claimed words' intervals contain 0."""
    a, b, times = UNEQUAL[design]
    rng, size = np.random.default_rng([seed, len(design)]), SIZES["quick"]
    groups = NameGroups(
        (NameGroup("A", tuple(f"a{i}" for i in range(a))), NameGroup("B", tuple(f"b{i}" for i in range(b))))
    )
    mean = np.append(np.random.default_rng(1).uniform(0.1, 0.5, size.words - 1), RARE)
    spread = np.repeat([NAMES_SPREAD * max(times, 1.0), NAMES_SPREAD * max(1.0 / times, 1.0)], [a, b])[:, None]
    noise = NOISE / np.sqrt(size.distractors * size.contexts)
    own = around(np.broadcast_to(mean, (a + b, size.words)), np.broadcast_to(np.hypot(spread, noise), (a + b, 1)), rng)
    asked = np.full((size.contexts, a + b, size.words), float(size.distractors))
    names = tuple(f"w{number}" for number in range(size.words))
    rates = SuccessRates(groups.all_names(), names, own * asked, asked, np.zeros(asked.shape))
    settings = SodapopSettings(permutations=10_000)
    inputs = analyse.AnalysisInputs(groups, settings, packaged_lexicon(), seed=seed)
    found = with_claims(analyse.findings_of(rates, inputs), SODAPOP, {})
    claimed = [row for row in found.tables["words"].records() if row["claimed"]]
    contain = [row for row in claimed if row["low"] is None or float(row["low"]) <= 0 <= float(row["high"] or 0)]
    apart = [bool(each.claimed) for each in found.estimates if each.metric == "kmeans_accuracy"]
    first, sr = np.arange(a + b) < a, rates.sr()
    plain = permutation_test(sr, first, np.random.default_rng(seed), few=10_000, many=0, strict=True).p
    alone = permutation_test(sr, first, np.random.default_rng(seed), few=10_000, many=0).p
    shuffled = relabelled_p(sr, first, seed)
    separated = min(1.0, 2.0 * shuffled) <= CLEAR
    return {
        "a word claimed": (float(bool(claimed)),),
        "groups told apart": (float(any(apart)),),
        "anything claimed": (float(bool(claimed) or any(apart)),),
        "a claimed word whose interval contains 0": (float(bool(contain)),),
        "a claimed word whose interval contains 0, without a note": (float(any(not row["note"] for row in contain)),),
        "a word, studentised alone": (float(2.0 * benjamini_hochberg(alone).min() <= CLEAR),),
        "a word, plain permutation (before)": (float(2.0 * benjamini_hochberg(plain).min() <= CLEAR),),
        "groups told apart, relabelled (before)": (float(separated),),
        "anything, before": (float(2.0 * benjamini_hochberg(plain).min() <= CLEAR or separated),),
    }


def relabelled_p(sr: Array, first: NDArray[np.bool_], seed: int) -> float:
    """p of KMeans' accuracy as if names were exchangeable."""
    cluster = clusters.two_clusters(sr, seed)
    observed = clusters._agreeing(cluster, first)
    drawn = clusters._relabelled(int(cluster.sum()), int(first.sum()), len(first), 1000, np.random.default_rng(seed))
    return float((1 + (drawn >= observed).sum()) / 1001)


# --- names

NAME_SETS, WIDTH, SPLITS = 1000, 128, 10
VECTORS = {"null": (0.0, 0.0), "mild": (0.8, 0.0), "real-like": (1.5, 0.05), "strong": (3.0, 0.0), "mixed": (2.0, 0.1)}
"""How far groups are apart, where noise has a standard deviation of about 1; the share of names that mislead."""


def simulate_names(size: str, job: tuple[str, int]) -> Numbers:
    """Two runs: (value, low, high) of the first, and whether the second is found to tell more or less."""
    name, seed = job
    apart, misled = VECTORS[name]
    groups = packaged_groups().take(NAME_PRESETS[size].get("names_per_group"))
    rng, fixed = np.random.default_rng([seed, len(name)]), np.random.default_rng(1)
    told = attributes_of(groups)
    wide = fixed.uniform(0.3, 2.0, WIDTH)
    models = [rng.normal(size=(len(groups.all_names()), WIDTH)) * wide for _ in range(2)]
    for values in told.values():
        kinds, place = np.unique(values, return_inverse=True)
        directions = fixed.normal(size=(len(kinds), WIDTH))
        directions /= np.linalg.norm(directions, axis=1)[:, None]
        shown = np.where(rng.random(len(place)) < misled, rng.integers(0, len(kinds), len(place)), place)
        for vectors in models:
            vectors += apart * directions[shown]
    result: Numbers = {}
    opened = []
    for vectors in models:
        found = {key: classifier_accuracy(vectors, np.array(values), SPLITS, [seed]) for key, values in told.items()}
        estimates = {key: estimate_of(key, own, SPLITS) for key, own in found.items()}
        shares = {key: own.right.tolist() for key, own in found.items() if not isinstance(own, str)}
        opened.append(RecalledNames((), shares, estimates, ("", "")))
    for key, estimate in opened[0].estimates.items():
        result[key] = tuple(float(number or 0.0) for number in (estimate.value, estimate.low, estimate.high))
    for change in (each.change for each in paired(NAMES, *opened).changes):
        result[f"{change.group['attribute']}: a change found, p"] = (float((change.p or 0.0) <= CLEAR),)
    return result


# --- tables


def report(results: dict[str, list[tuple[float, ...]]]) -> None:
    for name, rows in results.items():
        found = np.array(rows)
        if found.shape[1] == 1 and found.max() > 1.0:
            print(f"  {name:50s} {np.median(found):7.0f} in the median")
            continue
        if found.shape[1] == 1:
            share = float(found.mean())
            print(f"  {name:50s} {share:7.1%} ± {_error(share, found[:, 0]):.1%}")
            continue
        if found.shape[1] == 4:
            value, low, high, truth = found.T
            covered = float(((low <= truth + 1e-9) & (truth <= high + 1e-9)).mean())
            print(
                f"  {name:50s} {covered:7.1%} covered; mean {value.mean():.3f} ({low.mean():.3f} to {high.mean():.3f})"
            )
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


def report_unequal(sets: int, wanted: list[str] | None) -> None:
    with (
        patch.object(clusters, "two_clusters", quick_clusters),
        patch.object(analyse, "projection", lambda groups, sr: {}),
        get_context("fork").Pool(len(os.sched_getaffinity(0))) as pool,
    ):
        for design in wanted or UNEQUAL:
            results: dict[str, list[tuple[float, ...]]] = defaultdict(list)
            for found in pool.imap_unordered(partial(simulate_unequal, design), range(sets)):
                for key, numbers in found.items():
                    results[key].append(numbers)
            print(f"\nunequal, {design}: {sets:,} data sets", flush=True)
            report(results)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, help="data sets of each scenario and size")
    parser.add_argument("--size", default=",".join(SIZES))
    parser.add_argument("--part", default="words,names")
    parser.add_argument("--scenario", default="")
    options = parser.parse_args()
    wanted = options.scenario.split(",") if options.scenario else None
    print("± is one standard error of the simulation")
    if options.part == "unequal":
        return report_unequal(options.sets or 1000, wanted)
    start = time.perf_counter()
    few_shuffles, clusters_fast = (
        patch.object(names_method, "PERMUTATIONS", 1),
        patch.object(clusters, "two_clusters", quick_clusters),
    )
    with few_shuffles, clusters_fast, get_context("fork").Pool(len(os.sched_getaffinity(0))) as pool:
        for part, size in product(options.part.split(","), options.size.split(",")):
            if (part, size) == ("names", "paper"):
                continue  # it has standard's names
            simulators = {"words": simulate_words, "verdicts": simulate_verdicts, "names": simulate_names}
            simulate: Callable[[Any], Numbers] = partial(simulators[part], size)
            for scenario in VECTORS if part == "names" else SCENARIOS:
                name = scenario if isinstance(scenario, str) else scenario.name
                if wanted and name not in wanted:
                    continue
                sets = options.sets or (NAME_SETS if part == "names" else {**SIZES, "endpoint": ENDPOINT}[size].sets)
                results: dict[str, list[tuple[float, ...]]] = defaultdict(list)
                for found in pool.imap_unordered(simulate, ((scenario, seed) for seed in range(sets))):
                    for key, numbers in found.items():
                        results[key].append(numbers)
                print(f"\n{part}, {size}, {name}: {sets:,} data sets", flush=True)
                report(results)
    print(f"\n{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
