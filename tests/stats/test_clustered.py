import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from assay.stats import (
    ClusteredMeans,
    ErrorCovariance,
    combined,
    jackknife,
    paired_spread,
    student_p,
    student_reach,
    unit_spread,
)

seeds = st.integers(0, 2**32 - 1)
WITHOUT_FACTOR = 10**13  # units so many that G/(G − 1) is 1


def paired_cells(seed, names=9, cells=70, columns=3, groups=False):
    """The two names of every cell, drawn with repetition, and its values (cell, column): names and pairs matter."""
    rng = np.random.default_rng(seed)
    if groups:  # the first half of all names stand first, the other half second
        first, second = rng.integers(0, names // 2, cells), rng.integers(names // 2, names, cells)
    else:
        first = rng.integers(0, names, cells)
        second = (first + rng.integers(1, names, cells)) % names
    pair = pairs_of(first, second)
    by_name, by_pair = rng.normal(size=(names, columns)), 0.5 * rng.normal(size=(pair.max() + 1, columns))
    values = by_name[first] + by_name[second] + by_pair[pair] + rng.normal(size=(cells, columns))
    return first, second, values


def pairs_of(first, second):
    return np.unique(np.stack((np.minimum(first, second), np.maximum(first, second))), axis=1, return_inverse=True)[1]


def by_unit(unit, far):
    """Σ (observation − mean) of every unit (unit, column)."""
    return np.stack([far[unit == own].sum(axis=0) for own in np.unique(unit)])


def by_name(first, second, far):
    return np.stack([far[(first == name) | (second == name)].sum(axis=0) for name in np.union1d(first, second)])


def clustered_by_loop(unit, far, factor=True):
    """G/(G − 1) · Σ over clusters of s sᵀ / n², s being a cluster's Σ u."""
    clusters = sorted(set(unit.tolist()))
    total = np.zeros((far.shape[1],) * 2)
    for cluster in clusters:
        inside = sum(far[cell] for cell in range(len(far)) if unit[cell] == cluster)
        total += np.outer(inside, inside)
    return total / len(far) ** 2 * (len(clusters) / (len(clusters) - 1) if factor else 1.0)


def of_pairs(first, second, far, factor=True):
    """What the module says of pairs within one group of names."""
    names, pairs = by_name(first, second, far), by_unit(pairs_of(first, second), far)
    own, both = (len(names), len(pairs)) if factor else (WITHOUT_FACTOR, WITHOUT_FACTOR)
    return paired_spread([unit_spread(names, len(far), own)], unit_spread(pairs, len(far), both))


# --- means of independent observations, and of clusters


@pytest.mark.parametrize("n", [2, 5, 40])
def test_without_shared_units_it_is_the_t_test_of_every_textbook(n):
    values = np.random.default_rng(n).normal(0.4, 1.0, (n, 3))
    mean = values.mean(axis=0)
    found = ClusteredMeans(mean, unit_spread(values - mean, n, n))
    tested = stats.ttest_1samp(values, 0.0)
    np.testing.assert_allclose(found.error, stats.sem(values))
    np.testing.assert_allclose(found.p(), tested.pvalue)
    for level in (0.5, 0.95, 0.999):
        np.testing.assert_allclose(found.mean + found.reach(level), tested.confidence_interval(level).high)
    np.testing.assert_allclose(found.spread.covariance, np.cov(values.T) / n)


@pytest.mark.parametrize("seed", range(3))
def test_a_kind_of_unit_gives_the_cluster_robust_covariance(seed):
    first, _, values = paired_cells(seed)
    far = values - values.mean(axis=0)
    distances = by_unit(first, far)
    found = unit_spread(distances, len(far), len(distances))
    np.testing.assert_allclose(found.covariance, clustered_by_loop(first, far))
    np.testing.assert_allclose(found.variance, np.diag(found.covariance))
    np.testing.assert_array_equal(found.units, [len(distances)] * 3)


def test_columns_may_have_observations_and_units_of_their_own():
    rng = np.random.default_rng(1)
    unit, column = rng.integers(0, 7, 90), rng.integers(0, 3, 90)
    kept = (column != 2) | (unit < 4)  # the last column has fewer units
    unit, column, values = unit[kept], column[kept], rng.normal(size=kept.sum())
    far = values - np.array([values[column == a].mean() for a in range(3)])[column]
    distances = np.array([[far[(unit == u) & (column == a)].sum() for a in range(3)] for u in range(7)])
    n, units = np.bincount(column), np.array([len(set(unit[column == a])) for a in range(3)])
    assert units.tolist() == [7, 6, 4]
    found = unit_spread(distances, n, units)
    for a in range(3):
        for b in range(3):
            both = sum(
                far[c] * far[d]
                for c in range(len(far))
                for d in range(len(far))
                if unit[c] == unit[d] and column[c] == a and column[d] == b
            )
            factor = np.sqrt(units[a] / (units[a] - 1) * units[b] / (units[b] - 1))
            assert found.covariance[a, b] == pytest.approx(factor * both / (n[a] * n[b]))


def test_a_single_unit_and_no_observations_give_no_spread():
    found = unit_spread(np.zeros((1, 2)), np.array([12, 0]), np.array([1, 0]))
    np.testing.assert_array_equal(found.covariance, 0.0)
    assert ClusteredMeans(np.zeros(2), found).freedom.tolist() == [1, 1]


# --- pairs of names


@pytest.mark.parametrize("seed", range(3))
def test_pairs_give_the_dyadic_robust_covariance(seed):
    first, second, values = paired_cells(seed)
    far = values - values.mean(axis=0)
    names = [{one, other} for one, other in zip(first.tolist(), second.tolist(), strict=True)]
    total, by_names, by_pairs = np.zeros((3, 3, 3))
    count, pairs = len(set.union(*names)), len({frozenset(own) for own in names})
    for c, own in enumerate(names):
        for d, its in enumerate(names):
            shared = len(own & its)
            total += (shared > 0) * np.outer(far[c], far[d])
            by_names += shared * np.outer(far[c], far[d])
            by_pairs += (shared == 2) * pairs / (pairs - 1) * np.outer(far[c], far[d])
    np.testing.assert_allclose(of_pairs(first, second, far, factor=False).covariance, total / len(far) ** 2)
    found = of_pairs(first, second, far)
    # what names, and what pairs, add to each of the two on average, and to the mean's variance
    g, c = count, pairs / (pairs - 1)
    each = [[4 * (g - 2) ** 2 / (g * g * (g - 1)), 4 * (g - 2) * c / (g * g * (g - 1))], [2 - 4 / g, 1]]
    one, two = np.linalg.solve(each, [4 / g, 1])
    np.testing.assert_allclose(found.covariance, (one * by_names + two * by_pairs) / len(far) ** 2)
    np.testing.assert_array_equal(found.units, [count] * 3)


@pytest.mark.simulation
@pytest.mark.parametrize("names", [5, 6, 11])
def test_the_variance_of_a_mean_over_all_pairs_is_right_on_average(names):
    rng = np.random.default_rng(names)
    first, second = np.triu_indices(names, 1)
    effects = rng.normal(size=(names, 4000))
    values = effects[first] + effects[second] + rng.normal(size=(len(first), 4000))  # (pair, data set)
    variances = of_pairs(first, second, values - values.mean(axis=0)).variance
    assert variances.mean() == pytest.approx(4 / names + 1 / len(first), rel=0.06)
    assert values.mean(axis=0).var() == pytest.approx(4 / names + 1 / len(first), rel=0.06)


@pytest.mark.parametrize("seed", range(3))
def test_pairs_of_two_groups_give_the_two_way_cluster_robust_covariance(seed):
    first, second, values = paired_cells(seed, names=11, groups=True)
    far, pair = values - values.mean(axis=0), pairs_of(first, second)
    for factor in (True, False):
        *sides, both = (
            unit_spread(by_unit(unit, far), len(far), len(set(unit)) if factor else WITHOUT_FACTOR)
            for unit in (first, second, pair)
        )
        expected = sum(clustered_by_loop(unit, far, factor) for unit in (first, second))
        expected -= clustered_by_loop(pair, far, factor)
        np.testing.assert_allclose(paired_spread(sides, both).covariance, expected)
    shared = (first[:, None] == first) | (second[:, None] == second)  # the last of the two is a sum over these
    np.testing.assert_allclose(expected, np.einsum("cd,ca,db->ab", shared, far, far) / len(far) ** 2)


def test_the_side_with_fewer_names_gives_the_units():
    sides = [ErrorCovariance(np.eye(2), np.array([5, 9])), ErrorCovariance(np.eye(2), np.array([7, 3]))]
    assert paired_spread(sides, ErrorCovariance(np.zeros((2, 2)), np.array([30, 20]))).units.tolist() == [5, 3]


def test_the_variance_is_never_below_that_of_the_pairs():
    first, second = np.arange(6), (np.arange(6) + 1) % 6  # a ring: what one pair adds to a name, the next takes away
    far = np.stack((np.tile([1.0, -1.0], 3), np.arange(6) - 2.5), axis=1)
    pairs, names = unit_spread(far, 6, 6), unit_spread(by_name(first, second, far), 6, 6)
    found = paired_spread([names], pairs)
    assert names.variance[0] == 0
    assert found.variance[0] == pytest.approx(pairs.variance[0])
    apart = paired_spread([names, ErrorCovariance(np.zeros((2, 2)), names.units)], pairs)
    assert apart.variance[1] == pytest.approx(names.variance[1] - pairs.variance[1])
    assert apart.variance[1] > pairs.variance[1]
    assert apart.covariance[0, 1] == apart.covariance[1, 0] == pytest.approx(-pairs.covariance[0, 1])


def test_intervals_of_pairs_that_share_names_cover_as_often_as_they_say():
    rng = np.random.default_rng(5)
    names, runs = 30, 800  # every column is a run
    first, second = np.triu_indices(names, 1)
    effect = rng.normal(size=(names, runs))
    values = effect[first] + effect[second] + rng.normal(size=(len(first), runs))
    mean = values.mean(axis=0)
    alone = ClusteredMeans(mean, unit_spread(values - mean, len(first), len(first)))
    found = ClusteredMeans(mean, of_pairs(first, second, values - mean))
    assert 0.925 < (np.abs(mean) < found.reach()).mean() < 0.97
    assert 0.03 < (found.p() < 0.05).mean() < 0.075
    assert (np.abs(mean) < alone.reach()).mean() < 0.6  # what clustering is for


@settings(max_examples=25)
@given(seeds, st.sampled_from([2.0, -3.0, 1e-6, 1e6]))
def test_errors_scale_with_the_values_and_p_does_not(seed, scale):
    first, second, values = paired_cells(seed)
    mean = values.mean(axis=0)
    found = ClusteredMeans(mean, of_pairs(first, second, values - mean))
    scaled = ClusteredMeans(scale * mean, of_pairs(first, second, scale * (values - mean)))
    np.testing.assert_allclose(scaled.spread.covariance, scale**2 * found.spread.covariance, rtol=1e-9)
    np.testing.assert_allclose(scaled.reach(), abs(scale) * found.reach(), rtol=1e-9)
    np.testing.assert_allclose(scaled.p(), found.p(), rtol=1e-9)


@settings(max_examples=25)
@given(seeds)
def test_the_order_of_cells_names_and_sides_does_not_matter_nor_do_unused_units(seed):
    first, second, values = paired_cells(seed)
    far = values - values.mean(axis=0)
    rng, n = np.random.default_rng(seed), len(far)
    order, renamed, turned = rng.permutation(n), rng.permutation(9), rng.random(n) < 0.5
    one, other = renamed[first][order], renamed[second][order]
    found = of_pairs(first, second, far)
    mixed = of_pairs(np.where(turned, one, other), np.where(turned, other, one), far[order])
    np.testing.assert_allclose(mixed.covariance, found.covariance, atol=1e-15)
    distances = by_name(first, second, far)
    spare = np.insert(distances, 4, 0.0, axis=0)
    np.testing.assert_allclose(unit_spread(spare, n, 9).covariance, unit_spread(distances, n, 9).covariance, atol=1e-15)


# --- independent variances added up


def test_degrees_of_freedom_are_those_of_welch():
    rng = np.random.default_rng(2)
    one, other = rng.normal(0, 1, (8, 5)), rng.normal(0.5, 3, (13, 5))
    error, freedom = combined([(stats.sem(one) ** 2, 7), (stats.sem(other) ** 2, 12)])
    tested = stats.ttest_ind(one, other, equal_var=False)
    np.testing.assert_allclose(freedom, tested.df)
    np.testing.assert_allclose(student_p(one.mean(axis=0) - other.mean(axis=0), error, freedom), tested.pvalue)


variances = st.lists(st.tuples(st.floats(0.01, 10), st.integers(1, 60)), min_size=1, max_size=5)


@given(variances)
def test_variances_are_added_and_their_freedom_is_satterthwaites(parts):
    error, freedom = combined(parts)
    total = sum(variance for variance, _ in parts)
    assert error**2 == pytest.approx(total)
    assert freedom == pytest.approx(total**2 / sum(variance**2 / own for variance, own in parts))
    assert min(own for _, own in parts) * (1 - 1e-9) <= freedom <= sum(own for _, own in parts) * (1 + 1e-9)
    scaled, same = combined([(4 * variance, own) for variance, own in reversed(parts)])
    assert (scaled, same) == (pytest.approx(2 * error), pytest.approx(freedom))


def test_a_variance_of_zero_or_less_counts_as_none():
    error, freedom = combined([(np.array([0.04, 0.04, 0.0]), 5), (np.array([0.0, -0.03, -1.0]), np.array([3, 9, 2]))])
    np.testing.assert_allclose(error, [0.2, 0.2, 0.0])
    np.testing.assert_allclose(freedom, [5, 5, 2])  # without any variance, the fewest


# --- Student's t

freedoms = pytest.mark.parametrize("freedom", [1, 2, 4.7, 30, 1e6])


@freedoms
def test_an_interval_reaches_as_far_as_students_t(freedom):
    for level in (0.1, 0.9, 0.95, 0.999):
        expected = 0.3 * stats.t.ppf(0.5 + level / 2, freedom)
        np.testing.assert_allclose(student_reach(np.array([0.3, 0.0]), freedom, level), [expected, 0.0])


@freedoms
def test_p_is_that_of_students_t_down_to_the_smallest(freedom):
    t = np.array([1e-3, 0.7, 2.0, 9.0, 25.0])
    expected = 2 * stats.t.sf(t, freedom)
    np.testing.assert_allclose(student_p(0.1 * t, 0.1, freedom), expected, rtol=1e-9)
    np.testing.assert_allclose(student_p(-0.1 * t, 0.1, freedom), expected, rtol=1e-9)


def test_the_end_of_an_interval_at_zero_has_the_p_of_its_level():
    reach = student_reach(0.2, np.array([3.0, 17.5]), 0.9)
    np.testing.assert_allclose(student_p(reach, 0.2, np.array([3.0, 17.5])), 0.1)


def test_p_where_nothing_varies_and_where_nothing_is_known():
    p = student_p([0.0, 0.0, 0.2, np.nan], [0.0, 0.1, 0.0, 0.1], 5)
    np.testing.assert_array_equal(p, [1.0, 1.0, 0.0, np.nan])


# --- the jackknife


def without_each(values, statistic):
    return np.array([statistic(np.delete(values, unit, axis=0)) for unit in range(len(values))])


def test_the_jackknife_is_that_of_textbooks():
    values = np.random.default_rng(6).normal(size=(12, 2)) @ [[1.0, 0.6], [0.0, 0.8]]
    left_out = without_each(values, lambda rows: np.corrcoef(rows.T)[0, 1])
    n, middle, expected = len(left_out), sum(left_out) / len(left_out), 0.0
    for each in left_out:
        expected += (each - middle) ** 2
    assert jackknife(left_out, np.zeros(n, dtype=np.int64)) == pytest.approx((n - 1) / n * expected)


def test_the_jackknife_of_means_has_their_textbook_error():
    values = np.random.default_rng(7).normal(size=(9, 2, 3))
    left_out = without_each(values, lambda rows: rows.mean(axis=0))  # (unit, 2, 3)
    np.testing.assert_allclose(jackknife(left_out, np.full(9, 4)), values.var(axis=0, ddof=1) / 9)


def test_strata_add_up_in_any_order_and_a_unit_alone_in_its_own_adds_nothing():
    rng = np.random.default_rng(8)
    one, other = rng.normal(size=6), 3 * rng.normal(size=15)
    left_out = np.concatenate((without_each(one, np.mean) - other.mean(), one.mean() - without_each(other, np.mean)))
    strata = np.repeat([0, 1], [6, 15])
    expected = one.var(ddof=1) / 6 + other.var(ddof=1) / 15
    assert jackknife(left_out, strata) == pytest.approx(expected)
    order = rng.permutation(21)
    assert jackknife(-2 * left_out[order], 5 - strata[order]) == pytest.approx(4 * expected)
    assert jackknife(np.append(left_out, 40.0), np.append(strata, 2)) == pytest.approx(expected)


# --- what chance gives all means at once

COVARIANCE = np.array([[4.0, 1.2, -0.3], [1.2, 1.0, 0.2], [-0.3, 0.2, 0.25]])


def drawn(covariance, units, draws=100_000, seed=9):
    covariance = np.asarray(covariance)
    spread = ErrorCovariance(covariance, np.broadcast_to(units, len(covariance)))
    return ClusteredMeans(np.zeros(len(covariance)), spread).drawn(draws, np.random.default_rng(seed))


def follows(values, distribution):
    """Kolmogorov–Smirnov at 0.1%."""
    return stats.kstest(values, distribution.cdf).pvalue > 0.001


def test_draws_have_the_covariance_of_the_means():
    errors = drawn(COVARIANCE, 10**6)
    scale = np.sqrt(np.diag(COVARIANCE))
    np.testing.assert_allclose((errors.T @ errors / len(errors)) / np.outer(scale, scale), correlation(), atol=0.015)
    assert follows(errors[:, 0] / scale[0], stats.norm())


def correlation():
    return COVARIANCE / np.sqrt(np.outer(np.diag(COVARIANCE), np.diag(COVARIANCE)))


def test_draws_are_multivariate_t():
    errors = drawn(COVARIANCE, 7, draws=40_000)
    for column, scale in zip(errors.T, np.sqrt(np.diag(COVARIANCE)), strict=True):
        assert follows(column / scale, stats.t(6))
    together = np.einsum("da,ab,db->d", errors, np.linalg.inv(COVARIANCE), errors) / 3
    assert follows(together, stats.f(3, 6))  # which independent t's would not
    np.testing.assert_allclose(errors.var(axis=0), np.diag(COVARIANCE) * 6 / 4, rtol=0.05)


def test_the_mean_with_the_fewest_units_gives_all_of_them_their_tails():
    errors = drawn(np.eye(2), [200, 5], draws=40_000)
    assert all(follows(column, stats.t(4)) for column in errors.T)


def test_means_without_error_stay_and_lend_nobody_their_tails():
    errors = drawn(np.diag([1.0, 0.0, 4.0]), [500, 2, 500], draws=40_000)
    np.testing.assert_array_equal(errors[:, 1], 0.0)
    assert follows(errors[:, 0], stats.t(499))
    assert follows(errors[:, 2] / 2, stats.t(499))
    np.testing.assert_array_equal(drawn(np.zeros((2, 2)), 5, draws=3), np.zeros((3, 2)))


def test_a_covariance_that_cannot_be_still_gives_the_variances():
    scale = np.array([3.0, 1.0, 0.01])
    impossible = np.array([[1.0, 0.9, 0.9], [0.9, 1.0, -0.9], [0.9, -0.9, 1.0]]) * np.outer(scale, scale)
    assert np.linalg.eigvalsh(impossible)[0] < 0
    errors = drawn(impossible, 10**6)
    np.testing.assert_allclose(errors.std(axis=0), scale, rtol=0.01)
    nearest = [[1.0, 0.5, 0.5], [0.5, 1.0, -0.5], [0.5, -0.5, 1.0]]  # without the direction (1, −1, −1)
    np.testing.assert_allclose(np.corrcoef(errors.T), nearest, atol=0.015)


def test_means_that_always_err_together_are_drawn_together():
    errors = drawn(np.outer([1.0, 2.0], [1.0, 2.0]), 10, draws=50)
    np.testing.assert_allclose(errors[:, 1], 2 * errors[:, 0], rtol=1e-6)


def test_draws_scale_with_the_errors_and_come_again_with_their_seed():
    errors = drawn(COVARIANCE, 8, draws=20)
    np.testing.assert_array_equal(drawn(COVARIANCE, 8, draws=20), errors)
    assert not np.allclose(drawn(COVARIANCE, 8, draws=20, seed=10), errors)
    np.testing.assert_allclose(drawn(16 * COVARIANCE, 8, draws=20), 4 * errors)
