"""UnQover's diagnosis: who prefers whoever is mentioned first, and whom a negated question changes nothing to."""

from __future__ import annotations

import numpy as np
import pytest

from assay.probes.unqover.analyse import ScoredCells
from assay.probes.unqover.cells import CellLabels, Cells
from assay.probes.unqover.diagnose import diagnosis_of
from assay.probes.unqover.settings import UnqoverSettings
from assay.results.diagnosis import Diagnosis, NegatedPairs, SwappedPairs, Ties

FIRST = np.array([[1.0, -1.0], [-1.0, 1.0]])[:, None, :]  # (order, 1, subject): who is mentioned first gets more
WHO = np.array([1.0, -1.0])  # (subject,): x1 gets more
ASKED = np.array([[1.0, -1.0], [-1.0, 1.0]])[None]  # (1, polarity, subject): x1 gets the attribute, x2 its negation


def cells(scores: np.ndarray, names: int = 6, templates: int = 3, attributes: int = 4) -> Cells:
    """Of two groups of names; `scores` is that of every cell, or of all."""
    rows = [
        (t, i, names + j, a)
        for t in range(templates)
        for i in range(names)
        for j in range(names)
        for a in range(attributes)
    ]
    template, first, second, attribute = np.array(rows, np.int32).T
    every = np.broadcast_to(scores, (len(rows), 2, 2, 2)).astype(np.float32)
    return Cells(template, first, second, attribute, every)


def diagnosis(scores: np.ndarray, form: str = "span", **settings: float) -> Diagnosis:
    return diagnosis_of([scored(scores, form)], UnqoverSettings(**settings))  # type: ignore[arg-type]  # floats alone


def scored(scores: np.ndarray, form: str = "span") -> ScoredCells:
    groups = ["female"] * 6 + ["male"] * 6
    labels = CellLabels([f"n{k}" for k in range(12)], [*"abcd"], ["x"] * 4, 3, groups, sampled=False)
    return ScoredCells("gender", form, cells(scores), labels)


SIZE = 3 * 36 * 4  # cells


def test_a_model_that_prefers_whoever_is_mentioned_first_follows_the_place() -> None:
    for sign, place in ((1, "first"), (-1, "second")):
        found = diagnosis(0.5 + sign * 0.1 * FIRST)
        assert found.follows_place
        assert f"{place} mentioned in gender (span) got 100% of" in found.why
        assert found.exchanged == [SwappedPairs(2 * SIZE, 2 * SIZE, "gender (span)")]


@pytest.mark.parametrize("preferred", [WHO, ASKED], ids=["always one of them", "as asked"])
def test_a_model_that_prefers_one_of_the_two_does_not(preferred: np.ndarray) -> None:
    found = diagnosis(0.5 + 0.1 * preferred)
    assert not found.follows_place
    assert found.places is not None
    assert {each.share for each in found.places} == {0.5}
    assert found.exchanged == [SwappedPairs(0, 2 * SIZE, "gender (span)")]


@pytest.mark.parametrize("seed", range(10))
def test_nor_does_one_that_guesses(seed: int) -> None:
    assert not diagnosis(np.random.default_rng(seed).random((SIZE, 2, 2, 2))).follows_place


def test_a_place_that_each_text_prefers_is_seen_when_subjects_are_exchanged() -> None:
    """As many answers are first as second."""
    signs = np.where(np.arange(SIZE) % 2, 1.0, -1.0)[:, None, None, None]
    found = diagnosis(0.5 + 0.1 * signs * FIRST)
    assert found.places is not None
    assert {each.share for each in found.places} == {0.5}
    assert found.follows_place
    assert not diagnosis(0.5 + 0.1 * WHO, place_excess=0.0).follows_place


def test_one_form_that_follows_the_place_is_not_hidden_by_another() -> None:
    found = diagnosis_of([scored(0.5 + 0.1 * WHO), scored(0.5 + 0.1 * FIRST, "mask")], UnqoverSettings())
    assert found.follows_place
    assert "gender (mask)" in found.why
    assert "gender (span)" not in found.why


def test_ties_are_half_of_each_place_and_no_pair() -> None:
    found = diagnosis(np.full((SIZE, 2, 2, 2), 0.3))
    assert not found.follows_place
    assert found.ties == Ties(4 * SIZE, 0, 4 * SIZE)
    assert (found.exchanged, found.negation) == (None, None)
    assert diagnosis(0.3 + 1e-6 * WHO).ties == Ties(0, 4 * SIZE, 4 * SIZE)


def test_negation_counts_only_where_the_model_names_somebody() -> None:
    assert diagnosis(0.5 + 0.1 * WHO).negation == NegatedPairs(2 * SIZE, 2 * SIZE)
    assert diagnosis(0.5 + 0.1 * ASKED).negation == NegatedPairs(0, 2 * SIZE)
    unsure = diagnosis(0.3 + 0.1 * WHO)
    assert unsure.negation is None
    assert "names no one" in unsure.missing["negation"]


def test_nothing_asked_is_nothing_known() -> None:
    assert {*diagnosis_of([], UnqoverSettings()).missing} == {"places", "exchanged", "ties", "negation"}
