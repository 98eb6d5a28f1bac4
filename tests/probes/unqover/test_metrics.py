import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.probes.unqover.cells import Cells
from assay.probes.unqover.metrics import comparative_bias, count_intensity, intensity, near_ties, preference
from assay.results.findings import NEAR_TIE


def cells_with(bias, rows):
    """Cells (template, first, second, attribute) whose C is `bias`."""
    template, first, second, attribute = np.array(rows, dtype=np.int32).reshape(-1, 4).T
    swing = np.asarray(bias)[:, None, None, None] / 2 * np.array([[1, -1], [-1, 1]])  # (cell, 1, polarity, subject)
    scores = np.repeat(0.5 + swing, 2, axis=1).astype(np.float32)
    return Cells(template, first, second, attribute, scores)


def full_plan(subjects, attributes=3, templates=2):
    return [
        (t, i, j, a) for t in range(templates) for j in range(subjects) for i in range(j) for a in range(attributes)
    ]


def test_the_helper_gives_the_bias_it_was_asked_for():
    bias = np.array([0.5, -0.25, 0.0, 1.0])
    np.testing.assert_allclose(comparative_bias(cells_with(bias, [(0, 0, 1, a) for a in range(4)]).scores), bias)


@given(st.integers(2, 7), st.integers(0, 2**32 - 1))
def test_preferences_of_all_subjects_cancel_in_a_full_plan(subjects, seed):
    rows = full_plan(subjects)
    bias = np.random.default_rng(seed).uniform(-1, 1, len(rows))
    cells = cells_with(bias, rows)
    for columns in (3, np.zeros(3, dtype=np.int64)):
        found = preference(cells, bias, subjects, columns)
        np.testing.assert_allclose(found.gamma.sum(axis=0), 0, atol=1e-12)
        np.testing.assert_allclose(found.eta.sum(axis=0), 0, atol=1e-12)


@given(st.integers(0, 2**32 - 1))
def test_two_groups_mirror_each_other(seed):
    rng = np.random.default_rng(seed)
    rows = [
        (0, i, j, a) if rng.random() < 0.5 else (0, j, i, a) for i in range(3) for j in range(3, 7) for a in range(2)
    ]
    bias = rng.uniform(-1, 1, len(rows))
    found = preference(cells_with(bias, rows), bias, np.array([0, 0, 0, 1, 1, 1, 1]), 2)
    np.testing.assert_allclose(found.gamma[0], -found.gamma[1], atol=1e-12)
    np.testing.assert_allclose(found.eta[0], -found.eta[1], atol=1e-12)
    assert (found.n == 12).all()


def test_who_is_first_does_not_matter():
    one = preference(cells_with([0.4], [(0, 0, 1, 0)]), np.array([0.4]), 2, 1)
    other = preference(cells_with([-0.4], [(0, 1, 0, 0)]), np.array([-0.4]), 2, 1)
    np.testing.assert_array_equal(one.gamma, other.gamma)
    np.testing.assert_array_equal(one.gamma, [[0.4], [-0.4]])


def test_a_model_that_always_prefers_one_subject():
    subjects = 5
    rows = full_plan(subjects)
    bias = np.array([1.0 if i == 0 else 0.0 for _, i, _, _ in rows])
    found = preference(cells_with(bias, rows), bias, subjects, 3)
    np.testing.assert_allclose(found.gamma[0], 1)
    np.testing.assert_allclose(found.gamma[1:], -1 / 4)
    np.testing.assert_allclose(found.eta, found.gamma)
    assert intensity(found.gamma) == pytest.approx((1 + 4 / 4) / 5)
    assert count_intensity(found.eta) == pytest.approx((1 + 4 / 4) / 5)


def test_pooling_attributes_weighs_every_cell_the_same():
    rows = [
        (0, 0, 1, 0),
        (1, 0, 1, 0),
        (2, 0, 1, 0),
        (0, 0, 1, 1),
    ]  # three templates ask about attribute 0, one about 1
    bias = np.array([0.1, 0.1, 0.1, 0.9])
    found = preference(cells_with(bias, rows), bias, 2, np.array([0, 0]))
    np.testing.assert_allclose(found.gamma[:, 0], [0.3, -0.3])


def test_ties_count_for_nobody():
    rows = [(t, 0, 1, 0) for t in range(4)]
    bias = np.array([0.2, 0.0, 0.0, 0.0])
    assert preference(cells_with(bias, rows), bias, 2, 1).eta[0, 0] == 0.25


def test_what_was_not_asked_is_undefined_and_left_out_of_the_intensities():
    rows = [(0, 0, 1, 0), (0, 0, 1, 1), (0, 0, 2, 0)]
    bias = np.array([0.2, -0.6, 0.4])
    found = preference(cells_with(bias, rows), bias, 4, 2)
    assert np.isnan(found.gamma[2, 1])
    assert np.isnan(found.gamma[3]).all()
    assert found.n.tolist() == [[2, 1], [1, 1], [1, 0], [0, 0]]
    assert intensity(found.gamma) == pytest.approx((0.6 + 0.6 + 0.4) / 3)
    assert count_intensity(found.eta) == pytest.approx(1.0)
    assert np.isnan(intensity(np.full((2, 3), np.nan)))


def test_zero_scores_give_zero():
    rows = full_plan(4)
    cells = Cells(*np.array(rows, dtype=np.int32).T, np.zeros((len(rows), 2, 2, 2), dtype=np.float32))
    found = preference(cells, comparative_bias(cells.scores), 4, 3)
    assert not found.gamma.any()
    assert not found.eta.any()
    assert intensity(found.gamma) == count_intensity(found.eta) == 0


def test_intensities_keep_leading_axes():
    gamma = np.random.default_rng(0).uniform(-1, 1, (6, 4, 3))
    np.testing.assert_allclose(intensity(gamma), [intensity(one) for one in gamma])
    np.testing.assert_allclose(count_intensity(gamma), np.abs(gamma).mean(axis=(1, 2)))


def test_near_ties_are_cells_that_rounding_may_decide():
    assert NEAR_TIE == 1e-5
    bias = np.array([0.0, 0.9e-5, -0.9e-5, 1.1e-5, -1.1e-5, 0.3, -1.0])
    scores = (bias[:, None, None, None] / 2 * np.array([[1, -1], [-1, 1]])).repeat(2, axis=1)
    np.testing.assert_allclose(comparative_bias(scores), bias)
    assert near_ties(scores) == 3
    assert near_ties(scores[3:]) == 0
    assert near_ties(np.zeros((5, 2, 2, 2), np.float32)) == 5
    assert near_ties(np.zeros((0, 2, 2, 2), np.float32)) == 0


def test_near_ties_are_about_the_preference_not_about_single_scores():
    """A model that scores everybody alike has a tie, however large its scores; so has one whose orders cancel out."""
    alike = np.full((1, 2, 2, 2), 0.5, np.float32)
    position = np.array([[[[0.9, 0.1], [0.9, 0.1]], [[0.1, 0.9], [0.1, 0.9]]]], np.float32)  # the first one named wins
    assert near_ties(alike) == near_ties(position) == 1


@given(st.integers(0, 2**32 - 1), st.floats(0, NEAR_TIE / 2))
def test_no_more_signs_change_than_there_are_near_ties(seed, rounding):
    """Each of a cell's eight scores weighs a quarter in C, so that C moves by twice the rounding at most, as here."""
    rng = np.random.default_rng(seed)
    rows = full_plan(4)
    scores = 0.5 + rng.integers(-3, 4, (len(rows), 2, 2, 2)) * 4e-6 * rng.choice([1, 1e4], (len(rows), 1, 1, 1))
    away = -np.where(comparative_bias(scores) >= 0, 1, -1)[:, None, None, None] * np.array([[1, -1], [-1, 1]])
    other = scores + 0.99 * rounding * away
    one, two = (
        preference(Cells(*np.array(rows, np.int32).T, each), comparative_bias(each), 4, 3) for each in (scores, other)
    )
    changed = np.sign(comparative_bias(scores)) != np.sign(comparative_bias(other))
    assert changed.sum() <= near_ties(scores)
    assert (np.abs(one.eta - two.eta) * one.n).sum() <= 4 * near_ties(scores) + 1e-9
