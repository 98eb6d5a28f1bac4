from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit, logit
from scipy.stats import t

from assay.stats import logit_interval, percentile_interval, wilson_interval

INTERVALS = [percentile_interval, logit_interval]


@pytest.mark.parametrize("interval", INTERVALS)
def test_undefined_replicates_are_left_out_of_their_quantity_alone(interval: Any) -> None:
    replicates = np.random.default_rng(1).normal(0.0, 0.1, size=(400, 3))
    holes = replicates.copy()
    holes[:100, 1] = np.nan
    low, high = interval(np.zeros(3), holes, 12, bounds=(-1.0, 1.0))
    whole = interval(np.zeros(3), replicates, 12, bounds=(-1.0, 1.0))
    np.testing.assert_array_equal(low[[0, 2]], whole[0][[0, 2]])
    alone = interval(0.0, replicates[100:, 1], 12, bounds=(-1.0, 1.0))
    np.testing.assert_allclose([low[1], high[1]], alone)


@pytest.mark.parametrize("interval", INTERVALS)
def test_there_is_no_interval_when_most_replicates_or_the_estimate_are_undefined(interval: Any) -> None:
    replicates = np.tile(np.linspace(0.0, 1.0, 100)[:, None], 3)
    replicates[:51, 0] = np.nan
    replicates[:, 1] = np.nan
    low, high = interval(np.array([0.5, 0.5, np.nan]), replicates, 12, bounds=(0.0, 1.0))
    assert np.isnan(low).all()
    assert np.isnan(high).all()


@pytest.mark.parametrize("interval", INTERVALS)
def test_units_that_agree_leave_room_for_a_share_that_does_not(interval: Any) -> None:
    low, high = interval(np.array([1.0, 0.0]), np.tile([1.0, 0.0], (99, 1)), 8, bounds=(-1.0, 1.0))
    assert low == pytest.approx([1.0 - 2.0 * (1.0 - 0.025 ** (1 / 8)), -(1.0 - 0.025 ** (1 / 8))])
    assert high == pytest.approx([1.0, 1.0 - 0.025 ** (1 / 8)])


@pytest.mark.parametrize("interval", INTERVALS)
def test_the_interval_of_a_share_covers_it_about_as_often_as_it_says(interval: Any) -> None:
    rng = np.random.default_rng(2)
    hits = 0
    for _ in range(400):
        sample = rng.beta(3.0, 2.0, 30)
        replicates = rng.choice(sample, size=(400, 30)).mean(axis=1)
        low, high = interval(sample.mean(), replicates, 30, bounds=(0.0, 1.0))
        hits += bool(low <= 0.6 <= high)
    assert 0.92 <= hits / 400 <= 0.98


def test_near_the_end_of_the_range_a_logit_interval_covers_what_a_percentile_interval_misses() -> None:
    """Eight templates of six questions, as the starter set's quick preset has, and a model that is mostly right."""
    rng = np.random.default_rng(3)
    hits = {percentile_interval: 0, logit_interval: 0}
    for _ in range(500):
        sample = rng.binomial(6, rng.beta(5.1, 0.9, 8)) / 6
        replicates = rng.choice(sample, size=(400, 8)).mean(axis=1)
        for interval in hits:
            low, high = interval(sample.mean(), replicates, 8, bounds=(0.0, 1.0))
            hits[interval] += bool(low <= 0.85 <= high)
    assert hits[logit_interval] / 500 >= 0.95
    assert hits[percentile_interval] / 500 <= 0.92


def test_units_resampled_within_strata_are_counted_without_one_for_each_stratum() -> None:
    """Eleven strata of three: two of three units vary freely, and resampling shows two thirds of the variance."""
    rng = np.random.default_rng(4)
    hits = {1: 0, 11: 0}
    for _ in range(500):
        sample = 0.5 + 0.1 * rng.normal(size=(11, 3))
        places = rng.integers(0, 3, size=(400, 11, 3))
        replicates = np.take_along_axis(np.broadcast_to(sample, places.shape), places, axis=2).mean(axis=(1, 2))
        for strata in hits:
            low, high = logit_interval(sample.mean(), replicates, 33, strata=strata, bounds=(0.0, 1.0))
            hits[strata] += bool(low <= 0.5 <= high)
    assert 0.93 <= hits[11] / 500 <= 0.97
    assert hits[1] / 500 <= 0.92


@given(st.floats(-1.0, 1.0), st.floats(0.0, 0.5), st.floats(1.5, 80.0), st.integers(1, 3))
def test_a_logit_interval_is_students_t_on_the_logit_scale(
    value: float, spread: float, units: float, strata: int
) -> None:
    replicates = np.clip(value + spread * np.linspace(-1.0, 1.0, 41), -1.0, 1.0)
    low, high = (float(end) for end in logit_interval(value, replicates, units, strata=strata, bounds=(-1.0, 1.0)))
    assert -1.0 <= low <= value <= high <= 1.0
    share, freedom = (value + 1.0) / 2.0, max(units - strata, 1.0)
    error = replicates.std(ddof=1) / 2.0 * np.sqrt(units / freedom)
    if 1e-6 < share < 1.0 - 1e-6 and error > 1e-9:
        reach = t.ppf(0.975, freedom) * error / (share * (1.0 - share))
        expected = 2.0 * expit(logit(share) + np.array([-reach, reach])) - 1.0
        np.testing.assert_allclose([low, high], expected, atol=1e-9)


@given(st.floats(0.0, 1.0), st.integers(1, 500))
def test_wilsons_interval_ends_where_the_share_is_z_standard_errors_off(share: float, units: int) -> None:
    low, high = wilson_interval(share, units)
    assert 0.0 <= low <= share <= high <= 1.0
    assert low < high
    for end in (low, high):
        if 0.0 < end < 1.0 and abs(end - share) > 1e-6:  # nearer, the difference is lost in rounding
            assert abs(share - end) == pytest.approx(1.959964 * np.sqrt(end * (1.0 - end) / units), rel=1e-4)


def test_a_percentile_interval_contains_its_estimate_however_far_off_the_replicates_are() -> None:
    replicates = np.column_stack([np.linspace(0.3, 0.4, 99), np.linspace(-0.4, -0.3, 99)])
    low, high = percentile_interval(np.zeros(2), replicates, 10, bounds=(-1.0, 1.0))
    assert (low[0], high[1]) == (0.0, 0.0)
    assert high[0] == pytest.approx(0.4, abs=0.01)
