"""Money: what is spent is counted, and a budget is never passed."""

from __future__ import annotations

import pytest

from assay.engine.spending import Price, Spending
from assay.errors import UsageError
from assay.models.base import Call
from raising import raises

CALL = Call("/chat/completions", {"messages": [{"content": "x" * 400}], "max_tokens": 10}, lambda content: None)


def test_tokens_and_dollars_are_counted() -> None:
    spending = Spending(Price(1.0, 10.0))
    for _ in range(3):
        spending.settle(CALL, spending.reserve(CALL), (100, 5))
    assert (spending.sent, spending.input_tokens, spending.output_tokens) == (3, 300, 15)
    assert spending.usd == pytest.approx(300e-6 + 150e-6)


def test_a_server_that_does_not_count_is_estimated() -> None:
    spending = Spending(Price(1.0, 1.0))
    spending.settle(CALL, 0.0, (0, 0))
    assert (spending.input_tokens, spending.output_tokens) == (CALL.input_tokens, CALL.output_tokens)


def test_what_came_to_nothing_costs_nothing() -> None:
    spending = Spending(Price(1.0, 1.0), budget=1.0)
    spending.settle(CALL, spending.reserve(CALL), None)
    assert (spending.sent, spending.usd) == (1, 0.0)


@pytest.mark.parametrize("read", [50, 116, 300])
@pytest.mark.parametrize("together", [1, 8])
def test_a_budget_is_never_passed_even_by_requests_under_way(read: int, together: int) -> None:
    """The server bills more than was estimated, which is known only after the first replies."""
    spending = Spending(Price(1.0, 10.0), budget=0.01)
    under_way: list[float] = []
    with raises("over-budget", UsageError, key="budget-usd"):
        while True:
            under_way.append(spending.reserve(CALL))
            if len(under_way) == together:
                spending.settle(CALL, under_way.pop(0), (read, 10))
    for reserved in under_way:
        spending.settle(CALL, reserved, (read, 10))
    assert spending.usd is not None
    slack = together * max(0, read - 1.5 * CALL.input_tokens) / 1e6  # of those that nothing was known about
    assert spending.usd <= 0.01 + slack
    assert spending.usd > 0.005


@pytest.mark.parametrize("text", ["", "1", "1,2,3", "a,b", "-1,2", "nan,1", "inf,1"])
def test_a_price_has_two_numbers(text: str) -> None:
    with raises("bad-option", UsageError, key="price"):
        Price.of(text)


def test_a_budget_needs_a_price_and_is_more_than_nothing() -> None:
    with raises("bad-option", UsageError, key="price"):
        Spending(budget=1.0)
    with raises("bad-option", UsageError, key="budget-usd"):
        Spending(Price(1, 1), budget=0.0)
