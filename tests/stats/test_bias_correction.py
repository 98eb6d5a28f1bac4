import numpy as np
import pytest
from scipy import stats
from scipy.optimize import minimize

from assay.stats import posterior_draws

RNG = np.random.default_rng


def drawn(estimates, covariance, draws=3000, seed=0):
    return posterior_draws(np.asarray(estimates), np.asarray(covariance), draws, RNG(seed))


def prior_widths(most, noise):
    """0, then from a tenth of the noise by steps of √2 until the most is reached."""
    widths = [0.0, noise / 10]
    while widths[-1] < most * (1 - 1e-12):
        widths.append(widths[-1] * np.sqrt(2.0))
    return widths


def shift_by_integration(shift, error):
    """The posterior probability of no shift, and the shift's mean and variance, by numerical integration."""
    widths = prior_widths(2 * abs(shift), error)[1:]
    grid = np.linspace(-12.0, 12.0, 96_001) * max(error, abs(shift))
    prior = sum(stats.norm.pdf(grid, scale=width) for width in widths) / len(widths)
    some = 0.5 * prior * stats.norm.pdf(shift, loc=grid, scale=error) * (grid[1] - grid[0])
    none = 0.5 * stats.norm.pdf(shift, scale=error)
    whole = none + some.sum()
    mean = (some * grid).sum() / whole
    return none / whole, mean, (some * grid**2).sum() / whole - mean**2


def posterior_by_optimiser(estimates, covariance):
    """The mean and the variance of every true value: prior and shift by a general optimiser."""
    count = len(estimates)
    contrast, average = np.eye(count) - 1 / count, np.full(count, 1 / count)
    noise = np.diag(contrast @ covariance @ contrast.T)
    start = np.median(estimates)
    widths = np.array(prior_widths(2 * np.abs(estimates - start).max(), np.sqrt(noise.min())))
    spread = widths[:, None] ** 2 + noise

    def loss(found):
        *weights, shift = found
        density = stats.norm.pdf(estimates, loc=shift, scale=np.sqrt(spread))
        likely = weights @ density
        slopes = (density / likely).sum(axis=1)
        moved = (weights @ (density * (estimates - shift) / spread) / likely).sum()
        return -np.log(likely).sum() / count, -np.append(slopes, moved) / count

    size = len(widths)
    one = {"type": "eq", "fun": lambda found: found[:-1].sum() - 1, "jac": lambda found: np.append(np.ones(size), 0.0)}
    *weights, shift = minimize(
        loss,
        np.append(np.full(size, 1 / size), start),
        jac=True,
        method="SLSQP",
        bounds=[(1e-9, 1.0)] * size + [(None, None)],
        constraints=[one],
        options={"ftol": 1e-12, "maxiter": 500},
    ).x
    means, variances = [], []
    for estimate, own in zip(estimates, noise, strict=True):
        share = weights * stats.norm.pdf(estimate, loc=shift, scale=np.sqrt(widths**2 + own))
        share /= share.sum()
        kept = [width**2 / (width**2 + own) for width in widths]
        mean = sum(s * k * (estimate - shift) for s, k in zip(share, kept, strict=True))
        square = sum(s * ((k * (estimate - shift)) ** 2 + k * own) for s, k in zip(share, kept, strict=True))
        means.append(mean)
        variances.append(square - mean**2)
    _, shifted, common = shift_by_integration(shift, np.sqrt(average @ covariance @ average))
    return np.array(means) + shifted, np.array(variances) + common


def correlated(count, seed):
    """The covariance of errors that differ in size and share units."""
    loads = 0.3 * RNG(seed).normal(size=(count, 12))
    return np.diag(RNG(seed).uniform(0.6, 1.4, count)) + loads @ loads.T


@pytest.mark.parametrize("kind", ["sparse", "dense"])
def test_draws_have_the_moments_of_the_likeliest_prior(kind):
    count, rng = 40, RNG(11)
    covariance = correlated(count, 1)
    true = 0.7 + rng.normal(size=count) * (2.0 if kind == "dense" else np.where(np.arange(count) < 6, 5.0, 0.0))
    estimates = true + np.linalg.cholesky(covariance) @ rng.normal(size=count)
    draws = drawn(estimates, covariance, draws=6000)
    mean, variance = posterior_by_optimiser(estimates, covariance)
    np.testing.assert_allclose(draws.mean(axis=0), mean, atol=0.15)  # errors are about 1; EM ends early
    np.testing.assert_allclose(draws.std(axis=0), np.sqrt(variance), atol=0.15)


@pytest.mark.parametrize("width", [0.5, 1.5, 6.0])
def test_normal_true_values_are_shrunk_as_a_normal_prior_shrinks_them(width):
    count, noise = 400, 0.8
    spread = np.sqrt(width**2 + noise**2)
    estimates = 3.0 + spread * stats.norm.ppf((np.arange(count) + 0.5) / count)
    draws = drawn(estimates, noise**2 * np.eye(count), draws=1500)
    kept = width**2 / spread**2
    middle = np.abs(estimates - 3.0) < 2 * spread
    np.testing.assert_allclose(draws.mean(axis=0)[middle], (3.0 + kept * (estimates - 3.0))[middle], atol=0.12)
    assert np.sqrt(draws.var(axis=0)[middle].mean()) == pytest.approx(np.sqrt(kept) * noise, rel=0.05)


def test_intervals_of_sparse_true_values_cover_them():
    rng, count = RNG(3), 500
    true = np.where(rng.random(count) < 0.3, 3.0 * rng.normal(size=count), 0.0)
    noise = rng.uniform(0.5, 1.5, count)
    draws = drawn(true + noise * rng.normal(size=count), np.diag(noise**2), draws=1000)
    low, high = np.quantile(draws, [0.025, 0.975], axis=0)
    assert 0.92 < ((low <= true) & (true <= high)).mean() < 0.99
    assert (high - low).mean() < 0.85 * (2 * 1.96 * noise).mean()  # shorter than each on its own


def test_equal_estimates_are_drawn_together():
    draws = drawn(np.full(20, 1.5), 0.04 * np.eye(20))
    assert draws.std(axis=1).max() < 0.04  # a fifth of an error of 0.2
    assert draws.mean() == pytest.approx(1.5, abs=0.005)
    assert draws.mean(axis=1).std() == pytest.approx(0.2 / np.sqrt(20), rel=0.1)


def test_noise_alone_is_drawn_much_closer_than_it_looks():
    estimates = stats.norm.ppf((np.arange(70) + 0.5) / 70)
    assert np.abs(drawn(estimates, np.eye(70)).mean(axis=0)).max() < 0.2 * np.abs(estimates).max()


def test_a_single_one_far_away_keeps_its_place_and_does_not_move_the_others():
    estimates = np.append(0.5 * stats.norm.ppf((np.arange(30) + 0.5) / 30), 12.0)
    middle = np.median(drawn(estimates, np.eye(31)), axis=0)
    assert middle[-1] == pytest.approx(12.0, abs=1.0)
    assert np.ptp(middle[:-1]) < 0.5 * np.ptp(estimates[:-1])
    assert abs(np.median(middle)) < 0.1  # the mean is 0.39


def test_errors_that_all_share_move_the_draws_but_do_not_hide_differences():
    estimates = 100.0 + np.array([0.0, 1.0, 2.0, 4.0])
    draws = drawn(estimates, 9.0 + 1e-4 * np.eye(4))
    np.testing.assert_allclose(draws - draws[:, :1], np.broadcast_to(estimates - 100.0, draws.shape), atol=0.1)
    assert draws[:, 0].std() == pytest.approx(3.0, rel=0.05)


# --- the shift that all share


@pytest.mark.parametrize("shift", [0.0, 0.4, -2.5, 6.0])
def test_the_shift_is_what_its_prior_says(shift):
    draws = drawn([shift], [[1.0]], draws=20_000, seed=6)[:, 0]
    none, mean, variance = shift_by_integration(shift, 1.0)
    assert (np.abs(draws) < 1e-4).mean() == pytest.approx(none, abs=0.015)
    assert draws.mean() == pytest.approx(mean, abs=0.03)
    assert draws.var() == pytest.approx(variance, rel=0.05)


def test_a_small_shift_is_drawn_to_zero_and_a_large_one_left():
    noise = stats.norm.ppf((np.arange(25) + 0.5) / 25)
    covariance = np.eye(25)  # the error of the mean is 0.2
    small, large = (np.median(drawn(shift + noise, covariance)) for shift in (0.1, 3.0))
    assert abs(small) < 0.03
    assert large == pytest.approx(3.0, abs=0.1)


# --- what does not matter


def test_draws_scale_with_the_estimates_and_come_again_with_their_seed():
    covariance = correlated(15, 2)
    estimates = 1.0 + 2.0 * RNG(7).normal(size=15)
    draws = drawn(estimates, covariance, draws=200)
    assert draws.shape == (200, 15)
    np.testing.assert_array_equal(drawn(estimates, covariance, draws=200), draws)
    assert not np.allclose(drawn(estimates, covariance, draws=200, seed=1), draws)
    np.testing.assert_allclose(drawn(8 * estimates, 64 * covariance, draws=200), 8 * draws)


def test_order_and_direction_do_not_matter():
    covariance, rng = correlated(12, 3), RNG(9)
    estimates = 1.0 + 2.0 * rng.normal(size=12)
    order = rng.permutation(12)
    draws = drawn(estimates, covariance)
    mixed = drawn(-estimates[order], covariance[np.ix_(order, order)], seed=1)
    np.testing.assert_allclose(-mixed.mean(axis=0), draws.mean(axis=0)[order], atol=0.1)
    np.testing.assert_allclose(mixed.std(axis=0), draws.std(axis=0)[order], atol=0.1)


def test_estimates_without_error_are_the_truth():
    estimates = np.array([0.2, -0.4, 1.0])
    np.testing.assert_allclose(drawn(estimates, np.zeros((3, 3)), draws=20), np.tile(estimates, (20, 1)))
