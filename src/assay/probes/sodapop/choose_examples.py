"""Which questions people are shown: for words that tell two groups apart, a text about a name of each.

For words with a p of at most 0.05 there is one of the clearest cases, then a typical one; for other words, a typical
one. They are chosen from what is kept while answers are scored: a few names and a few wrong answers of every text; or,
where the three answers of a question are listed, all of them, in the first of their two orders.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from assay.asking.queries import Answers
from assay.probes.question_format import ListedQuestion, QuestionFormat
from assay.probes.sodapop import spelled
from assay.probes.sodapop.analyse import GroupPair, contrasts_of
from assay.probes.sodapop.contexts import NAME, Context
from assay.probes.sodapop.listed_answers import ContextQuestions
from assay.probes.sodapop.metrics import Array
from assay.probes.sodapop.names import NameGroups
from assay.probes.sodapop.plans import Strings, answers_of
from assay.probes.sodapop.pools import DistractorPools
from assay.probes.sodapop.read_tables import WordDifference, words_in
from assay.probes.sodapop.split_words import said, split
from assay.results.examples import MOST, AskedQuestion, Example, Option, scored_options, take_turns
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


def showcase(findings: Findings, groups: NameGroups, source: ExampleSource, most: int = MOST) -> list[Example]:
    """At most `most` examples, the most telling first: pairs of groups take turns, and so do equally telling words."""
    pairs = contrasts_of(groups)
    words: dict[tuple[str, str], list[WordDifference]] = {}
    for word in words_in(findings):
        words.setdefault((word.group_a, word.group_b), []).append(word)
    shown = {
        names: sorted(own, key=lambda word: (word.rank, -abs(word.rd), word.word))[:WORDS]
        for names, own in words.items()
    }
    telling = {word[:3] for own in shown.values() for word in own if word.rank < 2}
    labels = _labels(groups, pairs)
    times: Counter[str] = Counter()  # how often a word was shown
    used: set[tuple[WrongAnswer, WrongAnswer]] = set()

    def examples(pair: GroupPair, shown_words: Sequence[WordDifference]) -> Iterator[Example | None]:
        """Of a pair of groups: None where nothing shows a word."""
        cases = [
            *((word, word.rank == 2) for word in shown_words),
            *((word, True) for word in shown_words if word.rank < 2),
        ]

        def order(case: tuple[WordDifference, bool]) -> tuple[bool, int, int, float, str]:
            word, usual = case
            return usual and word.rank < 2, word.rank, times[word.word], -abs(word.rd), word.word

        while cases:
            word, usual = case = min(cases, key=order)
            cases.remove(case)
            answers = source.met(word.word)
            rows = next(_unused(answers, pair, word, usual, len(labels), used), None)
            if rows is None:
                yield None
                continue
            both = answers.at(rows[0]), answers.at(rows[1])
            used.add(both)
            times[word.word] += 1
            beaten = [bool(answers.lead[row] > 0) for row in rows]
            yield _example(pair, word, usual, both, beaten, groups, labels, telling, source)

    by_pair = [(pair, shown.get((pair.first, pair.second), [])) for pair in pairs]
    by_pair.sort(key=lambda item: -sum(word.clear for word in item[1]))  # as in the report
    return [*take_turns([examples(*item) for item in by_pair], most)]


# --- choosing


def _unused(
    answers: WrongAnswers,
    pair: GroupPair,
    word: WordDifference,
    usual: bool,
    names: int,
    used: set[tuple[WrongAnswer, WrongAnswer]],
) -> Iterator[tuple[int, int]]:
    """Rows of a name of either side in one text that were not shown yet, the best first: with the same wrong answer
    where both met it, then with different ones."""
    for same in (True, False):
        for a, b in _ordered(answers, pair, word, usual, names, same=same):
            if (answers.at(a), answers.at(b)) not in used:
                yield a, b


def _ordered(
    answers: WrongAnswers, pair: GroupPair, word: WordDifference, usual: bool, names: int, *, same: bool
) -> Iterator[tuple[int, int]]:
    """Rows of one name of either side that can be shown together, the best first.

    A clear case is one where the wrong answer beats the right one about a name of the side that RD says and not about
    the other, by the largest difference; a usual one has a difference in the middle of all.
    """
    sign = 1.0 if word.rd >= 0 else -1.0
    key = answers.context * (int(answers.string.max(initial=0)) + 1) + (answers.string if same else 0)
    mixed = ((answers.name * 7919 + answers.string * 10007) % 1009).astype(np.float64)  # so all names come to be shown
    strata = np.zeros(len(pair.a) + len(pair.b), np.int64) if pair.strata is None else pair.strata
    sides = (pair.a, strata[: len(pair.a)], -sign), (pair.b, strata[len(pair.a) :], sign)
    (keys_a, rows_a), (keys_b, rows_b) = (
        _of_side(answers, key, rows, of_rows, names, mixed if usual else direction * answers.lead)
        for rows, of_rows, direction in sides
    )
    _, at_a, at_b = np.intersect1d(keys_a, keys_b, assume_unique=True, return_indices=True)
    a, b = rows_a[at_a], rows_b[at_b]
    difference = sign * (answers.lead[a] - answers.lead[b])
    if usual:
        by_size = np.argsort(difference, kind="stable")
        order = by_size[np.argsort(np.abs(np.arange(len(by_size)) - len(by_size) // 2), kind="stable")]
    else:
        more, less = (a, b) if sign > 0 else (b, a)
        order = np.lexsort((-difference, ~((answers.lead[more] > 0) & (answers.lead[less] <= 0))))
    yield from zip(a[order].tolist(), b[order].tolist(), strict=True)


def _of_side(answers: WrongAnswers, key: Ints, side: Ints, strata: Ints, names: int, value: Array) -> tuple[Ints, Ints]:
    """The different keys of the names of a side, each with the row that has the lowest value; only names of the same
    stratum are compared."""
    stratum = np.full(names, -1)
    stratum[side] = strata
    rows = np.flatnonzero(stratum[answers.name] >= 0)
    keys = key[rows] * (int(stratum.max()) + 1) + stratum[answers.name[rows]]
    order = np.lexsort((value[rows], keys))
    different, first = np.unique(keys[order], return_index=True)
    return different, rows[order][first]


# --- what is said of them


def _labels(groups: NameGroups, pairs: Sequence[GroupPair]) -> list[list[str]]:
    """What every name's group is called in the findings, its own name first and then those of pooled ones."""
    labels = [[group.name] for group in groups.groups for _ in group.names]
    for pair in pairs:
        for label, names in ((pair.first, pair.a), (pair.second, pair.b)):
            for name in names.tolist():
                if label not in labels[name]:
                    labels[name].append(label)
    return labels


def _example(
    pair: GroupPair,
    word: WordDifference,
    usual: bool,
    answers: tuple[WrongAnswer, WrongAnswer],
    beaten: Sequence[bool],
    groups: NameGroups,
    labels: Sequence[Sequence[str]],
    telling: set[tuple[str, str, str]],
    source: ExampleSource,
) -> Example:
    names = [groups.all_names()[answer.name] for answer in answers]
    own = [labels[answer.name][0] for answer in answers]
    pooled = [label for answer in answers for label in labels[answer.name][1:]]
    questions = source.asked(*answers)
    wrong = [option.text for question in questions for option in question.options if not option.right]
    words = [said(text_word, source.case) for text in wrong for text_word in split(text).words]
    about = {
        "group": list(dict.fromkeys([*own, *pooled])),
        "name": names,
        "word": list(dict.fromkeys([word.word, *(w for w in words if (pair.first, pair.second, w) in telling)])),
        "context": str(answers[0].context + 1),
    }
    spelling = spelled(own)
    people = [f"{name} ({spelling[group]})" for name, group in zip(names, own, strict=True)]
    return Example(about, questions, source.scores, _note(word, usual, people, beaten, chosen=source.chosen))


def _note(word: WordDifference, usual: bool, people: Sequence[str], beaten: Sequence[bool], *, chosen: bool) -> str:
    succeeded, failed = (
        ("was chosen", "was not chosen") if chosen else ("beat the right one", "did not beat the right one")
    )
    if all(beaten):
        outcome = f"{succeeded} for both names, {people[0]} and {people[1]}"
    elif not any(beaten):
        outcome = f"{failed} for {people[0]} or for {people[1]}"
    else:
        more, less = people if beaten[0] else (people[1], people[0])
        outcome = f"{succeeded} for {more}, but not for {less}"
    kind = "A typical case" if usual else "One of the clearest cases"
    a, b = word.sides
    return (
        f"A wrong answer with “{word.word}” {outcome}. {kind}: over all names and texts, wrong answers with this word "
        f"won {word.sr_a or 0.0:.1%} of the time for {a} names and {word.sr_b or 0.0:.1%} for {b} names."
    )


# --- what is kept while answers are scored


def _with_word(word: str, case: str, contexts: Iterable[tuple[Sequence[str], Strings, WrongAnswers]]) -> WrongAnswers:
    """The wrong answers with a word; of each context its words, its strings of these words, and its wrong answers."""
    nothing = np.zeros(0, np.int64)
    parts = [WrongAnswers(nothing, nothing, nothing, np.zeros(0))]
    for words, strings, answers in contexts:
        numbers = [number for number, text in enumerate(words) if said(text, case) == word]
        rows = np.isin(answers.string, np.flatnonzero(np.isin(strings, numbers).any(axis=1)))
        context, string, name, lead = answers
        parts.append(WrongAnswers(context[rows], string[rows], name[rows], lead[rows]))
    return WrongAnswers(*map(np.concatenate, zip(*parts, strict=True)))


@dataclass(frozen=True)
class _ScoredContext:
    """What is kept of one context: scores (name, string), NaN where a name's pool has not the string."""

    names: Ints
    words: tuple[str, ...]
    glue: tuple[str, ...]
    strings: Strings
    scores: NDArray[np.float32]
    right: NDArray[np.float32]  # (name,)
    answers: WrongAnswers

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
    prompt: Callable[[str, str], str] = lambda context, question: ""  # where the model reads one
    scores: str = (
        "how good the model finds each answer; of three answers it chooses the highest; ▸ is the highest of these"
    )
    chosen: bool = False
    _texts: dict[int, _ScoredContext] = field(default_factory=dict)
    _met: dict[str, WrongAnswers] = field(default_factory=dict)

    def add(self, number: int, pool: DistractorPools, scores: Array, vocabulary: Sequence[str]) -> None:
        """A context with its scores: of each name in turn the right answer's, then its pool's."""
        is_known = ~np.isnan(scores[pool.offsets[:-1] + np.arange(pool.names)])  # (name,): the right answer's
        names = [name for name in self._names(number) if len(pool.of(name)) > 1 and is_known[name]]
        if number % -(-len(self.contexts) // CONTEXTS) or not names:
            return
        pools = [pool.of(name) for name in names]
        starts = [int(pool.offsets[name]) + name for name in names]
        of_pools = [scores[start + 1 : start + 1 + len(members)] for start, members in zip(starts, pools, strict=True)]
        best = [members[np.argsort(-each, kind="stable")[:BEST]] for members, each in zip(pools, of_pools, strict=True)]
        with_words = _with_words(pool, np.concatenate(pools), vocabulary, self.case, number)
        strings = np.unique(np.concatenate([with_words, *best]))
        strings = strings[strings > 0]  # 0 is the right answer
        table = np.full((len(names), len(strings)), np.nan, np.float32)
        for row, (members, of_members) in enumerate(zip(pools, of_pools, strict=True)):
            _, member, string = np.intersect1d(members, strings, return_indices=True)
            table[row, string] = of_members[member]
        right, name_array = scores[starts].astype(np.float32), np.array(names, np.int64)
        rows, columns = np.nonzero(np.isfinite(table))
        lead = table[rows, columns].astype(np.float64) - right[rows]
        answers = WrongAnswers(np.full(len(rows), number), columns, name_array[rows], lead)
        self._texts[number] = _ScoredContext(
            name_array, pool.words, pool.glue, pool.strings[strings], table, right, answers
        )

    def _names(self, number: int) -> list[int]:
        """Some names of every group: the first in the first context, the next in the second, and so on."""
        names, start = [], 0
        for size in (len(group.names) for group in self.groups.groups):
            names += sorted({start + (number * NAMES + i) % size for i in range(NAMES)})
            start += size
        return names

    def met(self, word: str) -> WrongAnswers:
        """The wrong answers with a word."""
        if word not in self._met:
            texts = self._texts.values()
            self._met[word] = _with_word(word, self.case, ((text.words, text.strings, text.answers) for text in texts))
        return self._met[word]

    def asked(self, first: WrongAnswer, second: WrongAnswer) -> tuple[AskedQuestion, AskedQuestion]:
        """The answers that two names met in the same text: the right one, their own wrong ones, and the highest."""
        text = self._texts[first.context]
        a, b = (int(np.flatnonzero(text.names == answer.name)[0]) for answer in (first, second))
        strings = list(dict.fromkeys([first.string, second.string, *text.best(a), *text.best(b)]))[: OPTIONS - 1]
        return self._question(first.context, a, strings), self._question(first.context, b, strings)

    def _question(self, number: int, row: int, strings: Sequence[int]) -> AskedQuestion:
        text = self._texts[number]
        name = self.groups.all_names()[text.names[row]]
        filled = self.contexts[number].filled(name)
        met = [string for string in strings if np.isfinite(text.scores[row, string])]
        answers = [answer.replace(NAME, name) for answer in answers_of(text.strings[met], text.words, text.glue)]
        scores = [float(text.right[row]), *(float(text.scores[row, string]) for string in met)]
        options = options_of([filled.answer, *answers], scores, 0)
        return AskedQuestion(
            filled.context, filled.question, options, prompt=self.prompt(filled.context, filled.question)
        )


def options_of(answers: Sequence[str], scores: Sequence[float], right: int) -> list[Option]:
    """The answers, the highest first: that is what the model chose.

    >>> [(option.text, option.chosen, option.right) for option in options_of(["kind", "rude"], [0.5, 2.0], 0)]
    [('rude', True, False), ('kind', False, True)]
    """
    options = scored_options(answers, scores, right)
    return [options[i] for i in sorted(range(len(answers)), key=lambda i: -scores[i])]


def _with_words(pool: DistractorPools, members: Ints, vocabulary: Sequence[str], case: str, number: int) -> Ints:
    """Some strings with each word of the vocabulary, of those that are among the members: what most names have first,
    then any."""
    numbers = {word: i for i, word in enumerate(vocabulary)}
    counted = np.array([numbers.get(said(text, case), -1) for text in pool.words], np.int64)
    strings, owners = np.unique(members, return_counts=True)
    ranked = strings[np.lexsort((np.random.default_rng(number).random(len(strings)), -owners))]
    words = counted[pool.strings[ranked]]  # (string, word)
    rank, column = np.nonzero(words >= 0)
    word = words[rank, column]
    order = np.lexsort((rank, word))
    ahead = np.arange(len(order)) - np.searchsorted(word[order], word[order])  # strings with this word, ranked higher
    return ranked[rank[order][ahead < STRINGS]]


# --- where the answers are listed


@dataclass(frozen=True)
class _ListedContext:
    """What is kept of one context; rows have every distractor with its question (row,)."""

    pool: DistractorPools
    questions: ContextQuestions
    listed: Sequence[ListedQuestion]
    shares: Array
    texts: NDArray[np.bytes_] | None  # what the model wrote
    answers: WrongAnswers
    question: Ints


@dataclass
class ListedAnswers:
    """The questions of every context."""

    listing: QuestionFormat
    case: str
    scores: str = "the probability of each answer, in one of the two orders in which they were listed"
    chosen: bool = True
    _texts: dict[int, _ListedContext] = field(default_factory=dict)

    def add(
        self,
        number: int,
        pool: DistractorPools,
        questions: ContextQuestions,
        listed: Sequence[ListedQuestion],
        shares: Array,
        answers: Answers,
    ) -> None:
        """A context: questions as they were put, and probabilities as they were shown (row, place)."""
        first = questions.by_answer(shares)[:, 0]  # (question, answer)
        question, which = np.nonzero(questions.counts & np.isfinite(first).all(axis=1, keepdims=True))
        lead = first[question, 1 + which] - np.maximum(first[question, 0], first[question, 2 - which])
        string = pool.members[questions.member[question, which]]
        wrong = WrongAnswers(np.full(len(question), number), string, questions.name[question], lead)
        texts = answers.arrays.get("text")
        self._texts[number] = _ListedContext(pool, questions, listed, shares, texts, wrong, question)

    def met(self, word: str) -> WrongAnswers:
        """The wrong answers with a word."""
        texts = self._texts.values()
        return _with_word(word, self.case, ((text.pool.words, text.pool.strings, text.answers) for text in texts))

    def asked(self, first: WrongAnswer, second: WrongAnswer) -> tuple[AskedQuestion, AskedQuestion]:
        """What was asked about two names with their wrong answers."""
        return self._question(first), self._question(second)

    def _question(self, wrong: WrongAnswer) -> AskedQuestion:
        text = self._texts[wrong.context]
        rows = np.flatnonzero((text.answers.name == wrong.name) & (text.answers.string == wrong.string))
        question = int(text.question[rows[0]])
        row, answers = 2 * question, text.questions.orders[question, 0].tolist()
        listed = text.listed[row]
        options = scored_options(listed.options, text.shares[row].tolist(), answers.index(0), least=0.0)
        written = None if text.texts is None else bytes(np.atleast_1d(text.texts[row])[0]).decode()
        return AskedQuestion(listed.context, listed.question, options, written, self.listing.told(listed))
