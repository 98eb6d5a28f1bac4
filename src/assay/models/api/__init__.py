"""Models behind endpoints that speak OpenAI's protocol, or one for decisions: hosted services, vLLM, llama.cpp, ….

| module              | holds                                                                  |
|---------------------|------------------------------------------------------------------------|
| `address.py`        | NAME@URL, and the key                                                  |
| `client.py`         | one request over HTTP: which errors are final or can be retried; the   |
|                     | key is removed from what comes back                                    |
| `dialects/`         | the wire formats: what is posted for a query, and what a reply says    |
| `detect_dialect.py` | tests which of them an endpoint speaks, and remembers it               |

Here queries become calls, and replies answers. The engine handles retries, concurrency, the journal and the budget.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from assay.asking.messages import FIELD_MODES
from assay.asking.plan import digest_of
from assay.asking.queries import Answer, ChoiceQuery, ListedQuery, Query, SampleQuery, Scoring, Status, TextQuery
from assay.errors import DataError, ModelError, UsageError
from assay.models.api.address import Address
from assay.models.api.client import Client
from assay.models.api.dialects import ECHO, LISTED_MODES, Dialect, billed, dialect_for, served_by
from assay.models.base import (
    Endpoint,
    EndpointRequest,
    ModelSpec,
    Options,
    Reply,
    RetryableError,
    missing_ability_error,
)

HELP = "api:NAME@URL: a model behind an OpenAI-compatible endpoint, such as api:MODEL@http://localhost:8000/v1"

DECODING = 1
"""Part of a model's digest: raise it when the same question is posted with other settings."""


def find(name: str, rest: str, options: Options) -> ModelSpec:
    """A model and what its endpoint can do, as tested when it was first used."""
    from assay.models.api.detect_dialect import abilities_of, detect_endpoint

    address = Address.of(rest, options.key_env)
    endpoint = detect_endpoint(address, send=options.send, again=options.again)
    decoding = {"limit": endpoint.limit_key, "without": endpoint.without, "top": endpoint.top, "decoding": DECODING}
    digest = digest_of({"url": address.url, "model": address.model, **decoding, "continued": endpoint.continued})
    return ModelSpec(name, "api", address.url, digest, abilities_of(endpoint), "remote", "none", endpoint=endpoint)


def load(spec: ModelSpec) -> ApiModel:
    return ApiModel(spec)


class ApiModel:
    """Translates queries and replies; the engine decides what to send and store."""

    def __init__(self, spec: ModelSpec) -> None:
        if spec.endpoint is None:
            raise ValueError(f"{spec.name} is not an endpoint")
        self.spec = spec
        self.endpoint: Endpoint = spec.endpoint
        self._client = Client(spec.place, self.endpoint.key_env)

    def calls(self, query: Query, scoring: Scoring) -> Sequence[EndpointRequest]:
        if isinstance(query, ListedQuery | TextQuery):
            self._require_continued(query)
        mode = self._mode(query, scoring)
        if isinstance(query, ListedQuery):
            if query.dialogue is not None and mode in FIELD_MODES:
                problem = f"answer={mode} does not support dialogues."
                raise UsageError(problem, "--set answer=letters", code="unsupported", key="answer")
            if len(set(query.options)) < len(query.options):
                problem = f"two options of a question are the same: {query.options}."
                raise DataError(problem, "Make its options different.", code="bad-text", key="options")
        dialect, requests = dialect_for(self.endpoint, mode), list[EndpointRequest]()
        for number, part in enumerate(_parts(query)):
            sample = number + 1 if isinstance(part, SampleQuery) else 0
            if isinstance(part, TextQuery):
                body = dialect.text_body(self.endpoint, part, sample)
            else:
                body = dialect.options_body(self.endpoint, part, mode)
            check = partial(_read, dialect, part)
            requests.append(EndpointRequest(dialect.path, body, check, sample, dialect.headers))
        return requests

    async def send(self, call: EndpointRequest) -> Reply:
        return self.received(call, *await self._client.post(call.path, call.body, call.headers))

    def received(self, call: EndpointRequest, content: Mapping[str, Any], server: str = "") -> Reply:
        """A reply to a call; raises RetryableError if it lacks what was requested."""
        input_tokens, output_tokens = billed(content)
        try:
            call.check(content)
        except ValueError as error:
            problem = f"200, but it {error}"
            raise RetryableError(problem, input_tokens=input_tokens, output_tokens=output_tokens) from None
        return Reply(
            {name: _without_bytes(value) for name, value in content.items()}, input_tokens, output_tokens, server
        )

    def read(self, query: Query, scoring: Scoring, replies: Sequence[Reply]) -> Answer:
        dialect = dialect_for(self.endpoint, self._mode(query, scoring))
        served = served_by(replies[0])._replace(at=max(reply.at for reply in replies))
        try:
            parts = zip(_parts(query), replies, strict=True)
            answers = [_read(dialect, part, reply.content) for part, reply in parts]
        except ValueError as error:
            problem = f"a stored reply of {self.spec.name} cannot be read: it {error}."
            raise ModelError(problem, "Ask again with --resume never.", code="no-answer") from None
        match query:
            case SampleQuery():
                (status, *others) = {answer.status for answer in answers}
                texts = tuple(answer.text or "" for answer in answers)
                return Answer(Status.OK if others else status, text=texts[0], texts=texts, served=served)
            case ListedQuery() | TextQuery():
                return replace(answers[0], served=served)
        return Answer(Status.OK, tuple(score for answer in answers for score in answer.scores or ()), served=served)

    async def close(self) -> None:
        await self._client.close()

    def _require_continued(self, query: ListedQuery | TextQuery) -> None:
        """Refuse a prompt that starts the answer if the server would not continue it."""
        if query.dialogue is not None and query.dialogue.begun and not self.endpoint.continued:
            problem = f"{self.spec.name} cannot continue an answer that has been started ({query.dialogue.begun!r})."
            remedy = "Use a prompt that does not start the answer, or a server that can continue it, such as vLLM."
            raise UsageError(problem, remedy, code="missing-ability", key="variant")

    def _mode(self, query: Query, scoring: Scoring) -> str:
        """The answer mode of a query; if the options are listed, the one that was chosen, or the best."""
        match query:
            case ListedQuery():
                mode = scoring.answer or next((mode for mode in self.endpoint.ways if mode in LISTED_MODES), "")
                if mode in LISTED_MODES and mode in self.endpoint.ways:
                    return mode
                modes = ", ".join(self.endpoint.ways) or "none"
                problem = (
                    f"{self.spec.name} cannot be asked for {mode or 'probabilities'}; it can be asked for: {modes}."
                )
                remedy = "See `assay doctor --model api:NAME@URL`."
                raise UsageError(problem, remedy, code="missing-ability", key="answer")
            case ChoiceQuery():
                return ECHO
            case SampleQuery():
                return "samples"
            case TextQuery():
                return "text"
        raise missing_ability_error(self.spec.name, type(query).__name__)


def _parts(query: Query) -> Sequence[ChoiceQuery | TextQuery]:
    """The queries that are sent for a query: one for each option that follows the prompt, or each sample."""
    match query:
        case ListedQuery():
            return [query]
        case ChoiceQuery():
            return [replace(query, options=(option,)) for option in query.options]
        case SampleQuery():
            return [query] * query.samples
        case TextQuery():
            return [query]
    return []


def _read(dialect: Dialect, query: ChoiceQuery | TextQuery, content: Mapping[str, Any]) -> Answer:
    return (
        dialect.read_written(query, content) if isinstance(query, TextQuery) else dialect.read_options(query, content)
    )


def _without_bytes(value: Any) -> Any:
    """A part of a reply without the bytes of every token, which its text repeats."""
    if isinstance(value, Mapping):
        return {key: _without_bytes(inner) for key, inner in value.items() if key != "bytes"}
    return [_without_bytes(inner) for inner in value] if isinstance(value, list) else value
