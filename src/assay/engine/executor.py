"""Who computes blocks. An executor takes recipes and ranges, never content, so that a block can run anywhere."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from assay.engine.answering import answering
from assay.engine.store import ArraySource, Block, columns_of
from assay.errors import ModelError, UsageError
from assay.models.base import AnsweringModel, AnyModel, BatchTooLargeError, Model, ModelSpec
from assay.plan import AnyPlan, digest_of
from assay.queries import Answers, QueryColumns, Tokens

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


def block_key(model: ModelSpec, plan: AnyPlan, settings: Settings) -> str:
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
class ComputedBlock(Block):
    """A block as it was computed, and the token budget that it was computed with."""

    budget: int


class Executor(Protocol):
    """Computes blocks of a plan and hands them over, in any order, each as soon as it is there.

    It takes recipes and never sees the store: who asks writes what comes back. It brings a plan's arrays to whoever
    computes.
    """

    def run(
        self, model: ModelSpec, plan: AnyPlan, blocks: Iterable[range], settings: Settings, arrays: ArraySource
    ) -> Iterator[ComputedBlock]: ...


Load = Callable[[ModelSpec], AnyModel]
LOCAL = "local"


def executor_named(name: str, load: Load) -> Executor:
    """The executor of a name; `load` loads a model that was found."""
    if name != LOCAL:
        problem = f"unknown executor {name!r}; expected {LOCAL}."
        raise UsageError(problem, f"--executor {LOCAL}", code="bad-option", key="executor")
    return LocalExecutor(load)


@dataclass
class LocalExecutor:
    """This process, one model at a time; of one that answers queries, `at_once` are asked at a time."""

    load: Load
    at_once: int = 16
    _loaded: dict[ModelSpec, AnyModel] = field(default_factory=dict)

    def run(
        self, model: ModelSpec, plan: AnyPlan, blocks: Iterable[range], settings: Settings, arrays: ArraySource
    ) -> Iterator[ComputedBlock]:
        budget, answerer = settings.backed_off or settings.budget_for(model), self.model(model)

        def columns(block: range) -> QueryColumns:
            return columns_of(plan, arrays, block.start, block.stop)

        if not isinstance(answerer, AnsweringModel):
            yield from _forwarded(answerer, columns, iter(blocks), budget)
            return
        with answering(answerer, self.at_once) as answer:
            for block in blocks:
                asked = columns(block)
                yield ComputedBlock(block.start, block.stop, asked.digest(), answer(asked), budget)

    def model(self, spec: ModelSpec) -> AnyModel:
        """The model in memory, loaded once."""
        if spec not in self._loaded:
            self._loaded.clear()
            self._loaded[spec] = self.load(spec)
        return self._loaded[spec]


def _forwarded(
    model: Model, columns: Callable[[range], QueryColumns], blocks: Iterator[range], budget: int
) -> Iterator[ComputedBlock]:
    """Blocks answered through tokens; the next block is tokenised while the model works on this one."""

    def prepare(block: range) -> tuple[range, QueryColumns, Tokens]:
        asked = columns(block)
        return block, asked, model.encode(asked)

    with ThreadPoolExecutor(1, "assay-encode") as encoder:
        ahead = deque(encoder.submit(prepare, block) for block in islice(blocks, 1))
        while ahead:
            block, asked, tokens = ahead.popleft().result()
            ahead.extend(encoder.submit(prepare, following) for following in islice(blocks, 1))
            answers, budget = forward_all(model, tokens, budget)
            yield ComputedBlock(block.start, block.stop, asked.digest(), answers, budget)


def forward_all(model: Model, tokens: Tokens, budget: int) -> tuple[Answers, int]:
    """Answers to all rows, and the budget used: it is halved for the whole block whenever memory runs out."""
    while True:
        try:
            return _forward_all(model, tokens, budget), budget
        except BatchTooLargeError:
            budget //= 2


def _forward_all(model: Model, tokens: Tokens, budget: int) -> Answers:
    parts: list[dict[str, NDArray[Any]]] = []
    groups = batches(tokens.lengths, budget, tokens.scoring.batch)
    for rows in groups:
        try:
            parts.append(model.forward(tokens.take(rows)))
        except BatchTooLargeError as error:
            if len(rows) > 1 and tokens.scoring.batch is None:
                raise
            wanted = "one question" if len(rows) == 1 else f"{len(rows)} questions at once, as this setting wants them,"
            problem = (
                f"the memory of {model.spec.device} is too small for {model.spec.name}: {wanted} of "
                f"{int(tokens.lengths[rows].max())} tokens did not fit."
            )
            remedy = "Close other programs, or choose another --device, --dtype bfloat16 or a smaller model."
            key = "device" if len(rows) == 1 else "batch"
            raise ModelError(problem, remedy, code="out-of-memory", key=key) from error
    place = np.argsort(np.concatenate(groups))  # of each row among the answers
    # Joining takes the widest of the batches' types: texts are as wide as the longest of their batch. The arrays lie in
    # memory as those of a block read from disk do: sums over them then have the same last bits.
    arrays = {name: np.ascontiguousarray(np.concatenate([part[name] for part in parts])[place]) for name in parts[0]}
    return Answers(np.zeros(len(tokens), np.uint8), arrays)


def batches(lengths: NDArray[np.int64], token_budget: int, fixed: int | None = None) -> list[NDArray[np.int64]]:
    """Rows sorted by length and cut where a padded batch would pass the token budget (always at least one row).

    With `fixed`, batches of so many rows in their own order instead. A pure function of the lengths of a block's rows,
    so that a resumed run computes the same numbers.

    >>> [batch.tolist() for batch in batches(np.array([2, 5, 2, 2]), 6)]
    [[0, 2, 3], [1]]
    """
    if fixed is not None:
        return [np.arange(lo, min(lo + fixed, len(lengths))) for lo in range(0, len(lengths), fixed)]
    order = np.argsort(lengths, kind="stable")
    result, lo = [], 0
    while lo < len(order):
        hi = lo + 1
        while hi < len(order) and (hi - lo + 1) * lengths[order[hi]] <= token_budget:
            hi += 1
        result.append(order[lo:hi])
        lo = hi
    return result
