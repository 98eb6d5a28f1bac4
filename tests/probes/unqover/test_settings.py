"""What `--set key=value` accepts."""

from __future__ import annotations

import pytest

from assay.errors import UsageError
from assay.probes.unqover.settings import Settings


def test_the_defaults_are_the_paper():
    settings = Settings.parse({})
    assert settings.classes == ("gender", "nationality", "ethnicity", "religion")
    assert (settings.form, settings.header, settings.compat, settings.pronouns) == ("auto", "none", "paper", "on")
    assert settings.word_lists is None
    assert not settings.released


def test_what_a_run_stores_can_be_given_again():
    given = {"class": "gender, religion", "form": "mask", "compat": "released", "draws": "7", "word_lists": "a b"}
    settings = Settings.parse(given)
    stored = {key: str(value) for key, value in settings.as_dict().items() if value is not None}
    assert Settings.parse(stored) == settings
    assert stored["class"] == "gender, religion"
    assert settings.classes == ("gender", "religion")


@pytest.mark.parametrize(
    ("key", "value", "part"),
    [
        ("cls", "gender", "no setting 'cls'"),
        ("preset", "quick", "no setting 'preset'"),
        ("class", "Gender", "unknown class 'Gender'"),
        ("class", "gender,", "unknown class ''"),
        ("form", "SPAN", "form is 'SPAN', expected one of auto, span, mask, both"),
        ("header", "cnn", "expected one of none, newsqa"),
        ("pronouns", "yes", "expected one of on, off"),
        ("draws", "1e3", "draws is '1e3', expected a whole number from 1"),
        ("draws", "-1", "whole number"),
        ("draws", "", "whole number"),
        ("resamples", "²", "whole number"),
    ],
)
def test_what_it_does_not_accept(key, value, part):
    with pytest.raises(UsageError) as caught:
        Settings.parse({key: value})
    assert part in caught.value.problem
    assert caught.value.remedy
