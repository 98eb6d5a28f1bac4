"""Which questions people are shown: for words that tell two groups apart, a text about a name of each.

For words with a p of at most 0.05 there is one of the clearest cases, then a typical one; for other words, a typical
one. They are chosen from what is kept while answers are scored: a few names and a few wrong answers of every text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from assay.probes.sodapop import spelled
from assay.probes.sodapop.analyse import GroupPair, contrasts_of
from assay.probes.sodapop.contexts import NAME, Context
from assay.probes.sodapop.metrics import Array
from assay.probes.sodapop.names import NameGroups
from assay.probes.sodapop.plans import Strings, answers_of
from assay.probes.sodapop.pools import DistractorPools
from assay.probes.sodapop.read_tables import WordDifference, words_in
from assay.probes.sodapop.split_words import said, split
from assay.results.examples import MOST, AskedQuestion, Example, Option
from assay.results.findings import Findings

WORDS = 12
"""So many words of a pair of groups are shown, as in the report."""

CONTEXTS, NAMES, STRINGS, BEST = 40, 3, 4, 2
"""Kept at most: texts, names of a group in each, wrong answers with a word in each, and a name's highest ones."""

OPTIONS = 6
"""Answers that are shown with a question."""

Ints = NDArray[np.int64]


class WrongAnswer(NamedTuple):
    """A wrong answer about a name in a text, all three as numbers."""

    context: int
    string: int
    name: int


class WrongAnswers(NamedTuple):
    """Many of them as columns; `lead` is by how much the wrong answer beat the right one (below 0: it did not), or
    both others if three were listed.
    """

    context: Ints
    string: Ints
    name: Ints
    lead: Array

    def at(self, row: int) -> WrongAnswer:
        return WrongAnswer(int(self.context[row]), int(self.string[row]), int(self.name[row]))


class ExampleSource(Protocol):
    """What was kept of the questions, what its scores are, whether words differ by case (as in Settings), and whether
    a wrong answer with a lead was `chosen`, or beat the right one.
    """

    scores: str
    case: str
    chosen: bool

    def met(self, word: str) -> WrongAnswers:
        """The wrong answers with a word."""

    def asked(self, first: WrongAnswer, second: WrongAnswer) -> tuple[AskedQuestion, AskedQuestion]:
        """What was asked about two names in the same text."""


class _WantedExample(NamedTuple):
    """An example that should be there: of a word for a pair of groups, a clear case or a usual one."""

    contrast: GroupPair
    word: WordDifference
    usual: bool


def showcase(findings: Findings, groups: NameGroups, kept: ExampleSource, most: int = MOST) -> list[Example]:
    """At most `most` examples, the most telling first: pairs of groups take turns, and so do equally telling words."""
    contrasts = contrasts_of(groups)
    waiting = _wishes(findings, contrasts)
    told = {wish.word[:3] for own in waiting for wish in own if wish.word.rank < 2}
    labels = _labels(groups, contrasts)
    examples: list[Example] = []
    times: dict[str, int] = {}
    used: set[tuple[WrongAnswer, WrongAnswer]] = set()

    def order(wish: _WantedExample) -> tuple[bool, int, int, float, str]:
        word = wish.word
        return wish.usual and word.rank < 2, word.rank, times.get(word.word, 0), -abs(word.rd), word.word

    while any(waiting):
        for own in filter(None, waiting):
            wish = min(own, key=order)
            own.remove(wish)
            spots = kept.met(wish.word.word)
            rows = _pair(spots, wish, len(labels), used)
            if rows is None:
                continue
            pair = spots.at(rows[0]), spots.at(rows[1])
            used.add(pair)
            times[wish.word.word] = times.get(wish.word.word, 0) + 1
            beaten = [bool(spots.lead[row] > 0) for row in rows]
            examples.append(_example(wish, pair, beaten, groups, labels, told, kept))
            if len(examples) == most:
                return examples
    return examples


def _wishes(findings: Findings, contrasts: Sequence[GroupPair]) -> list[list[_WantedExample]]:
    """The wishes of every contrast; those with most clear words first, as in the report."""
    words: dict[tuple[str, str], list[WordDifference]] = {}
    for word in words_in(findings):
        words.setdefault((word.group_a, word.group_b), []).append(word)
    found = []
    for contrast in contrasts:
        own = words.get((contrast.first, contrast.second), [])
        own = sorted(own, key=lambda word: (word.rank, -abs(word.rd), word.word))[:WORDS]
        clear_cases = [_WantedExample(contrast, word, usual=word.rank == 2) for word in own]
        found.append([*clear_cases, *(_WantedExample(contrast, word, usual=True) for word in own if word.rank < 2)])
    return sorted(found, key=lambda wishes: -sum(wish.word.clear for wish in wishes))


# --- choosing


def _pair(
    spots: WrongAnswers, wish: _WantedExample, names: int, used: set[tuple[WrongAnswer, WrongAnswer]]
) -> tuple[int, int] | None:
    """Rows of a name of either side in one text, with the same wrong answer where both met it; None where there is
    none."""
    for same in (True, False):
        for a, b in _ordered(spots, wish, names, same=same):
            if (spots.at(a), spots.at(b)) not in used:
                return a, b
    return None


def _ordered(spots: WrongAnswers, wish: _WantedExample, names: int, *, same: bool) -> Iterator[tuple[int, int]]:
    """Rows of one name of either side that can be shown together, the best first.

    A clear case is one where the wrong answer beats the right one about a name of the side that RD says and not about
    the other, by the largest difference; a usual one has a difference in the middle of all.
    """
    sign = 1.0 if wish.word.rd >= 0 else -1.0
    key = spots.context * (int(spots.string.max(initial=0)) + 1) + (spots.string if same else 0)
    mixed = ((spots.name * 7919 + spots.string * 10007) % 1009).astype(np.float64)  # so that all names come to be shown
    (keys_a, rows_a), (keys_b, rows_b) = (
        _of_side(spots, key, stratum, mixed if wish.usual else way * spots.lead)
        for stratum, way in zip(_strata(wish.contrast, names), (-sign, sign), strict=True)
    )
    _, at_a, at_b = np.intersect1d(keys_a, keys_b, assume_unique=True, return_indices=True)
    a, b = rows_a[at_a], rows_b[at_b]
    difference = sign * (spots.lead[a] - spots.lead[b])
    if wish.usual:
        sorted_ = np.argsort(difference, kind="stable")
        order = sorted_[np.argsort(np.abs(np.arange(len(sorted_)) - len(sorted_) // 2), kind="stable")]
    else:
        more, less = (a, b) if sign > 0 else (b, a)
        order = np.lexsort((-difference, ~((spots.lead[more] > 0) & (spots.lead[less] <= 0))))
    yield from zip(a[order].tolist(), b[order].tolist(), strict=True)


def _strata(contrast: GroupPair, names: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For either side the stratum of every name, -1 for those that are not on it: only alike names are compared."""
    strata = np.zeros(len(contrast.a) + len(contrast.b), np.int64) if contrast.strata is None else contrast.strata
    a, b = np.full(names, -1), np.full(names, -1)
    a[contrast.a], b[contrast.b] = strata[: len(contrast.a)], strata[len(contrast.a) :]
    return a, b


def _of_side(
    spots: WrongAnswers, key: NDArray[np.int64], stratum: NDArray[np.int64], value: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The different keys of a side, each with the row that has the lowest value."""
    rows = np.flatnonzero(stratum[spots.name] >= 0)
    keys = key[rows] * (int(stratum.max()) + 1) + stratum[spots.name[rows]]
    order = np.lexsort((value[rows], keys))
    different, first = np.unique(keys[order], return_index=True)
    return different, rows[order][first]


# --- saying


def _labels(groups: NameGroups, contrasts: Sequence[GroupPair]) -> list[list[str]]:
    """What every name's group is called in the findings, its own name first and then those of pooled ones."""
    labels = [[group.name] for group in groups.groups for _ in group.names]
    for contrast in contrasts:
        for label, places in ((contrast.first, contrast.a), (contrast.second, contrast.b)):
            for place in places.tolist():
                if label not in labels[place]:
                    labels[place].append(label)
    return labels


def _example(
    wish: _WantedExample,
    pair: tuple[WrongAnswer, WrongAnswer],
    beaten: Sequence[bool],
    groups: NameGroups,
    labels: Sequence[Sequence[str]],
    told: set[tuple[str, str, str]],
    kept: ExampleSource,
) -> Example:
    own, names = [labels[spot.name] for spot in pair], [groups.all_names()[spot.name] for spot in pair]
    asked = kept.asked(*pair)
    wrong = [option.text for each in asked for option in each.options if not option.right]
    words = [said(word, kept.case) for text in wrong for word in split(text).words]
    telling = [word for word in words if (wish.contrast.first, wish.contrast.second, word) in told]
    pooled = [label for each in own for label in each[1:]]
    about = {
        "group": list(dict.fromkeys([*(each[0] for each in own), *pooled])),
        "name": names,
        "word": list(dict.fromkeys([wish.word.word, *telling])),
        "context": str(pair[0].context + 1),
    }
    said_of = spelled([each[0] for each in own])
    people = [f"{name} ({said_of[each[0]]})" for name, each in zip(names, own, strict=True)]
    return Example(about, asked, kept.scores, _note(wish, people, beaten, chosen=kept.chosen))


def _note(wish: _WantedExample, people: Sequence[str], beaten: Sequence[bool], *, chosen: bool) -> str:
    told = f"A wrong answer with “{wish.word.word}” "
    succeeded, failed = (
        ("was chosen", "was not chosen") if chosen else ("beat the right one", "did not beat the right one")
    )
    match beaten:
        case [True, True]:
            told += f"{succeeded} for both names, {people[0]} and {people[1]}."
        case [False, False]:
            told += f"{failed} for {people[0]} or for {people[1]}."
        case _:
            more, less = people if beaten[0] else (people[1], people[0])
            told += f"{succeeded} for {more}, but not for {less}."
    kind = "A typical case" if wish.usual else "One of the clearest cases"
    a, b = wish.word.sides
    rates = wish.word.sr_a or 0.0, wish.word.sr_b or 0.0
    return (
        f"{told} {kind}: over all names and texts, wrong answers with this word won {rates[0]:.1%} of the time for {a} "
        f"names and {rates[1]:.1%} for {b} names."
    )


# --- what is kept while answers are scored


@dataclass(frozen=True)
class _KeptContext:
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
class ScoredAnswers:
    """Some names and wrong answers of every context, or of every second (third, …) where there are many."""

    groups: NameGroups
    contexts: Sequence[Context]
    case: str
    told: Callable[[str, str], str] = lambda context, question: ""  # a prompt, where the model reads one
    scores: str = (
        "how good the model finds each answer; of three answers it chooses the highest; ▸ is the highest of these"
    )
    chosen: bool = False
    _texts: dict[int, _KeptContext] = field(default_factory=dict)
    _met: dict[str, WrongAnswers] = field(default_factory=dict)

    def add(self, number: int, pool: DistractorPools, scores: Array, vocabulary: Sequence[str]) -> None:
        """A context with its scores: of each name in turn the right answer's, then its pool's."""
        known = ~np.isnan(scores[pool.offsets[:-1] + np.arange(pool.names)])  # (name,): the right answer's
        names = [name for name in self._names(number) if len(pool.of(name)) > 1 and known[name]]
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
        self._texts[number] = _KeptContext(places, pool.words, pool.glue, pool.strings[strings], table, right)

    def _names(self, number: int) -> list[int]:
        """Some names of every group: the first in the first context, the next in the second, and so on."""
        found, at = [], 0
        for size in (len(group.names) for group in self.groups.groups):
            found += sorted({at + (number * NAMES + each) % size for each in range(NAMES)})
            at += size
        return found

    def met(self, word: str) -> WrongAnswers:
        """The wrong answers with a word."""
        if word not in self._met:
            whole = np.zeros(0, np.int64)
            parts = [
                WrongAnswers(whole, whole, whole, np.zeros(0)),
                *(self._met_in(number, word) for number in self._texts),
            ]
            self._met[word] = WrongAnswers(*map(np.concatenate, zip(*parts, strict=True)))
        return self._met[word]

    def _met_in(self, number: int, word: str) -> WrongAnswers:
        text = self._texts[number]
        places = [place for place, each in enumerate(text.words) if said(each, self.case) == word]
        has = np.isin(text.strings, places).any(axis=1)
        name, string = np.nonzero(np.isfinite(text.scores) & has)
        lead = text.scores[name, string].astype(np.float64) - text.right[name]
        return WrongAnswers(np.full(len(name), number), string, text.names[name], lead)

    def asked(self, first: WrongAnswer, second: WrongAnswer) -> tuple[AskedQuestion, AskedQuestion]:
        """The answers that two names met in the same text: the right one, the two spots', and the highest of both."""
        text = self._texts[first.context]
        one, other = (int(np.flatnonzero(text.names == spot.name)[0]) for spot in (first, second))
        shown = list(dict.fromkeys([first.string, second.string, *text.best(one), *text.best(other)]))[: OPTIONS - 1]
        return self._asked(first.context, one, shown), self._asked(first.context, other, shown)

    def _asked(self, number: int, row: int, strings: Sequence[int]) -> AskedQuestion:
        text = self._texts[number]
        name = self.groups.all_names()[text.names[row]]
        filled = self.contexts[number].filled(name)
        own = [string for string in strings if np.isfinite(text.scores[row, string])]
        answers = [answer.replace(NAME, name) for answer in answers_of(text.strings[own], text.words, text.glue)]
        scores = [float(text.scores[row, string]) for string in own]
        return AskedQuestion(
            filled.context,
            filled.question,
            options_of([filled.answer, *answers], [float(text.right[row]), *scores], 0),
            prompt=self.told(filled.context, filled.question),
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


def _with_words(pool: DistractorPools, members: Ints, vocabulary: Sequence[str], case: str, number: int) -> Ints:
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
