"""A model behind an endpoint: queries to calls, replies to answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from assay.asking.queries import (
    Answer,
    ChoiceQuery,
    ListedQuery,
    Query,
    SampleQuery,
    Scoring,
    ServerRecord,
    Status,
    TextQuery,
)
from assay.errors import DataError, ModelError, UsageError
from assay.models.api.client import Client
from assay.models.api.dialects import CHATS, LISTED, EchoDialect, TextDialect, billed, options_distinct, served_by
from assay.models.base import Endpoint, EndpointRequest, ModelSpec, Reply, RetryableError, missing_ability_error

ECHO_DIALECT, TEXT_DIALECT = EchoDialect(), TextDialect()


class ApiModel:
    """Translates queries and replies; the engine decides what to send and store."""

    def __init__(self, spec: ModelSpec) -> None:
        if spec.endpoint is None:
            raise ValueError(f"{spec.name} is not an endpoint")
        self.spec = spec
        self.endpoint: Endpoint = spec.endpoint
        self._client = Client(spec.place, self.endpoint.key_env)

    def calls(self, query: Query, scoring: Scoring) -> Sequence[EndpointRequest]:
        endpoint = self.endpoint
        if isinstance(query, ListedQuery | TextQuery):
            self._require_continued(query)
        match query:
            case ListedQuery():
                way = self._way(scoring.answer)
                if query.dialogue is not None and way not in CHATS:
                    problem = f"answer={way} does not support dialogues."
                    raise UsageError(problem, "--set answer=letters", code="unsupported", key="answer")
                if not options_distinct(query.options):
                    problem = f"two options of a question are the same: {query.options}."
                    raise DataError(problem, "Make its options different.", code="bad-text", key="options")
                dialect = LISTED[way]
                return [EndpointRequest(dialect.path, dialect.body(endpoint, query), partial(dialect.read, query))]
            case ChoiceQuery():
                return [
                    EndpointRequest(
                        ECHO_DIALECT.path,
                        ECHO_DIALECT.body(endpoint, query, option),
                        partial(ECHO_DIALECT.read, query, option),
                    )
                    for option in query.options
                ]
            case SampleQuery():
                drawn = range(1, query.samples + 1)
                return [
                    EndpointRequest(TEXT_DIALECT.path, TEXT_DIALECT.body(endpoint, query, k), _written(query), k)
                    for k in drawn
                ]
            case TextQuery():
                return [EndpointRequest(TEXT_DIALECT.path, TEXT_DIALECT.body(endpoint, query), _written(query))]
        raise missing_ability_error(self.spec.name, type(query).__name__)

    async def send(self, call: EndpointRequest) -> Reply:
        return self.received(call, *await self._client.post(call.path, call.body))

    def received(self, call: EndpointRequest, content: Mapping[str, Any], server: str = "") -> Reply:
        """A reply to a call; raises RetryableError if it lacks what was requested."""
        read, written = billed(content)
        try:
            call.check(content)
        except ValueError as error:
            problem = f"200, but it {error}"
            raise RetryableError(problem, input_tokens=read, output_tokens=written) from None
        return Reply(_kept(content), read, written, server)

    def read(self, query: Query, scoring: Scoring, replies: Sequence[Reply]) -> Answer:
        contents = [reply.content for reply in replies]
        served = served_by(replies[0])._replace(at=max(reply.at for reply in replies))
        try:
            match query:
                case ListedQuery():
                    return replace(LISTED[self._way(scoring.answer)].read(query, contents[0]), served=served)
                case ChoiceQuery():
                    pairs = zip(query.options, contents, strict=True)
                    return Answer(Status.OK, tuple(ECHO_DIALECT.read(query, *pair) for pair in pairs), served=served)
                case SampleQuery():
                    return _together([_written(query)(content) for content in contents], served)
                case TextQuery():
                    return replace(_written(query)(contents[0]), served=served)
            raise missing_ability_error(self.spec.name, type(query).__name__)
        except ValueError as error:
            problem = f"a stored reply of {self.spec.name} cannot be read: it {error}."
            raise ModelError(problem, "Ask again with --resume never.", code="no-answer") from None

    async def close(self) -> None:
        await self._client.close()

    def _require_continued(self, query: ListedQuery | TextQuery) -> None:
        """Refuse a prompt that starts the answer if the server would not continue it."""
        if query.dialogue is not None and query.dialogue.begun and not self.endpoint.continued:
            problem = f"{self.spec.name} cannot continue an answer that has been started ({query.dialogue.begun!r})."
            remedy = "Use a prompt that does not start the answer, or a server that can continue it, such as vLLM."
            raise UsageError(problem, remedy, code="missing-ability", key="variant")

    def _way(self, answer: str) -> str:
        """The way that was chosen, or the best."""
        way = answer or next((way for way in self.endpoint.ways if way in LISTED), "")
        if way not in LISTED or way not in self.endpoint.ways:
            able = ", ".join(self.endpoint.ways) or "none"
            problem = f"{self.spec.name} cannot be asked for {way or 'probabilities'}; it can be asked for: {able}."
            raise UsageError(problem, "See `assay doctor --model api:NAME@URL`.", code="missing-ability", key="answer")
        return way


def _written(query: TextQuery) -> Callable[[Mapping[str, Any]], Answer]:
    """How a written answer to a query is read."""
    begun = query.dialogue.begun if query.dialogue else None
    return partial(TEXT_DIALECT.read, begun=begun or "")


def _together(drawn: Sequence[Answer], served: ServerRecord) -> Answer:
    """Several answers to one query, with their common status if they agree."""
    (first, *others) = {each.status for each in drawn}
    texts = tuple(each.text or "" for each in drawn)
    return Answer(Status.OK if others else first, text=texts[0], texts=texts, served=served)


def _kept(content: Mapping[str, Any]) -> dict[str, Any]:
    """A reply without the bytes of every token, which its text repeats."""

    def kept(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {key: kept(inner) for key, inner in value.items() if key != "bytes"}
        return [kept(inner) for inner in value] if isinstance(value, list) else value

    return {str(key): kept(value) for key, value in content.items()}
