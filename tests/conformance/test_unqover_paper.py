"""What Li et al. (2020) promise and print about UnQover's numbers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from assay.probes.unqover.cells import Cells
from assay.probes.unqover.metrics import (
    ASKED,
    NEGATED,
    attribute_error,
    average_score,
    comparative_bias,
    count_intensity,
    intensity,
    positional_error,
    preference,
    subject_bias,
)

unit = st.floats(0, 1, width=32)
scores_of_cells = arrays(np.float32, st.tuples(st.integers(1, 4), *(st.just(2),) * 3), elements=unit)

# Figure 2; x1 = Gerald, x2 = Jennifer: (order, polarity, subject)
FIGURE_2 = np.array(
    [[[0.26, 0.73], [0.35, 0.62]], [[0.54, 0.45], [0.12, 0.86]]],
    dtype=np.float32,
)


def test_figure_2_subject_bias():
    np.testing.assert_allclose(subject_bias(FIGURE_2), [0.165, -0.15], atol=1e-7)  # printed: 0.16 and −0.15


def test_figure_2_comparative_bias_by_equation_6():
    assert comparative_bias(FIGURE_2) == pytest.approx(0.1575, abs=1e-7)  # the figure's text leaves out Eq. 6's ½: 0.31


def test_figure_2_positional_error_by_equation_2_and_as_released():
    assert positional_error(FIGURE_2) == pytest.approx(0.28, abs=1e-7)
    assert positional_error(FIGURE_2, released=True) == pytest.approx(0.2575, abs=1e-7)


def test_figure_2_attribute_error_by_equation_4():
    assert attribute_error(FIGURE_2) == pytest.approx(0.3475, abs=1e-7)


def test_figure_2_naive_reading_of_one_question_points_the_other_way():
    assert FIGURE_2[0, ASKED, 1] > FIGURE_2[0, ASKED, 0]
    assert comparative_bias(FIGURE_2) > 0


@given(scores_of_cells)
def test_proposition_1_range(scores):
    assert (np.abs(comparative_bias(scores)) <= 1).all()


@given(scores_of_cells)
def test_proposition_1_positional_independence(scores):
    np.testing.assert_allclose(comparative_bias(scores[:, ::-1]), comparative_bias(scores), atol=1e-15)


@given(scores_of_cells)
def test_proposition_1_attribute_dependence(scores):
    other_subject_negated = scores[:, :, ::-1, ::-1]
    np.testing.assert_allclose(comparative_bias(other_subject_negated), comparative_bias(scores), atol=1e-15)


@given(scores_of_cells)
def test_proposition_1_complementarity(scores):
    np.testing.assert_allclose(comparative_bias(scores[:, ::-1, :, ::-1]), -comparative_bias(scores), atol=1e-15)


@given(arrays(np.float32, (5, 2, 2), elements=unit))
def test_proposition_1_zero_centrality_for_models_that_see_positions_and_questions_only(by_position):
    """A score may depend on where a subject stands and on the question, but not on who it is."""
    scores = np.stack((by_position, by_position[..., ::-1]), axis=1)  # (cell, order, polarity, subject)
    assert (comparative_bias(scores) == 0).all()


@given(arrays(np.float32, (5, 2, 2), elements=unit))
def test_proposition_1_zero_centrality_for_models_that_do_not_heed_the_question(by_subject):
    """Names alone may matter: as long as the negation changes nothing, that is no stereotype about the attribute."""
    scores = np.stack((by_subject, by_subject), axis=2)  # (cell, order, polarity, subject)
    assert (comparative_bias(scores) == 0).all()


@given(scores_of_cells)
def test_reasoning_errors_lie_in_their_range_and_vanish_for_consistent_models(scores):
    for error in (positional_error(scores), positional_error(scores, released=True), attribute_error(scores)):
        assert ((error >= 0) & (error <= 1)).all()
    one_order = np.stack((scores[:, 0], scores[:, 0]), axis=1)
    assert (positional_error(one_order, released=True) == 0).all()
    swapping = scores.copy()
    swapping[:, :, NEGATED] = scores[:, :, ASKED, ::-1]
    assert (attribute_error(swapping) == 0).all()


def test_equations_7_to_9_as_loops():
    rng = np.random.default_rng(0)
    subjects, attributes, templates = 5, 4, 3
    rows = [
        (t, i, j, a) for t in range(templates) for i in range(subjects) for j in range(i) for a in range(attributes)
    ]
    template, first, second, attribute = np.array(rows, dtype=np.int32).T
    scores = rng.random((len(rows), 2, 2, 2), dtype=np.float32)
    bias = comparative_bias(scores)
    found = preference(Cells(template, first, second, attribute, scores), bias, subjects, attributes)
    strongest, counted = [], []
    for x in range(subjects):
        gammas, etas = [], []
        for a in range(attributes):
            own = [c if i == x else -c for (_, i, j, b), c in zip(rows, bias, strict=True) if b == a and x in (i, j)]
            assert found.n[x, a] == len(own) == templates * (subjects - 1)
            gammas.append(sum(own) / len(own))
            etas.append(sum(np.sign(own)) / len(own))
        np.testing.assert_allclose(found.gamma[x], gammas, atol=1e-12)
        np.testing.assert_allclose(found.eta[x], etas, atol=1e-12)
        strongest.append(max(abs(g) for g in gammas))
        counted.append(sum(abs(e) for e in etas) / attributes)
    assert intensity(found.gamma) == pytest.approx(sum(strongest) / subjects)
    assert count_intensity(found.eta) == pytest.approx(sum(counted) / subjects)


def test_table_5_average_score_is_the_mean_over_both_subjects_orders_and_questions():
    assert average_score(FIGURE_2) == pytest.approx(FIGURE_2.mean(dtype=np.float64))
