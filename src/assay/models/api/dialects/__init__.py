"""Wire formats of endpoints (dialects): one file of this folder for each, with a `Dialect`, and no other file names it.

A dialect says what is posted for a query, with which headers, what a reply says, and how to test whether a server
speaks it. A server may answer 200 and ignore a field; reading the reply then raises ValueError, which says so.
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
from assay.asking.queries import Answer, ChoiceQuery, ListedQuery, TextQuery
from assay.models.api.client import BEARER
from assay.models.base import Endpoint

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

    def read_text(self, query: TextQuery, content: Content) -> Answer:
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
