"""Completions that repeat their prompt: the probabilities of an option's tokens after it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from assay.asking.messages import append_option
from assay.asking.queries import Answer, ChoiceQuery, Status
from assay.models.api.dialects import (
    ECHO,
    TEST_QUERIES,
    Body,
    Content,
    Dialect,
    DialectTest,
    first_choice,
    number_at,
    object_at,
    objects_at,
    text_at,
)
from assay.models.base import Endpoint

if TYPE_CHECKING:
    from assay.models.api.detect_dialect import EndpointTest


class CompletionsDialect(Dialect):
    """OpenAI's former completions. A request has one option; its score is the sum over the option's tokens."""

    path = "/completions"
    modes = frozenset({ECHO})

    def tests(self) -> list[DialectTest]:
        return [DialectTest(5, ECHO, self._test)]

    async def _test(self, search: EndpointTest) -> None:
        query = TEST_QUERIES[0]
        await search.ask_options(self, replace(query, options=query.options[1:2]), ECHO)

    def options_body(self, endpoint: Endpoint, query: ChoiceQuery, mode: str) -> Body:
        (option,) = query.options
        prompt = append_option(query.plain, option)
        return {
            "model": endpoint.model,
            "prompt": prompt,
            "max_tokens": 1,
            "temperature": 0,
            "echo": True,
            "logprobs": 1,
        }

    def read_options(self, query: ChoiceQuery, content: Content) -> Answer:
        """The natural logarithm of the option's probability as its score."""
        (option,) = query.options
        before = query.plain
        prompt = append_option(before, option)
        tokens, values = _echoed(object_at(first_choice(content), "logprobs"))
        if len(tokens) != len(values):
            raise ValueError("ignores logprobs")
        start = "".join(tokens).find(prompt)  # special tokens may come before it
        if start < 0:
            raise ValueError("ignores echo")
        total, at = 0.0, 0
        for token, value in zip(tokens, values, strict=True):
            end = at + len(token)
            if end > start + len(before) and at < start + len(prompt):
                total += number_at({"logprob": value}, "logprob", most=1e-3)
            at = end
        return Answer(Status.OK, (total,))


def _echoed(logprobs: Mapping[str, Any]) -> tuple[list[str], list[Any]]:
    """Tokens and their log probabilities, as completions have them, or as chats do; a special token may be null."""
    entries = objects_at(logprobs, "content")
    if entries is not None:
        return [text_at(entry, "token") for entry in entries], [entry.get("logprob") for entry in entries]
    tokens, values = logprobs.get("tokens"), logprobs.get("token_logprobs")
    if not isinstance(tokens, list) or not isinstance(values, list):
        raise ValueError("ignores logprobs")
    return [token if isinstance(token, str) else "" for token in tokens], values
