"""The field's definitions of EM, F1, accuracy and perplexity, and what their intervals resample."""

from __future__ import annotations

import math

import numpy as np
import pytest

from assay.lab.training.scores import exact_match, mean_estimate, normalised, perplexity_estimate, token_f1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The cat", "cat"),
        ("a  cat,\tan apple and the-end", "cat apple and theend"),
        ("Theatre", "theatre"),
        ("U.S.A.", "usa"),
        ("the", ""),
    ],
)
def test_answers_are_compared_without_case_articles_punctuation_and_blanks(text: str, expected: str) -> None:
    assert normalised(text) == expected


@pytest.mark.parametrize(
    ("given", "right", "em", "f1"),
    [
        ("the Garden!", ["garden"], 1, 1),
        ("old garden", ["the garden", "a house"], 0, 2 / 3),
        ("garden garden", ["garden"], 0, 2 / 3),  # a word counts as often as it is in both
        ("kitchen", ["garden"], 0, 0),
        ("", [], 1, 1),  # rightly no answer
        ("garden", [], 0, 0),
        ("", ["garden"], 0, 0),
        ("", ["the"], 1, 1),  # nothing is left of the right answer, as in SQuAD's program
    ],
)
def test_em_and_f1_are_squads(given: str, right: list[str], em: float, f1: float) -> None:
    assert exact_match(given, right) == em
    assert token_f1(given, right) == pytest.approx(f1)


def test_intervals_resample_contexts_not_questions() -> None:
    """Ten questions about each context that are all right or all wrong say no more than one of them."""
    rng = np.random.default_rng(0)
    right = rng.integers(0, 2, 60)
    alone = mean_estimate("accuracy", {}, right, np.arange(60), seed=0)
    tenfold = mean_estimate("accuracy", {}, right.repeat(10), np.arange(60).repeat(10), seed=0)
    as_if = mean_estimate("accuracy", {}, right.repeat(10), np.arange(600), seed=0)
    assert tenfold.value == alone.value == as_if.value == pytest.approx(right.mean())
    assert (tenfold.low, tenfold.high) == (alone.low, alone.high)
    assert as_if.low is not None
    assert as_if.high is not None
    assert alone.low is not None
    assert alone.high is not None
    assert as_if.high - as_if.low < 0.5 * (alone.high - alone.low)
    assert (alone.n, tenfold.n) == (60, 600)


def test_an_interval_holds_the_truth_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(1)
    inside = 0
    for trial in range(200):
        chance = rng.beta(2, 2, 40)  # of each context; 0.5 on average
        right = rng.random((40, 5)) < chance[:, None]
        found = mean_estimate("accuracy", {}, right.reshape(-1), np.arange(40).repeat(5), seed=trial)
        inside += found.low is not None and found.high is not None and found.low <= 0.5 <= found.high
    assert 180 <= inside <= 199


def test_too_few_units_give_a_value_without_an_interval() -> None:
    found = mean_estimate("accuracy", {}, [1, 0, 1], np.array([0, 1, 2]), seed=0)
    assert found.value == pytest.approx(2 / 3)
    assert (found.low, found.high) == (None, None)
    assert found.note == "no interval: 3 units are too few to resample"


def test_nothing_to_score_is_undefined() -> None:
    found = mean_estimate("em", {"questions": "unanswerable"}, [], np.zeros(0, np.int64), seed=0)
    assert (found.value, found.note) == (None, "nothing to score")


def test_perplexity_weighs_labels_not_blocks() -> None:
    losses, counts = np.array([3 * 2.0, 1 * 6.0, 4.0, 4.0, 4.0]), np.array([3.0, 1, 2, 2, 2])
    found = perplexity_estimate(losses, counts, np.arange(5), seed=0)
    assert found.value == pytest.approx(math.exp(24 / 10))
    assert found.low is not None
    assert found.high is not None
    assert 1 < found.low < found.value < found.high
    assert found.n == 10
