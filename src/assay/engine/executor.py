"""Who computes blocks. An executor takes recipes and ranges, never content, so that a block can run anywhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import numpy as np

from assay.engine.batching import batches
from assay.engine.store import Block, BlockStore
from assay.errors import ModelError
from assay.models.base import BatchTooLargeError, Model, ModelSpec
from assay.plan import Plan, digest_of
from assay.queries import Answers, QueryColumns, Tokens

T = TypeVar("T")

GENERATION = 2
"""Part of every block's key: raise it when the engine or a model computes different numbers than before."""


@dataclass(frozen=True)
class Settings:
    """What, besides model and plan, decides the numbers in a block.

    `block_size` and `token_budget` are part of the block's key. `backed_off` is the budget to begin with where an
    earlier attempt at this plan ran out of memory, so that a resumed run computes what an undisturbed one does.
    """

    block_size: int = 4096
    token_budget: int = 0  # 0: what suits the device
    backed_off: int = 0  # 0: memory never ran out

    def budget_for(self, model: ModelSpec) -> int:
        return self.token_budget or (65_536 if model.device.startswith("cuda") else 4096)


def block_key(model: ModelSpec, plan: Plan, settings: Settings) -> str:
    """The key of a plan's blocks for one model, device kind, number type and batch settings."""
    return digest_of(
        {
            "generation": GENERATION,
            "model": model.digest,
            "device": model.device.split(":")[0],
            "dtype": model.dtype,
            "plan": plan.digest,
            "block_size": settings.block_size,
            "token_budget": settings.budget_for(model),
        }
    )


@dataclass(frozen=True)
class BlockDone:
    """A block was computed and stored. `budget` is the token budget that it was computed with."""

    lo: int
    hi: int
    checksum: str
    budget: int


class Executor(Protocol):
    """Computes blocks of a plan and stores them, in any order; yields each when it is on disk."""

    def run(
        self, model: ModelSpec, plan: Plan, blocks: Iterable[range], store: BlockStore, settings: Settings
    ) -> Iterator[BlockDone]: ...


@dataclass
class LocalExecutor:
    """This process, one model at a time. The next block is tokenised while the model works on this one."""

    load: Callable[[ModelSpec], Model]
    _loaded: dict[ModelSpec, Model] = field(default_factory=dict)

    def run(
        self, model: ModelSpec, plan: Plan, blocks: Iterable[range], store: BlockStore, settings: Settings
    ) -> Iterator[BlockDone]:
        key, budget = block_key(model, plan, settings), settings.backed_off or settings.budget_for(model)
        answerer = self.model(model)

        def prepare(block: range) -> tuple[range, QueryColumns, Tokens]:
            columns = plan.columns(block.start, block.stop)
            return block, columns, answerer.encode(columns)

        with ThreadPoolExecutor(1, "assay-encode") as encoder:
            pending = iter(blocks)
            ahead: Future[tuple[range, QueryColumns, Tokens]] | None = _submit(encoder, prepare, pending)
            while ahead is not None:
                block, columns, tokens = ahead.result()
                ahead = _submit(encoder, prepare, pending)
                answers, budget = forward_all(answerer, tokens, budget)
                done = Block(block.start, block.stop, columns.digest(), answers)
                yield BlockDone(block.start, block.stop, store.write(key, done), budget)

    def model(self, spec: ModelSpec) -> Model:
        """The model in memory, loaded once."""
        if spec not in self._loaded:
            self._loaded.clear()
            self._loaded[spec] = self.load(spec)
        return self._loaded[spec]


def forward_all(model: Model, tokens: Tokens, budget: int) -> tuple[Answers, int]:
    """Answers to all rows, and the budget used: it is halved for the whole block whenever memory runs out."""
    while True:
        try:
            return _forward_all(model, tokens, budget), budget
        except BatchTooLargeError:
            budget //= 2


def _forward_all(model: Model, tokens: Tokens, budget: int) -> Answers:
    answered: dict[str, list[np.ndarray[Any, Any]]] = {}
    groups = batches(tokens.lengths, budget, tokens.scoring.batch)
    for rows in groups:
        try:
            answers = model.forward(tokens.take(rows))
        except BatchTooLargeError as error:
            if len(rows) > 1 and tokens.scoring.batch is None:
                raise
            wanted = "one question" if len(rows) == 1 else f"{len(rows)} questions at once, as this setting wants them,"
            raise ModelError(
                f"the memory of {model.spec.device} is too small for {model.spec.name}: {wanted} of "
                f"{int(tokens.lengths[rows].max())} tokens did not fit.",
                "Close other programs, or choose another --device, --dtype bfloat16 or a smaller model.",
            ) from error
        for name, values in answers.items():
            answered.setdefault(name, []).append(values)
    place = np.argsort(np.concatenate(groups))  # of each row among the answers
    # Joining takes the widest of the batches' types: texts are as wide as the longest of their batch.
    arrays = {name: np.concatenate(parts)[place] for name, parts in answered.items()}
    return Answers(np.zeros(len(tokens), np.uint8), arrays)


def _submit(pool: ThreadPoolExecutor, work: Callable[[range], T], blocks: Iterator[range]) -> Future[T] | None:
    block = next(blocks, None)
    return None if block is None else pool.submit(work, block)
