"""Executors compute blocks. An executor gets recipes and ranges, never content, so a block can run anywhere.

A model with tokens gets batches; a model that answers queries gets many at once, and every row has its own status,
whatever the order of completion.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import islice
from threading import Thread
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from assay.asking.plan import AnyPlan, digest_of
from assay.asking.queries import (
    TOKENIZER_ABILITIES,
    Answer,
    Answers,
    ChoiceColumns,
    ListedColumns,
    QueryColumns,
    SampleColumns,
    Status,
    TextColumns,
)
from assay.asking.tokens import Tokens
from assay.engine.executors import ExecutorRequest
from assay.engine.store import ArraySource, Block, columns_of
from assay.errors import ModelError
from assay.models.base import (
    AUTO,
    FLOAT32,
    AnsweringModel,
    AnyModel,
    BatchTooLargeError,
    EndpointModel,
    Model,
    ModelSpec,
    missing_ability_error,
    with_dtype,
)

T = TypeVar("T")

FORMS = ("local",)

GENERATION = 3
"""Part of every block's key: raise it when the engine or a model computes different numbers than before."""


MAX_WORKER_DEATHS = 4
"""How many workers may die with a block, or one after the other while they load a model; then the run ends."""


@dataclass(frozen=True)
class EngineSettings:
    """What decides the numbers in a block, apart from model and plan.

    `block_size` and `token_budget` are part of the block's key. `backed_off` is the first budget if an earlier attempt
    at this plan ran out of memory; with it, a resumed run computes the same numbers.
    """

    block_size: int = 0  # 0: what suits model and plan (`engine.choose_block_size`)
    token_budget: int = 0  # 0: what suits the device
    backed_off: int = 0  # 0: memory never ran out

    def budget_for(self, model: ModelSpec) -> int:
        return self.token_budget or (65_536 if model.device.startswith("cuda") else 4096)


def block_key(model: ModelSpec, plan: AnyPlan, settings: EngineSettings) -> str:
    """The key of a plan's blocks for one model, device kind, number type and batch settings.

    Where the number type was left open, tokens are looked up before it is decided.
    """
    if (model.chosen or model.dtype == AUTO) and plan.ability in TOKENIZER_ABILITIES:
        model = with_dtype(model, FLOAT32)
    return digest_of(
        {
            "generation": GENERATION,
            "model": model.digest,
            "device": model.device.split(":")[0],
            "dtype": model.dtype,
            "plan": plan.digest,
            "block_size": settings.block_size,
            "token_budget": settings.budget_for(model),
            "head_dtype": model.head_dtype,
        }
    )


@dataclass(frozen=True)
class ComputedBlock(Block):
    """A computed block, and the token budget that was used."""

    budget: int


class Executor(Protocol):
    """Computes blocks of a plan and yields them in any order, each as soon as it is computed.

    It gets recipes and never sees the store: the caller stores the blocks. It has to send a plan's arrays to the
    process that computes.
    """

    def run(
        self, model: ModelSpec, plan: AnyPlan, blocks: Iterable[range], settings: EngineSettings, arrays: ArraySource
    ) -> Iterator[ComputedBlock]: ...


def new(request: ExecutorRequest) -> LocalExecutor:
    request.require_no_workers()
    return LocalExecutor(request.load)


@dataclass
class LocalExecutor:
    """Computes in this process, with one model in memory; asks a model that answers queries `at_once` of them."""

    load: Callable[[ModelSpec], AnyModel]
    at_once: int = 16
    _loaded: dict[ModelSpec, AnyModel] = field(default_factory=dict)

    def run(
        self, model: ModelSpec, plan: AnyPlan, blocks: Iterable[range], settings: EngineSettings, arrays: ArraySource
    ) -> Iterator[ComputedBlock]:
        budget, answerer = settings.backed_off or settings.budget_for(model), self.model(model)

        def columns(block: range) -> QueryColumns:
            return columns_of(plan, arrays, block.start, block.stop)

        if isinstance(answerer, EndpointModel):
            raise missing_ability_error(model.name, "local")  # it is asked from a desk, which keeps what was paid for
        if not isinstance(answerer, AnsweringModel):
            yield from _forwarded(answerer, columns, iter(blocks), budget)
            return
        with answering(answerer, self.at_once) as answer:
            for block in blocks:
                queries = columns(block)
                yield ComputedBlock(block.start, block.stop, queries.digest(), answer(queries), budget)

    def model(self, spec: ModelSpec) -> AnyModel:
        """The model in memory, loaded once."""
        if spec not in self._loaded:
            self._loaded.clear()
            self._loaded[spec] = self.load(spec)
        return self._loaded[spec]


# --- models with tokens


def _forwarded(
    model: Model, columns: Callable[[range], QueryColumns], blocks: Iterator[range], budget: int
) -> Iterator[ComputedBlock]:
    """Blocks answered through tokens; the next block is tokenised while the model works on this one."""

    def prepare(block: range) -> tuple[range, QueryColumns, Tokens]:
        queries = columns(block)
        return block, queries, model.encode(queries)

    with ThreadPoolExecutor(1, "assay-encode") as encoder:
        ahead = deque(encoder.submit(prepare, block) for block in islice(blocks, 1))
        while ahead:
            block, queries, tokens = ahead.popleft().result()
            ahead.extend(encoder.submit(prepare, following) for following in islice(blocks, 1))
            answers, budget = forward_all(model, tokens, budget)
            yield ComputedBlock(block.start, block.stop, queries.digest(), answers, budget)


def forward_all(model: Model, tokens: Tokens, budget: int) -> tuple[Answers, int]:
    """Answers to all rows, and the budget used; when memory runs out, it is halved for the whole block."""
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
            batch_text = (
                "one question" if len(rows) == 1 else f"{len(rows)} questions at once, which this setting requires,"
            )
            problem = (
                f"the memory of {model.spec.device} is too small for {model.spec.name}: {batch_text} of "
                f"{int(tokens.lengths[rows].max())} tokens did not fit."
            )
            remedy = "Close other programs, or choose another --device, --dtype bfloat16 or a smaller model."
            key = "device" if len(rows) == 1 else "batch"
            raise ModelError(problem, remedy, code="out-of-memory", key=key) from error
    order = np.argsort(np.concatenate(groups))  # of each row among the answers
    # Joining takes the widest of the batches' types: texts are as wide as the longest of their batch. The arrays lie in
    # memory as those of a block read from disk do: sums over them then have the same last bits.
    arrays = {name: np.ascontiguousarray(np.concatenate([part[name] for part in parts])[order]) for name in parts[0]}
    return Answers(np.zeros(len(tokens), np.uint8), arrays)


def batches(lengths: NDArray[np.int64], token_budget: int, fixed: int | None = None) -> list[NDArray[np.int64]]:
    """Rows sorted by length and cut where a padded batch would pass the token budget (always at least one row).

    With `fixed`, batches have that many rows in their original order. The result depends only on the lengths of a
    block's rows, so a resumed run computes the same numbers.

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


# --- models that answer queries

_FAULT = "This is a bug in the code that asks the model: a query without an answer needs a status that says so."


@contextmanager
def answering(model: AnsweringModel, at_once: int) -> Iterator[Callable[[QueryColumns], Answers]]:
    """A function that returns a model's answers to columns, `at_once` queries at a time, in one event loop.

    If the caller is interrupted or a query raises an error, the other queries are cancelled.
    """
    with loop_in_thread("assay-answer") as loop:

        def wait(work: Coroutine[Any, Any, T]) -> T:
            return asyncio.run_coroutine_threadsafe(work, loop).result()

        def answer(columns: QueryColumns) -> Answers:
            if not isinstance(columns, ChoiceColumns | TextColumns):
                raise missing_ability_error(model.spec.name, columns.ability)
            return answers_of(wait(_ask_all(model, columns, at_once)), columns, model.spec.name)

        try:
            yield answer
        finally:
            wait(_cancel_all())


@contextmanager
def loop_in_thread(name: str) -> Iterator[asyncio.AbstractEventLoop]:
    """An event loop in a new thread, because the caller's may already have one, as in a notebook.

    It is made and closed there, too, where no signal interrupts it: half a loop complains when it is thrown away.
    """
    started: Future[asyncio.AbstractEventLoop] = Future()

    def run() -> None:
        try:
            loop = asyncio.new_event_loop()
        except BaseException as error:  # handed on to the caller
            started.set_exception(error)
            return
        started.set_result(loop)
        with closing(loop):
            loop.run_forever()

    def stop(started: Future[asyncio.AbstractEventLoop]) -> None:
        if started.exception() is None:
            started.result().call_soon_threadsafe(started.result().stop)

    thread = Thread(target=run, name=name, daemon=True)
    try:
        thread.start()
        yield started.result()
    finally:
        started.add_done_callback(stop)  # at once, or as soon as there is one
        with suppress(RuntimeError):  # interrupted while it was starting
            thread.join()


async def _ask_all(model: AnsweringModel, columns: QueryColumns, at_once: int) -> list[Answer]:
    """Every row's answer, in the rows' order."""
    answers: dict[int, Answer] = {}
    rows = iter(range(len(columns)))

    async def work() -> None:
        for row in rows:  # shared: each takes the next row that nobody has taken
            answers[row] = await model.answer(columns.row(row))

    await asyncio.gather(*(work() for _ in range(at_once)))
    return [answers[row] for row in range(len(columns))]


async def _cancel_all() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


def answers_of(
    answers: Sequence[Answer], columns: ChoiceColumns | TextColumns, name: str, *, of_endpoint: bool = False
) -> Answers:
    """Single answers as arrays; for endpoints also who answered, the total probability of options and the bill."""
    arrays: dict[str, NDArray[Any]] = {}
    if isinstance(columns, SampleColumns):
        texts = [_bytes(text) for answer in answers for text in (answer.texts or [""] * columns.samples)]
        arrays["text"] = np.array(texts, np.bytes_).reshape(len(answers), columns.samples)
    elif isinstance(columns, TextColumns):
        arrays["text"] = np.array([_text(answer, name) for answer in answers], np.bytes_)
    else:
        options = columns.options.shape[1]
        arrays["score"] = np.array([_scores(answer, options, name) for answer in answers], np.float32)
        if isinstance(columns, ListedColumns):
            scored = (Status.OK, Status.UNCLEAR)
            arrays["mass"] = np.array(
                [answer.mass if answer.status in scored else math.nan for answer in answers], np.float32
            )
    if of_endpoint:
        for name in ("model", "fingerprint", "server"):
            arrays[name] = np.array([getattr(answer.served, name).encode() for answer in answers], np.bytes_)
        arrays["at"] = np.array([answer.served.at for answer in answers], np.float64)
        arrays["billed"] = np.array([answer.billed for answer in answers], np.int64)
    return Answers(np.array([answer.status for answer in answers], np.uint8), arrays)


def _scores(answer: Answer, options: int, name: str) -> Sequence[float]:
    if answer.scores is None and answer.status is not Status.OK:
        return [math.nan] * options
    if answer.scores is None or len(answer.scores) != options or any(map(math.isnan, answer.scores)):
        problem = f"{name} answered {answer.scores} to a question with {options} options."
        raise ModelError(problem, _FAULT, code="bad-scores", key="scores")
    return answer.scores


def _text(answer: Answer, name: str) -> bytes:
    if answer.text is None and answer.status is Status.OK:
        raise ModelError(f"{name} gave no text for a question that it answered.", _FAULT, code="bad-scores", key="text")
    return _bytes(answer.text or "")


def _bytes(text: str) -> bytes:
    return text.strip().encode(errors="replace")
