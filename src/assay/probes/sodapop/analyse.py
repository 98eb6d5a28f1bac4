"""From success rates to findings: RD of every word and pair of groups, separation of groups, projections, traits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.probes.claims import corrected, corrected_table
from assay.probes.sodapop.largest import (
    METRIC,
    LargestDifference,
    SampleSize,
    largest_difference,
    largest_estimate,
    needed_size,
    word_band,
)
from assay.probes.sodapop.metrics import Array, adjusted_difference, group_difference, group_mean, relative_difference
from assay.probes.sodapop.names import NameGroups
from assay.probes.sodapop.rates import SuccessRates
from assay.probes.sodapop.settings import SodapopSettings
from assay.probes.sodapop.traits import HumanRating, Lexicon, agreement, ordering, trait_scores
from assay.probes.sodapop.uncertainty import difference_p, rd_interval, rd_of, rd_replicates
from assay.results.findings import Cell, Estimate, Findings, Table
from assay.results.formatting import plural
from assay.results.verdict import CLEAR, Grounds
from assay.stats import MIN_UNITS
from assay.stats.clusters import kmeans_separation, tsne_projection

WORDS = (
    *("group_a", "group_b", "word", "sr_a", "sr_b", "d", "m", "rd", "low", "high", "p", "q", "n"),
    *("rd_pools", "rd_controlled", "note"),
)
"""Columns of the table `words`: n counts distractors with the word, over both groups' names and all contexts; q is
corrected over all words of all contrasts; note says why the interval contains 0, or is missing, although p is small."""
TRAITS = ("group_a", "group_b", "trait", "score_a", "score_b", "order", "human", "agrees")

_FEWEST_TO_PROJECT = 4


@dataclass(frozen=True, eq=False)
class GroupPair:
    """Two sets of names to be compared, and the strata within which names may be exchanged."""

    first: str
    second: str
    a: NDArray[np.int64]  # places among the run's names
    b: NDArray[np.int64]
    strata: NDArray[np.int64] | None = None  # (name of a, then of b)
    pair: bool = True  # two groups, not several of them grouped by an attribute

    @property
    def sides(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return self.a, self.b


@dataclass(frozen=True)
class AnalysisInputs:
    """What a run's success rates are analysed with: who is compared, and what is known about names and words."""

    groups: NameGroups
    settings: SodapopSettings
    lexicon: Lexicon
    human: Sequence[HumanRating] = ()
    controls: Array | None = None  # (name, 2): pieces, NaN where they are not known, and frequency
    seed: int = 0
    size: SampleSize | None = None  # of a run that could ask more


def findings_of(rates: SuccessRates, study: AnalysisInputs) -> Findings:
    """The findings from a run's success rates."""
    sr, blind, contrasts = rates.sr(), rates.sr_of_pools(), contrasts_of(study.groups)
    sides = [contrast.sides for contrast in contrasts]
    replicates = rd_replicates([rates], sides, study.settings.resamples, study.seed)
    words, traits = [], []
    estimates: list[Estimate] = []
    agreements: list[Estimate] = []
    deciding, bands = decisive_contrasts(contrasts), []
    for number, (contrast, resampled) in enumerate(zip(contrasts, replicates, strict=True)):
        contrast_words = _words(rates, sr, blind, contrast, resampled[0], study, [study.seed, number])
        words += contrast_words
        if contrast in deciding:
            rd = rd_of(sr[contrast.a].mean(axis=0), sr[contrast.b].mean(axis=0))
            bands.append(word_band(rates, rd, resampled[0], contrast.sides))
        if contrast.pair:
            estimates.append(_separation(sr, contrast, study.seed))
        ordered, agreed = _traits(contrast_words, contrast, study)
        traits += ordered
        agreements += agreed
    tables = {
        "words": corrected_table(Table(WORDS, words)),
        "names": _names(rates, sr, study),
        **projection(study.groups, sr),
    }
    if traits:
        tables["traits"] = Table(TRAITS, traits)
    estimates = corrected(estimates, [estimate.metric for estimate in estimates])
    largest = largest_difference([band for band in bands if band], np.random.default_rng([study.seed, len(contrasts)]))
    estimates.append(largest_estimate(largest, len(deciding)))
    return Findings("sodapop", "", estimates + agreements, tables, grounds=_grounds(rates, largest, study))


def _grounds(rates: SuccessRates, largest: LargestDifference | None, study: AnalysisInputs) -> Grounds:
    """What a verdict of no bias rules out, and the size that would settle what is open."""
    allowed = study.settings.ruled_out
    if largest is None:
        return Grounds()
    words = plural(len({word for band in largest.bands for word in band.words}), "word")
    rules_out = f"a relative difference above {allowed:g} is ruled out for all of the {words}, in any comparison of "
    rules_out += "all names by one attribute" if study.groups.pooled() else "two groups"
    needed = needed_size(rates, largest, study.size, allowed) if study.size else None
    return Grounds(needed={METRIC: needed} if needed else {}, rules_out=rules_out)


def decisive_contrasts(contrasts: Sequence[GroupPair]) -> list[GroupPair]:
    """Those that can rule a bias out: everybody with one value of an attribute against another, or all pairs."""
    return [contrast for contrast in contrasts if not contrast.pair] or list(contrasts)


def contrasts_of(groups: NameGroups) -> list[GroupPair]:
    """The pairs of groups that differ in one attribute, then everybody with one value of it against another."""
    pairs = [GroupPair(a.name, b.name, groups.rows(a), groups.rows(b)) for a, b in groups.pairs()]
    for pooled in groups.pooled():
        a, b = (groups.rows(*side) for side in zip(*pooled.strata, strict=True))
        strata = [
            np.repeat(np.arange(len(pooled.strata)), [len(pair[side].names) for pair in pooled.strata])
            for side in (0, 1)
        ]
        pairs.append(GroupPair(pooled.a, pooled.b, a, b, np.concatenate(strata), pair=False))
    return pairs


def _words(
    rates: SuccessRates,
    sr: Array,
    blind: Array,
    contrast: GroupPair,
    resampled: Array,
    study: AnalysisInputs,
    seed: Sequence[int],
) -> list[list[Cell]]:
    """A row for every word, those with the greatest |RD| first; `resampled` is RD (drawn, resample, word)."""
    a, b = sr[contrast.a], sr[contrast.b]  # (name, word)
    d, m = group_difference(a, b), group_mean(a, b)
    rd = relative_difference(d, m)
    both = np.concatenate([a, b])
    first = np.arange(len(both)) < len(a)
    p = difference_p(both, (len(a), len(b)), contrast.strata, study.settings, np.random.default_rng(list(seed)))
    low, high = rd_interval(rd, resampled, contrast.sides, (-2.0, 2.0), len(rates.successes))
    alone = blind[contrast.a], blind[contrast.b]
    pools = relative_difference(group_difference(*alone), group_mean(*alone))
    rows, controls = np.concatenate([contrast.a, contrast.b]), study.controls
    adjusted = None if controls is None else adjusted_difference(both, first, controls[rows])
    controlled = np.full(len(rates.words), np.nan) if adjusted is None else relative_difference(adjusted, m)
    before = np.column_stack([a.mean(axis=0), b.mean(axis=0), d, m, rd, low, high, p])
    counts = rates.distractors[:, rows].sum(axis=(0, 1)).round().astype(int).tolist()
    behind = np.column_stack([pools, controlled])
    notes = [_note(*numbers, contexts=len(rates.successes)) for numbers in zip(p, low, high, strict=True)]
    order = sorted(range(len(rates.words)), key=lambda word: (-abs(np.nan_to_num(rd[word])), rates.words[word]))
    return [
        [
            *(contrast.first, contrast.second, rates.words[word], *cells_of(before[word])),
            *(None, counts[word], *cells_of(behind[word]), notes[word]),  # q is for all contrasts together
        ]
        for word in order
    ]


_NO_INTERVAL = f"no interval: a group has fewer than {MIN_UNITS} names"
_OF_TEXTS = "p is about these texts; the interval, which allows for other texts, contains 0"
_CONTAINS_0 = "the interval, from resampled names, contains 0"


def _note(p: float, low: float, high: float, *, contexts: int) -> str | None:
    """Why a word with a small p has an interval that contains 0, or none."""
    if not p <= CLEAR or low > 0 or high < 0:
        return None
    if not np.isfinite(low):
        return _NO_INTERVAL
    return _OF_TEXTS if contexts >= MIN_UNITS else _CONTAINS_0


def cells_of(numbers: Array) -> list[Cell]:
    """Numbers as cells of a table; None where one is undefined."""
    return [number if np.isfinite(number) else None for number in numbers.tolist()]


def _separation(sr: Array, contrast: GroupPair, seed: int) -> Estimate:
    """KMeans' accuracy for a pair of groups, with its chance level."""
    group = {"a": contrast.first, "b": contrast.second}
    vectors = np.concatenate([sr[contrast.a], sr[contrast.b]])
    if not vectors.shape[1]:
        return Estimate("kmeans_accuracy", group, None, n=len(vectors), note="no word has enough distractors")
    separation = kmeans_separation(vectors, np.arange(len(vectors)) < len(contrast.a), seed=seed)
    return Estimate(
        "kmeans_accuracy",
        group,
        separation.accuracy,
        n=len(vectors),
        p=separation.p,
        floor=separation.floor,
        note=_NO_RANGE,
    )


_NO_RANGE = "no interval: resampling repeats names, and equal vectors share a cluster; see the chance level and p"


def _names(rates: SuccessRates, sr: Array, study: AnalysisInputs) -> Table:
    """Every name with its group, its mean SR, and what else may matter about it."""
    rows: list[list[Cell]] = []
    for row, name in enumerate(rates.names):
        defined = sr[row][np.isfinite(sr[row])]
        mean = float(defined.mean()) if len(defined) else None
        pieces, frequency = (None, None) if study.controls is None else cells_of(study.controls[row])
        tokens = int(pieces) if isinstance(pieces, float) else None
        rows.append([study.groups.of(name).name, name, mean, tokens, frequency])
    return Table(("group", "name", "mean_sr", "pieces", "log10_frequency"), rows)


def projection(groups: NameGroups, vectors: Array) -> dict[str, Table]:
    """The names' vectors (name, feature) in two dimensions (t-SNE), for a picture (the paper's Figures 2 and 4).

    No table where there are too few names, or nothing about them.
    """
    if len(vectors) < _FEWEST_TO_PROJECT or not vectors.shape[1]:
        return {}
    rows: list[list[Cell]] = [
        [groups.of(name).name, name, round(float(x), 4), round(float(y), 4)]
        for name, (x, y) in zip(groups.all_names(), tsne_projection(vectors).tolist(), strict=True)
    ]
    return {"projection": Table(("group", "name", "x", "y"), rows)}


def _traits(
    rows: Sequence[Sequence[Cell]], contrast: GroupPair, study: AnalysisInputs
) -> tuple[list[list[Cell]], list[Estimate]]:
    """How the words with p < 0.05 order a pair of groups by the ABC model's traits (section 5).

    Also the share of traits on which people order them in the same way.
    """
    a, b = contrast.first, contrast.second
    words: dict[str, list[str]] = {a: [], b: []}
    for row in (dict(zip(WORDS, row, strict=True)) for row in rows):
        rd, p = row["rd"], row["p"]
        if isinstance(rd, float) and isinstance(p, float) and p < CLEAR and rd != 0:
            words[a if rd > 0 else b].append(str(row["word"]))
    scores = trait_scores(words, study.lexicon)
    ordered: list[list[Cell]] = []
    for trait in study.lexicon.traits:
        order = ordering(scores, a, b, trait)
        if order is not None:
            orders = (rating.ordering(a, b) for rating in study.human if rating.trait == trait)
            people = next(filter(None, orders), None)
            agrees = None if people is None else int(people == order)
            ordered.append([a, b, trait, scores[a][trait], scores[b][trait], order, people, agrees])
    agree, both = agreement(scores, study.human, a, b)
    note = "no interval: these are all the traits, and their orderings depend on each other"
    agreed = [Estimate("trait_agreement", {"a": a, "b": b}, agree / both, n=both, note=note)] if both else []
    return ordered, agreed
