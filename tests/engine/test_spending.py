"""Money: what is spent is counted, and a budget is kept."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import chain, repeat

import pytest

from assay.engine.spending import Price, Spending, Till
from assay.errors import UsageError
from assay.models.base import EndpointRequest
from own_loop import run_alone
from raising import raises

CALL = EndpointRequest(
    "/chat/completions", {"messages": [{"content": "x" * 400}], "max_tokens": 10}, lambda content: None
)


def once(spending: Spending, billed: tuple[int, int] | None, call: EndpointRequest = CALL) -> None:
    assert spending.reserve(call)
    spending.settle(call, billed)


def test_tokens_and_dollars_are_counted() -> None:
    spending = Spending(Price(1.0, 10.0))
    for _ in range(3):
        once(spending, (100, 5))
    assert (spending.sent, spending.input_tokens, spending.output_tokens) == (3, 300, 15)
    assert spending.usd == pytest.approx(300e-6 + 150e-6)


def test_a_server_that_does_not_count_is_estimated() -> None:
    spending = Spending(Price(1.0, 1.0))
    once(spending, (0, 0))
    assert (spending.input_tokens, spending.output_tokens) == (CALL.input_tokens, CALL.output_tokens)


def test_what_came_to_nothing_costs_nothing() -> None:
    spending = Spending(Price(1.0, 1.0), budget=1.0)
    once(spending, None)
    assert (spending.sent, spending.usd) == (1, 0.0)


def spend(spending: Spending, bills: Iterator[tuple[int, int]], together: int) -> UsageError:
    """Send requests, so many together where the budget lets them, until it is used up."""
    under_way = 0
    with raises("over-budget", UsageError, key="budget-usd") as error:
        while True:
            if under_way < together and spending.reserve(CALL):
                under_way += 1
            else:
                spending.settle(CALL, next(bills))
                under_way -= 1
    assert under_way == 0, "nothing comes after the stop that was not counted"
    return error.value


@pytest.mark.parametrize("read", [50, 116, 300])
@pytest.mark.parametrize("together", [1, 8])
def test_a_budget_is_never_passed_even_by_requests_under_way(read: int, together: int) -> None:
    """The server bills more than was estimated, which is known only after the first replies."""
    spending = Spending(Price(1.0, 10.0), budget=0.01)
    spend(spending, repeat((read, 10)), together)
    assert spending.usd is not None
    slack = 2 * max(0, read - 1.5 * CALL.input_tokens) / 1e6  # of those that nothing was known about
    assert spending.usd <= 0.01 + slack
    assert spending.usd > 0.005


@pytest.mark.parametrize("cheap", [0, 1, 8, 20, 10_000])
@pytest.mark.parametrize("budget", [0.003, 0.01, 0.1])
def test_replies_of_four_times_their_limit_exceed_a_budget_by_at_most_5_percent(budget: float, cheap: int) -> None:
    """The first replies are cheap: nothing is learned from them about the later ones."""
    spending = Spending(Price(1.0, 10.0), budget=budget)
    spend(spending, chain(repeat((116, 1), cheap), repeat((116, 40))), 64)
    assert 0.5 * budget < (spending.usd or 0) <= 1.05 * budget


def test_until_8_replies_have_come_at_most_2_requests_are_under_way() -> None:
    spending = Spending(Price(1.0, 10.0), budget=1.0)
    for _ in range(4):
        assert [spending.reserve(CALL) for _ in range(3)] == [True, True, False]
        for _ in range(2):
            spending.settle(CALL, (100, 5))
    assert [spending.reserve(CALL) for _ in range(30)] == [True] * 30


def test_without_a_budget_nothing_waits() -> None:
    assert all(Spending(Price(1.0, 10.0)).reserve(CALL) for _ in range(30))


def test_what_is_under_way_counts_at_the_highest_price_seen() -> None:
    spending = Spending(Price(1.0, 10.0), budget=0.1)
    for _ in range(8):
        once(spending, (116, 10))
    once(spending, (116, 800))
    price = 116 * 1.5e-6 + 800e-5
    fits = int((0.1 - (spending.usd or 0)) / price)
    assert [spending.reserve(CALL) for _ in range(fits + 1)] == [True] * fits + [False]


def test_stored_replies_that_are_used_count_and_teach_what_a_request_costs() -> None:
    spending = Spending(Price(1.0, 10.0), budget=0.01)
    spending.reuse(CALL, (116, 900))
    assert (spending.sent, spending.used, spending.usd) == (0, 1, 0.0)
    with raises("over-budget", UsageError) as error:
        spending.reserve(CALL)
    assert "$0.0091 spent ($0.0091 of it by other commands), $0.0000 under way, $0.0009 left" in str(error.value)


def test_a_block_of_stored_answers_counts_once() -> None:
    spending = Spending(Price(1.0, 10.0), budget=0.01)
    for _ in range(2):
        spending.reuse_block("block", 1000, 100)
    assert spending.usd_in_all == pytest.approx(1000e-6 + 1000e-6)


def test_what_was_cut_off_is_under_way_and_may_be_billed() -> None:
    spending = Spending(Price(1.0, 10.0), budget=0.01)
    once(spending, (100, 10))
    spending.reserve(CALL)
    spending.settle(CALL, None, cut_off=True)
    assert spending.cut_off == 1
    assert spending.of_budget() == "$0.0002 spent, $0.0003 under way, $0.0095 left"


def test_what_an_ended_asking_left_under_way_keeps_no_other_waiting() -> None:
    spending = Spending(Price(1.0, 10.0), budget=0.01)
    assert [spending.reserve(CALL) for _ in range(3)] == [True, True, False]
    Till(spending)
    assert spending.cut_off == 2
    assert [spending.reserve(CALL) for _ in range(3)] == [True, True, False]


def test_who_waits_is_served_in_order_and_who_gives_up_takes_nothing() -> None:
    async def waited() -> tuple[list[int], list[bool]]:
        till, turns = Till(Spending(Price(1.0, 10.0), budget=0.01)), list[int]()

        async def one(number: int) -> None:
            await till.reserve(CALL)
            turns.append(number)

        tasks = [asyncio.create_task(one(number)) for number in range(6)]
        await asyncio.sleep(0)
        tasks[2].cancel()  # before its turn
        till.settle(CALL, (100, 5))
        tasks[3].cancel()  # when it has its turn, and does not know it yet
        await asyncio.sleep(0.01)
        till.settle(CALL, (100, 5))
        await asyncio.sleep(0.01)
        done = [task.done() and not task.cancelled() for task in tasks]
        tasks[5].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return turns, done

    turns, done = run_alone(waited())
    assert turns == [0, 1, 4, 5]
    assert done == [True, True, False, False, True, True]


@pytest.mark.parametrize("text", ["", "1", "1,2,3", "a,b", "-1,2", "nan,1", "inf,1"])
def test_a_price_has_two_numbers(text: str) -> None:
    with raises("bad-option", UsageError, key="price"):
        Price.of(text)


def test_a_budget_needs_a_price_and_is_more_than_nothing() -> None:
    with raises("bad-option", UsageError, key="price"):
        Spending(budget=1.0)
    with raises("bad-option", UsageError, key="budget-usd"):
        Spending(Price(1, 1), budget=0.0)
