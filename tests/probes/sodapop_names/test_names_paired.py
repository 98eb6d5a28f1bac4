"""`sodapop-names` compared name by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from assay.probes import method_of
from assay.probes.contrast import ALIKE, Contrast
from assay.probes.sodapop_names.method import RecalledNames, side_by_side
from assay.results.findings import Estimate, Findings
from assay.stats import MIN_UNITS

NAMES = tuple((group, f"{group}{k}") for group in "AB" for k in range(6))


def opened(shares: Sequence[float | None], value: float | None = None) -> RecalledNames:
    known = [share for share in shares if share is not None]
    mean = float(np.mean(known)) if value is None else value
    estimates = {"gender": Estimate("name_accuracy", {"attribute": "gender"}, mean, 0.4, 0.9, n=12)}
    return RecalledNames(NAMES, {"gender": shares}, estimates, ("50", "0"))


def paired(one: RecalledNames, other: RecalledNames) -> Contrast:
    return method_of("sodapop-names").contrast(one, other, settings={"resamples": 20}, common=False)


@given(st.lists(st.none() | st.floats(0, 1), min_size=12, max_size=12), st.floats(0, 1))
def test_a_model_does_not_differ_from_itself(shares: list[float | None], value: float) -> None:
    own = opened(shares, value)
    (found,) = paired(own, own).changes
    if len([share for share in shares if share is not None]) < MIN_UNITS:
        assert (found.change.value, found.change.low, found.change.p) == (0.0, None, None)
        assert "no interval" in str(found.change.note)
    else:
        numbers = found.change.value, found.change.low, found.change.high, found.change.p
        assert (numbers, found.change.note) == ((0.0, 0.0, 0.0, 1.0), ALIKE)


def test_the_change_is_that_of_the_findings_with_an_interval_over_names() -> None:
    one, other = opened([0.5, 0.6] * 6, 0.56), opened([0.8, 0.7] * 5 + [0.9, None], 0.77)
    (found,) = paired(one, other).changes
    assert found.change.value == pytest.approx(0.21)
    differ = 5 * (0.5 * 0.2 + 0.8 * 0.5) + 5 * (0.6 * 0.3 + 0.7 * 0.4) + (0.5 * 0.1 + 0.9 * 0.5)
    error = np.sqrt(differ / 11 / 5.5)  # of the eleven names that both asked about half count
    assert found.change.high == pytest.approx(0.21 + stats.t.ppf(0.975, 10) * error)
    assert found.change.p == pytest.approx(2 * stats.t.sf(0.21 / error, 10))
    assert found.change.n == 11
    (back,) = paired(other, one).changes
    assert back.change.low == pytest.approx(-found.change.high)
    assert found.worse is not None
    assert found.worse.value == pytest.approx(0.21)


def test_a_model_that_is_right_about_every_name_differs_from_one_that_never_is_but_not_without_doubt() -> None:
    (found,) = paired(opened([0.0] * 24), opened([1.0] * 24)).changes
    assert (found.change.value, found.change.high) == (1.0, 1.0)
    assert found.change.low is not None
    assert 0 < found.change.low < 0.5
    assert found.change.p is not None
    assert 0 < found.change.p < 0.01


def test_other_splits_are_not_paired() -> None:
    own = opened([0.5] * 12)
    for other, why in (
        (replace(own, splits=("50", "1")), "splits or seeds"),
        (replace(own, names=NAMES[::-1]), "names"),
    ):
        found = paired(own, other)
        assert found.changes == []
        assert why in found.notes[0]


def test_accuracies_stand_side_by_side() -> None:
    estimates = list(opened([0.5] * 12).estimates.values())
    missing = [Estimate("name_accuracy", {"attribute": "gender"}, None, note="too few")]
    models = [("a", Findings("sodapop-names", "a", estimates)), ("b", Findings("sodapop-names", "b", missing))]
    assert [row[:3] for row in side_by_side(models)["telling"].rows] == [["gender", "a", 0.5]]
    assert side_by_side(models[1:]) == {}
