"""Two models on the same names, contexts and words: by how much separation and RD change.

A context is the same where its text, its question and its right answer are. RD's interval is made as a run's own is
(`uncertainty.rd_replicates`), the same names and contexts drawn for both models. Its p is the sign-flip test of what
every name contributes to the change; exchanging the two models' success rates name by name would not do, since a model
that is fooled twice as often as the other would then differ between any two groups.

KMeans' accuracy has no interval, for the reason that a single run's has none. Its p takes both models' clusters as they
are: of the names that one model puts into the cluster of their group and the other does not, either is as likely under
the null hypothesis (McNemar's test, exact). Exchanging the vectors themselves would make clusters of models.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from assay.probes.base import Probe
from assay.probes.contrast import SEED, Common, Contrast, PairedChange, change_of
from assay.probes.sodapop.analyse import GroupPair, cells_of, contrasts_of
from assay.probes.sodapop.metrics import Array
from assay.probes.sodapop.names import NameGroup, NameGroups
from assay.probes.sodapop.rates import SuccessRates
from assay.probes.sodapop.uncertainty import rd_interval, rd_of, rd_replicates
from assay.results.findings import Cell, Table
from assay.stats import MIN_UNITS, contribution_p, sign_flip_p
from assay.stats.clusters import two_clusters

if TYPE_CHECKING:
    from assay.probes.sodapop.method import SodapopAnswers

WORD_DIFFERENCES = "word_differences"
COLUMNS = ("group_a", "group_b", "word", "rd_baseline", "rd_model", "difference", "low", "high", "p", "q")

_NO_RANGE = "no interval: resampling repeats names, and equal vectors share a cluster"
_RANGE = (-4.0, 4.0)  # of a difference of two RD
_ZERO = 1e-12


def paired(
    probe: Probe, first: SodapopAnswers, second: SodapopAnswers, resamples: int, *, by_word: bool = True
) -> Contrast:
    """The changes from one model to the other on the names, contexts and words that both have; `by_word` also those
    of each word's RD.
    """
    groups, rates = _in_common(first, second)
    sizes = [part.successes.size for part in (first.rates, second.rates, rates[0])]
    counts = [Common("items (name, context, word)", baseline=sizes[0], model=sizes[1], common=sizes[2])]
    parts = (
        f"{kind}: {len(in_first)}, {len(in_second)}, {shared} in common"
        for kind, in_first, in_second, shared in (
            ("names", first.rates.names, second.rates.names, len(rates[0].names)),
            ("contexts", first.contexts, second.contexts, rates[0].successes.shape[0]),
            ("words", first.rates.words, second.rates.words, len(rates[0].words)),
        )
    )
    notes = [f"baseline and model: {'; '.join(parts)}"]
    if first.filler is not None and second.filler is not None and first.filler != second.filler:
        notes.append(
            "different models wrote the distractors, which may explain a change (--set fill_model=SPEC for both)"
        )
    if not counts[0].common:
        return Contrast([], counts, notes=notes)
    contrasts = contrasts_of(groups)
    sr = rates[0].sr(), rates[1].sr()
    changes = [_separation(probe, sr, contrast, (first.seed, second.seed)) for contrast in contrasts if contrast.pair]
    tables = {WORD_DIFFERENCES: _words(rates, sr, contrasts, resamples)} if by_word else {}
    return Contrast(changes, counts, tables, notes)


def _in_common(first: SodapopAnswers, second: SodapopAnswers) -> tuple[NameGroups, tuple[SuccessRates, SuccessRates]]:
    """The success rates of two runs on the names, contexts and words that both have."""
    seconds = {(group.name, name) for group in second.groups.groups for name in group.names}
    shared = []
    for group in first.groups.groups:
        names = tuple(name for name in group.names if (group.name, name) in seconds)
        shared += [NameGroup(group.name, names, group.attributes)] if names else []
    groups = NameGroups(tuple(shared))
    lengths = {len(context) for context in (*first.contexts, *second.contexts)}
    keys = [[context[:1] if 1 in lengths else context for context in side.contexts] for side in (first, second)]
    contexts = [key for key in dict.fromkeys(keys[0]) if key in set(keys[1])]
    words = [word for word in first.rates.words if word in set(second.rates.words)]
    rates = [
        _taken(side.rates, [side_keys.index(key) for key in contexts], groups.all_names(), words)
        for side, side_keys in zip((first, second), keys, strict=True)
    ]
    defined = np.isfinite(np.concatenate([part.sr() for part in rates])).all(axis=0)  # (word,)
    return groups, (rates[0].with_words(defined), rates[1].with_words(defined))


def _taken(rates: SuccessRates, contexts: Sequence[int], names: Sequence[str], words: Sequence[str]) -> SuccessRates:
    name_rows, word_rows = ({text: row for row, text in enumerate(texts)} for texts in (rates.names, rates.words))
    rows = np.ix_(
        np.array(contexts, np.int64),
        np.array([name_rows[name] for name in names], np.int64),
        np.array([word_rows[word] for word in words], np.int64),
    )
    return SuccessRates(
        names=tuple(names),
        words=tuple(words),
        successes=rates.successes[rows],
        distractors=rates.distractors[rows],
        pooled=rates.pooled[rows],
    )


def _separation(probe: Probe, sr: tuple[Array, Array], contrast: GroupPair, seeds: tuple[int, int]) -> PairedChange:
    """The change of KMeans' accuracy for a pair of groups."""
    first = np.arange(len(contrast.a) + len(contrast.b)) < len(contrast.a)
    rows = np.concatenate([contrast.a, contrast.b])
    right = []  # by model: 1 for a name in the cluster of its group, matched the better way (as in `kmeans_separation`)
    for rates, seed in zip(sr, seeds, strict=True):
        same = two_clusters(rates[rows], seed) == first
        right.append(np.asarray(same if 2 * same.sum() >= len(same) else ~same, np.float64))
    return change_of(
        probe.metric("kmeans_accuracy"),
        {"a": contrast.first, "b": contrast.second},
        (float(right[0].mean()), float(right[1].mean())),
        n=len(rows),
        p=float(sign_flip_p((right[1] - right[0])[None, :])[0]),
        family="kmeans_accuracy",
        note=_NO_RANGE,
    )


def _words(
    rates: tuple[SuccessRates, SuccessRates], sr: tuple[Array, Array], contrasts: Sequence[GroupPair], resamples: int
) -> Table:
    """The change of every word's RD in every contrast, those with the greatest change first; without q."""
    replicates = rd_replicates(rates, [contrast.sides for contrast in contrasts], resamples, SEED)
    rows: list[list[Cell]] = []
    for contrast, resampled in zip(contrasts, replicates, strict=True):
        rd = [rd_of(rate[contrast.a].mean(axis=0), rate[contrast.b].mean(axis=0)) for rate in sr]
        change, moved = rd[1] - rd[0], resampled[1] - resampled[0]
        alike = np.abs(moved).max(axis=(0, 1)) < _ZERO  # as in `change_of`
        ends = rd_interval(change, moved, contrast.sides, _RANGE, len(rates[0].successes))
        low, high = (np.where(alike & np.isfinite(end), 0.0, end) for end in ends)
        p = np.full(len(change), np.nan)
        if min(len(side) for side in contrast.sides) >= MIN_UNITS:
            without = _rd_without(sr[1], contrast) - _rd_without(sr[0], contrast)
            p = contribution_p(change, without, np.repeat([0, 1], [len(contrast.a), len(contrast.b)]))
        numbers = np.column_stack([*rd, change, low, high, p])
        numbers[np.abs(numbers) < _ZERO] = 0.0
        order = sorted(range(len(change)), key=lambda word: (-abs(np.nan_to_num(change[word])), rates[0].words[word]))
        rows += [
            [contrast.first, contrast.second, rates[0].words[word], *cells_of(numbers[word]), None] for word in order
        ]
    return Table(COLUMNS, rows)


def _rd_without(sr: Array, contrast: GroupPair) -> Array:
    """RD of every word without each of the names (name of a, then of b; word)."""
    a, b = sr[contrast.a], sr[contrast.b]
    without_a, without_b = ((side.sum(axis=0) - side) / (len(side) - 1) for side in (a, b))
    return np.concatenate([rd_of(without_a, b.mean(axis=0)), rd_of(a.mean(axis=0), without_b)])
