import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.stats import cross_fitted_max, cross_fitted_mean

both = pytest.mark.parametrize("fitted", [cross_fitted_max, cross_fitted_mean])
number = st.one_of(st.floats(-1, 1), st.just(0.0), st.just(np.nan))
halves = st.integers(1, 8).flatmap(lambda n: st.tuples(*[st.lists(number, min_size=n, max_size=n).map(np.array)] * 2))


def max_by_loop(one, other):
    """The number that is largest in one half, as the other half has it, in the direction of the first; both ways."""
    found = []
    for chooser, measured in ((one, other), (other, one)):
        best, value = -1.0, np.nan
        for mine, its in zip(chooser.tolist(), measured.tolist(), strict=True):
            if not (np.isnan(mine) or np.isnan(its)) and abs(mine) > best:
                best, value = abs(mine), np.sign(mine) * its
        found.append(value)
    return sum(found) / 2


def mean_by_loop(one, other):
    found = []
    for mine, its in zip(one.tolist(), other.tolist(), strict=True):
        if not (np.isnan(mine) or np.isnan(its)):
            found += [np.sign(mine) * its, np.sign(its) * mine]
    return sum(found) / len(found) if found else np.nan


@settings(max_examples=50)
@given(halves)
def test_the_definitions_by_loop(pair):
    assert cross_fitted_max(*pair) == pytest.approx(max_by_loop(*pair), nan_ok=True)
    assert cross_fitted_mean(*pair) == pytest.approx(mean_by_loop(*pair), nan_ok=True)


@settings(max_examples=50)
@given(halves)
def test_which_half_comes_first_does_not_matter(pair):
    one, other = pair
    np.testing.assert_array_equal(cross_fitted_max(one, other), cross_fitted_max(other, one))
    np.testing.assert_allclose(cross_fitted_mean(one, other), cross_fitted_mean(other, one), rtol=1e-12)


@both
def test_order_direction_and_scale_change_nothing_but_the_scale(fitted):
    rng = np.random.default_rng(0)
    one, other = rng.normal(size=(2, 50, 6))
    expected = fitted(one, other)
    order, turned = rng.permutation(6), rng.choice([-1.0, 1.0], 6)
    np.testing.assert_allclose(fitted(one[:, order], other[:, order]), expected, rtol=1e-12)
    np.testing.assert_allclose(fitted(turned * one, turned * other), expected, rtol=1e-12)
    np.testing.assert_allclose(fitted(1e-3 * one, 1e-3 * other), 1e-3 * expected, rtol=1e-12)


@both
def test_what_one_half_does_not_know_is_left_out(fitted):
    rng = np.random.default_rng(1)
    one, other = rng.normal(size=(2, 40, 5))
    unknown, wild = np.full((40, 1), np.nan), np.full((40, 1), 100.0)
    for here, there in ((unknown, unknown), (unknown, wild), (wild, unknown)):
        more = fitted(np.hstack((here, one)), np.hstack((there, other)))
        np.testing.assert_allclose(more, fitted(one, other), rtol=1e-12)
    assert np.isnan(fitted(unknown, wild)).all()


@both
def test_axes_before_the_last_are_kept(fitted):
    one, other = np.random.default_rng(2).normal(size=(2, 3, 4, 5))
    found = fitted(one, other)
    assert found.shape == (3, 4)
    for place in np.ndindex(3, 4):
        assert found[place] == pytest.approx(float(fitted(one[place], other[place])))


def test_halves_that_agree_give_what_both_say():
    values = np.random.default_rng(3).normal(size=(20, 7))
    np.testing.assert_allclose(cross_fitted_max(values, values), np.abs(values).max(axis=1))
    np.testing.assert_allclose(cross_fitted_mean(values, values), np.abs(values).mean(axis=1))


def simulated(true, fitted, runs=20_000):
    """The mean over noisy halves of errors of 1, and its own error; and what both halves together say naively."""
    one, other = np.asarray(true) + np.random.default_rng(4).normal(size=(2, runs, len(true)))
    found = fitted(one, other)
    together = np.abs((one + other) / 2)
    naive = together.max(axis=1) if fitted is cross_fitted_max else together.mean(axis=1)
    return found.mean(), found.std() / np.sqrt(runs), naive.mean()


TRUE = {
    "a weak one": [0.3, 0, 0, 0, 0, 0],
    "all alike": [0.5] * 6,
    "both ways": [1.0, -0.8, 0.2, -0.2, 0.0, 0.6],
    "one of several": [-2.0, 0.5, 0.5, 0.5],
}


@both
@pytest.mark.parametrize("kind", TRUE)
def test_it_is_at_most_the_truth_where_the_naive_number_is_above(kind, fitted):
    truth = cross_fitted_max(*[np.array(TRUE[kind], dtype=float)] * 2)
    if fitted is cross_fitted_mean:
        truth = np.abs(TRUE[kind]).mean()
    mean, error, naive = simulated(TRUE[kind], fitted)
    assert 0 < mean < truth + 3 * error
    assert naive > truth + 3 * error


@both
def test_pure_noise_gives_zero(fitted):
    mean, error, naive = simulated(np.zeros(6), fitted)
    assert abs(mean) < 4 * error < 0.05
    assert naive > 0.5


def test_a_strong_signal_is_measured_without_bias():
    strong = [14.0, -5.0, 4.5, -6.0]
    for fitted, truth in ((cross_fitted_max, 14.0), (cross_fitted_mean, np.abs(strong).mean())):
        mean, error, _ = simulated(strong, fitted)
        assert abs(mean - truth) < 4 * error
