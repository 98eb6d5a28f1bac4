"""Models that answer queries: many at once, every row with a status of its own, whatever the order of completion."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from threading import Thread
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from assay.errors import ModelError
from assay.models.base import AnsweringModel, unable
from assay.queries import Answer, Answers, ChoiceColumns, QueryColumns, Status, TextColumns

T = TypeVar("T")


@contextmanager
def answering(model: AnsweringModel, at_once: int) -> Iterator[Callable[[QueryColumns], Answers]]:
    """A function that gives a model's answers to columns, `at_once` queries at a time, within one event loop.

    The loop runs in a thread of its own, since the caller's may have one already, as in a notebook. When the caller is
    interrupted, or a query raises, the queries under way are cancelled.
    """
    loop = asyncio.new_event_loop()
    thread = Thread(target=loop.run_forever, name="assay-answer", daemon=True)
    thread.start()

    def wait(work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, loop).result()

    def answer(columns: QueryColumns) -> Answers:
        if not isinstance(columns, ChoiceColumns | TextColumns):
            raise unable(model.spec.name, columns.ability)
        given = wait(_ask_all(model, columns, at_once))
        return Answers(np.array([each.status for each in given], np.uint8), _arrays(given, columns, model.spec.name))

    try:
        yield answer
    finally:
        wait(_cancel_all())
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _ask_all(model: AnsweringModel, columns: QueryColumns, at_once: int) -> list[Answer]:
    """Every row's answer, in the rows' order. A journal of requests would go around the one call of `answer`."""
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


def _arrays(given: Sequence[Answer], columns: ChoiceColumns | TextColumns, name: str) -> dict[str, NDArray[Any]]:
    if isinstance(columns, TextColumns):
        return {"text": np.array([_text(each, name) for each in given], np.bytes_)}
    options = columns.options.shape[1]
    return {"score": np.array([_scores(each, options, name) for each in given], np.float32)}


def _scores(answer: Answer, options: int, name: str) -> Sequence[float]:
    if answer.scores is None and answer.status is not Status.OK:
        return [math.nan] * options
    if answer.scores is None or len(answer.scores) != options or any(map(math.isnan, answer.scores)):
        problem = f"{name} answered {answer.scores} to a question with {options} options."
        raise ModelError(problem, _FAULT, code="bad-scores", key="scores")
    return answer.scores


def _text(answer: Answer, name: str) -> bytes:
    if answer.text is None and answer.status is Status.OK:
        raise ModelError(f"{name} gave no text to a question that it answered.", _FAULT, code="bad-scores", key="text")
    return (answer.text or "").strip().encode(errors="replace")


_FAULT = "This is a fault of the program that asks the model: what has no answer must say so with its status."
