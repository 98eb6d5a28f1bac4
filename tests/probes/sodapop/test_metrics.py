"""Success over all pairings is what the definition says, with ties; one sampled pairing is that on average."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from assay.probes.sodapop.metrics import (
    exact_success,
    group_difference,
    group_mean,
    relative_difference,
    sampled_success,
    success_rate,
)

FEW_VALUES = st.integers(-2, 2).map(float)  # so that ties are common


def by_definition(right: float, distractors: list[float]) -> list[float]:
    """The mean over partners of 1[it is highest] / (how many share the highest)."""
    found = []
    for i, own in enumerate(distractors):
        options = [[own, partner, right] for j, partner in enumerate(distractors) if j != i]
        found.append(float(np.mean([(own == max(scores)) / scores.count(max(scores)) for scores in options])))
    return found


@given(FEW_VALUES, st.lists(FEW_VALUES, min_size=2, max_size=12))
@example(0.0, [0.0, 0.0])
@example(0.0, [1.0, 1.0, 0.0, -1.0])
def test_exact_success_is_the_mean_over_all_partners(right: float, distractors: list[float]) -> None:
    found = exact_success(right, np.array(distractors))
    assert found.tolist() == pytest.approx(by_definition(right, distractors), abs=1e-12)


@given(st.floats(-5, 5), st.lists(st.floats(-5, 5), min_size=2, max_size=30, unique=True))
def test_without_ties_it_is_the_rank(right: float, distractors: list[float]) -> None:
    if right in distractors:
        return
    scores = np.array(distractors)
    rank = scores.argsort().argsort()  # from 0
    assert exact_success(right, scores).tolist() == ((scores > right) * rank / (len(scores) - 1)).tolist()


def test_a_pool_of_one_has_no_pairing() -> None:
    assert np.isnan(exact_success(0.0, np.array([1.0]))).tolist() == [True]
    assert np.isnan(sampled_success(0.0, np.array([1.0]), np.random.default_rng(0))).tolist() == [True]


class Told:
    """A generator that draws what it is told: an order of the distractors, and an order for breaking ties."""

    def __init__(self, order: tuple[int, ...], ties: tuple[int, ...]) -> None:
        self.order, self.ties = order, ties

    def permutation(self, count: int) -> Any:
        assert count == len(self.order)
        return np.array(self.order)

    def random(self, shape: tuple[int, int]) -> Any:
        return np.tile((np.array(self.ties) + 0.5) / 3, (shape[0], 1))


@given(FEW_VALUES, st.lists(FEW_VALUES, min_size=4, max_size=4))
@settings(max_examples=40, deadline=None)
def test_over_all_pairings_of_four_sampled_success_is_exactly_the_exact_one(
    right: float, distractors: list[float]
) -> None:
    scores = np.array(distractors)
    draws: list[Any] = [
        Told(order, ties) for order in permutations(range(4)) for ties in permutations(range(3))
    ]  # every way to shuffle, and every way to break ties
    mean = np.mean([sampled_success(right, scores, draw) for draw in draws], axis=0)
    assert mean.tolist() == pytest.approx(exact_success(right, scores).tolist(), abs=1e-12)


@pytest.mark.parametrize("size", [6, 7])
def test_the_mean_over_many_seeds_is_the_exact_success(size: int) -> None:
    scores, right, seeds = np.array([0.0, 1.0, 1.0, 3.0, -1.0, 0.0, 2.0])[:size], 0.0, 4000
    drawn = np.array([sampled_success(right, scores, np.random.default_rng(seed)) for seed in range(seeds)])
    asked = np.isfinite(drawn)
    assert set(asked.sum(axis=1).tolist()) == {size // 2 * 2}, "an odd one has no partner"
    mean, expected = np.nanmean(drawn, axis=0), exact_success(right, scores)
    error = np.sqrt(expected * (1 - expected) / asked.sum(axis=0))
    assert (np.abs(mean - expected) <= 4 * error + 1e-12).all()
    assert set(drawn[asked].tolist()) == {0.0, 1.0}


def test_at_most_one_of_a_pair_wins() -> None:
    for seed in range(50):
        won = sampled_success(-1.0, np.zeros(10), np.random.default_rng(seed))
        assert won.sum() == 5, "the right answer is worse than both, so that one of them wins"
        assert sampled_success(1.0, np.zeros(10), np.random.default_rng(seed)).sum() == 0


def test_rates_and_differences_are_undefined_where_nothing_is_divided() -> None:
    rate = success_rate(np.array([0.0, 0.5]), np.array([0.0, 2.0]))
    assert np.isnan(rate[0])
    assert rate[1] == 0.25
    rd = relative_difference(np.array([0.0, 0.1]), np.array([0.0, 0.2]))
    assert np.isnan(rd[0])
    assert rd[1] == 0.5


@given(st.lists(st.floats(0, 1), min_size=1, max_size=6), st.lists(st.floats(0, 1), min_size=1, max_size=6))
def test_relative_differences_are_within_2_and_change_sign_with_the_groups(one: list[float], two: list[float]) -> None:
    a, b = np.array(one)[:, None], np.array(two)[:, None]
    rd = relative_difference(group_difference(a, b), group_mean(a, b))
    mirrored = relative_difference(group_difference(b, a), group_mean(b, a))
    if np.isfinite(rd).all():
        assert np.abs(rd).max() <= 2 + 1e-12
        assert (rd == -mirrored).all()


@given(st.floats(0, 1), st.integers(1, 9), st.integers(1, 9))
def test_groups_of_any_size_with_equal_rates_do_not_differ(rate: float, first: int, second: int) -> None:
    assert group_difference(np.full((first, 1), rate), np.full((second, 1), rate)).tolist() == [0.0]
