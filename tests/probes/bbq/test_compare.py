"""Two models on the same items: paired differences, intervals over templates, p-values by exchanging answers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import small_bbq
from assay.findings import Findings
from assay.probes.bbq.analyse import findings_of
from assay.probes.bbq.compare import comparison
from assay.probes.bbq.examples import Dataset
from assay.probes.bbq.source import dataset_of
from assay.probes.bbq.tally import Answered

DATASET = dataset_of(small_bbq.examples(templates=12, quartets=4))
GOLD = np.array([example.label for example in DATASET.examples])
UNKNOWN = np.array([example.unknown for example in DATASET.examples])


def answered(chosen: np.ndarray, dataset: Dataset = DATASET) -> Findings:
    part = Answered(dataset, chosen.astype(np.int64)[:, None])
    return findings_of("bbq", "m", [part], refusals="wrong", resamples=20, seed=0, scored=True)


def differences(one: Findings, other: Findings) -> dict[tuple[str, str], dict[str, Any]]:
    rows = comparison([("one", one), ("other", other)])["differences"].records()
    return {(str(row["context"]), str(row["metric"])): row for row in rows if row["category"] == "Age"}


def test_a_model_does_not_differ_from_itself() -> None:
    chosen = np.random.default_rng(0).integers(0, 3, len(DATASET))
    found = differences(answered(chosen), answered(chosen))
    assert {row["difference"] for row in found.values()} == {0.0}
    assert {row["p"] for row in found.values()} == {1.0}


def test_a_better_model_is_clearly_better_and_the_sign_is_second_minus_first() -> None:
    rng = np.random.default_rng(1)
    worse = np.where(rng.random(len(GOLD)) < 0.5, GOLD, rng.integers(0, 3, len(GOLD)))
    row = differences(answered(worse), answered(GOLD))["disambig", "accuracy"]
    accuracy = float((worse == GOLD)[[e.condition == "disambig" for e in DATASET.examples]].mean())
    assert row["difference"] == pytest.approx(1 - accuracy)
    assert row["low"] > 0
    assert row["p"] < 0.01
    assert row["n"] == len(DATASET) // 2


def test_the_difference_is_that_of_the_scores() -> None:
    rng = np.random.default_rng(2)
    one, other = (answered(rng.integers(0, 3, len(DATASET))) for _ in range(2))
    found = differences(one, other)
    for (context, metric), row in found.items():
        values = [
            next(
                e.value
                for e in each.estimates
                if e.metric == metric and dict(e.group) == {"category": "Age", "context": context}
            )
            for each in (one, other)
        ]
        assert row["difference"] == pytest.approx(values[1] - values[0])  # type: ignore[operator]  # both are defined
        assert row["low"] <= row["difference"] <= row["high"]


def test_only_items_that_both_answered_count() -> None:
    half = DATASET.take(np.arange(len(DATASET) // 2))
    row = differences(answered(GOLD), answered(UNKNOWN[: len(half)], half))["ambig", "accuracy"]
    assert row["n"] == len(half) // 2
    assert row["difference"] == 0.0


def test_an_undefined_score_has_no_difference() -> None:
    found = differences(answered(GOLD), answered(UNKNOWN))
    assert ("disambig", "bias_score") not in found
    assert found["ambig", "bias_score"]["difference"] == 0.0
