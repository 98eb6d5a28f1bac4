"""Ranks of many models: every pair compared on the questions that both answered, Holm-corrected over all pairs."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations
from math import comb, erfc, sqrt
from typing import Any

import numpy as np

from assay.compare.comparison import Comparison, compare_runs, resampling_settings
from assay.compare.differences import EstimateKey, key_of
from assay.compare.present import language_section
from assay.errors import AssayError, UsageError
from assay.presentation.leaderboard import Leaderboard, ModelPair, RankedModel, Ranking, UnrankedModel
from assay.probes import known_probe, probes, run_names, varieties
from assay.probes.contrast import Contrast, PairedChange
from assay.results.findings import Estimate
from assay.results.formatting import format_share
from assay.results.run import Run, RunKind
from assay.results.verdict import CLEAR, VerdictKind
from assay.runs.score import recollect_answers
from assay.stats import holm

SAME = 0.9
"""Two runs asked the same questions if each has this share of the other's."""

EXCHANGES = 9_999
PER_PAIR = 25
"""So many exchanges for each pair at least: after Holm's correction the smallest possible p is 0.04."""


def leaderboards(runs: Sequence[Run]) -> list[Leaderboard]:
    """One leaderboard for each probe that has several runs."""
    runs_by_probe: dict[str, list[Run]] = {probe: [] for probe in probes()}
    for run in runs:
        runs_by_probe.setdefault(run.probe, []).append(run)
    return [_leaderboard(probe_runs) for probe_runs in runs_by_probe.values() if len(probe_runs) > 1]


def _leaderboard(runs: Sequence[Run]) -> Leaderboard:
    compared = _ComparedRuns(runs)
    unranked_reasons = {i: compared.unusable(i) for i in range(len(runs))}  # empty: it is ranked
    sets: list[list[int]] = []  # of runs that asked the same questions
    separation_reasons: list[str] = []
    for i in (i for i, reason in unranked_reasons.items() if not reason):
        reasons = [compared.separation_reason(run_indices[0], i) for run_indices in sets]
        if "" in reasons:
            sets[reasons.index("")].append(i)
            continue
        sets.append([i])
        separation_reasons.append(next(iter(reasons), ""))
    rankings: list[Ranking] = []
    for run_indices, reason in zip(sets, separation_reasons, strict=True):
        set_rankings = compared.rankings(run_indices, reason if rankings else "")
        rankings += set_rankings
        ranked = {id(model.run) for ranking in set_rankings for model in ranking.models}
        alone = reason or next(filter(None, separation_reasons), "no other run has this estimate")
        unranked_reasons |= {i: alone for i in run_indices if id(runs[i]) not in ranked}
    languages = _in_languages(runs)
    in_languages = {folder for comparison in languages for folder in comparison.runs}
    unranked = [
        UnrankedModel(runs[i], compared.names[i], reason)
        for i, reason in sorted(unranked_reasons.items())
        if reason and str(runs[i].folder) not in in_languages
    ]
    sections = [language_section(comparison, f"languages{n}") for n, comparison in enumerate(languages, 1)]
    return Leaderboard(runs[0].probe, rankings, unranked, sections, [comparison.content() for comparison in languages])


def _in_languages(runs: Sequence[Run]) -> list[Comparison]:
    """Every model that was asked in several languages: these compared. Where that cannot be, they are not ranked."""
    runs_by_model: dict[str, list[Run]] = {}
    for run in runs:
        runs_by_model.setdefault(run.weights, []).append(run)
    comparisons = []
    ranked = known_probe(runs[0].probe).claims.ranked
    for model_runs in runs_by_model.values():  # no run without a value is the baseline
        model_runs.sort(key=lambda run: all(estimate.value is None for estimate in ranked(run.findings.estimates)))
        if names := varieties(model_runs):
            with suppress(UsageError):
                comparisons.append(compare_runs(model_runs, names, common=False))
    return comparisons


@dataclass
class _ComparedRuns:
    """The runs of one probe, with what their comparison has read and computed so far."""

    runs: Sequence[Run]
    _sides: dict[int, Any] = field(default_factory=dict)
    _contrasts: dict[tuple[int, int], Contrast | str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.probe = known_probe(self.runs[0].probe)
        self.method = self.probe.load()
        self.names = run_names(self.runs)

    def unusable(self, index: int) -> str:
        """Why a run cannot be ranked; else its answers are read, for comparing them."""
        run = self.runs[index]
        if reason := run.findings.unusable:
            return f"{VerdictKind.UNUSABLE}: {reason}"
        if not self._headlines(index):
            notes = (estimate.note for estimate in self._about(index) if estimate.note)
            return next(notes, "it has no estimate of this bias")
        try:
            self._sides[index] = self.method.recall(run, partial(recollect_answers, run))
        except AssayError as error:
            return error.problem
        return ""

    def _about(self, index: int) -> list[Estimate]:
        ranked = self.probe.claims.ranked(self.runs[index].findings.estimates)
        return [estimate for estimate in ranked if self.probe.metric(estimate.metric).worse]

    def _headlines(self, index: int) -> dict[EstimateKey, Estimate]:
        """The defined estimates that it is ranked by."""
        return {key_of(estimate): estimate for estimate in self._about(index) if estimate.value is not None}

    def separation_reason(self, first: int, second: int) -> str:
        """Why two runs are not in one ranking: another way to ask, other data or other questions; else empty."""
        infos = [self.runs[i].info for i in (first, second)]
        if languages := self.method.varieties([info.settings for info in infos]):
            return f"asked in {languages[1]}, not in {languages[0]}"
        ways = [self.method.asked_as(info.settings) for info in infos]
        if ways[0] != ways[1]:
            return f"asked in another way ({ways[1] or 'the default'} instead of {ways[0] or 'the default'})"
        if all(info.kind is not RunKind.PREDICTIONS for info in infos):
            data, other_data = (info.data for info in infos)
            if different := [name for name in data if name in other_data and data[name] != other_data[name]]:
                return f"asked from other data ({', '.join(different)})"
        contrast = self._contrast(first, second)
        if isinstance(contrast, str):
            return contrast
        n_common = sum(counts.common for counts in contrast.counts)
        n_baseline = sum(counts.baseline for counts in contrast.counts)
        n_items = max(n_baseline, sum(counts.model for counts in contrast.counts))
        if not n_common:
            return next(iter(contrast.notes), "asked other questions")
        if n_common >= SAME * n_items:
            return ""
        return f"asked other questions: {format_share(n_common / n_items)} are the same"

    def _contrast(self, first: int, second: int) -> Contrast | str:
        """Two runs on what both answered; or why that cannot be computed."""
        if (first, second) not in self._contrasts:
            sides = self._sides[first], self._sides[second]
            try:
                exchanges = max(EXCHANGES, PER_PAIR * comb(len(self.runs), 2))
                settings = {**resampling_settings(self.runs[first]), "exchanges": exchanges}
                contrast: Contrast | str = self.method.contrast_about(*sides, self._about(first), settings=settings)
            except AssayError as error:
                contrast = error.problem
            self._contrasts[first, second] = contrast
        return self._contrasts[first, second]

    def rankings(self, run_indices: Sequence[int], separation_reason: str) -> list[Ranking]:
        """Of runs that asked the same questions: one for each estimate that several of them have."""
        keys = dict.fromkeys(key for i in run_indices for key in self._headlines(i))
        runs_by_key = {key: [i for i in run_indices if key in self._headlines(i)] for key in keys}
        several = {key: indices for key, indices in runs_by_key.items() if len(indices) > 1}
        return [self._ranking(key, indices, separation_reason) for key, indices in several.items()]

    def _ranking(self, key: EstimateKey, run_indices: Sequence[int], separation_reason: str) -> Ranking:
        changes = {pair: self._change(*pair, key) for pair in combinations(run_indices, 2)}
        p_values = [None if change is None else bias_difference_p(change) for change in changes.values()]
        holm_p_values = holm(np.array([np.nan if p is None else p for p in p_values], np.float64)).tolist()
        pairs: list[ModelPair] = []
        n_clearly_better: dict[int, int] = dict.fromkeys(run_indices, 0)  # how many are clearly less biased
        for ((first, second), change), p, holm_p in zip(changes.items(), p_values, holm_p_values, strict=True):
            worse = None if change is None else change.worse
            if worse is None or worse.value is None:
                continue
            is_clear = holm_p <= CLEAR  # never for NaN
            if is_clear:
                n_clearly_better[second if worse.value > 0 else first] += 1
            corrected = None if p is None else holm_p
            smallest = self._smallest((first, second), key)
            pairs.append(ModelPair(self.names[first], self.names[second], worse, p, corrected, is_clear, smallest))
        models = [
            RankedModel(self.runs[i], self.names[i], self._headlines(i)[key], 1 + n_clearly_better[i])
            for i in run_indices
        ]
        metric = self.probe.metric(key[0])
        models.sort(key=lambda model: (model.rank, metric.badness(shown_value(model.estimate))))
        return Ranking(key[0], dict(models[0].estimate.group), models, pairs, separation_reason)

    def _smallest(self, pair: tuple[int, int], key: EstimateKey) -> float | None:
        """The smallest effect worth a headline in either of two runs; None where the probe makes no such claim."""
        family = self.probe.claims.family_of(key[0], dict(key[1]))
        claim = next((claim for claim in self.probe.claims.rules if claim.of == family), None)
        if claim is None:
            return None
        chosen = [self.runs[i].info.settings.get(claim.setting) for i in pair]
        return min(claim.smallest if smallest is None else float(smallest) for smallest in chosen)

    def _change(self, first: int, second: int, key: EstimateKey) -> PairedChange | None:
        contrast = self._contrast(first, second)
        if isinstance(contrast, str):
            return None
        return next((change for change in contrast.changes if key_of(change.change) == key), None)


def shown_value(estimate: Estimate) -> float:
    """The number that the interval of a defined estimate belongs to."""
    value = estimate.value if estimate.corrected is None else estimate.corrected
    assert value is not None
    return value


def bias_difference_p(change: PairedChange) -> float | None:
    """How likely a difference in bias would be by chance: the larger of the p of the change and the p that the interval
    of `worse` implies.

    Two models that lean in opposite directions may differ clearly and be equally biased. Only `worse` says that.

    >>> away = {"metric": "s", "group": {}, "n": 9}
    >>> change, worse = Estimate(value=0.4, p=0.001, **away), Estimate(value=0.0, low=-0.1, high=0.1, **away)
    >>> bias_difference_p(PairedChange(change, worse))
    1.0
    """
    p, worse = change.change.p, change.worse
    if p is None or worse is None or worse.value is None:
        return None
    end = worse.low if worse.value > 0 else worse.high
    if end is None:
        return p if abs(worse.value) == abs(change.change.value or 0.0) else None
    reach = abs(worse.value - end)
    if not reach:
        return p if worse.value else 1.0
    return max(p, erfc(1.959963984540054 * abs(worse.value) / reach / sqrt(2)))
