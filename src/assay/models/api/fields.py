"""Typed access to the fields of a reply: one that is missing, or of a wrong type, is empty, 0 or a ValueError.

Below are those that replies in several dialects have.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from assay.asking.queries import ServerRecord
from assay.models.base import Reply

LONGEST_NAME = 200
"""The most characters kept of a name that a server gives itself, its model or the model's version."""
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


def billed(content: Mapping[str, Any]) -> tuple[int, int]:
    """Input and output tokens as the server counts them; 0 if it does not."""
    usage = object_at(content, "usage")
    return tokens_at(usage, "prompt_tokens", "input_tokens"), tokens_at(usage, "completion_tokens", "output_tokens")


def served_by(reply: Reply) -> ServerRecord:
    """Who answered."""
    model, fingerprint = (text_at(reply.content, field)[:LONGEST_NAME] for field in ("model", "system_fingerprint"))
    return ServerRecord(model, fingerprint, reply.server, reply.at)


def first_choice(content: Mapping[str, Any]) -> Mapping[str, Any]:
    """The choice of a chat or completion. If a filter withheld the prompt, there is an error in its place."""
    if isinstance(content.get("error"), Mapping):
        return {"finish_reason": "content_filter", "message": {}}
    choices = content.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], Mapping):
        raise ValueError("gives no choices")
    choice: Mapping[str, Any] = choices[0]
    if "message" in choice and not isinstance(choice["message"], Mapping):
        raise ValueError("gives no message")
    return choice if "message" in choice or "logprobs" in choice else {**choice, "message": {}}
