"""Settings: presets are the papers', what is given goes before them, and what makes no sense is refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import pytest

from assay.errors import UsageError
from assay.lab.training import KINDS
from assay.lab.training.presets import presets
from assay.lab.training.settings import names_of, settings_of
from assay.lab.training.trainer import Steps


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
    ("kind", "key", "value", "message"),
    [
        ("choice", "window", "384", "choice training has no setting 'window'; it has accumulate, attention_dropout"),
        ("span", "blocks", "apart", "span training has no setting 'blocks'"),
        ("mask", "speed", "1", "mask training has no setting 'speed'"),
        ("span", "batch", "0", "batch is '0', expected a whole number from 1"),
        ("span", "batch", "2.5", "batch is '2.5', expected a whole number from 1"),
        ("span", "rate", "0", "rate is '0', expected a number from 0 to 1"),
        ("span", "rate", "nan", "rate is 'nan'"),
        ("span", "epochs", "inf", "epochs is 'inf', expected a number above 0"),
        ("mask", "dropout", "1", "dropout is '1', expected a number from 0 to 0.9"),
        ("mask", "head", "old", "head is 'old', expected one of auto, keep, new"),
    ],
)
def test_what_makes_no_sense_is_refused(kind: str, key: str, value: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        read(kind, None, {key: value})
    assert caught.value.remedy


def test_a_preset_belongs_to_one_kind_of_training() -> None:
    with pytest.raises(UsageError, match="the preset bbq is for choice training, not for span"):
        read("span", "bbq", {})
    with pytest.raises(UsageError, match="there is no preset 'race'; there are unqover, bbq, sodapop"):
        read("choice", "race", {})


def test_every_preset_says_where_it_is_printed() -> None:
    assert all("et al." in preset.source for preset in presets().values())
    assert {preset.kind for preset in presets().values()} <= set(KINDS)
    assert all(set(preset.settings) <= set(names_of(KINDS[preset.kind])) for preset in presets().values())


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
    assert Steps.of(105, read("mask", None, given)[0]).total == total


def test_checkpoints_come_with_points_of_the_curve() -> None:
    steps = Steps.of(100_000, read("choice", None, {"batch": 10, "epochs": 1, "save_steps": 333})[0])
    assert steps == Steps(10_000, 50, 350)
