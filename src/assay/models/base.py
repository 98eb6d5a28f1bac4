"""The interface between the engine and models, and how a model is identified."""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from assay.asking.plan import digest_of
from assay.asking.queries import TOKENIZER_ABILITIES, Answer, Query, QueryColumns, Scoring
from assay.asking.tokens import Tokens
from assay.errors import UsageError, is_out_of_memory
from assay.files.decoding import json_value
from assay.files.opening import digest_as_stored, open_regular

if TYPE_CHECKING:
    from assay.models.tokenise import ColumnEncoder

AUTO, FLOAT32, FLOAT16, TF32 = "auto", "float32", "float16", "tf32"
"""Number types with a meaning of their own. AUTO, on a GPU: decided before the first question of a run
(`engine.number_type`). TF32: weights in float32, multiplied in that GPU format.
"""


@dataclass(frozen=True)
class Options:
    """How a model is loaded; the defaults are safe. `threads` None: one for each CPU that this process may use.

    `key_env` is the environment variable that holds an endpoint's key (None: OPENAI_API_KEY). With `send` False,
    nothing is sent to test what an endpoint can do; with `again` it is tested even if the result is remembered.
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
    """What is known about an endpoint from testing it.

    `model` is the model's name there, `key_env` the environment variable with the key (never the key). `ways` are the
    ways to get an option's probability, the best first; `found` is the result for every dialect ("echo: works").
    `limit_key` is the field for the number of new tokens, `without` the fields that it rejects, `top` the number of
    alternatives that it lists for a token, and `continued` how to make it continue the start of an answer ("": it does
    not). `assumed` is true if nothing was sent.
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
    """A model that was found, identified by its weights: enough to load it in another process.

    `name` is what the user wrote, and the only field for a model whose answers came in files; `place` is where its
    files are; `digest` covers weights, configuration and tokenizer; `revision` is the hub's commit, for a model from
    the hub; `threads` 0 means one for each CPU that the loading process may use; `head_dtype` is the number type of the
    last layer, which gives the scores, if it differs from `dtype`; `endpoint` is what is known about a model behind an
    endpoint; `parameters` is the number of weights, None if unknown; `checkpoint_dtype` is the type in which they are
    stored; `chosen` says why `dtype` was chosen, if the user left it open.
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
    checkpoint_dtype: str = ""
    chosen: str = ""

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "abilities": sorted(self.abilities)}


SCORED = frozenset({"span", "mask", "fill", "choice"})
"""The abilities whose answers are scores of the model's last layer, which computes in float32."""


def with_dtype(model: ModelSpec, dtype: str, reason: str = "") -> ModelSpec:
    """A model that computes in this number type, its last layer in float32."""
    head = FLOAT32 if model.abilities & SCORED and dtype not in (FLOAT32, AUTO) else ""
    return replace(model, dtype=dtype, head_dtype=head, chosen=reason)


class Model(Protocol):
    """A model with tokens. `encode` runs on the CPU at the same time as `forward`, without padding; `forward` takes one
    batch.
    """

    @property
    def spec(self) -> ModelSpec: ...

    def encode(self, columns: QueryColumns) -> Tokens: ...

    def forward(self, tokens: Tokens) -> dict[str, NDArray[Any]]: ...


@runtime_checkable
class AnsweringModel(Protocol):
    """A model that answers queries without tokens, such as a Python function.

    Many queries are asked at once, those of one plan within one event loop. The answer's status says if one query
    failed; an exception ends the run.
    """

    @property
    def spec(self) -> ModelSpec: ...

    async def answer(self, query: Query) -> Answer: ...


# --- endpoints


LETTERS_A_TOKEN = 4
"""Characters of English per token, roughly."""


@dataclass(frozen=True)
class EndpointRequest:
    """One request to an endpoint: its path, its body, and its number among equal requests (`sample`).

    `check` raises ValueError, with the reason, if a reply lacks what was requested. The key is not part of a request:
    in `headers`, {key} stands for it.
    """

    path: str
    body: Mapping[str, Any]
    check: Callable[[Mapping[str, Any]], object] = field(compare=False, repr=False)
    sample: int = 0
    headers: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)

    def digest(self, url: str) -> str:
        """Its key in the journal; `url` is the endpoint's address. The order of the body's keys counts, because in
        some dialects the options are keys.
        """
        body = json.dumps(self.body, ensure_ascii=False)
        return digest_of({"endpoint": url, "path": self.path, "body": body, "sample": self.sample})

    @property
    def input_tokens(self) -> int:
        """About how many tokens it has, including some for the chat template."""
        return sum(map(len, _texts_in(self.body))) // LETTERS_A_TOKEN + 16

    @property
    def output_tokens(self) -> int:
        """The most tokens that the reply can have."""
        fields = ("max_tokens", "max_completion_tokens", "max_output_tokens")
        return max((int(self.body[field]) for field in fields if field in self.body), default=1)


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
    """An endpoint's reply: the JSON without unused parts, the billed tokens, and the server as its header names it.

    `at` is when the journal stored it (Unix time), 0 if it did not.
    """

    content: Mapping[str, Any]
    input_tokens: int = 0
    output_tokens: int = 0
    server: str = ""
    at: float = 0.0


@dataclass(frozen=True)
class ServedModel:
    """A model that answered at an endpoint: its name, version and server as the replies say (empty if they do not), the
    number of its answers, and when the first and the last of them came (Unix time, 0 if unknown).
    """

    model: str
    fingerprint: str
    server: str
    n: int
    first: float
    last: float


class RetryableError(Exception):
    """A call failed and may succeed later.

    `after` is the pause in seconds that the server asks for; `overloaded` says that it is overloaded, `silent` that no
    complete reply came in time; the tokens are those billed for an unusable reply.
    """

    def __init__(
        self,
        reason: str,
        *,
        after: float | None = None,
        overloaded: bool = False,
        silent: bool = False,
        input_tokens: int = 0,
        output_tokens: int = 0,
    ) -> None:
        super().__init__(reason)
        self.after, self.overloaded, self.silent = after, overloaded, silent
        self.input_tokens, self.output_tokens = input_tokens, output_tokens


@runtime_checkable
class EndpointModel(Protocol):
    """A model behind an endpoint, where every answer costs something.

    It only translates: the engine decides when to send, stores every reply, and never repeats a call that has one.
    """

    @property
    def spec(self) -> ModelSpec: ...

    def calls(self, query: Query, scoring: Scoring) -> Sequence[EndpointRequest]:
        """The requests for a query; always the same."""

    async def send(self, call: EndpointRequest) -> Reply:
        """Make one attempt. Raises RetryableError if another may succeed, ModelError if none will."""

    def read(self, query: Query, scoring: Scoring, replies: Sequence[Reply]) -> Answer:
        """The answer to a query, from the replies to its calls."""

    async def close(self) -> None: ...


AnyModel = Model | AnsweringModel | EndpointModel


def missing_ability_error(name: str, ability: str) -> UsageError:
    """The error for a question that a model cannot answer."""
    problem = f"{name} cannot answer {ability} questions."
    return UsageError(problem, "Choose another model.", code="missing-ability", key=ability)


class BatchTooLargeError(Exception):
    """A batch did not fit; the engine tries again with half the tokens."""


class TokenModel(ABC):
    """A `Model` with one of our encoders: that tokenises columns, `_answer` answers a batch of tokens."""

    spec: ModelSpec
    encoder: ColumnEncoder

    @abstractmethod
    def _answer(self, tokens: Tokens) -> dict[str, NDArray[Any]]:
        """Answers to one batch, except for word and token queries."""

    def encode(self, columns: QueryColumns) -> Tokens:
        if columns.ability not in self.spec.abilities:
            raise missing_ability_error(self.spec.name, columns.ability)
        return self.encoder.encode(columns)

    def forward(self, tokens: Tokens) -> dict[str, NDArray[Any]]:
        """Answers to one batch."""
        if tokens.ability in TOKENIZER_ABILITIES:
            return dict(tokens.marks)
        try:
            return self._answer(tokens)
        except Exception as error:  # onnxruntime's errors have no base class of their own
            if is_out_of_memory(error):
                raise BatchTooLargeError(str(error)) from error
            raise


class PaddedBatch(NamedTuple):
    """Rows of one width; each array is (row, position)."""

    ids: NDArray[np.int64]
    there: NDArray[np.int64]  # 1 at a token, 0 at padding: the attention mask
    types: NDArray[np.int64]  # 1 from the second text on, 0 before it and at padding


def padded(tokens: Tokens, pad: int, *, left: bool = False) -> PaddedBatch:
    """All rows padded with `pad` to the longest, after their tokens or before them.

    >>> padded(Tokens("span", np.array([5, 6, 7]), np.array([0, 1, 3]), np.array([1, 1])), pad=0).ids.tolist()
    [[5, 0], [6, 7]]
    """
    lengths = tokens.lengths[:, None]
    width = int(lengths.max())
    column = np.arange(width) - left * (width - lengths)  # counted from the row's first token
    is_token = (column >= 0) & (column < lengths)
    ids = np.full(is_token.shape, pad, np.int64)
    ids[is_token] = tokens.ids
    types = is_token & (column >= tokens.second[:, None])
    return PaddedBatch(ids, is_token.astype(np.int64), types.astype(np.int64))


# --- the files of models


def model_file_digest(path: Path) -> str:
    """The digest of a file's bytes; a process reads the file once, unless the file changes."""
    status = path.stat()
    return _digest(path, status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


@cache
def _digest(path: Path, *_version: int) -> str:
    return digest_as_stored(path)


_LARGEST_HEADER = 100_000_000
"""Bytes of a safetensors file's header, as the format allows them."""
_MOST_SIZES = 64


def parameters_in(paths: Iterable[Path]) -> int | None:
    """The number of parameters in safetensors files, from their headers, each tensor's name counted once.

    None if a file cannot be read.
    """
    shapes: dict[str, list[int]] = {}
    try:
        for path in paths:
            with open_regular(path) as content:
                length = int.from_bytes(content.read(8), "little")
                header = json_value(content.read(length)) if length <= _LARGEST_HEADER else {}
            shapes |= {name: _shape(tensor["shape"]) for name, tensor in header.items() if name != "__metadata__"}
        return sum(math.prod(shape) for shape in shapes.values()) or None
    except (OSError, ValueError, TypeError, KeyError, AttributeError):  # whoever loads it says what is wrong with it
        return None


def _shape(sizes: list[int]) -> list[int]:
    """A tensor's shape; others than tensors have would take hours to multiply."""
    if len(sizes) > _MOST_SIZES or not all(type(size) is int and 0 <= size < 1 << 63 for size in sizes):
        raise ValueError(f"no tensor has the shape {str(sizes)[:60]}")
    return sizes
