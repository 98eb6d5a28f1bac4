"""Budgets in virtual time: at most 5% over, whatever is under way, and never spent twice by repeating the command."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from assay.engine.ask import LiveAsk
from assay.engine.endpoints import EndpointExecutor
from assay.engine.executor import EngineSettings, LocalExecutor
from assay.engine.spending import Price, Spending
from assay.engine.store import BlockStore
from assay.errors import UsageError
from assay.models.base import EndpointRequest
from raising import raises
from virtual_time import SPEC, TOKENS, VirtualServer, ask, log_normal, questions, virtual

__all__ = ["virtual"]
pytestmark = pytest.mark.usefixtures("virtual")

PRICE = Price(1.0, 10.0)
REQUEST = EndpointRequest(
    "/chat", {"prompt": "A question of some length, number 100?", "max_tokens": TOKENS}, lambda content: None
)
ONE = PRICE.usd(REQUEST.input_tokens, TOKENS)

BILLS: dict[str, Callable[[int], tuple[float, float]]] = {
    "as estimated": lambda number: (1.0, 1.0),
    "four times as much output": lambda number: (1.0, 4.0),
    "anything up to four times": lambda number: (1.0, 4.0 * (number * 7919 % 101) / 100),
    "the first 8 are cheap": lambda number: (1.0, 0.1 if number < 8 else 4.0),
    "the first 100 are cheap": lambda number: (1.0, 0.1 if number < 100 else 4.0),
    "more input than estimated": lambda number: (1.4, 4.0),
}


def paid(*servers: VirtualServer) -> float:
    """What the server bills."""
    return sum(PRICE.usd(*usage) for server in servers for usage in server.usage)


@pytest.mark.parametrize("requests", [30, 300])
@pytest.mark.parametrize("bill", BILLS.values(), ids=BILLS.keys())
def test_a_budget_is_exceeded_by_at_most_5_percent(
    bill: Callable[[int], tuple[float, float]], requests: int, tmp_path: Path
) -> None:
    server, budget = VirtualServer(billed=bill, latency=log_normal(1.0, 0.6)), requests * ONE
    spending = Spending(PRICE, budget)
    with raises("over-budget", UsageError) as error:
        ask(server, tmp_path, 4 * requests + 200 * (bill is BILLS["the first 100 are cheap"]), spending)
    assert 0.75 * budget < paid(server) <= 1.05 * budget
    assert spending.usd == pytest.approx(paid(server)), "every reply is counted, those after the stop, too"
    assert f"${paid(server):.4f} spent, $0.0000 under way" in str(error.value)
    assert server.highest > 2 or requests < 300


def test_the_first_8_replies_come_two_at_a_time(tmp_path: Path) -> None:
    server = VirtualServer()
    ask(server, tmp_path, 200, Spending(PRICE, 1.0))
    assert [sum(moment < end for moment in server.times) for end in (0.1, 0.3, 0.5, 0.7)] == [2, 4, 6, 8]
    assert server.highest > 8


def test_a_repeated_command_does_not_spend_the_budget_again_and_a_larger_budget_continues(tmp_path: Path) -> None:
    budget = 60 * ONE
    servers = [VirtualServer() for _ in range(4)]
    for server in servers[:2]:
        with raises("over-budget", UsageError):
            ask(server, tmp_path, 200, Spending(PRICE, budget))
    assert servers[1].number <= 1
    assert paid(*servers) <= 1.05 * budget
    with raises("over-budget", UsageError) as error:
        ask(servers[2], tmp_path, 200, Spending(PRICE, 2 * budget))
    assert f"${paid(*servers[:2]):.4f} of it by other commands" in str(error.value)
    assert 1.8 * budget < paid(*servers) <= 1.05 * 2 * budget
    ask(servers[3], tmp_path, 200, Spending(PRICE, 10 * budget))
    assert sum(server.number for server in servers) == 200


class Plan:
    """Questions that are asked through the store, whose blocks are not in the journal's way."""

    ability = "text"

    def __init__(self, count: int) -> None:
        self.count, self.digest = count, f"plan of {count}"

    def __len__(self) -> int:
        return self.count

    def columns(self, lo: int, hi: int) -> object:
        return questions(range(lo, hi))


@pytest.mark.parametrize("counts", [True, False])
def test_stored_blocks_count_as_well_once_and_even_if_the_server_does_not_count(counts: bool, tmp_path: Path) -> None:
    def asked(server: VirtualServer, spending: Spending, count: int) -> None:
        desk = EndpointExecutor(lambda spec: server, tmp_path / "journal", spending)
        spec = SPEC.__class__(**{**SPEC.__dict__, "abilities": frozenset({"text"})})
        asker = LiveAsk(spec, BlockStore(tmp_path / "blocks"), LocalExecutor(lambda spec: server), EngineSettings(16))
        asker.desk = desk
        for _ in range(2):  # a probe may ask the same twice
            asker(Plan(count), "questions")  # type: ignore[arg-type]

    bill = (1.0, 1.0) if counts else (0.0, 0.0)
    first = Spending(PRICE, 1.0)
    asked(VirtualServer(billed=lambda number: bill), first, 64)
    assert first.earlier == (0, 0)
    again = Spending(PRICE, 1.0)
    asked(VirtualServer(), again, 64)
    assert again.sent == 0
    assert again.usd_in_all == pytest.approx(first.usd_in_all)
    assert again.usd_in_all == pytest.approx(64 * ONE, rel=0.05)


def test_requests_that_are_cut_off_are_named(tmp_path: Path) -> None:
    """One question is refused for good while the others are on the way, longer than a stopped program waits."""
    server = VirtualServer(latency=60.0)
    send = server.send

    async def refused(call: EndpointRequest) -> object:
        if "number 5?" in call.body["prompt"]:
            raise UsageError("no.", "Stop.", code="bad-option")
        return await send(call)

    server.send = refused  # type: ignore[method-assign,assignment]
    spending = Spending(PRICE)
    with raises("bad-option", UsageError):
        ask(server, tmp_path, 40, spending)
    assert spending.cut_off == server.number
