"""Settings: what they may be, and what presets mean."""

from __future__ import annotations

from dataclasses import fields

import pytest

from assay.config.settings import as_written, read_settings
from assay.errors import UsageError
from assay.probes.sodapop.settings import PRESETS, SodapopSettings
from raising import raises

CHOICES = {each.name: each.metadata["choices"] for each in fields(SodapopSettings) if each.metadata["choices"]}
NUMBERS = {each.name: each.metadata["least"] for each in fields(SodapopSettings) if each.metadata["least"] is not None}


def parsed(given: dict[str, str], preset: str = "paper") -> SodapopSettings:
    return read_settings(SodapopSettings, given, "sodapop", **PRESETS[preset])


def test_every_setting_with_a_number_or_a_choice_is_among_those_tested_here() -> None:
    assert {"distance", "fills", "cap", "min_count", "names_per_group", "contexts", "context"} <= NUMBERS.keys()
    assert (len(NUMBERS), len(CHOICES)) == (17, 14)


def test_the_papers_preset_is_the_papers_numbers() -> None:
    paper = parsed({}, "paper")
    assert (paper.distance, paper.fills, paper.cap, paper.min_count) == (3, 10, 10_000, 50)
    assert (paper.distractors, paper.permutations, paper.names_per_group, paper.contexts) == (
        "per_name",
        1_000_000,
        None,
        None,
    )
    assert paper == SodapopSettings()


@pytest.mark.parametrize("preset", PRESETS)
def test_what_is_given_goes_before_the_preset(preset: str) -> None:
    given = {"cap": "77", "distractors": "per_name", "groups": "there.json", "distance": "1"}
    found = parsed(given, preset)
    assert (found.cap, found.distractors, found.groups, found.distance) == (77, "per_name", "there.json", 1)


@pytest.mark.parametrize("preset", PRESETS)
def test_settings_come_back_from_what_a_run_writes_down(preset: str) -> None:
    settings = parsed({"cap": "77", "fill_model": "builtin"}, preset)
    written = {key: str(value) for key, value in as_written(settings).items() if value is not None}
    assert parsed(written, preset) == settings


@pytest.mark.parametrize(
    ("key", "value", "code"),
    [
        *((key, "7x", "bad-setting") for key in NUMBERS),
        *((key, str(least - 1), "bad-setting") for key, least in NUMBERS.items()),
        *((key, "odd", "bad-setting") for key in CHOICES),
        ("caps", "7", "unknown-setting"),
    ],
)
def test_what_cannot_be_is_refused(key: str, value: str, code: str) -> None:
    with raises(code, UsageError, key=key) as refused:
        parsed({key: value})
    assert refused.value.remedy


@pytest.mark.parametrize(("key", "least"), NUMBERS.items())
def test_the_least_number_is_taken(key: str, least: int) -> None:
    assert as_written(parsed({key: str(least)}))[key] == least
