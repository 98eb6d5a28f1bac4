"""Settings: what they may be, and what presets mean."""

from __future__ import annotations

import pytest

from assay.errors import UsageError
from assay.probes.sodapop.settings import CHOICES, NUMBERS, PRESETS, Settings


def test_the_papers_preset_is_the_papers_numbers() -> None:
    paper = Settings.parse({}, "paper")
    assert (paper.distance, paper.fills, paper.cap, paper.min_count) == (3, 10, 10_000, 50)
    assert (paper.distractors, paper.permutations, paper.names_per_group, paper.contexts) == (
        "per_name",
        1_000_000,
        None,
        None,
    )
    assert paper == Settings()


@pytest.mark.parametrize("preset", PRESETS)
def test_what_is_given_goes_before_the_preset(preset: str) -> None:
    given = {"cap": "77", "distractors": "per_name", "groups": "there.json", "distance": "1"}
    found = Settings.parse(given, preset)
    assert (found.cap, found.distractors, found.groups, found.distance) == (77, "per_name", "there.json", 1)


@pytest.mark.parametrize("preset", PRESETS)
def test_settings_come_back_from_what_a_run_writes_down(preset: str) -> None:
    settings = Settings.parse({"cap": "77", "fill_model": "builtin"}, preset)
    written = {key: str(value) for key, value in settings.as_dict().items() if value is not None}
    assert Settings.parse(written, preset) == settings


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        *((key, "7x", f"{key} is '7x', expected a whole number from {least}") for key, least in NUMBERS.items()),
        *((key, str(least - 1), f"{key} is '{least - 1}', expected") for key, least in NUMBERS.items()),
        *((key, "odd", f"{key} is 'odd', expected one of {', '.join(few)}") for key, few in CHOICES.items()),
        ("caps", "7", "sodapop has no setting 'caps'; it has cap, case"),
    ],
)
def test_what_cannot_be_is_refused(key: str, value: str, said: str) -> None:
    with pytest.raises(UsageError) as refused:
        Settings.parse({key: value})
    assert said in refused.value.problem
    assert refused.value.remedy


@pytest.mark.parametrize(("key", "least"), NUMBERS.items())
def test_the_least_number_is_taken(key: str, least: int) -> None:
    assert Settings.parse({key: str(least)}).as_dict()[key] == least
