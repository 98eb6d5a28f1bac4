"""Ties with the right answer and, for results from elsewhere, whether answers follow the place of the choices."""

from __future__ import annotations

from array import array
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from assay.probes.diagnose import Array, diagnosed, doubts, place_shares, readable_with, ties_of, unreadable
from assay.probes.question_format import QuestionFormat
from assay.probes.sodapop.listed_answers import PositionTally
from assay.probes.sodapop.pools import DistractorPools
from assay.probes.sodapop.settings import SodapopSettings
from assay.results.diagnosis import Diagnosis, PositionShare, Ties
from assay.results.findings import NEAR_TIE
from assay.results.verdict import Grounds

LETTERS = "ABCDEFGHIJ"

_ONE_BY_ONE = "every answer was scored alone, so answers have no place"
_FIXED = "the right answer is at the same place in all questions, so the place cannot be told from the answer"
_UNDECIDED = "no question has one chosen answer in both of its orders"
_UNSCORED = "the answers are texts without scores"
_MISSING = {
    "exchanged": "no question was asked with its choices in another order",
    "ties": "nothing was scored",
    "negation": "no question has a negation",
}


def ties_with_right(pool: DistractorPools, scores: Array) -> Ties | None:
    """Wrong answers that score as the right one does; `scores` as in `rates.successes`."""
    return ties_of(pool.leads(scores))


@dataclass
class PositionCounter:
    """Counts questions of results by pool (a name in a context) and number of choices: where the answers were, then
    where the right ones. A tie does not count as an answer.
    """

    pools: dict[tuple[int, str, int], array[int]] = field(default_factory=dict)  # (chosen at each place, right at each)
    right: int = 0
    ties: Counter[str] = field(default_factory=Counter)

    def add(self, name: int, context: str, label: int, numbers: tuple[float, ...]) -> None:
        """A question about a name: which choice is right, and the model's number for each."""
        choices, (second, highest) = len(numbers), sorted(numbers)[-2:]
        kind = "exact" if second == highest else "near" if highest - second < NEAR_TIE else "decided"
        self.ties[kind] += 1
        if kind != "exact":
            counts = self.pools.setdefault((name, context, choices), array("q", bytes(16 * choices)))
            chosen = numbers.index(highest)
            counts[chosen] += 1
            counts[choices + label] += 1
            self.right += chosen == label

    def places(self) -> list[PositionShare]:
        """A model to which places mean nothing is right as often wherever the right answer is, and its wrong answers
        are spread evenly over the other places; where the right one never moves, place and content are one, and there
        is nothing to tell. The test clusters by pools: their questions share a name and a text.
        """
        right_counts = (counts[len(counts) // 2 :] for counts in self.pools.values())
        if len({position for counts in right_counts for position in np.flatnonzero(counts)}) < 2:
            return []
        most = max(choices for _, _, choices in self.pools)
        numbers = {pool: number for number, pool in enumerate(sorted({key[:2] for key in self.pools}))}
        chosen, expected = np.zeros((2, len(numbers), most))  # (pool, place)
        share = self.right / sum(sum(counts) // 2 for counts in self.pools.values())
        for (name, context, choices), counts in self.pools.items():
            pool, (at, right) = numbers[name, context], np.array(counts, np.float64).reshape(2, choices)
            chosen[pool, :choices] += at
            expected[pool, :choices] += share * right + (1.0 - share) * (right.sum() - right) / (choices - 1)
        names = [LETTERS[index] if index < len(LETTERS) else str(index + 1) for index in range(most)]
        return place_shares(names, chosen, expected, chosen.sum(axis=1))


def diagnosis_of(
    ties: Ties | None, placed: PositionCounter | PositionTally | None, settings: SodapopSettings
) -> Diagnosis:
    """The diagnosis of a run whose answers were scored alone or listed, or of results from elsewhere."""
    if isinstance(placed, PositionTally):
        missing = {"places": _UNDECIDED, "exchanged": _UNDECIDED, "ties": _UNSCORED}
        places, exchanged, ties = placed.places(), placed.exchanged(), placed.all_ties()
        return diagnosed(settings, _MISSING | missing, places=places, exchanged=exchanged, ties=ties)
    if placed is None:
        return diagnosed(settings, _MISSING | {"places": _ONE_BY_ONE}, ties=ties)
    ties = Ties(placed.ties["exact"], placed.ties["near"], placed.ties.total())
    return diagnosed(settings, _MISSING | {"places": _FIXED}, places=placed.places(), ties=ties)


def grounds_of(
    placed: PositionCounter | PositionTally | None, settings: SodapopSettings, listing: QuestionFormat | None
) -> Grounds:
    """Whether the answers of a run can be read, if they are not scores."""
    if not isinstance(placed, PositionTally) or listing is None:
        return Grounds()
    step = readable_with(placed.lost, tokens=listing.tokens, answer="")
    reasons = unreadable(placed.lost, placed.answers, settings.unusable, step)
    return Grounds(unusable=next(reasons, None), doubts=[*doubts(placed.lost, placed.answers, step)])
