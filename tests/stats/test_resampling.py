import numpy as np
import pytest

from assay.stats import monte_carlo_p, multinomial_weights, random_signs


def test_weights_add_up_to_the_units_of_every_stratum():
    strata = np.array([0, 1, 0, 1, 1, 2])
    weights = multinomial_weights(strata, 300, np.random.default_rng(0))
    for stratum in range(3):
        assert (weights[:, strata == stratum].sum(axis=1) == (strata == stratum).sum()).all()
    assert weights[:, :5].std() > 0.5


def test_weights_have_the_variance_of_drawing_with_replacement():
    weights = multinomial_weights(np.zeros(10, dtype=int), 20_000, np.random.default_rng(0))
    np.testing.assert_allclose(weights.mean(axis=0), 1, atol=0.03)
    np.testing.assert_allclose(weights.var(axis=0), 0.9, atol=0.05)


def test_signs_are_balanced_and_repeatable():
    signs = random_signs((200, 300), np.random.default_rng(5))
    assert set(np.unique(signs)) == {-1, 1}
    assert abs(signs.mean()) < 0.02
    np.testing.assert_array_equal(signs, random_signs((200, 300), np.random.default_rng(5)))


@pytest.mark.parametrize(("observed", "p"), [(0.5, 1.0), (2.0, 0.8), (3.0, 0.6), (9.0, 0.2)])
def test_the_p_value_counts_the_observed_value_too(observed, p):
    assert monte_carlo_p(observed, np.array([1.0, 2.0, 3.0, 4.0])) == pytest.approx(p)


def test_a_draw_that_differs_by_rounding_is_a_tie():
    assert monte_carlo_p(0.3, np.array([0.1 + 0.2 - 1e-16, 0.1])) == pytest.approx(2 / 3)
