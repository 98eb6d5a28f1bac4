"""The diagnosis of a run: its place in findings.json, and when answers are said to follow the option's place."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.errors import DataError
from assay.probes.diagnose import diagnosed, place_shares, ties_of
from assay.results.diagnosis import FOLLOWS, KEYS, Diagnosis, NegatedPairs, PositionShare, SwappedPairs, Ties
from assay.results.findings import Findings, read_findings
from raising import raises

NOTHING = dict.fromkeys(KEYS, "nothing was asked")
WHOLE = Diagnosis(
    True,
    "A is always chosen",
    [PositionShare("A", 1.0, 1 / 3, 264, 1e-9, 3e-9), PositionShare("B", 0.0, 1 / 3, 264, part="letters")],
    [SwappedPairs(19, 20)],
    Ties(1, 2, 264),
    missing={"negation": "no question has a negation"},
)


def written(folder: Path, diagnosis: Diagnosis | None, change: Callable[[dict[str, Any]], object] = dict) -> Path:
    """A findings.json, with something in it changed."""
    content = json.loads(Findings("bbq", "m", [], diagnosis=diagnosis).to_json())
    change(content)
    (folder / "findings.json").write_text(json.dumps(content), encoding="utf-8")
    return folder


# --- findings.json


@pytest.mark.parametrize("diagnosis", [WHOLE, Diagnosis(False, "not tested", missing=NOTHING), None], ids=str)
def test_a_diagnosis_is_read_as_it_was_written(tmp_path: Path, diagnosis: Diagnosis | None) -> None:
    assert read_findings(written(tmp_path, diagnosis)).diagnosis == diagnosis


def test_the_file_says_how_large_every_share_is() -> None:
    told = json.loads(Findings("bbq", "m", [], diagnosis=WHOLE).to_json())["diagnosis"]
    assert {*told} == {"follows_place", "why", *KEYS, "missing"}
    assert told["exchanged"] == [{"same": 19, "n": 20, "part": "", "share": 0.95}]
    assert (told["negation"], told["missing"]) == (None, {"negation": "no question has a negation"})


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("follows_place", "yes"),
        ("why", None),
        ("places", [{"place": "A", "share": 1.5, "expected": 0.5, "n": 3}]),
        ("places", [{"place": "A", "share": float("nan"), "expected": 0.5, "n": 3}]),
        ("places", None),  # without a reason
        ("exchanged", [{"same": 5, "n": 4}]),
        ("ties", {"exact": 3, "near": 2, "n": 4}),
        ("ties", {"exact": -1, "near": 2, "n": 4}),
        ("negation", {"unchanged": 1, "n": 2}),  # beside the reason why it is missing
        ("missing", {"negation": "so", "weather": "rain"}),
    ],
)
def test_a_diagnosis_that_breaks_the_format_is_a_data_error(tmp_path: Path, key: str, value: object) -> None:
    def broken(content: dict[str, Any]) -> None:
        content["diagnosis"][key] = value

    with raises("bad-findings", DataError, file=tmp_path / "findings.json"):
        read_findings(written(tmp_path, WHOLE, broken))


# --- the verdict


@dataclass(frozen=True)
class Thresholds:
    place_excess: float = 0.25
    place_same: float = 0.8


def of_place(share: float, p: float | None = 1e-4, **thresholds: float) -> Diagnosis:
    return diagnosed(Thresholds(**thresholds), NOTHING, places=[PositionShare("A", share, 0.5, 100, p)])


def of_pairs(same: int, n: int, **thresholds: float) -> Diagnosis:
    return diagnosed(Thresholds(**thresholds), NOTHING, exchanged=[SwappedPairs(same, n)])


def test_following_a_place_needs_size_as_well_as_significance() -> None:
    assert of_place(0.75).follows_place
    assert not of_place(0.74).follows_place
    assert not of_place(0.95, p=0.06).follows_place
    assert not of_place(0.95, p=None).follows_place
    assert not of_place(0.05).follows_place, "a place that is avoided"
    assert of_place(0.6, place_excess=0.1).follows_place


def test_significance_is_corrected_over_all_places_of_the_run() -> None:
    others = [PositionShare(str(number), 0.5, 0.5, 100, 0.9) for number in range(9)]
    one = PositionShare("A", 0.9, 0.5, 100, 0.02)
    assert diagnosed(Thresholds(), NOTHING, places=[one]).follows_place
    found = diagnosed(Thresholds(), NOTHING, places=[one, *others])
    assert not found.follows_place
    assert found.places is not None
    assert found.places[0].q == pytest.approx(0.2)


def test_or_the_same_place_in_most_of_enough_exchanged_pairs() -> None:
    assert of_pairs(16, 20).follows_place
    assert not of_pairs(15, 20).follows_place
    assert not of_pairs(19, 19).follows_place
    assert of_pairs(12, 20, place_same=0.6).follows_place


def test_the_reason_says_it_in_these_words_and_with_the_shares() -> None:
    assert of_place(0.9).why == f"{FOLLOWS}: A got 90.0% of 100 answers, 50.0% were expected (q < 0.001)"
    assert of_pairs(19, 20).why.startswith(f"{FOLLOWS}: the same place was chosen in 95.0% of 20 exchanged pairs")
    assert FOLLOWS not in of_place(0.6).why
    clearly = "clearly more, q < 0.001, but by less than 25.0 percentage points"
    assert of_place(0.686).why.endswith(f"(A got 68.6% of answers, 50.0% were expected: {clearly})")
    assert of_place(0.95, p=0.06).why.endswith("expected: not distinguishable from chance, q = 0.060)")
    assert of_place(0.4).why.endswith("(A got 40.0% of answers, 50.0% were expected)")
    assert diagnosed(Thresholds(), NOTHING).why == "places were not tested: nothing was asked"
    assert not diagnosed(Thresholds(), NOTHING).tested


# --- tests over units


def shares(chosen: np.ndarray, units: np.ndarray) -> list[PositionShare]:
    """Of answers with two places, each expected half of the time."""
    sums = np.zeros((units.max() + 1, 3))
    np.add.at(sums, units, np.stack([chosen == 0, chosen == 1, np.ones(len(chosen))], axis=1))
    return place_shares("AB", sums[:, :2], sums[:, 2:] * [0.5, 0.5], sums[:, 2])


def test_answers_of_one_unit_are_not_independent_of_each_other() -> None:
    """Ten units of 50 answers that are all alike are ten observations, not 500."""
    alike = np.repeat([0, 0, 0, 0, 0, 0, 0, 1, 1, 1], 50)
    place, _ = shares(alike, np.repeat(np.arange(10), 50))
    apart, _ = shares(np.random.default_rng(0).permutation(alike), np.repeat(np.arange(10), 50))
    assert place.share == apart.share == 0.7
    assert place.p is not None
    assert place.p > 0.05


def test_units_that_all_agree_do_not_prove_that_all_would() -> None:
    few, _ = shares(np.zeros(50, int), np.repeat(np.arange(5), 10))
    many, _ = shares(np.zeros(500, int), np.repeat(np.arange(50), 10))
    assert few.p is not None
    assert many.p is not None
    assert 0 < many.p < few.p < 0.05


def test_too_few_units_have_no_p() -> None:
    assert [place.p for place in shares(np.zeros(40, int), np.repeat(np.arange(4), 10))] == [None, None]


def test_ties_are_exact_or_near() -> None:
    assert ties_of(np.array([0.0, -0.0, 9e-6, -9e-6, 0.5, np.nan])) == Ties(2, 2, 5)
    assert ties_of(np.array([np.nan])) is None


def test_negation_counts_a_part_of_its_pairs() -> None:
    assert NegatedPairs(1, 4).share == 0.25
    with pytest.raises(ValueError, match="5 of 4"):
        NegatedPairs(5, 4)
