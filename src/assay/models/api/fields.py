"""Typed access to the fields of a reply: one that is missing, or of a wrong type, is empty, 0 or a ValueError."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

MOST_TOKENS = 10**9
"""The most tokens that a server may bill for a reply."""


def object_at(holder: Mapping[str, Any], field: str) -> Mapping[str, Any]:
    """The object in a field; empty if there is none.

    >>> object_at({"usage": {"total": 3}}, "usage"), object_at({"usage": [3]}, "usage")
    ({'total': 3}, {})
    """
    value = holder.get(field)
    return value if isinstance(value, Mapping) else {}


def objects_at(holder: Mapping[str, Any], field: str) -> list[Mapping[str, Any]] | None:
    """The objects in a field; None if it is no list, or one with something else in it.

    >>> objects_at({"choices": [{"index": 0}]}, "choices"), objects_at({"choices": [None]}, "choices")
    ([{'index': 0}], None)
    """
    value = holder.get(field)
    return value if isinstance(value, list) and all(isinstance(item, Mapping) for item in value) else None


def text_at(holder: Mapping[str, Any], field: str) -> str:
    """The text in a field; empty if there is none.

    >>> text_at({"content": "A"}, "content"), text_at({"content": None}, "content")
    ('A', '')
    """
    value = holder.get(field)
    return value if isinstance(value, str) else ""


def tokens_at(holder: Mapping[str, Any], *fields: str) -> int:
    """The number of tokens in the first of these fields that has a whole number; 0 if none has.

    >>> tokens_at({"prompt_tokens": None, "input_tokens": 12}, "prompt_tokens", "input_tokens")
    12
    """
    for field in fields:
        value = holder.get(field)
        if isinstance(value, int) and not isinstance(value, bool):
            return min(max(0, value), MOST_TOKENS)
    return 0


def number_at(holder: Mapping[str, Any], field: str, *, least: float = -math.inf, most: float = math.inf) -> float:
    """The number in a field; ValueError if there is none within the limits.

    >>> number_at({"logprob": -1}, "logprob", most=0.0)
    -1.0
    """
    value = holder.get(field)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"gives a {field} that is not a number")
    if not least <= value <= most:
        raise ValueError(f"gives a {field} of {value:g}")
    return float(value)
