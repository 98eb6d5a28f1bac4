"""An endpoint in virtual time: a loop whose clock jumps to the next event, and a server that only exists in it.

Ten minutes of pauses take a fraction of a second, and nothing depends on the machine's speed. The server takes requests
as `EndpointModel.send` hands them over: there are no sockets. What goes over the wire is in `endpoint_server.py`.
"""

from __future__ import annotations

import asyncio
import random
import selectors
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest

from assay.asking.queries import (
    Answer,
    Answers,
    Query,
    QueryColumns,
    Scoring,
    Status,
    StringColumn,
    TextColumns,
    TextQuery,
)
from assay.engine import endpoints
from assay.engine.endpoints import EndpointExecutor
from assay.engine.spending import Spending
from assay.models.api.client import retry_after
from assay.models.base import Endpoint, EndpointRequest, ModelSpec, Reply, RetryableError

SPEC = ModelSpec("api:m@http://virtual/v1", "api", "http://virtual/v1", "0" * 64, endpoint=Endpoint("m"))
TOKENS = 10
"""The most output tokens that a request asks for."""


class _Jumping(selectors.DefaultSelector):
    """Waits for nothing: the time that it should have waited has passed."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        events = super().select(None if timeout is None else 0)
        if not events and timeout:
            self.now += timeout
        return events


class VirtualLoop(asyncio.SelectorEventLoop):
    """A loop in virtual time; what it would do in other threads it does at once."""

    def __init__(self) -> None:
        self._jumping = _Jumping()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.now

    def run_in_executor(self, executor: Any, function: Any, *args: Any) -> Any:
        done = self.create_future()
        try:
            done.set_result(function(*args))
        except Exception as error:
            done.set_exception(error)
        return done


@contextmanager
def virtual_loop(name: str) -> Iterator[asyncio.AbstractEventLoop]:
    """In place of `executor.loop_in_thread`."""
    loop = VirtualLoop()
    thread = Thread(target=loop.run_forever, name=name, daemon=True)
    with closing(loop):
        thread.start()
        try:
            yield loop
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()


@pytest.fixture
def virtual(monkeypatch: pytest.MonkeyPatch) -> None:
    """Endpoints are asked in virtual time."""
    random.seed(7)  # of the pauses
    monkeypatch.setattr(endpoints, "loop_in_thread", virtual_loop)


@dataclass
class VirtualServer:
    """A model behind an endpoint that misbehaves at will; `sent` and `answered` count requests by their question.

    latency: seconds to a reply, or a function of the number of the request. `most` requests are taken at once and
    `rate` a second (in windows of `window` seconds); others get 429 with these `headers`. `silent`: this share of
    requests gets no word. `billed` has input and output tokens of a reply, relative to the estimates of its call.
    """

    latency: float | Callable[[int], float] = 0.2
    most: int | None = None
    rate: float | None = None
    window: float = 1.0
    headers: Mapping[str, str] = field(default_factory=dict)
    refuses: Callable[[float], bool] = lambda now: False
    silent: Callable[[int], bool] = lambda number: False
    billed: Callable[[int], tuple[float, float]] = lambda number: (1.0, 1.0)
    spec: ModelSpec = SPEC
    number: int = 0
    turned_down: int = 0
    under_way: int = 0
    highest: int = 0
    usage: list[tuple[int, int]] = field(default_factory=list)
    sent: Counter[str] = field(default_factory=Counter)
    answered: Counter[str] = field(default_factory=Counter)
    times: list[float] = field(default_factory=list)
    _windows: Counter[int] = field(default_factory=Counter)

    def calls(self, query: Query, scoring: Scoring) -> Sequence[EndpointRequest]:
        assert isinstance(query, TextQuery)
        return [EndpointRequest("/chat", {"prompt": query.prompt, "max_tokens": query.tokens}, lambda content: None)]

    async def send(self, call: EndpointRequest) -> Reply:
        now, number = asyncio.get_running_loop().time(), self.number
        self.number += 1
        self.times.append(now)
        self.sent[call.body["prompt"]] += 1
        window = int(now // self.window)
        full = self.most is not None and self.under_way >= self.most
        if full or self.refuses(now) or (self.rate and self._windows[window] >= self.rate * self.window):
            self.turned_down += 1
            raise RetryableError("429: slow down", after=retry_after(self.headers), overloaded=True)
        self._windows[window] += 1
        self.under_way += 1
        self.highest = max(self.highest, self.under_way)
        try:
            if self.silent(number):
                await asyncio.sleep(300.0)  # the limit of an attempt in `client.post`
                raise RetryableError("no complete reply within 300 s", silent=True)
            await asyncio.sleep(self.latency(number) if callable(self.latency) else self.latency)
        finally:
            self.under_way -= 1
        self.answered[call.body["prompt"]] += 1
        read, written = self.billed(number)
        self.usage.append((round(read * call.input_tokens), round(written * call.output_tokens)))
        return Reply({"choices": [{"message": {"content": "yes"}}]}, *self.usage[-1])

    def read(self, query: Query, scoring: Scoring, replies: Sequence[Reply]) -> Answer:
        return Answer(Status.OK, text="yes")

    async def close(self) -> None:
        pass


def log_normal(median: float, spread: float, seed: int = 0) -> Callable[[int], float]:
    """Latencies as those of hosted models."""
    drawn = np.random.default_rng(seed).lognormal(np.log(median), spread, 100_000).tolist()
    return lambda number: float(drawn[number % len(drawn)])


def questions(rows: range) -> QueryColumns:
    return TextColumns(StringColumn.of(f"A question of some length, number {row}?" for row in rows), TOKENS, Scoring())


def ask(
    server: VirtualServer,
    folder: Path,
    count: int,
    spending: Spending | None = None,
    desk: EndpointExecutor | None = None,
    **more: Any,
) -> Answers:
    """Answers to so many questions."""
    desk = desk or EndpointExecutor(lambda spec: server, folder / "journal", spending or Spending())
    blocks = [range(lo, min(lo + 64, count)) for lo in range(0, count, 64)]
    answers = sorted(desk.ask(SPEC, questions, blocks, **more), key=lambda each: each[0].start)
    return Answers.joined([each for _, _, each in answers])
