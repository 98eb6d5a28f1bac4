"""How much of what a server allows is used: in virtual time, so that a busy machine says the same as an idle one."""

from __future__ import annotations

import asyncio
import math
import selectors
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from assay.asking.queries import Answer, ListedColumns, ListedQuery, Query, Scoring, Status
from assay.engine.endpoints import RequestBlock, _RequestLoop
from assay.engine.journal import Journal
from assay.engine.spending import Spending
from assay.models.base import Endpoint, EndpointRequest, ModelSpec, Reply, RetryableError
from own_loop import in_own_thread

LATENCY, AT_ONCE = 0.2, 64
QUESTIONS = 8_000


class VirtualLoop(asyncio.SelectorEventLoop):
    """A loop whose clock jumps to the next thing that is due."""

    def __init__(self) -> None:
        self.now = 0.0
        super().__init__(_Jumping(self))

    def time(self) -> float:
        return self.now


class _Jumping(selectors.SelectSelector):
    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__()
        self.loop = loop

    def select(self, timeout: float | None = None) -> list[Any]:
        self.loop.now += timeout or 0.0
        return super().select(0)


@dataclass
class Limited:
    """A model whose server takes so many requests at once, and so many a second (of a bucket that holds a second's)."""

    at_once: float = math.inf
    rate: float = math.inf
    burst: float = 1.0
    retry_after: float | None = None
    spec: ModelSpec = field(default_factory=lambda: ModelSpec("api:m@u", "api", "u", endpoint=Endpoint("m")))
    under_way: int = 0
    turned_down: int = 0
    _left: float = 0.0
    _at: float = 0.0

    def calls(self, query: Query, scoring: Scoring) -> Sequence[EndpointRequest]:
        return [EndpointRequest("/x", {"text": str(query)}, lambda content: None)]

    def read(self, query: Query, scoring: Scoring, replies: Sequence[Reply]) -> Answer:
        return Answer(Status.OK, (0.0, -1.0))

    async def send(self, call: EndpointRequest) -> Reply:
        self.under_way += 1
        try:
            await asyncio.sleep(0.01)
            if self.under_way > self.at_once or not self._allowed():
                self.turned_down += 1
                raise RetryableError("429", after=self.retry_after, overloaded=True)
            await asyncio.sleep(LATENCY - 0.01)
            return Reply({})
        finally:
            self.under_way -= 1

    def _allowed(self) -> bool:
        if self.rate == math.inf:
            return True
        now = asyncio.get_running_loop().time()
        self._left = min(self.rate * self.burst, self._left + (now - self._at) * self.rate)
        self._at = now
        if self._left < 1:
            return False
        self._left -= 1
        return True

    async def close(self) -> None:
        pass


def columns(rows: range) -> ListedColumns:
    return ListedColumns.of([ListedQuery("", f"Question {row}?", ("yes", "no")) for row in rows])


def seconds(model: Limited, folder: Path, questions: int = QUESTIONS) -> float:
    """How long asking takes on the server's clock."""
    loop, done = VirtualLoop(), list[RequestBlock]()
    journal = Journal(folder)
    asking = _RequestLoop(model, journal, Spending(), advance=lambda rows: None)
    try:
        in_own_thread(lambda: loop.run_until_complete(asking._work(columns, [range(questions)], done.append)))
    finally:
        journal.close()
        loop.close()
    assert [len(block.answers) for block in done] == [questions]
    return loop.now


@pytest.mark.slow
def test_most_of_what_a_server_takes_at_once_is_used(tmp_path: Path) -> None:
    model = Limited(at_once=AT_ONCE)
    share = QUESTIONS / seconds(model, tmp_path) / (AT_ONCE / LATENCY)
    assert share >= 0.85
    assert model.turned_down < 0.1 * QUESTIONS


@pytest.mark.slow
@pytest.mark.parametrize("retry_after", [None, 1.0])
@pytest.mark.parametrize("rate", [50.0, 200.0])
def test_most_of_what_a_server_takes_in_a_second_is_used(
    rate: float, retry_after: float | None, tmp_path: Path
) -> None:
    model = Limited(rate=rate, retry_after=retry_after)
    questions = int(40 * rate)
    share = questions / seconds(model, tmp_path, questions) / rate
    assert share >= 0.85
    assert model.turned_down < questions


def test_a_server_that_takes_one_at_a_time_is_asked_one_at_a_time(tmp_path: Path) -> None:
    model = Limited(at_once=1)
    assert 200 * LATENCY / seconds(model, tmp_path, 200) >= 0.6
