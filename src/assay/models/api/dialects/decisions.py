"""OpenAI's Decisions and System One: options and their probabilities have separate fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from assay.asking.queries import Answer, ChoiceQuery, Status
from assay.models.api.dialects import (
    Body,
    Content,
    Dialect,
    DialectTest,
    log_probability,
    number_at,
    object_at,
    objects_at,
)
from assay.models.base import Endpoint

if TYPE_CHECKING:
    from assay.models.api.detect_dialect import EndpointTest


class DecisionsDialect(Dialect):
    """OpenAI's Decisions: answers, options and probabilities are lists."""

    path = "/decisions"
    modes = frozenset({"decisions"})

    def tests(self) -> list[DialectTest]:
        return [DialectTest(2, "decisions", self._test)]

    async def _test(self, search: EndpointTest) -> None:
        await search.require_moving(self, "decisions")

    def options_body(self, endpoint: Endpoint, query: ChoiceQuery, mode: str) -> Body:
        choices = [{"value": option} for option in query.options]
        question = {"type": "choice", "name": "answer", "instructions": query.question, "choices": choices}
        return {"model": endpoint.model, "input": query.context or query.question, "questions": [question]}

    def read_options(self, query: ChoiceQuery, content: Content) -> Answer:
        answers = objects_at(content, "answers") or []
        answer = answers[0] if len(answers) == 1 else {}
        entries = objects_at(answer, "probabilities")
        pairs = None if entries is None else [(str(entry.get("value")), entry.get("probability")) for entry in entries]
        return _answer(query, content, answer, pairs)


class SystemOneDialect(Dialect):
    """System One: answers, options and probabilities are keys with values."""

    path = "/systemone"
    modes = frozenset({"systemone"})

    def tests(self) -> list[DialectTest]:
        return [DialectTest(3, "systemone", self._test)]

    async def _test(self, search: EndpointTest) -> None:
        await search.require_moving(self, "systemone")

    def options_body(self, endpoint: Endpoint, query: ChoiceQuery, mode: str) -> Body:
        question = {"type": "choice", "instructions": query.question, "criteria": dict.fromkeys(query.options)}
        return {"model": endpoint.model, "state": query.context or query.question, "questions": {"answer": question}}

    def read_options(self, query: ChoiceQuery, content: Content) -> Answer:
        answer = object_at(object_at(content, "answers"), "answer")
        shares = answer.get("probabilities")
        return _answer(query, content, answer, list(shares.items()) if isinstance(shares, Mapping) else None)


def _answer(
    query: ChoiceQuery, content: Content, answer: Mapping[str, Any], pairs: list[tuple[str, Any]] | None
) -> Answer:
    """The answer with these pairs of option and probability, unless there is none."""
    if isinstance(content.get("error"), Mapping):  # of a content filter: other errors do not come so far
        return Answer(Status.FILTERED)
    if answer.get("type") == "refusal":
        return Answer(Status.REFUSED)
    if pairs is None:
        raise ValueError("gives no probabilities")
    probabilities = dict(pairs)
    if len(pairs) != len(query.options) or probabilities.keys() != set(query.options):
        raise ValueError("gives probabilities of other options")
    shares = [
        number_at({"probability": probabilities[option]}, "probability", least=0.0, most=1.0 + 1e-6)
        for option in query.options
    ]
    total = sum(shares)
    if abs(total - 1.0) > 0.005 * len(shares) + 1e-3:  # some services round to two decimals
        raise ValueError(f"gives probabilities that sum to {total:.3g}")
    return Answer(Status.OK, tuple(map(log_probability, shares)), mass=min(1.0, total))
