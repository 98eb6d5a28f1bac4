"""Wire formats of endpoints (dialects): one file of this folder for each, with a `Dialect`, and no other file names it.

A dialect says what is posted for a query, with which headers, what a reply says, and how to test whether a server
speaks it. A server may answer 200 and ignore a field; reading the reply then raises ValueError, which says so. The
functions at the end give typed access to the fields of replies.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from assay.asking.messages import ANSWER_MODES
from assay.asking.queries import Answer, ChoiceQuery, ListedQuery, ServerRecord, TextQuery
from assay.models.api.client import BEARER, LONGEST_NAME
from assay.models.base import Endpoint, Reply

if TYPE_CHECKING:
    from assay.models.api.detect_dialect import EndpointTest

WORKS = "works"
"""The result of a test that found what it looked for."""
ECHO = "echo"
"""The answer mode of options that follow the prompt; the others are in ANSWER_MODES."""
LISTED_MODES = tuple(mode for mode in ANSWER_MODES if mode not in ("samples", "text"))
"""The answer modes that give a probability for every listed option, the best first."""
TEST_QUERIES = (
    ListedQuery("A spoon, a boat and a candle lie there.", "Which floats?", ("the spoon", "the boat", "the candle")),
    ListedQuery("It is dark in the room.", "Which of them gives light?", ("the candle", "the spoon", "the boat")),
)
"""Two questions with different right answers, at different positions."""

MOST_TOKENS = 10**9
"""The most tokens that a server may bill for a reply."""

Body = dict[str, Any]
Content = Mapping[str, Any]


class UnsupportedError(Exception):
    """A server does not support what was tested; the message says how."""


class DialectTest(NamedTuple):
    """A test of what a server supports in a dialect. `run` raises UnsupportedError if it does not.

    `name` is that of an answer mode, or of another ability; tests with a lower `rank` come first.
    """

    rank: int
    name: str
    run: Callable[[EndpointTest], Awaitable[None]]


class Dialect(ABC):
    """A wire format with questions that have options, with texts, or with both.

    `path` follows the endpoint's URL. In `headers`, {key} stands for the key; a header with it is left out if there is
    no key. `modes` are the answer modes that the format has.
    """

    path: ClassVar[str]
    headers: ClassVar[Mapping[str, str]] = BEARER
    modes: ClassVar[frozenset[str]]

    @abstractmethod
    def tests(self) -> list[DialectTest]:
        """The tests of a server; at least one."""

    def is_spoken(self, endpoint: Endpoint) -> bool:
        """Whether an endpoint with one of these modes has it in this format; only formats that share a mode differ."""
        return True

    def options_body(self, endpoint: Endpoint, query: ChoiceQuery, mode: str) -> Body:
        """The request for a question with options; in the mode ECHO, it has one option."""
        raise NotImplementedError

    def read_options(self, query: ChoiceQuery, content: Content) -> Answer:
        """The answer in the reply to such a request; ValueError if the reply lacks what was requested."""
        raise NotImplementedError

    def text_body(self, endpoint: Endpoint, query: TextQuery, sample: int = 0) -> Body:
        """The request for a text: the likeliest (0), or the sample with this number, drawn at temperature 1."""
        raise NotImplementedError

    def read_written(self, query: TextQuery, content: Content) -> Answer:
        """The answer in the reply to such a request, without the start of the answer that the prompt gave."""
        raise NotImplementedError


@cache
def dialects() -> tuple[Dialect, ...]:
    """All dialects, from the one that is tested last to the one that is tested first, the usual one."""
    modules = [import_module(f"{__name__}.{file.name}") for file in iter_modules(__path__)]
    kinds = [
        kind
        for module in modules
        for kind in vars(module).values()
        if isinstance(kind, type) and issubclass(kind, Dialect) and kind.__module__ == module.__name__
    ]
    return tuple(sorted((kind() for kind in kinds), key=lambda dialect: -min(test.rank for test in dialect.tests())))


def dialect_for(endpoint: Endpoint, mode: str) -> Dialect:
    """The dialect in which an endpoint is asked in an answer mode."""
    return next(dialect for dialect in dialects() if mode in dialect.modes and dialect.is_spoken(endpoint))


def log_probability(probability: float) -> float:
    """The natural logarithm; -inf for 0."""
    return math.log(probability) if probability > 0 else -math.inf


# --- the fields of a reply: one that is missing, or of a wrong type, is empty, 0 or a ValueError


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


# --- fields that replies in several dialects have


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
