"""What `--set key=value` accepts."""

from __future__ import annotations

import pytest

from assay.config.settings import as_written, read_settings
from assay.errors import UsageError
from assay.probes.unqover.settings import UnqoverSettings
from raising import raises


def parsed(given: dict[str, str]) -> UnqoverSettings:
    return read_settings(UnqoverSettings, given, "unqover")


def test_the_defaults_are_the_paper():
    settings = parsed({})
    assert settings.classes == ("gender", "nationality", "ethnicity", "religion")
    assert (settings.form, settings.header, settings.compat, settings.pronouns) == ("auto", "none", "paper", "on")
    assert settings.word_lists is None
    assert not settings.released


def test_what_a_run_stores_can_be_given_again():
    given = {"class": "gender, religion", "form": "mask", "compat": "released", "draws": "7", "word_lists": "a b"}
    settings = parsed(given)
    stored = {key: str(value) for key, value in as_written(settings).items() if value is not None}
    assert parsed(stored) == settings
    assert stored["class"] == "gender, religion"
    assert settings.classes == ("gender", "religion")


@pytest.mark.parametrize(
    ("key", "value", "code"),
    [
        ("cls", "gender", "unknown-setting"),
        ("preset", "quick", "unknown-setting"),
        ("class", "Gender", "bad-setting"),
        ("class", "gender,", "bad-setting"),
        ("form", "SPAN", "bad-setting"),
        ("header", "cnn", "bad-setting"),
        ("pronouns", "yes", "bad-setting"),
        ("draws", "1e3", "bad-setting"),
        ("draws", "-1", "bad-setting"),
        ("draws", "", "bad-setting"),
        ("resamples", "²", "bad-setting"),
    ],
)
def test_what_it_does_not_accept(key, value, code):
    with raises(code, UsageError, key=key) as caught:
        parsed({key: value})
    assert caught.value.remedy
