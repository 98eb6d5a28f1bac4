"""The mean of absolute values of noisy numbers, against numerical integration; and what its interval promises."""

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

from assay.stats import ClusteredMeans, ErrorCovariance, folded_excess, mean_magnitude

RNG = np.random.default_rng


def clustered(mean, covariance, names=15):
    mean = np.asarray(mean, dtype=np.float64)
    return ClusteredMeans(mean, ErrorCovariance(np.asarray(covariance, dtype=np.float64), np.full(len(mean), names)))


def excess_by_integration(size, error):
    """E|size + error · Z| − size, Z being standard normal."""
    zero = -size / error  # where the integrand has a kink
    parts = [
        quad(lambda z: abs(size + error * z) * stats.norm.pdf(z), low, high, epsabs=1e-13)[0]
        for low, high in ((-40.0, zero), (zero, 40.0))
    ]
    return sum(parts) - size


@pytest.mark.parametrize("error", [0.02, 0.1, 1.0])
@pytest.mark.parametrize("size", [0.0, 0.01, 0.1, 0.35])
def test_noise_makes_an_absolute_value_too_large_by_its_expectation(size, error):
    assert folded_excess(np.array([size]), np.array([error]))[0] == pytest.approx(
        excess_by_integration(size, error), abs=1e-10
    )


def test_the_excess_is_largest_at_zero_falls_with_the_size_and_is_none_without_noise():
    excess = folded_excess(np.linspace(0.0, 5.0, 200), np.ones(200))
    assert excess[0] == pytest.approx(0.7978845608)  # √(2/π)
    assert (np.diff(excess) < 0).all()
    assert 0 <= excess[-1] < 1e-6
    np.testing.assert_array_equal(folded_excess(np.array([0.0, 0.4]), np.zeros(2)), 0.0)


def test_two_numbers_as_computed_by_hand():
    """|η̂| is 0.30 and 0.10, the errors 0.10 and 0.20, their covariance −0.01, with 15 names: t(14) = 2.1447867.

    sᵀVs = 0.01 + 0.04 + 2·0.01 = 0.07, larger than the trace 0.05: sd = √0.07 / 2 = 0.1322876. The excess is
    E|x + noise| − x by integration: of 0.4 and 0.3 at the upper end, of 0.3 and 0.1 in the middle, of 0.2 and 0 at the
    lower end.
    """
    found = mean_magnitude(clustered([0.30, -0.10], [[0.01, -0.01], [-0.01, 0.04]]))
    reach = 2.1447867 * 0.1322876
    assert found.high == pytest.approx(0.2 - (0.0000014291 + 0.0117227175) / 2 + reach, abs=1e-6)
    assert found.value == pytest.approx(0.2 - (0.0000764309 + 0.0791186230) / 2, abs=1e-6)
    assert found.low == pytest.approx(0.2 - (0.0016981405 + 0.1595769122) / 2 - reach, abs=1e-6)


def test_errors_that_cancel_in_the_mean_do_not_make_it_surer_than_independent_ones():
    """The signs are known only as well as the numbers, so the variance is at least that of independent errors."""
    alone = mean_magnitude(clustered([0.3, 0.3], [[0.01, 0.0], [0.0, 0.01]]))
    cancelling = mean_magnitude(clustered([0.3, 0.3], [[0.01, -0.0099], [-0.0099, 0.01]]))
    shared = mean_magnitude(clustered([0.3, 0.3], [[0.01, 0.0099], [0.0099, 0.01]]))
    assert cancelling == alone
    assert shared.high - shared.low > 1.3 * (alone.high - alone.low)


def drawn(seed):
    """A mean of some numbers with correlated errors."""
    rng = RNG(seed)
    count = int(rng.integers(1, 40))
    loads = rng.normal(size=(count, 5)) * rng.uniform(0.0, 0.1)
    covariance = loads @ loads.T + np.diag(rng.uniform(0.001, 0.02, count))
    mean = rng.normal(size=count) * rng.choice([0.0, 0.05, 0.3])
    return mean, covariance, int(rng.integers(2, 70))


@pytest.mark.parametrize("seed", range(20))
def test_the_interval_contains_the_corrected_value_which_is_below_the_mean_of_sizes(seed):
    mean, covariance, names = drawn(seed)
    found = mean_magnitude(clustered(mean, covariance, names))
    assert found.low < found.value < found.high
    assert found.value < np.abs(mean).mean()


@pytest.mark.parametrize("seed", range(5))
def test_scale_direction_and_order_do_not_matter(seed):
    mean, covariance, names = drawn(seed)
    found = np.array(mean_magnitude(clustered(mean, covariance, names)))
    order, sides = RNG(seed).permutation(len(mean)), RNG(seed).choice([-1.0, 1.0], len(mean))
    np.testing.assert_allclose(mean_magnitude(clustered(8 * mean, 64 * covariance, names)), 8 * found)
    mixed = clustered(mean[order], covariance[np.ix_(order, order)], names)
    np.testing.assert_allclose(mean_magnitude(mixed), found)
    turned = clustered(sides * mean, covariance * np.outer(sides, sides), names)
    np.testing.assert_allclose(mean_magnitude(turned), found)


def test_numbers_without_error_are_the_truth():
    assert mean_magnitude(clustered([0.2, -0.4, 0.0], np.zeros((3, 3)))) == pytest.approx((0.2, 0.2, 0.2))


def test_the_corrected_value_is_nearer_to_the_truth_than_the_mean_of_sizes():
    rng, true = RNG(3), np.append(np.full(6, 0.3), np.zeros(14))
    noisy = true + 0.1 * rng.normal(size=(400, 20))
    corrected = [mean_magnitude(clustered(mean, 0.01 * np.eye(20))).value for mean in noisy]
    raw = np.abs(noisy).mean() - true.mean()
    assert 0 < np.mean(corrected) - true.mean() < 0.6 * raw


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_the_interval_covers_the_mean_of_true_sizes_whatever_share_has_any(share):
    rng, covered = RNG(4), 0
    noise = np.linalg.cholesky(0.006 * np.eye(8) + 0.004)
    for _ in range(400):
        true = np.where(rng.random(8) < share, 0.2 * rng.normal(size=8), 0.0)
        found = mean_magnitude(clustered(true + noise @ rng.normal(size=8), noise @ noise.T, 60))
        covered += found.low <= np.abs(true).mean() <= found.high
    assert covered >= 364  # 93% of 400 are 372, less 1.6 standard errors
