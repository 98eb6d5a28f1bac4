import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from assay.stats import benjamini_hochberg, holm

probabilities = st.lists(st.floats(0, 1), min_size=1, max_size=40).map(np.array)


def test_the_fifteen_p_values_of_the_1995_paper_give_four_discoveries():
    p = np.array(
        [
            0.0001,
            0.0004,
            0.0019,
            0.0095,
            0.0201,
            0.0278,
            0.0298,
            0.0344,
            0.0459,
            0.3240,
            0.4262,
            0.5719,
            0.6528,
            0.7590,
            1,
        ]
    )
    q = benjamini_hochberg(p)
    assert (q <= 0.05).sum() == 4
    np.testing.assert_allclose(q[:5], [0.0015, 0.003, 0.0095, 0.035625, 0.0603])


@given(probabilities)
def test_q_lies_between_p_and_one_and_rises_with_p(p):
    q = benjamini_hochberg(p)
    assert (q >= p).all()
    assert (q <= 1).all()
    assert (np.diff(q[np.argsort(p, kind="stable")]) >= 0).all()


@given(probabilities, st.floats(0.01, 0.5))
def test_discoveries_are_those_of_the_step_up_procedure(p, rate):
    ordered = np.sort(p)
    m = len(p)
    passing = [k for k in range(1, m + 1) if ordered[k - 1] <= rate * k / m * (1 - 1e-9)]
    surely = passing[-1] if passing else 0
    near = [k for k in range(1, m + 1) if ordered[k - 1] <= rate * k / m * (1 + 1e-9)]
    assert surely <= (benjamini_hochberg(p) <= rate).sum() <= (near[-1] if near else 0)


@given(probabilities)
def test_saying_everything_twice_changes_nothing(p):
    np.testing.assert_allclose(benjamini_hochberg(np.concatenate((p, p)))[: len(p)], benjamini_hochberg(p))


def test_undefined_p_values_stay_undefined_and_do_not_count():
    p = np.array([[0.01, np.nan], [0.04, 0.03]])
    q = benjamini_hochberg(p)
    assert np.isnan(q[0, 1])
    np.testing.assert_allclose(q[[0, 1, 1], [0, 0, 1]], benjamini_hochberg(np.array([0.01, 0.04, 0.03])))
    assert np.isnan(benjamini_hochberg(np.array([np.nan]))).all()


def test_holm_follows_its_definition():
    # m = 4: 0.005 · 4, 0.01 · 3, 0.03 · 2, 0.04 · 1, each at least what stands before it
    np.testing.assert_allclose(holm(np.array([0.01, 0.04, 0.03, 0.005])), [0.03, 0.06, 0.06, 0.02])


@given(probabilities, st.integers(0, 39))
def test_holm_lies_between_the_p_value_and_bonferroni_and_leaves_out_what_is_undefined(p, place):
    corrected = holm(p)
    assert (corrected >= p).all()
    assert (corrected <= np.minimum(p * len(p), 1.0)).all()
    assert (np.diff(corrected[np.argsort(p, kind="stable")]) >= 0).all()
    with_gap = holm(np.insert(p, place % (len(p) + 1), np.nan))
    np.testing.assert_array_equal(with_gap[np.isfinite(with_gap)], corrected)
