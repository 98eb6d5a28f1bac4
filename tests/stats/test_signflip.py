import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.stats import sign_flip_p


def enumerate_all(values):
    """p by trying every choice of signs."""
    n = len(values)
    signs = np.array(list(itertools.product((1.0, -1.0), repeat=n - 1)))
    sums = np.abs(values[0] + signs @ values[1:]) if n > 1 else np.abs(values)
    return (sums >= abs(values.sum()) - 1e-12 * np.abs(values).sum()).mean()


def enumerate_rows(values):
    n = values.shape[1]
    bits = (np.arange(2 ** (n - 1))[:, None] >> np.arange(n - 1)) & 1
    signs = np.concatenate((np.ones((len(bits), 1)), 1.0 - 2.0 * bits), axis=1)  # (choice, unit)
    sums = np.abs(values @ signs.T)
    border = np.abs(values.sum(axis=1)) - 1e-12 * np.abs(values).sum(axis=1)
    return (sums >= border[:, None]).mean(axis=1)


SHAPES = {
    "noise": lambda rng, shape: rng.normal(size=shape),
    "a preference": lambda rng, shape: rng.normal(size=shape) + 0.5,
    "a strong preference": lambda rng, shape: rng.normal(size=shape) + 1.2,
    "a few pairs dominate": lambda rng, shape: rng.standard_t(1.5, size=shape) + 0.3,
    "all of one size": lambda rng, shape: rng.choice([-1.0, 1.0, 1.0], size=shape),
    "scores of 0 and 1": lambda rng, shape: rng.choice([-0.5, -0.25, 0.0, 0.25, 0.25, 0.5, 0.75], size=shape),
}


@settings(max_examples=60)
@given(st.lists(st.floats(-1, 1).map(lambda x: round(x, 3)), min_size=1, max_size=9))
def test_few_units_are_enumerated(values):
    row = np.array(values)
    assert sign_flip_p(row[None])[0] == pytest.approx(enumerate_all(row), rel=1e-12)


@pytest.mark.parametrize("units", [10, 13, 14])
@pytest.mark.parametrize("kind", SHAPES)
def test_up_to_fourteen_units_are_exact(kind, units):
    values = SHAPES[kind](np.random.default_rng(units), (20, units))
    np.testing.assert_allclose(sign_flip_p(values), enumerate_rows(values), rtol=1e-12)


@pytest.mark.parametrize("units", [15, 16, 18])
@pytest.mark.parametrize("kind", SHAPES)
def test_the_approximation_agrees_with_enumeration(kind, units):
    values = SHAPES[kind](np.random.default_rng(units), (30, units))
    p, exact = sign_flip_p(values), enumerate_rows(values)
    np.testing.assert_allclose(p, exact, atol=0.012)
    small = exact < 0.05
    np.testing.assert_allclose(p[small], exact[small], rtol=0.07)


@pytest.mark.parametrize("units", [70, 300])
@pytest.mark.parametrize("kind", SHAPES)
def test_the_approximation_agrees_with_many_random_signs(kind, units):
    rng = np.random.default_rng(units)
    values = SHAPES[kind](rng, (12, units))
    if "one" not in kind and "1" not in kind:  # otherwise most p would be too small to compare
        values -= values.mean(axis=1, keepdims=True) * rng.uniform(0.6, 1.0, (12, 1))
    signs = rng.integers(0, 2, size=(units, 40_000)) * 2.0 - 1.0
    border = np.abs(values.sum(axis=1)) - 1e-12 * np.abs(values).sum(axis=1)
    drawn = (np.abs(values @ signs) >= border[:, None]).mean(axis=1)
    np.testing.assert_allclose(sign_flip_p(values), drawn, atol=0.012)


def test_a_row_that_points_one_way_has_the_least_p_there_is():
    values = np.random.default_rng(0).uniform(0.1, 1, (3, 40))
    np.testing.assert_allclose(sign_flip_p(values), 2.0**-39)


def test_one_turned_unit_doubles_the_least_p():
    values = np.random.default_rng(0).uniform(0.5, 1, 40)
    values[7] = -0.1
    assert sign_flip_p(values[None])[0] == pytest.approx(2 * 2.0**-39)


def test_sums_of_zero_and_rows_of_zeros_have_p_one():
    values = np.array([[0.0] * 20, [0.1, -0.1] * 10, [0.1 + 0.2, -0.3] + [0.0] * 18])
    np.testing.assert_array_equal(sign_flip_p(values), 1.0)


@pytest.mark.parametrize("units", [8, 25])
def test_padding_order_sign_and_scale_change_nothing(units):
    rng = np.random.default_rng(3)
    values = rng.normal(size=(15, units)) + 0.3
    p = sign_flip_p(values)
    padded = np.concatenate((values, np.zeros((15, 30))), axis=1)
    for same in (padded, -values, 1e-9 * values, values[:, rng.permutation(units)], rng.permuted(padded, axis=1)):
        np.testing.assert_allclose(sign_flip_p(same), p, rtol=1e-9)


def test_p_is_uniform_when_signs_are_random():
    p = np.sort(sign_flip_p(np.random.default_rng(4).normal(size=(4000, 30))))
    assert np.abs(p - np.arange(1, 4001) / 4000).max() < 1.63 / np.sqrt(4000)  # Kolmogorov–Smirnov at 1%


def test_no_rows_and_no_units():
    assert sign_flip_p(np.zeros((0, 5))).shape == (0,)
    np.testing.assert_array_equal(sign_flip_p(np.zeros((2, 0))), 1.0)
