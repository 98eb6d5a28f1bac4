"""The figures of the model card and their intervals."""

from __future__ import annotations

import numpy as np
import pytest

from evaluate import Scores


def scores(values: list[float], unit: list[int]) -> Scores:
    return Scores(np.array(values), np.array(unit, np.int32))


def test_a_figure_is_the_mean_over_items_and_lies_in_its_interval() -> None:
    some = scores([1, 0, 1, 1], [0, 0, 1, 2])
    low, high = some.interval()
    assert some.figure == 0.75
    assert low < 0.75 <= high


def test_a_perplexity_is_the_exponential_of_the_mean() -> None:
    some = Scores(np.log([2.0, 8.0]), np.array([0, 1], np.int32), np.exp)
    assert some.figure == pytest.approx(4)
    assert some.interval() == pytest.approx((2, 8))


def test_units_are_resampled_and_not_items() -> None:
    """Twenty sentences with ten questions each, answered alike: they say as much as twenty questions."""
    alone = scores([k % 2 for k in range(20)], list(range(20)))
    repeated = scores([k % 2 for k in range(20) for _ in range(10)], [k for k in range(20) for _ in range(10)])
    assert repeated.interval() == pytest.approx(alone.interval())
    apart = scores([k % 2 for k in range(20) for _ in range(10)], list(range(200)))
    assert np.ptp(apart.interval()) < 0.5 * np.ptp(repeated.interval())
