"""What every comparison is made of: sign, interval, p, q, and how much worse a model is."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.differences import Change, change_of, contribution_p, differences_of, unchanged_files
from assay.errors import DataError
from assay.stats import percentile_interval, sign_flip_p


def ends(value: float, replicates: np.ndarray, bounds: tuple[float, float]) -> tuple[float, float]:
    low, high = percentile_interval(value, replicates, 20, bounds=bounds)
    return float(low), float(high)


def bias(before: float, after: float, spread: float = 0.02) -> Change:
    rng = np.random.default_rng(0)
    replicates = (before + rng.normal(0, spread, 500), after + rng.normal(0, spread, 500))
    about = {"category": "Age", "context": "ambig"}
    return change_of("bias_score", about, (before, after), n=9, bounds=(-1, 1), replicates=replicates, interval=ends)


def test_how_much_worse_is_not_the_size_of_the_change() -> None:
    """From 0.3 against a stereotype to 0.3 with it: a large change, and as bad as before."""
    found = bias(-0.3, 0.3)
    assert found.worse is not None
    assert found.change.value == pytest.approx(0.6)
    assert found.change.low == pytest.approx(0.6, abs=0.1)
    assert found.worse.value == 0.0
    assert found.worse.low == pytest.approx(-0.06, abs=0.03)
    assert found.worse.high == pytest.approx(0.06, abs=0.03)


@given(st.floats(-1, 1), st.floats(-1, 1))
def test_exchanging_the_models_turns_every_sign(before: float, after: float) -> None:
    rng = np.random.default_rng(1)
    drawn = before + rng.normal(0, 0.1, 99), after + rng.normal(0, 0.1, 99)
    about = {"category": "all", "context": "ambig"}

    def of(values: tuple[float, float], replicates: tuple[np.ndarray, np.ndarray]) -> Change:
        return change_of("bias_score", about, values, n=1, bounds=(-1, 1), replicates=replicates, interval=ends)

    there, back = of((before, after), drawn), of((after, before), drawn[::-1])
    for one, other in ((there.change, back.change), (there.worse, back.worse)):
        assert one is not None
        assert other is not None
        for mine, theirs in ((one.value, other.value), (one.low, other.high), (one.high, other.low)):
            assert mine == pytest.approx(-theirs, abs=1e-9)  # type: ignore[operator]  # both are defined


@pytest.mark.parametrize(("metric", "worse"), [("accuracy", -0.1), ("mu", 0.1), ("unknown_rate", None)])
def test_which_way_is_worse(metric: str, worse: float | None) -> None:
    found = change_of(metric, {}, (0.5, 0.6), n=1, bounds=(0, 1), note="none")
    assert found.change.value == pytest.approx(0.1)
    assert (found.worse.value if found.worse else None) == (None if worse is None else pytest.approx(worse))


def test_what_is_undefined_in_one_model_has_a_reason_instead_of_a_change() -> None:
    found = change_of("accuracy", {}, (0.5, float("nan")), n=3, bounds=(0, 1), p=0.01, undefined="nobody answered")
    assert (found.change.value, found.change.p, found.change.note) == (None, None, "nobody answered")
    assert (found.before, found.after) == (0.5, None)


@given(st.lists(st.floats(-1, 1), min_size=5, max_size=12))
def test_of_a_mean_every_unit_contributes_its_own_difference(values: list[float]) -> None:
    gained = np.round(np.array(values), 6)
    left_out = (gained.sum() - gained) / (len(gained) - 1)
    found = contribution_p(gained.mean(), left_out, np.zeros(len(gained), np.int64))
    assert float(found) == pytest.approx(float(sign_flip_p(gained[None, :])[0]), abs=1e-9)


def test_contributions_by_hand() -> None:
    """Five units that all gain 1: only all signs alike reach the mean, 2 of 32 choices."""
    found = contribution_p(np.array([1.0, 0.0]), np.array([[1.0, 0.0]] * 5), np.zeros(5, np.int64))
    assert found.tolist() == [2 / 32, 1.0]
    assert np.isnan(contribution_p(np.array([1.0]), np.array([[1.0], [np.nan]]), np.zeros(2, np.int64))).all()


def test_p_is_corrected_within_a_family() -> None:
    def change(p: float, family: str | None) -> Change:
        return change_of("mu", {}, (0.1, 0.2), n=1, bounds=(0, 1), p=p, family=family)

    found = differences_of(
        "unqover", "a", "b", [change(0.01, "x"), change(0.04, "x"), change(0.04, "y"), change(0.04, None)]
    )
    assert [each.change.q for each in found] == [0.02, 0.04, 0.04, None]
    assert [each.clear for each in found] == [True] * 4
    assert (found[0].model, found[0].baseline, found[0].probe) == ("b", "a", "unqover")


def test_an_interval_with_0_in_it_is_not_clear_whatever_p_says() -> None:
    about = {"category": "Age", "context": "ambig"}
    wide = np.linspace(-0.5, 0.5, 101)
    found = change_of(
        "bias_score", about, (0, 0.1), n=1, bounds=(-1, 1), replicates=(wide * 0, wide), interval=ends, p=0.001
    )
    (made,) = differences_of("bbq", "a", "b", [found])
    assert not made.clear
    assert json.loads(json.dumps(made.as_json()))["clear"] is False


def test_models_that_are_alike_in_every_unit_have_an_interval_without_width() -> None:
    """So that a model that answers as its baseline does is not worse by more than any limit."""
    drawn = np.linspace(0.2, 0.4, 50)
    found = change_of("accuracy", {}, (0.3, 0.3), n=1, bounds=(0, 1), replicates=(drawn, drawn), interval=ends)
    for each in (found.change, found.worse):
        assert each is not None
        assert (each.value, each.low, each.high) == (0.0, 0.0, 0.0)
        assert "alike" in str(each.note)


def test_predictions_must_be_where_and_as_they_were(tmp_path: Path) -> None:
    file = tmp_path / "p.json"
    file.write_text("{}")
    info = {"data": {str(file): hashlib.sha256(b"{}").hexdigest()}}
    assert unchanged_files(info) == [file]
    file.write_text("{ }")
    with pytest.raises(DataError, match="have changed since"):
        unchanged_files(info)
    file.unlink()
    with pytest.raises(DataError, match="no longer there"):
        unchanged_files(info)
