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
    of_probe: dict[str, list[Run]] = {}
    for run in runs:
        of_probe.setdefault(run.probe, []).append(run)
    order = [*probes()]
    several = [own for own in of_probe.values() if len(own) > 1]
    return [_leaderboard(own) for own in sorted(several, key=lambda own: _place(order, own[0].probe))]


def _place(order: Sequence[str], probe: str) -> int:
    return order.index(probe) if probe in order else len(order)


def _leaderboard(runs: Sequence[Run]) -> Leaderboard:
    models, why = _ComparedRuns(runs), dict[int, str]()
    usable = []
    for place in range(len(runs)):
        why[place] = models.unusable(place)
        usable += [] if why[place] else [place]
    sets: list[list[int]] = []
    reasons: list[str] = []
    for place in usable:
        apart = [models.apart(own[0], place) for own in sets]
        if "" in apart:
            sets[apart.index("")].append(place)
            continue
        sets.append([place])
        reasons.append(next(iter(apart), ""))
    rankings: list[Ranking] = []
    for own, reason in zip(sets, reasons, strict=True):
        found = models.rankings(own, reason if rankings else "")
        rankings += found
        ranked = {id(model.run) for ranking in found for model in ranking.models}
        alone = reason or next(filter(None, reasons), "no other run has this estimate")
        why |= {place: alone for place in own if id(runs[place]) not in ranked}
    names, languages = models.names, _in_languages(runs)
    told = {run for language in languages for run in language.runs}
    unranked = [
        UnrankedModel(runs[place], names[place], said)
        for place, said in sorted(why.items())
        if said and str(runs[place].folder) not in told
    ]
    sections = [language_section(each, f"languages{place}") for place, each in enumerate(languages, 1)]
    return Leaderboard(runs[0].probe, rankings, unranked, sections, [language.content() for language in languages])


def _in_languages(runs: Sequence[Run]) -> list[Comparison]:
    """Every model that was asked in several languages: these compared. Where that cannot be, they are not ranked."""
    of_model: dict[str, list[Run]] = {}
    for run in runs:
        of_model.setdefault(run.weights, []).append(run)
    found = []
    ranked = known_probe(runs[0].probe).claims.ranked
    for own in of_model.values():
        own.sort(key=lambda run: all(each.value is None for each in ranked(run.findings.estimates)))  # no baseline
        if names := varieties(own):
            with suppress(UsageError):
                found.append(compare_runs(own, names, common=False))
    return found


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

    def unusable(self, place: int) -> str:
        """Why a run cannot be ranked; else its answers are read, for comparing them."""
        run = self.runs[place]
        if why := run.findings.unusable:
            return f"{VerdictKind.UNUSABLE}: {why}"
        if not self._headlines(place):
            return next((each.note for each in self._about(place) if each.note), "it has no estimate of this bias")
        try:
            self._sides[place] = self.method.recall(run, partial(recollect_answers, run))
        except AssayError as error:
            return error.problem
        return ""

    def _about(self, place: int) -> list[Estimate]:
        ranked = self.probe.claims.ranked(self.runs[place].findings.estimates)
        return [each for each in ranked if self.probe.metric(each.metric).worse]

    def _headlines(self, place: int) -> dict[EstimateKey, Estimate]:
        """The defined estimates that it is ranked by."""
        return {key_of(each): each for each in self._about(place) if each.value is not None}

    def apart(self, one: int, other: int) -> str:
        """Why two runs are not in one ranking: another way to ask, other data or other questions; else empty."""
        first, second = self.runs[one], self.runs[other]
        if languages := self.method.varieties([run.info.settings for run in (first, second)]):
            return f"asked in {languages[1]}, not in {languages[0]}"
        ways = [self.method.asked_as(run.info.settings) for run in (first, second)]
        if ways[0] != ways[1]:
            return f"asked in another way ({ways[1] or 'the default'} instead of {ways[0] or 'the default'})"
        if RunKind.PREDICTIONS not in (first.info.kind, second.info.kind):
            data = first.info.data, second.info.data
            if different := [name for name in data[0] if name in data[1] and data[0][name] != data[1][name]]:
                return f"asked from other data ({', '.join(different)})"
        found = self._contrast(one, other)
        if isinstance(found, str):
            return found
        common = sum(each.common for each in found.counts)
        every = max(sum(each.baseline for each in found.counts), sum(each.model for each in found.counts))
        if not common:
            return next(iter(found.notes), "asked other questions")
        return "" if common >= SAME * every else f"asked other questions: {format_share(common / every)} are the same"

    def _contrast(self, one: int, other: int) -> Contrast | str:
        """Two runs on what both answered; or why that cannot be computed."""
        if (one, other) not in self._contrasts:
            sides = self._sides[one], self._sides[other]
            try:
                exchanges = max(EXCHANGES, PER_PAIR * comb(len(self.runs), 2))
                settings = {**resampling_settings(self.runs[one]), "exchanges": exchanges}
                made: Contrast | str = self.method.contrast_about(*sides, self._about(one), settings=settings)
            except AssayError as error:
                made = error.problem
            self._contrasts[one, other] = made
        return self._contrasts[one, other]

    def rankings(self, places: Sequence[int], apart: str) -> list[Ranking]:
        """Of runs that asked the same questions: one for each estimate that several of them have."""
        keys = dict.fromkeys(key for place in places for key in self._headlines(place))
        own = {key: [place for place in places if key in self._headlines(place)] for key in keys}
        return [self._ranking(key, found, apart) for key, found in own.items() if len(found) > 1]

    def _ranking(self, key: EstimateKey, places: Sequence[int], apart: str) -> Ranking:
        pairs = {pair: self._change(*pair, key) for pair in combinations(places, 2)}
        p = [None if change is None else bias_difference_p(change) for change in pairs.values()]
        corrected = holm(np.array([np.nan if each is None else each for each in p], np.float64)).tolist()
        found: list[ModelPair] = []
        less: dict[int, int] = dict.fromkeys(places, 0)  # how many are clearly less biased
        for ((one, other), change), own, q in zip(pairs.items(), p, corrected, strict=True):
            worse = None if change is None else change.worse
            if worse is None or worse.value is None:
                continue
            clear = q <= CLEAR
            if clear:
                less[other if worse.value > 0 else one] += 1
            known = None if own is None else q
            smallest = self._smallest((one, other), key)
            found.append(ModelPair(self.names[one], self.names[other], worse, own, known, clear, smallest))
        models = [
            RankedModel(self.runs[place], self.names[place], self._headlines(place)[key], 1 + less[place])
            for place in places
        ]
        metric = self.probe.metric(key[0])
        models.sort(key=lambda each: (each.rank, metric.badness(shown_value(each.estimate))))
        return Ranking(key[0], dict(models[0].estimate.group), models, found, apart)

    def _smallest(self, pair: tuple[int, int], key: EstimateKey) -> float | None:
        """The smallest effect worth a headline in either of two runs; None where the probe makes no such claim."""
        family = self.probe.claims.family_of(key[0], dict(key[1]))
        claim = next((each for each in self.probe.claims.rules if each.of == family), None)
        if claim is None:
            return None
        chosen = [self.runs[place].info.settings.get(claim.setting) for place in pair]
        return min(claim.smallest if each is None else float(each) for each in chosen)

    def _change(self, one: int, other: int, key: EstimateKey) -> PairedChange | None:
        found = self._contrast(one, other)
        if isinstance(found, str):
            return None
        return next((change for change in found.changes if key_of(change.change) == key), None)


def shown_value(estimate: Estimate) -> float:
    """The number that the interval of a defined estimate belongs to."""
    found = estimate.value if estimate.corrected is None else estimate.corrected
    assert found is not None
    return found


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
