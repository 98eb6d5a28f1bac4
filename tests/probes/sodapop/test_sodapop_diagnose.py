"""SODAPOP's diagnosis: places of the choices in somebody else's results; in a run there are none."""

from __future__ import annotations

import numpy as np
import pytest

from assay.probes.sodapop.diagnose import PositionCounter, diagnosis_of, ties_with_right
from assay.probes.sodapop.pools import DistractorPools
from assay.probes.sodapop.settings import SodapopSettings
from assay.results.diagnosis import Diagnosis, Ties

LABELS = np.random.default_rng(0).integers(0, 3, 600)


def of_results(chosen: np.ndarray, labels: np.ndarray = LABELS, choices: int = 3) -> Diagnosis:
    placed = PositionCounter()
    for number, (label, place) in enumerate(zip(labels.tolist(), chosen.tolist(), strict=True)):
        placed.add(number % 6, f"context {number % 4}", label, tuple(np.eye(choices)[place].tolist()))
    return diagnosis_of(None, placed, SodapopSettings())


@pytest.mark.parametrize("place", [0, 1, 2])
def test_results_that_are_always_one_place_follow_it(place: int) -> None:
    found = of_results(np.full(600, place))
    assert found.follows_place
    assert f"{'ABC'[place]} got 100% of 600 answers" in found.why


def test_results_that_are_right_wrong_or_guessed_do_not() -> None:
    rng = np.random.default_rng(1)
    assert not of_results(LABELS).follows_place
    assert not of_results((LABELS + rng.integers(1, 3, 600)) % 3).follows_place
    assert not of_results(rng.integers(0, 3, 600)).follows_place


def test_a_right_answer_that_never_moves_cannot_be_told_from_its_place() -> None:
    found = of_results(np.repeat([0, 1], 300), np.zeros(600, int))
    assert not found.follows_place
    assert "the same place in all questions" in found.missing["places"]


def test_questions_of_many_choices_have_places_too() -> None:
    labels = np.random.default_rng(2).integers(0, 12, 600)
    found = of_results(np.full(600, 11), labels, choices=12)
    assert "12 got 100% of 600 answers" in found.why


def test_a_tie_of_results_chooses_no_place() -> None:
    placed = PositionCounter()
    for numbers in ((0.4, 0.4, 0.2), (0.5, 0.5 - 1e-6, 0.0), (0.6, 0.3, 0.1)):
        placed.add(0, "context", len(placed.pools), numbers)
    found = diagnosis_of(None, placed, SodapopSettings())
    assert found.ties == Ties(1, 1, 3)
    assert sum(sum(counts) for counts in placed.pools.values()) == 2 * 2


def test_answers_scored_by_themselves_have_no_place() -> None:
    found = diagnosis_of(Ties(0, 0, 5), None, SodapopSettings())
    assert (found.tested, found.follows_place) == (False, False)
    assert "scored alone" in found.missing["places"]


def test_ties_are_with_the_right_answer_of_the_same_name() -> None:
    pool = DistractorPools((), (), np.zeros((3, 1), np.int32), np.array([0, 2, 3]), np.array([0, 1, 2]))
    scores = np.array([1.0, 1.0, 2.0, 2.0, 2.0 + 1e-6])  # right, two wrong ones; right, a wrong one
    assert ties_with_right(pool, scores) == Ties(1, 1, 3)
