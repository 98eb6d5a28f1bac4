"""What the engine needs of any model, and how a model is named."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from assay.errors import UsageError
from assay.plan import digest_of
from assay.queries import OF_THE_TOKENIZER, Answer, Query, QueryColumns, Scoring
from assay.tokens import Tokens


@dataclass(frozen=True)
class Options:
    """How a model may be loaded; the defaults are the safe ones. `threads` None: as many as there are CPUs for us.

    `key_env` is the environment variable that holds an endpoint's key (None: the usual one). With `send` False nothing
    is sent to an endpoint in order to find out what it can do; with `again` that is asked even if it is remembered.
    """

    device: str = "auto"
    dtype: str = "auto"
    trust_remote_code: bool = False
    allow_pickle: bool = False
    threads: int | None = None
    key_env: str | None = None
    send: bool = True
    again: bool = False

    def __post_init__(self) -> None:
        if self.threads is not None and self.threads < 1:
            problem = f"the number of threads is {self.threads}, expected at least 1."
            raise UsageError(problem, "--threads 1", code="bad-option", key="threads")


@dataclass(frozen=True)
class Endpoint:
    """What asking an endpoint showed of it.

    `model` is the name of the model there, `key_env` the environment variable with the key (never the key). `ways` are
    those in which it gives an option's probability, the best first; `found` says of every dialect what came back
    ("echo: works"). `limit_key` is the field for the number of new tokens, `without` are fields that it refuses, `top`
    how many alternatives to a token it lists, `continued` how it is made to go on from the beginning of an answer ("":
    it does not). Where nothing was sent, `assumed` is true.
    """

    model: str
    key_env: str = ""
    ways: tuple[str, ...] = ()
    found: tuple[str, ...] = ()
    limit_key: str = "max_tokens"
    without: tuple[str, ...] = ()
    top: int = 20
    continued: str = ""
    assumed: bool = False


@dataclass(frozen=True)
class ModelSpec:
    """A model that was found, told apart by its weights: enough to load it again in another process.

    `name` is what the user wrote, and all that is known of a model whose answers came in files; `place` where its files
    are; `digest` covers weights, configuration and tokenizer; `revision` is the hub's commit, where it came from a hub;
    `threads` 0 means as many as the machine that loads it has CPUs for this process; `head_dtype` is the number type of
    the last layer, which gives the scores, where it is another than `dtype`; `endpoint` what is known of a model that
    is asked over a network; `parameters` how many numbers its weights are, None where nobody can tell.
    """

    name: str
    kind: str = ""
    place: str = ""
    digest: str = ""
    abilities: frozenset[str] = frozenset()
    device: str = ""
    dtype: str = ""
    revision: str | None = None
    trust_remote_code: bool = False
    allow_pickle: bool = False
    threads: int = 0
    head_dtype: str = ""
    endpoint: Endpoint | None = None
    parameters: int | None = None

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "abilities": sorted(self.abilities)}


class Model(Protocol):
    """Who answers. `encode` runs on the CPU beside `forward` and needs no padding; `forward` takes one batch."""

    @property
    def spec(self) -> ModelSpec: ...

    def encode(self, columns: QueryColumns) -> Tokens: ...

    def forward(self, tokens: Tokens) -> dict[str, NDArray[Any]]: ...


@runtime_checkable
class AnsweringModel(Protocol):
    """Who answers queries, without tokens of its own: a model behind an endpoint.

    Many queries are asked at once, those of one plan within one event loop. What concerns one query is its answer's
    status; an exception ends the run.
    """

    @property
    def spec(self) -> ModelSpec: ...

    async def answer(self, query: Query) -> Answer: ...


# --- endpoints


LETTERS_A_TOKEN = 4
"""About so many characters of English are a token."""


@dataclass(frozen=True)
class Call:
    """One request to an endpoint: what is posted where, and which of several equal ones it is.

    `check` raises ValueError, with words for it, where a reply lacks what was asked for. The key is no part of a call.
    """

    path: str
    body: Mapping[str, Any]
    check: Callable[[Mapping[str, Any]], object] = field(compare=False, repr=False)
    sample: int = 0

    def digest(self, place: str) -> str:
        """By which the journal knows it; `place` is the endpoint's address. The order of a body's keys counts: in some
        dialects the options are keys.
        """
        body = json.dumps(self.body, ensure_ascii=False)
        return digest_of({"endpoint": place, "path": self.path, "body": body, "sample": self.sample})

    @property
    def input_tokens(self) -> int:
        """About how many tokens it has, and some for the chat template."""
        return sum(map(len, _texts_in(self.body))) // LETTERS_A_TOKEN + 16

    @property
    def output_tokens(self) -> int:
        """How many tokens the reply can have at the most."""
        return max(
            (int(self.body[key]) for key in ("max_tokens", "max_completion_tokens") if key in self.body), default=1
        )


def _texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _texts_in(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _texts_in(inner)


@dataclass(frozen=True)
class Reply:
    """What an endpoint answered to a call: the JSON, without what nobody reads again; who answered; what was billed."""

    content: Mapping[str, Any]
    served: str = ""
    input_tokens: int = 0
    output_tokens: int = 0


class TryAgainError(Exception):
    """A call came to nothing, and may succeed later.

    `after` are the seconds that the server wants us to wait; `pressed` says that it has too much to do; the tokens are
    what a reply that cannot be used was billed for.
    """

    def __init__(
        self,
        why: str,
        *,
        after: float | None = None,
        pressed: bool = False,
        input_tokens: int = 0,
        output_tokens: int = 0,
    ) -> None:
        super().__init__(why)
        self.after, self.pressed = after, pressed
        self.input_tokens, self.output_tokens = input_tokens, output_tokens


@runtime_checkable
class EndpointModel(Protocol):
    """Who is asked over a network, where every answer costs something.

    It only translates: the engine decides when to send, keeps every reply, and never sends a call whose reply it has.
    """

    @property
    def spec(self) -> ModelSpec: ...

    def calls(self, query: Query, scoring: Scoring) -> Sequence[Call]:
        """What to send for a query; always the same."""

    async def send(self, call: Call) -> Reply:
        """One attempt. TryAgainError where another may succeed, ModelError where none will; a reply is usable."""

    def read(self, query: Query, scoring: Scoring, replies: Sequence[Reply]) -> Answer:
        """The answer to a query, from the replies to its calls."""

    async def close(self) -> None: ...


AnyModel = Model | AnsweringModel | EndpointModel


def unable(name: str, ability: str) -> UsageError:
    """The error for a question that a model cannot answer."""
    problem = f"{name} cannot answer {ability} questions."
    return UsageError(problem, "Choose another model.", code="missing-ability", key=ability)


class BatchTooLargeError(Exception):
    """A batch did not fit; the engine tries again with half the tokens."""


class TokenModel(ABC):
    """A `Model` with a tokenizer of ours: `encoder` makes tokens of columns, `_answer` answers a batch of them."""

    spec: ModelSpec
    encoder: Any  # an Encoder or PromptEncoder
    out_of_memory: tuple[type[Exception], ...] = (MemoryError,)

    @abstractmethod
    def _answer(self, tokens: Tokens) -> dict[str, NDArray[Any]]:
        """Answers to one batch of anything but words and tokens."""

    def encode(self, columns: QueryColumns) -> Tokens:
        if columns.ability not in self.spec.abilities:
            raise unable(self.spec.name, columns.ability)
        tokens: Tokens = self.encoder.encode(columns)
        return tokens

    def forward(self, tokens: Tokens) -> dict[str, NDArray[Any]]:
        """Answers to one batch."""
        if tokens.ability in OF_THE_TOKENIZER:
            return dict(tokens.marks)
        try:
            return self._answer(tokens)
        except Exception as error:  # onnxruntime's errors have no base class of their own
            if isinstance(error, self.out_of_memory) or any(sign in str(error).lower() for sign in _OUT_OF_MEMORY):
                raise BatchTooLargeError(str(error)) from error
            raise


_OUT_OF_MEMORY = ("failed to allocate memory", "bad_alloc", "bad allocation", "can't allocate memory")
"""As onnxruntime, C++ libraries and torch say it."""


class Padded(NamedTuple):
    """Rows of one width; each array is (row, position)."""

    ids: NDArray[np.int64]
    there: NDArray[np.int64]  # 1 at a token, 0 at padding: the attention mask
    types: NDArray[np.int64]  # 1 from the second text on, 0 before it and at padding


def padded(tokens: Tokens, pad: int, *, left: bool = False) -> Padded:
    """All rows as wide as the longest, with `pad` behind the others, or before them.

    >>> padded(Tokens("span", np.array([5, 6, 7]), np.array([0, 1, 3]), np.array([1, 1])), pad=0).ids.tolist()
    [[5, 0], [6, 7]]
    """
    lengths = tokens.lengths[:, None]
    width = int(lengths.max())
    column = np.arange(width) - left * (width - lengths)  # counted from the row's first token
    there = (column >= 0) & (column < lengths)
    ids = np.full(there.shape, pad, np.int64)
    ids[there] = tokens.ids
    types = there & (column >= tokens.second[:, None])
    return Padded(ids, there.astype(np.int64), types.astype(np.int64))
