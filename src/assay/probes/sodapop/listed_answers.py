"""Three answers listed together, where they cannot be scored each by itself: what is asked, and who won.

Every distractor meets the right answer and one partner, another distractor of the same pool. Such a question is asked
in two of the three cyclic orders, so that no answer keeps its place. Partners and orders are drawn with the seed, the
same for all names that share a pool.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.asking.queries import Answers, Status
from assay.probes.diagnose import all_ties, leads, place_shares, ties_of
from assay.probes.sodapop.metrics import Array
from assay.probes.sodapop.pools import DistractorPools
from assay.results.diagnosis import PositionShare, SwappedPairs, Ties
from assay.results.formatting import format_share, plural

Ints = NDArray[np.int64]

OPTIONS, PLACES = 3, ("A", "B", "C")
ROTATIONS = np.array([[0, 1, 2], [1, 2, 0], [2, 0, 1]])
"""(order, place): which of right answer, distractor and partner is shown there."""
_OTHERS = np.array([[1, 2], [0, 2], [0, 1]])
"""(order, 2): the other two."""


class ContextQuestions(NamedTuple):
    """The questions of one context, each in two orders.

    `member` (question, 2) are places among the pool's members: the distractor and its partner. Where a pool is odd, one
    distractor is the partner of two others; it counts once, and `counts` (question, 2) is false for the second time.
    """

    name: Ints  # (question,)
    member: Ints
    counts: NDArray[np.bool_]
    orders: Ints  # (question, order, place): as in ROTATIONS

    @property
    def places(self) -> Ints:
        """Where each answer is shown (question, order, answer)."""
        return np.argsort(self.orders, axis=2)

    def rows(self, pool: DistractorPools) -> NDArray[np.int32]:
        """Names, and strings as they are shown, question by question and order by order (row, 4)."""
        strings = np.column_stack([np.zeros(len(self.name), np.int64), pool.members[self.member]])  # 0 is the right one
        options = np.take_along_axis(strings[:, None, :], self.orders, axis=2).reshape(-1, OPTIONS)
        return np.column_stack([np.repeat(self.name, 2), options]).astype(np.int32)

    def by_answer(self, shares: Array) -> Array:
        """Probabilities as they were shown (row, place), by answer (question, order, answer)."""
        return np.take_along_axis(shares.reshape(-1, 2, OPTIONS), self.places, axis=2)


def questions_of(pool: DistractorPools, seed: int, context: int) -> ContextQuestions:
    """All questions about all names; names with fewer than two distractors have none."""
    parts = [_questions(pool, name, np.random.default_rng([seed, context, OPTIONS])) for name in range(pool.names)]
    return ContextQuestions._make(map(np.concatenate, zip(*parts, strict=True)))


def _questions(pool: DistractorPools, name: int, rng: np.random.Generator) -> ContextQuestions:
    size = len(pool.of(name))
    order = rng.permutation(size) if size > 1 else np.zeros(0, np.int64)
    pairs = np.concatenate([order, order[: len(order) % 2]]).reshape(-1, 2)  # the first once more where one is left
    counts = np.ones(pairs.shape, np.bool_)
    counts[len(order) // 2 :, 1] = False
    left_out = rng.permutation(np.arange(len(pairs)) % len(ROTATIONS))
    return ContextQuestions(
        name=np.full(len(pairs), name),
        member=pairs + pool.offsets[name],
        counts=counts,
        orders=ROTATIONS[_OTHERS[left_out]].astype(np.int64),
    )


def chosen_shares(shares: Array) -> Array:
    """How far each option is what the model chose, from probabilities (row, option): 1 for the likeliest, 0 otherwise.

    Options that are equally likely share the 1. All are 0 in a row without any probability, which is a refusal, and NaN
    in one without an answer.

    >>> chosen_shares(np.array([[0.2, 0.5, 0.3], [0.4, 0.2, 0.4], [0.0, 0.0, 0.0]])).tolist()
    [[0.0, 1.0, 0.0], [0.5, 0.0, 0.5], [0.0, 0.0, 0.0]]
    """
    likeliest = (shares == shares.max(axis=1, keepdims=True)) & (shares > 0)
    chosen = likeliest / np.maximum(likeliest.sum(axis=1, keepdims=True), 1)
    return np.where(np.isfinite(shares).all(axis=1, keepdims=True), chosen, np.nan)


def listed_successes(pool: DistractorPools, questions: ContextQuestions, chosen: Array) -> list[Array]:
    """How often each distractor of every name was chosen of the three (Eq. 1): the mean over both orders.

    `chosen` says it of every option as shown (row, place): the share of the written answers that name it, or what
    `chosen_shares` makes of probabilities. 0 where the model chose the right answer, the partner or nothing; NaN for a
    distractor without an answer in either order.
    """
    success = np.full(len(pool.members), np.nan)
    success[questions.member[questions.counts]] = questions.by_answer(chosen)[..., 1:].mean(axis=1)[
        questions.counts
    ]  # (question, distractor)
    return [success[pool.offsets[name] : pool.offsets[name + 1]] for name in range(pool.names)]


def usable(shares: Array, answers: Answers) -> Array:
    """Probabilities (row, option) without the rows whose answer was cut off before it named an option, or is empty."""
    cut = np.isin(answers.status, (Status.TRUNCATED, Status.EMPTY)) & (shares.sum(axis=1) == 0)
    return np.where(cut[:, None], np.nan, shares)


# --- what was chosen, and where it stood


@dataclass
class PositionTally:
    """Adds up, context by context, where the chosen answers stood, and what was not answered.

    A model that ignores places chooses an answer at any place: of the two orders of a question either is
    as likely to bring a choice, and where that choice would have stood in each of them is where it is expected.
    """

    scored: bool
    samples: int = 1  # answers to each question
    at: list[Array] = field(default_factory=list)  # (unit, place), for every context
    expected: list[Array] = field(default_factory=list)
    same: int = 0
    pairs: int = 0
    questions: int = 0
    refused: int = 0
    unnamed: int = 0
    missing: int = 0
    ties: list[Ties | None] = field(default_factory=list)
    lost: Counter[str] = field(default_factory=Counter)  # by why they say nothing (`assay.probes.diagnose.LOST`)

    @property
    def answers(self) -> int:
        """How many answers were asked for."""
        return self.questions * self.samples

    def add(
        self,
        pool: DistractorPools,
        questions: ContextQuestions,
        shares: Array,
        answers: Answers,
        lost: Mapping[str, int] | None = None,
    ) -> None:
        """The answers in one context; `shares` are as they were shown (row, place), `lost` as `Listing.lost`."""
        self.lost.update(lost or {})
        refused = np.isin(answers.status, (Status.REFUSED, Status.FILTERED))
        answered = np.isfinite(shares).all(axis=1)
        named = answered & (shares.max(axis=1, initial=0.0) > 0)
        self.questions += len(shares)
        self.refused += int(refused.sum())
        self.missing += int((~answered).sum())
        self.unnamed += int((answered & ~named & ~refused).sum())
        if self.scored:
            self.ties.append(ties_of(leads(shares[named])))
        highest = shares == shares.max(axis=1, keepdims=True)
        decided = (named & (highest.sum(axis=1) == 1)).reshape(-1, 2).all(axis=1)  # (question,)
        at = highest.argmax(axis=1).reshape(-1, 2)[decided]  # (question, order)
        orders, places = questions.orders[decided], questions.places[decided]
        answer = np.take_along_axis(orders, at[:, :, None], axis=2)[:, :, 0]
        # (question, answer, order)
        would = np.take_along_axis(places[:, None], answer[:, :, None, None], axis=3)[..., 0]
        strings = pool.members[questions.member[decided]]
        _, unit = np.unique(strings, axis=0, return_inverse=True)  # the same answers about other names are much alike
        self.at.append(_counted(unit.reshape(-1), at))
        self.expected.append(_counted(unit.reshape(-1), would.reshape(-1, 4)) / 2.0)
        self.same += int((at[:, 0] == at[:, 1]).sum())
        self.pairs += len(at)

    def places(self) -> list[PositionShare]:
        at, expected = np.concatenate(self.at), np.concatenate(self.expected)
        return place_shares(PLACES, at, expected, at.sum(axis=1))

    def exchanged(self) -> list[SwappedPairs]:
        return [SwappedPairs(self.same, self.pairs)] if self.pairs else []

    def all_ties(self) -> Ties | None:
        return all_ties(self.ties)

    def notes(self) -> Iterator[str]:
        """How many answers do not choose, and what becomes of them."""
        of = f"of {plural(self.questions, 'question')} with three listed answers"
        for number, outcome in (
            (self.refused, "refused; they count as choosing none of the answers"),
            (self.unnamed, "answered in words that match none of the answers; they count as choosing none"),
            (self.missing, "not answered; their wrong answers are left out for that name"),
        ):
            if number:
                yield f"{of}, {number:,} ({format_share(number / self.questions)}) were {outcome}"


def _counted(unit: Ints, places: Ints) -> Array:
    """How often each place is among those (question, …) of every unit: (unit, place)."""
    counts = np.zeros((int(unit.max(initial=-1)) + 1, OPTIONS))
    np.add.at(counts, (np.repeat(unit, places.shape[1]), places.reshape(-1)), 1.0)
    return counts
