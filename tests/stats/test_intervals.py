import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.stats import basic_interval, percentile_interval, wilson_interval


def test_quantiles_are_reflected_at_the_estimate():
    replicates = np.random.default_rng(0).normal(1.3, 0.2, 5000)
    low, high = basic_interval(1.0, replicates)
    np.testing.assert_allclose([low, high], 2.0 - np.quantile(replicates, [0.975, 0.025]))


def test_replicates_that_are_biased_upward_move_the_interval_down():
    low, high = basic_interval(1.0, 1.5 + np.linspace(-0.1, 0.1, 99))
    assert low < high < 1.0


def test_ends_are_clipped_to_the_range_of_the_metric():
    low, high = basic_interval(0.9, np.linspace(0.2, 1.0, 99), bounds=(0.0, 1.0))
    assert low == pytest.approx(0.82)
    assert high == 1.0


def test_undefined_replicates_are_left_out_of_their_quantity_alone():
    rng = np.random.default_rng(1)
    replicates = rng.normal(size=(400, 3))
    holes = replicates.copy()
    holes[:100, 1] = np.nan
    low, high = basic_interval(np.zeros(3), holes)
    whole = basic_interval(np.zeros(3), replicates)
    np.testing.assert_array_equal(low[[0, 2]], whole[0][[0, 2]])
    np.testing.assert_allclose([low[1], high[1]], -np.quantile(replicates[100:, 1], [0.975, 0.025]))


def test_there_is_no_interval_when_most_replicates_or_the_estimate_are_undefined():
    replicates = np.ones((100, 3))
    replicates[:51, 0] = np.nan
    replicates[:, 1] = np.nan
    low, high = basic_interval(np.array([1.0, 1.0, np.nan]), replicates)
    assert np.isnan(low).all()
    assert np.isnan(high).all()


def test_the_interval_of_a_mean_covers_it_about_as_often_as_it_says():
    rng = np.random.default_rng(2)
    hits = 0
    for _ in range(400):
        sample = rng.normal(size=60)
        replicates = rng.choice(sample, size=(400, 60)).mean(axis=1)
        low, high = basic_interval(sample.mean(), replicates)
        hits += bool(low <= 0 <= high)
    assert 0.90 <= hits / 400 <= 0.98


@given(st.floats(0.0, 1.0), st.integers(1, 500))
def test_wilsons_interval_ends_where_the_share_is_z_standard_errors_off(share: float, units: int) -> None:
    low, high = wilson_interval(share, units)
    assert 0.0 <= low <= share <= high <= 1.0
    assert low < high
    for end in (low, high):
        if 0.0 < end < 1.0 and abs(end - share) > 1e-9:
            assert abs(share - end) == pytest.approx(1.959964 * np.sqrt(end * (1.0 - end) / units), rel=1e-4)


def test_a_percentile_interval_contains_its_estimate_however_far_off_the_replicates_are() -> None:
    replicates = np.column_stack([np.linspace(0.3, 0.4, 99), np.linspace(-0.4, -0.3, 99)])
    low, high = percentile_interval(np.zeros(2), replicates, 10, bounds=(-1.0, 1.0))
    assert (low[0], high[1]) == (0.0, 0.0)
    assert high[0] == pytest.approx(0.4, abs=0.01)
