"""Two models on the same names, contexts and words: by how much separation and RD change.

A context is the same where its text, its question and its right answer are. RD's interval draws names, and contexts
where there are at least 5, the same ones for both models. Its p is the sign-flip test of what every name contributes to
the change; exchanging the two models' success rates name by name would not do, since a model that is fooled twice as
often as the other would then differ between any two groups.

KMeans' accuracy has no interval, for the reason that a single run's has none. Its p takes both models' clusters as they
are: of the names that one model puts into the cluster of their group and the other does not, either is as likely under
the null hypothesis (McNemar's test, exact). Exchanging the vectors themselves would make clusters of models.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.audit import Run, stored
from assay.differences import Change, Common, Paired, change_of, contribution_p, of_predictions, unchanged_files
from assay.findings import Cell, Table
from assay.plan import digest_of
from assay.probes.sodapop import Sodapop
from assay.probes.sodapop.analyse import Contrast, contrasts_of
from assay.probes.sodapop.metrics import Array, relative_difference
from assay.probes.sodapop.names import Group, Groups, packaged_groups, read_groups
from assay.probes.sodapop.rates import Rates
from assay.probes.sodapop.scoring import BLOCKS, _questions, _rates, _Results
from assay.probes.sodapop.settings import Settings
from assay.probes.sodapop.uncertainty import group_replicates
from assay.rows import Bad
from assay.stats import MIN_UNITS, benjamini_hochberg, percentile_interval, sign_flip_p
from assay.stats.clusters import _two_clusters

WORD_DIFFERENCES = "word_differences"
COLUMNS = ("group_a", "group_b", "word", "rd_baseline", "rd_model", "difference", "low", "high", "p", "q")
RESAMPLES = 1000

_NO_RANGE = "no interval: resampled names would repeat vectors, which clusters cannot tell apart"
_RANGE = (-4.0, 4.0)  # of a difference of two RD
_ZERO = 1e-12

Context = tuple[str, ...]
"""Text, question and right answer with NAME in the name's place; the text alone where nobody knows more."""


@dataclass(frozen=True)
class Opened:
    """A run's success rates, with what its names and contexts are; `filler` says who wrote the distractors."""

    rates: Rates
    groups: Groups
    contexts: tuple[Context, ...]
    seed: int = 0
    filler: str | None = None


def opened(run: Run) -> Opened:
    """A run's success rates, from its stored answers or from the results that it scored."""
    if of_predictions(run.info):
        return _scored(run)
    again = stored(run.folder)
    probe = again.probe
    assert isinstance(probe, Sodapop)  # the run's own probe
    contexts = tuple((each.text, each.question, each.answer) for each in probe.contexts)
    other = (run.info.get("others") or {}).get((run.info.get("settings") or {}).get("fill_model"), run.info["model"])
    return Opened(probe.rates(again.ask), probe.groups, contexts, run.info["seed"], str(other.get("digest")))


def _scored(run: Run) -> Opened:
    """The results that were scored, read again."""
    files = unchanged_files(run.info)
    settings = Settings.parse({key: str(value) for key, value in run.info["settings"].items() if key != "model"})
    groups = read_groups(Path(settings.groups)) if settings.groups else packaged_groups()
    results, bad = _Results(groups.all_names()), Bad(run.info["identity"].get("skip_bad", False))
    for file in files:
        for question in _questions(file, bad):
            results.add(question)
    rates = _rates(results, settings)
    texts = list(results.contexts)
    if len(texts) > BLOCKS:  # blocks of contexts stand for them, and are the same where all contexts are
        everything = digest_of(texts)
        texts = [f"block {block} of {everything}" for block in range(BLOCKS)]
    contexts: tuple[Context, ...] = tuple((text,) for text in texts)
    return Opened(rates, groups, contexts, run.info["seed"])


def paired(one: Opened, other: Opened, *, common: bool) -> Paired:
    """The changes from one model to the other on the names, contexts and words that both have."""
    del common  # they are always matched by their content
    both = _Both.of(one, other)
    sizes = (rates.successes.size for rates in (one.rates, other.rates, both.rates[0]))
    counts = [Common("items (name, context, word)", *sizes)]
    parts = (
        f"{what}: {len(first)}, {len(second)}, {shared} in common"
        for what, first, second, shared in (
            ("names", one.rates.names, other.rates.names, len(both.rates[0].names)),
            ("contexts", one.contexts, other.contexts, both.rates[0].successes.shape[0]),
            ("words", one.rates.words, other.rates.words, len(both.rates[0].words)),
        )
    )
    notes = [f"of baseline and model, {'; '.join(parts)}"]
    if one.filler is not None and other.filler is not None and one.filler != other.filler:
        notes.append(
            "distractors were written by different models: a change may be theirs (--set fill_model=SPEC for both)"
        )
    if not counts[0].common:
        return Paired([], counts, notes=notes)
    contrasts = contrasts_of(both.groups)
    sr = both.rates[0].sr(), both.rates[1].sr()
    changes = [_separation(sr, contrast, (one.seed, other.seed)) for contrast in contrasts if contrast.pair]
    return Paired(changes, counts, {WORD_DIFFERENCES: _words(both.rates, sr, contrasts)}, notes)


@dataclass(frozen=True)
class _Both:
    """The success rates of two runs on what both have."""

    groups: Groups
    rates: tuple[Rates, Rates]

    @staticmethod
    def of(one: Opened, other: Opened) -> _Both:
        theirs = {(group.name, name) for group in other.groups.groups for name in group.names}
        kept = []
        for group in one.groups.groups:
            names = tuple(name for name in group.names if (group.name, name) in theirs)
            kept += [Group(group.name, names, group.attributes)] if names else []
        groups = Groups(tuple(kept))
        known = {len(context) for context in (*one.contexts, *other.contexts)}
        keys = [[context[:1] if 1 in known else context for context in side.contexts] for side in (one, other)]
        contexts = [key for key in dict.fromkeys(keys[0]) if key in set(keys[1])]
        words = [word for word in one.rates.words if word in set(other.rates.words)]
        first, second = (
            _taken(side.rates, [own.index(key) for key in contexts], groups.all_names(), words)
            for side, own in zip((one, other), keys, strict=True)
        )
        defined = np.isfinite(np.concatenate([first.sr(), second.sr()])).all(axis=0)  # (word,)
        return _Both(groups, (_with_words(first, defined), _with_words(second, defined)))


def _taken(rates: Rates, contexts: Sequence[int], names: Sequence[str], words: Sequence[str]) -> Rates:
    place, number = ({text: k for k, text in enumerate(texts)} for texts in (rates.names, rates.words))
    rows = np.ix_(
        np.array(contexts, np.int64),
        np.array([place[name] for name in names], np.int64),
        np.array([number[word] for word in words], np.int64),
    )
    return Rates(tuple(names), tuple(words), rates.successes[rows], rates.distractors[rows], rates.pooled[rows])


def _with_words(rates: Rates, keep: Any) -> Rates:
    words = tuple(word for word, kept in zip(rates.words, keep.tolist(), strict=True) if kept)
    return Rates(rates.names, words, *(each[:, :, keep] for each in (rates.successes, rates.distractors, rates.pooled)))


def _separation(sr: tuple[Array, Array], contrast: Contrast, seeds: tuple[int, int]) -> Change:
    """The change of KMeans' accuracy for a pair of groups."""
    first = np.arange(len(contrast.a) + len(contrast.b)) < len(contrast.a)
    rows = np.concatenate([contrast.a, contrast.b])
    right = [_right(own[rows], first, seed) for own, seed in zip(sr, seeds, strict=True)]
    return change_of(
        "kmeans_accuracy",
        {"a": contrast.first, "b": contrast.second},
        (float(right[0].mean()), float(right[1].mean())),
        n=len(rows),
        bounds=(0.5, 1.0),
        p=float(sign_flip_p((right[1] - right[0])[None, :])[0]),
        family="kmeans_accuracy",
        note=_NO_RANGE,
    )


def _right(vectors: Array, first: NDArray[np.bool_], seed: int) -> Array:
    """1 for every name that is in the cluster of its group, matched the better way (see `kmeans_separation`)."""
    same = _two_clusters(vectors, seed) == first
    return np.asarray(same if 2 * same.sum() >= len(same) else ~same, np.float64)


def _words(rates: tuple[Rates, Rates], sr: tuple[Array, Array], contrasts: Sequence[Contrast]) -> Table:
    """The change of every word's RD in every contrast, those with the greatest change first."""
    sides = list({side.tobytes(): side for contrast in contrasts for side in (contrast.a, contrast.b)}.values())
    place = {side.tobytes(): number for number, side in enumerate(sides)}
    again = [group_replicates(each, sides, RESAMPLES, np.random.default_rng(0)) for each in rates]
    rows: list[list[Cell]] = []
    for contrast in contrasts:
        means = [(own[contrast.a].mean(axis=0), own[contrast.b].mean(axis=0)) for own in sr]
        rd = [_rd(*both) for both in means]
        change = rd[1] - rd[0]
        units = min(len(contrast.a), len(contrast.b))
        low = high = p = np.full(len(change), np.nan)
        if units >= MIN_UNITS:
            at = place[contrast.a.tobytes()], place[contrast.b.tobytes()]
            drawn = _rd(again[1][:, at[0]], again[1][:, at[1]]) - _rd(again[0][:, at[0]], again[0][:, at[1]])
            alike = np.abs(drawn).max(axis=0) < _ZERO  # as in `change_of`
            low, high = (np.where(alike, 0.0, end) for end in percentile_interval(change, drawn, units, bounds=_RANGE))
            without = _rd_without(sr[1], contrast) - _rd_without(sr[0], contrast)
            p = contribution_p(change, without, np.repeat([0, 1], [len(contrast.a), len(contrast.b)]))
        numbers = np.column_stack([*rd, change, low, high, p, benjamini_hochberg(p)])
        order = sorted(range(len(change)), key=lambda word: (-abs(np.nan_to_num(change[word])), rates[0].words[word]))
        rows += [[contrast.first, contrast.second, rates[0].words[word], *_cells(numbers[word])] for word in order]
    return Table(COLUMNS, rows)


def _rd(a: Array, b: Array) -> Array:
    """RD from the two groups' mean success rates."""
    return relative_difference(a - b, (a + b) / 2.0)


def _rd_without(sr: Array, contrast: Contrast) -> Array:
    """RD of every word without each of the names (name of a, then of b; word)."""
    sums = [sr[side].sum(axis=0) for side in (contrast.a, contrast.b)]
    sizes = len(contrast.a), len(contrast.b)
    means = [total / size for total, size in zip(sums, sizes, strict=True)]
    without = [
        (total - sr[side]) / (size - 1) for total, side, size in zip(sums, (contrast.a, contrast.b), sizes, strict=True)
    ]
    return np.concatenate([_rd(without[0], means[1][None]), _rd(means[0][None], without[1])])


def _cells(numbers: Any) -> list[Cell]:
    tidied = (0.0 if abs(number) < _ZERO else number for number in numbers.tolist())
    return [number if np.isfinite(number) else None for number in tidied]
