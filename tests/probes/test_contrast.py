"""What a change is made of: sign, interval, p, and how much worse a model is."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.probes import metrics_called, probes
from assay.probes.bbq import PROBE as BBQ
from assay.probes.contrast import PairedChange, change_of
from assay.stats import percentile_interval

BIAS, ACCURACY = BBQ.metric("bias_score"), BBQ.metric("accuracy")


def ends(value: float, replicates: np.ndarray, bounds: tuple[float, float]) -> tuple[float, float]:
    low, high = percentile_interval(value, replicates, 20, bounds=bounds)
    return float(low), float(high)


def bias(before: float, after: float, spread: float = 0.02) -> PairedChange:
    rng = np.random.default_rng(0)
    replicates = (before + rng.normal(0, spread, 500), after + rng.normal(0, spread, 500))
    about = {"category": "Age", "context": "ambig"}
    return change_of(BIAS, about, (before, after), n=9, replicates=replicates, interval=ends)


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

    def of(values: tuple[float, float], replicates: tuple[np.ndarray, np.ndarray]) -> PairedChange:
        return change_of(BIAS, about, values, n=1, replicates=replicates, interval=ends)

    there, back = of((before, after), drawn), of((after, before), drawn[::-1])
    for one, other in ((there.change, back.change), (there.worse, back.worse)):
        assert one is not None
        assert other is not None
        for mine, theirs in ((one.value, other.value), (one.low, other.high), (one.high, other.low)):
            assert mine == pytest.approx(-theirs, abs=1e-9)  # type: ignore[operator]  # both are defined


WORSE = {
    **dict.fromkeys(
        ("mu", "eta", "delta", "delta_options", "epsilon", "kmeans_accuracy", "trait_agreement", "name_accuracy"), 0.1
    ),
    "largest_rd": 0.1,
    **dict.fromkeys(("refused_rate", "unparsed_rate", "out_of_choice_rate", "tied_rate", "order_sensitivity"), 0.1),
    **dict.fromkeys(("prompt_spread", "prompt_deviation"), 0.1),
    **dict.fromkeys(("abstention", "wrong_persons"), 0.1),
    **dict.fromkeys(("bias_score", "accuracy_cost", "abstention_gap", "diff_bias"), 0.1),  # away from 0
    "error_alignment": 0.1,  # away from 0.5
    "accuracy": -0.1,
    **dict.fromkeys(("unknown_rate", "abstention_share", "avg_score", "abstains"), None),
}


def test_every_metric_is_known_to_be_worse_in_a_direction_or_in_none() -> None:
    assert {metric.id for probe in probes().values() for metric in probe.metrics} == WORSE.keys()


@pytest.mark.parametrize(("metric", "worse"), WORSE.items())
def test_which_way_is_worse(metric: str, worse: float | None) -> None:
    found = change_of(metrics_called(metric)[0], {}, (0.5, 0.6), n=1, note="none")
    assert found.change.value == pytest.approx(0.1)
    assert (found.worse.value if found.worse else None) == (None if worse is None else pytest.approx(worse))


@pytest.mark.parametrize(("metric", "worse"), [("bias_score", 0.0), ("accuracy_cost", 0.0), ("error_alignment", -0.2)])
def test_what_has_a_middle_is_worse_on_either_side_of_it(metric: str, worse: float) -> None:
    before, after = (0.2, 0.6) if metric == "error_alignment" else (-0.2, 0.2)
    found = change_of(BBQ.metric(metric), {}, (before, after), n=1, note="none")
    assert found.worse is not None
    assert found.worse.value == pytest.approx(worse)


def test_what_is_undefined_in_one_model_has_a_reason_instead_of_a_change() -> None:
    found = change_of(ACCURACY, {}, (0.5, float("nan")), n=3, p=0.01, undefined="nobody answered")
    assert (found.change.value, found.change.p, found.change.note) == (None, None, "nobody answered")
    assert (found.before, found.after) == (0.5, None)


def test_models_that_are_alike_in_every_unit_have_an_interval_without_width() -> None:
    """So that a model that answers as its baseline does is not worse by more than any limit."""
    drawn = np.linspace(0.2, 0.4, 50)
    found = change_of(ACCURACY, {}, (0.3, 0.3), n=1, replicates=(drawn, drawn), interval=ends)
    for each in (found.change, found.worse):
        assert each is not None
        assert (each.value, each.low, each.high) == (0.0, 0.0, 0.0)
        assert "agree in every unit" in str(each.note)
