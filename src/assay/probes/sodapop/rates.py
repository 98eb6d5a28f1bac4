"""Success rates: from pools and scores to SR(w, n), with what each context adds to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress, pairwise

import numpy as np
from numpy.typing import NDArray

from assay.asking.tokens import ragged_take
from assay.probes.sodapop.metrics import Array, exact_success, sampled_success, success_rate
from assay.probes.sodapop.pools import DistractorPools
from assay.probes.sodapop.settings import EXACT
from assay.probes.sodapop.split_words import is_vocabulary, said

Counts = NDArray[np.float64]  # (context, name, word)


@dataclass(frozen=True)
class SuccessRates:
    """What every context adds to the success rates of every name and word (context, name, word).

    `pooled` are the successes that name-blind scores give (see `blind_scores`): what the pools alone do.
    """

    names: tuple[str, ...]
    words: tuple[str, ...]
    successes: Counts
    distractors: Counts
    pooled: Counts

    def sr(self) -> Array:
        """SR(w, n) over all contexts (name, word)."""
        return success_rate(self.successes.sum(axis=0), self.distractors.sum(axis=0))

    def sr_of_pools(self) -> Array:
        """What the success rates would be if scores did not depend on the name (name, word)."""
        return success_rate(self.pooled.sum(axis=0), self.distractors.sum(axis=0))

    def frequent(self, min_count: int) -> SuccessRates:
        """The words that every name was asked with often enough: sampled pairing leaves a distractor out here and
        there, so that words of the vocabulary can fall below."""
        return self.with_words(self.distractors.sum(axis=0).min(axis=0, initial=np.inf) >= min_count)

    def with_words(self, keep: NDArray[np.bool_]) -> SuccessRates:
        """Some of the words (word,)."""
        words = tuple(compress(self.words, keep))
        return SuccessRates(
            names=self.names,
            words=words,
            successes=self.successes[:, :, keep],
            distractors=self.distractors[:, :, keep],
            pooled=self.pooled[:, :, keep],
        )


def vocabulary(pools: Sequence[DistractorPools], min_count: int, case: str) -> tuple[str, ...]:
    """The words that count: no stop word, no punctuation, and for every name at least `min_count` distractors."""
    totals: dict[str, NDArray[np.int64]] = {}
    for pool in pools:
        words = [said(text, case) for text in pool.words]
        numbered = {word: number for number, word in enumerate(dict.fromkeys(words))}
        incidence = _incidence(pool, np.array([numbered[word] for word in words]))
        counts = np.stack([_by_word(incidence, pool.of(name), len(numbered)) for name in range(pool.names)])
        for word, number in numbered.items():
            totals[word] = totals.get(word, np.zeros(len(counts), np.int64)) + counts[:, number].astype(np.int64)
    return tuple(sorted(word for word, counts in totals.items() if counts.min() >= min_count and is_vocabulary(word)))


Incidence = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Which words a string has, each once: the strings' offsets (string + 1,) and the words, string by string."""


def _incidence(pool: DistractorPools, number: NDArray[np.int64]) -> Incidence:
    """`number` gives each of the pool's words its number, NONE for words that do not count."""
    words = np.sort(number[pool.strings], axis=1)  # (string, word)
    first = np.ones(words.shape, np.bool_)
    first[:, 1:] = words[:, 1:] != words[:, :-1]
    counted = first & (words >= 0)
    return np.concatenate([[0], np.cumsum(counted.sum(axis=1))]), words[counted]


def _by_word(
    incidence: Incidence, strings: NDArray[np.int64], words: int, weights: Array | None = None
) -> NDArray[np.float64]:
    """For every word, how many of the strings have it, or the sum of their weights."""
    offsets, words_by_string = incidence
    taken, lengths = ragged_take(words_by_string, offsets, strings)
    repeated = None if weights is None else np.repeat(weights, lengths)
    return np.bincount(taken, weights=repeated, minlength=words).astype(np.float64)


class SuccessCounter:
    """Adds up the success rates of a run, a context at a time."""

    def __init__(self, names: Sequence[str], words: Sequence[str], contexts: int, case: str) -> None:
        self._case = case
        self._number = {word: number for number, word in enumerate(words)}
        shape = (contexts, len(names), len(words))
        self.rates = SuccessRates(
            names=tuple(names),
            words=tuple(words),
            successes=np.zeros(shape),
            distractors=np.zeros(shape),
            pooled=np.zeros(shape),
        )

    def add(
        self, context: int, pool: DistractorPools, success: Sequence[Array], blind: Sequence[Array] | None = None
    ) -> None:
        """The successes of every name's pool in a context; NaN is a distractor that was not asked.

        `blind` are those that name-blind scores give, with the same questions asked. Where only the successes are known
        their mean over the names that were asked with a distractor stands for them.
        """
        number = np.array([self._number.get(said(text, self._case), -1) for text in pool.words], np.int64)
        incidence, words = _incidence(pool, number), len(self._number)
        alone = _averaged(pool, success) if blind is None else blind
        for name, won in enumerate(success):
            rows = np.flatnonzero(np.isfinite(won))
            strings = pool.of(name)[rows]
            self.rates.distractors[context, name] = _by_word(incidence, strings, words)
            self.rates.successes[context, name] = _by_word(incidence, strings, words, won[rows])
            self.rates.pooled[context, name] = _by_word(incidence, strings, words, alone[name][rows])


def _averaged(pool: DistractorPools, success: Sequence[Array]) -> list[Array]:
    """Each distractor's mean success over the names that were asked with it."""
    sums, times = np.zeros(len(pool.strings)), np.zeros(len(pool.strings))
    for name, won in enumerate(success):
        rows = np.flatnonzero(np.isfinite(won))
        np.add.at(sums, pool.of(name)[rows], won[rows])
        np.add.at(times, pool.of(name)[rows], 1.0)
    average = np.divide(sums, times, out=np.zeros_like(sums), where=times > 0)
    return [average[pool.of(name)] for name in range(len(success))]


def blind_scores(pool: DistractorPools, scores: Array) -> Array:
    """Scores as they would be if names did not matter, each name's right answer first as in `scores`.

    A distractor's lead over the right answer, averaged over the names that have it in their pools. For scores that are
    the same for all names these are the scores themselves, but for a constant. What was not scored (NaN) stays so.
    """
    lead = pool.leads(scores)
    scored = np.flatnonzero(~np.isnan(lead))
    strings, first, string = np.unique(pool.members[scored], return_index=True, return_inverse=True)
    base = lead[scored][first]  # the mean is of differences from it: equal leads have exactly themselves as their mean
    rest = np.bincount(string, weights=lead[scored] - base[string], minlength=len(strings)) / np.bincount(string)
    average = np.full(len(pool.members), np.nan)
    average[scored] = (base + rest)[string]
    blind = np.zeros(len(scores))
    blind[np.delete(np.arange(len(scores)), pool.rights)] = average
    return blind


def successes(pool: DistractorPools, scores: Array, pairing: str, seed: int, context: int) -> list[Array]:
    """Success of every distractor of every name, from scores of each name's right answer and distractors in turn.

    NaN for what was not scored, and for all distractors of a name whose right answer was not.
    """
    success_by_name = []
    for name, (start, end) in enumerate(pairwise(pool.offsets + np.arange(pool.names + 1))):
        right, distractors = float(scores[start]), scores[start + 1 : end]
        scored = ~np.isnan(distractors) & ~np.isnan(right)
        success = np.full(len(distractors), np.nan)
        if pairing == EXACT:
            success[scored] = exact_success(right, distractors[scored])
        else:
            rng = np.random.default_rng([seed, context, name])
            success[scored] = sampled_success(right, distractors[scored], rng)
        success_by_name.append(success)
    return success_by_name
