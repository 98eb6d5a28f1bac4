"""Settings: presets are the papers', what is given goes before them, and what makes no sense is refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import pytest

from assay.errors import UsageError
from assay.lab.training import KINDS
from assay.lab.training.trainer import TrainingSteps
from assay.lab.training.training_kind import presets, settings_of
from raising import raises


def read(kind: str, preset: str | None, given: Mapping[str, Any]) -> Any:
    return settings_of(KINDS[kind], preset, given)


@pytest.mark.parametrize(
    ("preset", "kind", "expected"),
    [
        (
            "unqover",
            "span",
            {"epochs": 2, "rate": 3e-5, "batch": 20, "window": 384, "stride": 128, "windows": "answer"},
        ),
        ("bbq", "choice", {"epochs": 3, "rate": 1e-5, "batch": 16, "length": 512}),
        ("sodapop", "choice", {"epochs": 2, "rate": 2e-5, "batch": 3, "length": 128}),
    ],
)
def test_presets_are_the_papers(preset: str, kind: str, expected: dict[str, object]) -> None:
    settings, given = read(kind, preset, {})
    assert asdict(settings) | expected == asdict(settings)
    assert given == frozenset()


def test_what_is_given_goes_before_the_preset() -> None:
    settings, given = read("choice", "bbq", {"batch": "8", "accumulate": 2, "rate": "2e-5"})
    assert (settings.batch, settings.accumulate, settings.rate, settings.epochs) == (8, 2, 2e-5, 3)
    assert given == {"batch", "accumulate", "rate"}


@pytest.mark.parametrize(
    ("kind", "key", "value", "code"),
    [
        ("choice", "window", "384", "unknown-setting"),
        ("span", "blocks", "apart", "unknown-setting"),
        ("mask", "speed", "1", "unknown-setting"),
        ("span", "batch", "0", "bad-setting"),
        ("span", "batch", "2.5", "bad-setting"),
        ("span", "rate", "0", "bad-setting"),
        ("span", "rate", "nan", "bad-setting"),
        ("span", "epochs", "inf", "bad-setting"),
        ("mask", "dropout", "1", "bad-setting"),
        ("mask", "head", "old", "bad-setting"),
    ],
)
def test_what_makes_no_sense_is_refused(kind: str, key: str, value: str, code: str) -> None:
    with raises(code, UsageError, key=key) as caught:
        read(kind, None, {key: value})
    assert caught.value.remedy


def test_a_preset_belongs_to_one_kind_of_training() -> None:
    with raises("unsupported", UsageError, key="preset"):
        read("span", "bbq", {})
    with raises("bad-option", UsageError, key="preset"):
        read("choice", "race", {})


def test_every_preset_says_where_it_is_printed() -> None:
    assert all("et al." in preset.source for preset in presets().values())
    assert {preset.kind for preset in presets().values()} <= set(KINDS)
    assert all(KINDS[preset.kind].settings(**preset.settings) for preset in presets().values())


@pytest.mark.parametrize(
    ("given", "total"),
    [
        ({"epochs": 2, "batch": 10}, 22),  # 105 rows: 11 batches a pass
        ({"epochs": 2, "batch": 10, "accumulate": 3}, 8),  # 4 steps a pass, the last of two batches
        ({"epochs": 0.5, "batch": 10}, 6),
        ({"max_steps": 7, "batch": 10}, 7),
        ({"max_steps": 500, "batch": 10}, 500),  # the steps alone decide
        ({"max_steps": 500, "epochs": 2, "batch": 10}, 22),  # whichever comes first
    ],
)
def test_steps_are_counted_as_the_trainer_counts_them(given: dict[str, float], total: int) -> None:
    assert TrainingSteps.of(105, read("mask", None, given)[0]).total == total


def test_checkpoints_come_with_points_of_the_curve() -> None:
    steps = TrainingSteps.of(100_000, read("choice", None, {"batch": 10, "epochs": 1, "save_steps": 333})[0])
    assert steps == TrainingSteps(10_000, 50, 350)
