"""Examples of questions whose three answers are listed, in the first of their two orders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from assay.asking.queries import Answers
from assay.probes.question_format import ListedQuestion, QuestionFormat
from assay.probes.sodapop.choose_examples import WrongAnswer, WrongAnswers
from assay.probes.sodapop.listed_answers import ContextQuestions
from assay.probes.sodapop.metrics import Array
from assay.probes.sodapop.pools import DistractorPools
from assay.probes.sodapop.split_words import said
from assay.results.examples import AskedQuestion, Option

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class _KeptListedContext:
    """What is kept of one context; rows have every distractor with its question (row,)."""

    pool: DistractorPools
    questions: ContextQuestions
    put: Sequence[ListedQuestion]
    shares: Array
    answers: Answers
    spots: WrongAnswers
    question: Ints


@dataclass
class ListedAnswers:
    """The questions of every context."""

    listing: QuestionFormat
    case: str
    scores: str = "the probability of each answer, in one of the two orders in which they were listed"
    chosen: bool = True
    _texts: dict[int, _KeptListedContext] = field(default_factory=dict)

    def add(
        self,
        number: int,
        pool: DistractorPools,
        questions: ContextQuestions,
        put: Sequence[ListedQuestion],
        shares: Array,
        answers: Answers,
    ) -> None:
        """A context: questions as they were put, and probabilities as they were shown (row, place)."""
        first = questions.by_answer(shares)[:, 0]  # (question, answer)
        question, which = np.nonzero(questions.counts & np.isfinite(first).all(axis=1, keepdims=True))
        lead = first[question, 1 + which] - np.maximum(first[question, 0], first[question, 2 - which])
        string = pool.members[questions.member[question, which]]
        spots = WrongAnswers(np.full(len(question), number), string, questions.name[question], lead)
        self._texts[number] = _KeptListedContext(pool, questions, put, shares, answers, spots, question)

    def met(self, word: str) -> WrongAnswers:
        """The wrong answers with a word."""
        nothing = np.zeros(0, np.int64)
        parts = [WrongAnswers(nothing, nothing, nothing, np.zeros(0))]
        for text in self._texts.values():
            places = [place for place, each in enumerate(text.pool.words) if said(each, self.case) == word]
            strings = np.flatnonzero(np.isin(text.pool.strings, places).any(axis=1))
            context, string, name, lead = text.spots
            has = np.isin(string, strings)
            parts.append(WrongAnswers(context[has], string[has], name[has], lead[has]))
        return WrongAnswers(*map(np.concatenate, zip(*parts, strict=True)))

    def asked(self, first: WrongAnswer, second: WrongAnswer) -> tuple[AskedQuestion, AskedQuestion]:
        """What was asked about two names with their wrong answers."""
        return self._asked(first), self._asked(second)

    def _asked(self, spot: WrongAnswer) -> AskedQuestion:
        text = self._texts[spot.context]
        own = (text.spots.name == spot.name) & (text.spots.string == spot.string)
        question = int(text.question[np.flatnonzero(own)[0]])
        row, shown = 2 * question, text.questions.orders[question, 0]
        put, shares = text.put[row], text.shares[row]
        options = [
            Option(answer, float(f"{share:.4g}"), bool(share == shares.max() > 0), bool(which == 0))
            for answer, share, which in zip(put.options, shares, shown, strict=True)
        ]
        written = text.answers.arrays.get("text")
        answer = None if written is None else bytes(np.atleast_1d(written[row])[0]).decode()
        return AskedQuestion(put.context, put.question, options, answer, self.listing.told(put))
