"""What is kept for people to look at while answers are scored: of every text a few names and a few wrong answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.examples import Asked, Option
from assay.probes.sodapop.contexts import NAME, Context, with_place_for
from assay.probes.sodapop.metrics import Array
from assay.probes.sodapop.names import Groups
from assay.probes.sodapop.plans import Strings, answers_of
from assay.probes.sodapop.pools import Pools
from assay.probes.sodapop.words import said, split

Ints = NDArray[np.int64]

CONTEXTS, NAMES, STRINGS, BEST = 40, 3, 4, 2
"""Kept at most: texts, names of a group in each, wrong answers with a word in each, and a name's highest ones."""

OPTIONS = 6
"""Answers that are shown with a question."""


class Spot(NamedTuple):
    """A wrong answer about a name in a text, all three as numbers."""

    context: int
    string: int
    name: int


class Spots(NamedTuple):
    """Many of them as columns; `lead` is by how much the wrong answer beat the right one (below 0: it did not)."""

    context: Ints
    string: Ints
    name: Ints
    lead: Array

    @staticmethod
    def joined(parts: Sequence[Spots]) -> Spots:
        whole = np.zeros(0, np.int64)
        columns = zip(Spots(whole, whole, whole, np.zeros(0)), *parts, strict=True)
        return Spots(*(np.concatenate(column) for column in columns))


@dataclass(frozen=True)
class _Text:
    """What is kept of one context: scores (name, string), NaN where a name's pool has not the string."""

    names: Ints
    words: tuple[str, ...]
    glue: tuple[str, ...]
    strings: Strings
    scores: NDArray[np.float32]
    right: NDArray[np.float32]  # (name,)

    def best(self, row: int) -> list[int]:
        """The highest wrong answers of a name."""
        scores = np.where(np.isfinite(self.scores[row]), self.scores[row], -np.inf)
        return [int(string) for string in np.argsort(-scores, kind="stable")[:BEST]]


@dataclass
class Kept:
    """Some names and wrong answers of every context, or of every second (third, …) where there are many."""

    groups: Groups
    contexts: Sequence[Context]
    case: str
    scores: str = (
        "how good the model finds each answer; in a question of three it chooses the highest, and ▸ is the highest here"
    )
    _texts: dict[int, _Text] = field(default_factory=dict)
    _met: dict[str, Spots] = field(default_factory=dict)

    def add(self, number: int, pool: Pools, scores: Array, vocabulary: Sequence[str]) -> None:
        """A context with its scores: of each name in turn the right answer's, then its pool's."""
        names = [name for name in self._names(number) if len(pool.of(name)) > 1]
        if number % -(-len(self.contexts) // CONTEXTS) or not names:
            return
        starts = [int(pool.offsets[name]) + name for name in names]
        own = [scores[start + 1 : start + 1 + len(pool.of(name))] for name, start in zip(names, starts, strict=True)]
        best = [pool.of(name)[np.argsort(-each, kind="stable")[:BEST]] for name, each in zip(names, own, strict=True)]
        some = _with_words(pool, np.concatenate([pool.of(name) for name in names]), vocabulary, self.case, number)
        strings = np.unique(np.concatenate([some, *best]))
        strings = strings[strings > 0]  # 0 is the right answer
        table = np.full((len(names), len(strings)), np.nan, np.float32)
        for row, (name, each) in enumerate(zip(names, own, strict=True)):
            _, member, string = np.intersect1d(pool.of(name), strings, return_indices=True)
            table[row, string] = each[member]
        right = scores[starts].astype(np.float32)
        places = np.array(names, np.int64)
        self._texts[number] = _Text(places, pool.words, pool.glue, pool.strings[strings], table, right)

    def _names(self, number: int) -> list[int]:
        """Some names of every group: the first in the first context, the next in the second, and so on."""
        found, at = [], 0
        for size in (len(group.names) for group in self.groups.groups):
            found += sorted({at + (number * NAMES + each) % size for each in range(NAMES)})
            at += size
        return found

    def met(self, word: str) -> Spots:
        """The wrong answers with a word."""
        if word not in self._met:
            self._met[word] = Spots.joined([self._met_in(number, word) for number in self._texts])
        return self._met[word]

    def _met_in(self, number: int, word: str) -> Spots:
        text = self._texts[number]
        places = [place for place, each in enumerate(text.words) if said(each, self.case) == word]
        has = np.isin(text.strings, places).any(axis=1)
        name, string = np.nonzero(np.isfinite(text.scores) & has)
        lead = text.scores[name, string].astype(np.float64) - text.right[name]
        return Spots(np.full(len(name), number), string, text.names[name], lead)

    def asked(self, first: Spot, second: Spot) -> tuple[Asked, Asked]:
        """The answers that two names met in the same text: the right one, the two spots', and the highest of both."""
        text = self._texts[first.context]
        one, other = (int(np.flatnonzero(text.names == spot.name)[0]) for spot in (first, second))
        shown = list(dict.fromkeys([first.string, second.string, *text.best(one), *text.best(other)]))[: OPTIONS - 1]
        return self._asked(first.context, one, shown), self._asked(first.context, other, shown)

    def _asked(self, number: int, row: int, strings: Sequence[int]) -> Asked:
        text = self._texts[number]
        name = self.groups.all_names()[text.names[row]]
        filled = self.contexts[number].filled(name)
        own = [string for string in strings if np.isfinite(text.scores[row, string])]
        answers = [answer.replace(NAME, name) for answer in answers_of(text.strings[own], text.words, text.glue)]
        scores = [float(text.scores[row, string]) for string in own]
        return Asked(
            filled.context,
            filled.question,
            options_of([filled.answer, *answers], [float(text.right[row]), *scores], 0),
        )


def options_of(answers: Sequence[str], scores: Sequence[float], right: int) -> list[Option]:
    """The answers, the highest first: that is what the model chose.

    >>> [(option.text, option.chosen, option.right) for option in options_of(["kind", "rude"], [0.5, 2.0], 0)]
    [('rude', True, False), ('kind', False, True)]
    """
    order = sorted(range(len(answers)), key=lambda place: -scores[place])
    return [
        Option(answers[place], float(f"{scores[place]:.4g}"), scores[place] == max(scores), place == right)
        for place in order
    ]


def _with_words(pool: Pools, members: Ints, vocabulary: Sequence[str], case: str, number: int) -> Ints:
    """Some strings with each word of the vocabulary, of those that are among the members: what most names have first,
    then any."""
    numbered = {word: place for place, word in enumerate(vocabulary)}
    counted = np.array([numbered.get(said(text, case), -1) for text in pool.words], np.int64)
    strings, owners = np.unique(members, return_counts=True)
    ranked = strings[np.lexsort((np.random.default_rng(number).random(len(strings)), -owners))]
    words = counted[pool.strings[ranked]]  # (string, word)
    rank, column = np.nonzero(words >= 0)
    word = words[rank, column]
    order = np.lexsort((rank, word))
    ahead = np.arange(len(order)) - np.searchsorted(word[order], word[order])  # strings with this word, ranked higher
    return ranked[rank[order][ahead < STRINGS]]


# --- questions that somebody else put

QUESTIONS, EACH = 20_000, 40
"""Kept at most: questions, and questions about a name in a text."""

_KINDS = {
    "probs": "the probability that the model gave to each answer",
    "logits": "the score (logit) that the model gave to each answer",
}


class Put(NamedTuple):
    """A question about a name as somebody put it, with the model's number for each choice."""

    text: str
    question: str
    choices: tuple[str, ...]
    right: int
    numbers: tuple[float, ...]


@dataclass
class KeptQuestions:
    """Some questions about the first names of every group, where the text is known."""

    groups: Groups
    case: str
    scores: str = ""
    _contexts: dict[str, int] = field(default_factory=dict)
    _times: dict[tuple[int, str], int] = field(default_factory=dict)
    _put: list[tuple[int, int, Put]] = field(default_factory=list)  # (context, name, question)
    _index: dict[str, list[tuple[int, int, int, float]]] = field(default_factory=dict)
    _found: dict[Spot, Put] = field(default_factory=dict)

    def __post_init__(self) -> None:
        first = (self.groups.rows(group)[:NAMES].tolist() for group in self.groups.groups)
        self._names = {name for own in first for name in own}

    def add(self, name: int, context: str, kind: str, put: Put) -> None:
        """A question about a name; `context` is the text with NAME in it."""
        times = self._times.get((name, context), 0)
        if name not in self._names or NAME not in context or times >= EACH or len(self._put) >= QUESTIONS:
            return
        self._times[name, context] = times + 1
        self._put.append((self._contexts.setdefault(context, len(self._contexts)), name, put))
        self.scores = self.scores or _KINDS[kind]

    def met(self, word: str) -> Spots:
        """The wrong answers with a word."""
        if self._put and not self._index:
            self._read()
        rows = self._index.get(word, [])
        context, string, name = np.array([row[:3] for row in rows], np.int64).reshape(-1, 3).T
        return Spots(context, string, name, np.array([row[3] for row in rows], np.float64))

    def _read(self) -> None:
        numbered: dict[str, int] = {}
        for context, name, put in self._put:
            own = self.groups.all_names()[name]
            for place, choice in enumerate(put.choices):
                spot = Spot(context, numbered.setdefault(with_place_for(own, choice), len(numbered)), name)
                if place != put.right and spot not in self._found:
                    self._found[spot] = put
                    lead = put.numbers[place] - put.numbers[put.right]
                    for word in {said(each, self.case) for each in split(choice).words}:
                        self._index.setdefault(word, []).append((*spot, lead))

    def asked(self, first: Spot, second: Spot) -> tuple[Asked, Asked]:
        """The two questions as they were put."""
        one, other = (
            Asked(put.text, put.question, options_of(put.choices, put.numbers, put.right))
            for put in (self._found[first], self._found[second])
        )
        return one, other
