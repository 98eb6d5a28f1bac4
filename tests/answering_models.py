"""A kind of model that answers queries instead of tokens, as one behind an endpoint does: for tests of the engine.

Everything about an answer follows from its query: what it says, its status, and how long it takes.
"""

from __future__ import annotations

import asyncio
import hashlib
import zlib
from dataclasses import dataclass, field

from assay.asking.queries import Answer, ChoiceQuery, Query, Status, TextQuery
from assay.models.base import ModelSpec, Options

HELP = "answering:ABILITIES: for tests"


def find(name: str, rest: str, options: Options) -> ModelSpec:
    digest = hashlib.sha256(name.encode()).hexdigest()
    return ModelSpec(name, "answering", "memory", digest, frozenset(rest.split("+")), "remote", "none")


def load(spec: ModelSpec) -> Answering:
    return Answering(spec)


@dataclass
class Answering:
    """`asked` has every query in the order of asking, `ended` in that of completion, `most` how many overlapped."""

    spec: ModelSpec
    asked: list[Query] = field(default_factory=list)
    ended: list[Query] = field(default_factory=list)
    most: int = 0

    async def answer(self, query: Query) -> Answer:
        self.asked.append(query)
        self.most = max(self.most, len(self.asked) - len(self.ended))
        await asyncio.sleep(_drawn("time", query) % 7 / 2000)
        self.ended.append(query)
        return answer_to(query)


def answer_to(query: Query) -> Answer:
    status = status_of(query)
    match query:
        case ChoiceQuery():
            if status is not Status.OK:
                return Answer(status)
            return Answer(status, scores=tuple(_drawn("score", query, option) / 2**32 for option in query.options))
        case TextQuery():
            said = f"({'abc'[_drawn('letter', query) % 3]}) of course"
            texts = {Status.OK: said, Status.TRUNCATED: "On the other hand, one might", Status.REFUSED: said}
            return Answer(status, text=texts.get(status))
    raise AssertionError(f"nobody can answer {query}")


def status_of(query: Query) -> Status:
    """Five in eleven are answered."""
    every = [*[Status.OK] * 4, *Status]
    return every[_drawn("status", query) % len(every)]


def _drawn(*what: object) -> int:
    return zlib.crc32(repr(what).encode())
