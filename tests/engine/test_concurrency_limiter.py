"""Concurrency follows what a server can take."""

from __future__ import annotations

import asyncio

import pytest

from assay.engine.concurrency import ConcurrencyLimiter, delay
from own_loop import run_alone


async def rounds(pace: ConcurrencyLimiter, most: int, requests: int) -> tuple[int, int]:
    """Requests to a server that takes `most` at once: how many it turned down, and the most it had."""
    under_way = turned_down = highest = 0

    async def one() -> None:
        nonlocal under_way, turned_down, highest
        while True:
            began = await pace.acquire()
            under_way += 1
            highest = max(highest, under_way)
            try:
                await asyncio.sleep(0.001)
                if under_way <= most:
                    pace.succeeded(began)
                    return
                turned_down += 1
                pace.rejected(began)
            finally:
                under_way -= 1
                pace.release()
            await asyncio.sleep(0.001)

    async def worker(left: list[int]) -> None:
        while left:
            left.pop()
            await one()

    left = [0] * requests
    await asyncio.gather(*(worker(left) for _ in range(pace.most)))
    return turned_down, highest


def test_it_grows_to_what_a_server_takes_and_stays_about_there() -> None:
    pace = ConcurrencyLimiter(most=100)
    turned_down, highest = run_alone(rounds(pace, 40, 4000))
    assert 25 <= pace.limit <= 45
    assert turned_down < 400
    assert 40 < highest <= 100


def test_it_is_bounded() -> None:
    pace = ConcurrencyLimiter(most=20)
    turned_down, highest = run_alone(rounds(pace, 1000, 1000))
    assert (turned_down, highest, pace.limit) == (0, 20, 20)


def test_objections_to_what_was_sent_together_count_once() -> None:
    async def rejected() -> float:
        pace = ConcurrencyLimiter(start=32)
        began = [await pace.acquire() for _ in range(32)]
        for each in began:
            pace.rejected(each)
            pace.release()
        return pace.limit

    assert run_alone(rejected()) == 16


def test_who_gives_up_waiting_takes_no_slot() -> None:
    async def given_up() -> tuple[int, bool]:
        pace = ConcurrencyLimiter(start=1)
        await pace.acquire()
        waiting = [asyncio.create_task(pace.acquire()) for _ in range(3)]
        await asyncio.sleep(0)
        waiting[0].cancel()  # before a slot is free
        pace.release()
        waiting[1].cancel()  # when it has the slot, and does not know it yet
        await asyncio.gather(*waiting[:2], return_exceptions=True)
        await asyncio.sleep(0)
        return pace.under_way, waiting[2].done()

    assert run_alone(given_up()) == (1, True)


def test_it_never_stops_altogether() -> None:
    async def rejected() -> float:
        pace = ConcurrencyLimiter(start=2)
        for _ in range(50):
            pace.rejected(await pace.acquire())
            pace.release()
            await asyncio.sleep(0)
        return pace.limit

    assert run_alone(rejected()) == 1


@pytest.mark.slow
def test_a_long_wait_is_for_everybody() -> None:
    async def waited() -> float:
        loop = asyncio.get_running_loop()
        pace = ConcurrencyLimiter()
        began = await pace.acquire()
        pace.rejected(began, after=2.0)
        pace.release()
        await pace.acquire()
        return loop.time() - began

    assert run_alone(waited()) >= 2.0


@pytest.mark.parametrize("after", [0.0, 1.0, 7.0])
def test_what_the_server_wants_is_waited_for_at_least(after: float) -> None:
    assert min(delay(3, after) for _ in range(100)) >= after


@pytest.mark.parametrize("after", [None, 0.0, 0.001, 1.0])
def test_a_server_that_wants_no_pause_does_not_shorten_ours(after: float | None) -> None:
    assert min(delay(5, after) for _ in range(100)) >= 8.0


def test_waiting_grows_and_is_not_the_same_for_all() -> None:
    drawn = [[delay(attempt, None) for _ in range(50)] for attempt in range(10)]
    assert all(len(set(each)) > 10 for each in drawn)
    assert max(drawn[0]) < min(drawn[3])
    assert max(drawn[9]) <= 50


@pytest.mark.slow
def test_a_server_that_answers_one_after_another_is_not_given_ever_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests that wait in the server's own queue would run into the time limit, and be sent again."""
    monkeypatch.setattr("assay.engine.concurrency.LONG", 0.01)

    async def one_by_one() -> float:
        pace, busy = ConcurrencyLimiter(most=200), asyncio.Lock()

        async def worker(left: list[int]) -> None:
            while left:
                left.pop()
                began = await pace.acquire()
                async with busy:
                    await asyncio.sleep(0.002)
                pace.succeeded(began)
                pace.release()

        left = [0] * 300
        await asyncio.gather(*(worker(left) for _ in range(pace.most)))
        return pace.limit

    assert run_alone(one_by_one()) < 30
