"""Settings as users write them (`--set key=value`), read in the same way for every probe."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from assay.errors import UsageError


def read_settings(
    probe: str,
    given: Mapping[str, str],
    known: Iterable[str],
    choices: Mapping[str, Sequence[str]],
    numbers: Mapping[str, int],
) -> dict[str, Any]:
    """The settings that were given: one of its choices, a whole number from its least on, or any text.

    >>> read_settings("unqover", {"draws": "99"}, ("form", "draws"), {"form": ("span", "mask")}, {"draws": 1})
    {'draws': 99}
    """
    names, values = sorted(known), {}
    for key, text in given.items():
        if key not in names:
            raise UsageError(f"{probe} has no setting {key!r}; it has {', '.join(names)}.", "See `assay run --help`.")
        if key in choices and text not in choices[key]:
            raise UsageError(f"{key} is {text!r}, expected one of {', '.join(choices[key])}.", f"--set {key}=…")
        if key in numbers and (not text.isdecimal() or int(text) < numbers[key]):
            example = max(numbers[key], 1000) if key in ("draws", "resamples") else numbers[key]
            raise UsageError(
                f"{key} is {text!r}, expected a whole number from {numbers[key]}.", f"--set {key}={example}"
            )
        values[key] = int(text) if key in numbers else text
    return values
