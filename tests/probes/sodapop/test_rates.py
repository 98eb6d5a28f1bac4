"""Success rates are added up context by context; what the pools alone do is told from what the model does."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from assay.probes.sodapop.metrics import exact_success, sampled_success
from assay.probes.sodapop.pools import DistractorPools
from assay.probes.sodapop.rates import SuccessCounter, SuccessRates, blind_scores, successes

# Three names; strings 1 to 4 are "b c", "b d", "e c", "e e".
POOL = DistractorPools(
    ("a", "b", "c", "d", "e"),
    ("", " ", ""),
    np.array([[0, 0], [1, 2], [1, 3], [4, 2], [4, 4]], np.int32),
    np.array([0, 2, 5, 7]),
    np.array([1, 2, 1, 3, 4, 2, 4]),
)
SCORES = np.array([0.5, 1, 2, 0.1, 3, 4, 5, -1.0, 6, 7])  # each name's right answer, then its pool


def test_scores_are_read_name_by_name_the_right_answer_first() -> None:
    found = successes(POOL, SCORES, "exact", 0, 0)
    expected = [exact_success(0.5, np.array([1.0, 2])), exact_success(0.1, np.array([3.0, 4, 5]))]
    expected.append(exact_success(-1.0, np.array([6.0, 7])))
    assert [own.tolist() for own in found] == [own.tolist() for own in expected]


def test_a_sampled_pairing_is_drawn_for_every_seed_context_and_name() -> None:
    scores = np.concatenate([[0.0], np.arange(1.0, 41)] * 2)
    pool = DistractorPools(
        ("a",), ("", ""), np.zeros((41, 1), np.int32), np.array([0, 40, 80]), np.tile(np.arange(1, 41), 2)
    )
    first, second = successes(pool, scores, "sampled", 0, 0)
    assert first.tolist() == sampled_success(0.0, scores[1:41], np.random.default_rng([0, 0, 0])).tolist()
    drawn = [
        own.tolist() for seed, at in ((0, 0), (0, 1), (1, 0)) for own in successes(pool, scores, "sampled", seed, at)
    ]
    assert len({str(own) for own in drawn}) == 6
    assert second.sum() == 20


# --- counting


def counted(success: list[NDArray[np.float64]], blind: list[NDArray[np.float64]] | None = None) -> SuccessRates:
    counter = SuccessCounter(("Ann", "Bob", "Cy"), ("b", "c", "e"), 2, "lower")
    counter.add(1, POOL, success, blind)
    return counter.rates


def test_contexts_are_counted_apart_and_added_up_for_rates() -> None:
    success = [np.array([0.25, 0.5]), np.array([1.0, 0.5, 0.0]), np.array([1.0, 0.25])]
    rates = counted(success)
    assert not rates.distractors[0].any()
    assert rates.distractors[1].tolist() == [[2, 1, 0], [1, 2, 2], [1, 0, 1]]
    assert rates.successes[1].tolist() == [[0.75, 0.25, 0], [1, 1.5, 0.5], [1, 0, 0.25]]
    sr = rates.sr()
    assert sr[1].tolist() == [1, 0.75, 0.25]
    assert np.isnan(sr[0, 2])


def test_a_distractor_that_was_not_asked_is_in_no_count() -> None:
    success = [np.array([np.nan, 0.5]), np.array([1.0, 0.5, np.nan]), np.array([1.0, 0.25])]
    rates = counted(success)
    assert rates.distractors[1].tolist() == [[1, 0, 0], [1, 2, 1], [1, 0, 1]]
    assert rates.successes[1].tolist() == [[0.5, 0, 0], [1, 1.5, 0.5], [1, 0, 0.25]]
    assert np.isfinite(rates.pooled).all()


def test_words_that_too_few_questions_had_are_left_out_afterwards() -> None:
    success = [np.array([0.25, 0.5]), np.array([1.0, np.nan, 0.0]), np.array([1.0, 0.25])]
    rates = counted(success)
    assert rates.frequent(1).words == ("b",)
    assert rates.frequent(0).words == ("b", "c", "e")
    kept = rates.frequent(1)
    assert kept.sr().tolist() == [[0.375], [1.0], [1.0]]
    assert kept.sr_of_pools().shape == (3, 1)
    assert rates.frequent(2).words == ()


def test_where_only_successes_are_known_their_mean_over_names_stands_for_a_blind_model() -> None:
    success = [np.array([0.25, 0.5]), np.array([1.0, 0.5, 0.0]), np.array([1.0, 0.25])]
    pooled = counted(success).pooled[1]
    assert pooled[0, 0] == (0.25 + 1.0) / 2 + (0.5 + 1.0) / 2  # "b c" of Ann and Bob, "b d" of Ann and Cy
    assert pooled[1, 2] == 0.5 + (0.0 + 0.25) / 2


# --- name-blind scores


def test_blind_scores_are_mean_leads_over_the_right_answer() -> None:
    found = blind_scores(POOL, SCORES)
    lead = {1: np.mean([0.5, 2.9]), 2: np.mean([1.5, 7.0]), 3: 3.9, 4: np.mean([4.9, 8.0])}
    expected = [0, lead[1], lead[2], 0, lead[1], lead[3], lead[4], 0, lead[2], lead[4]]
    assert found.tolist() == pytest.approx(expected)


def test_what_a_name_adds_to_all_of_its_scores_does_not_matter() -> None:
    shift = np.repeat([0.0, 64.0, -32.0], [3, 4, 3])
    assert blind_scores(POOL, SCORES + shift).tolist() == pytest.approx(blind_scores(POOL, SCORES).tolist())


@given(st.lists(st.floats(-9, 9, width=16), min_size=5, max_size=5))
def test_scores_that_do_not_depend_on_the_name_have_the_same_successes_with_all_their_ties(values: list[float]) -> None:
    strings = np.concatenate([[0, *POOL.of(name)] for name in range(3)]).astype(int)
    scores = np.array([*values[:4], values[1]])[strings]  # two answers tie
    blind = blind_scores(POOL, scores)
    for pairing in ("exact", "sampled"):
        own, alone = (successes(POOL, each, pairing, 0, 0) for each in (scores, blind))
        assert str(own) == str(alone)  # NaN included
