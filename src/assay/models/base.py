"""What the engine needs of any model, and how a model is named."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Protocol, runtime_checkable

from numpy.typing import NDArray

from assay.errors import UsageError
from assay.queries import Answer, Query, QueryColumns, Tokens


@dataclass(frozen=True)
class Options:
    """How a model may be loaded; the defaults are the safe ones. `threads` None: as many as there are CPUs for us."""

    device: str = "auto"
    dtype: str = "auto"
    trust_remote_code: bool = False
    allow_pickle: bool = False
    threads: int | None = None

    def __post_init__(self) -> None:
        if self.threads is not None and self.threads < 1:
            raise UsageError(
                f"the number of threads is {self.threads}, expected at least 1.",
                "--threads 1",
                code="bad-option",
                key="threads",
            )


@dataclass(frozen=True)
class ModelSpec:
    """A model that was found, told apart by its weights: enough to load it again in another process.

    `name` is what the user wrote, and all that is known of a model whose answers came in files; `place` where its files
    are; `digest` covers weights, configuration and tokenizer;
    `revision` is the hub's commit, where it came from a hub; `threads` 0 means as many as the machine that loads it has
    CPUs for this process.
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


AnyModel = Model | AnsweringModel


def unable(name: str, ability: str) -> UsageError:
    """The error for a question that a model cannot answer."""
    return UsageError(
        f"{name} cannot answer {ability} questions.", "Choose another model.", code="missing-ability", key=ability
    )


class BatchTooLargeError(Exception):
    """A batch did not fit; the engine tries again with half the tokens."""
