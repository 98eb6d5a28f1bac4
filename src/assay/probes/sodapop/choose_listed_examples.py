"""Examples of questions whose three answers are listed, in the first of their two orders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from assay.asking.queries import Answers
from assay.probes.question_format import Listing, Question
from assay.probes.sodapop.choose_examples import Spot, Spots
from assay.probes.sodapop.listed_answers import Questions
from assay.probes.sodapop.metrics import Array
from assay.probes.sodapop.pools import Pools
from assay.probes.sodapop.split_words import said
from assay.results.examples import Asked, Option

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class _Text:
    """What is kept of one context; rows have every distractor with its question (row,)."""

    pool: Pools
    questions: Questions
    put: Sequence[Question]
    shares: Array
    answers: Answers
    spots: Spots
    question: Ints


@dataclass
class ListedAnswers:
    """The questions of every context."""

    listing: Listing
    case: str
    scores: str = "the probability of each answer, in one of the two orders in which they were listed"
    _texts: dict[int, _Text] = field(default_factory=dict)

    def add(
        self,
        number: int,
        pool: Pools,
        questions: Questions,
        put: Sequence[Question],
        shares: Array,
        answers: Answers,
    ) -> None:
        """A context: questions as they were put, and probabilities as they were shown (row, place)."""
        first = questions.by_answer(shares)[:, 0]  # (question, answer)
        question, which = np.nonzero(questions.counts & np.isfinite(first).all(axis=1, keepdims=True))
        lead = first[question, 1 + which] - first[question, 0]
        string = pool.members[questions.member[question, which]]
        spots = Spots(np.full(len(question), number), string, questions.name[question], lead)
        self._texts[number] = _Text(pool, questions, put, shares, answers, spots, question)

    def met(self, word: str) -> Spots:
        """The wrong answers with a word."""
        nothing = np.zeros(0, np.int64)
        parts = [Spots(nothing, nothing, nothing, np.zeros(0))]
        for text in self._texts.values():
            places = [place for place, each in enumerate(text.pool.words) if said(each, self.case) == word]
            strings = np.flatnonzero(np.isin(text.pool.strings, places).any(axis=1))
            context, string, name, lead = text.spots
            has = np.isin(string, strings)
            parts.append(Spots(context[has], string[has], name[has], lead[has]))
        return Spots(*map(np.concatenate, zip(*parts, strict=True)))

    def asked(self, first: Spot, second: Spot) -> tuple[Asked, Asked]:
        """What was asked about two names with their wrong answers."""
        return self._asked(first), self._asked(second)

    def _asked(self, spot: Spot) -> Asked:
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
        return Asked(put.context, put.question, options, answer, self.listing.told(put))
