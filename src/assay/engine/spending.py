"""The cost of asking an endpoint: tokens as the server counts them, dollars from the user's price.

A budget covers all replies that a run uses, whenever they were sent. As a server may bill more output tokens than a
request allows (reasoning), what is under way counts at the highest price seen so far, and at least as if every reply
had `SURPRISE` times its limit: then the budget is exceeded by at most `SLACK`.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field

from assay.errors import UsageError
from assay.models.base import EndpointRequest, Reply

CAUTION = 1.5
"""The factor for estimates of a request's input tokens, until replies show how accurate they are."""
ACCURATE = 32
"""So many replies show it."""
LEARNING, AT_FIRST = 8, 2
"""Until so many replies have come, at most two requests are under way if there is a budget."""
SURPRISE = 4.0
"""So many times the output tokens that a request allows may be billed at any time."""
SLACK = 0.05
"""The part of the budget by which such replies may exceed it."""


@dataclass(frozen=True)
class Price:
    """Dollars per million input tokens, and per million output tokens."""

    input_usd: float
    output_usd: float

    @staticmethod
    def of(text: str) -> Price:
        """
        >>> Price.of("0.10,0.40")
        Price(input_usd=0.1, output_usd=0.4)
        """
        try:
            input_price, output_price = (float(part) for part in text.split(","))
        except ValueError:
            input_price = output_price = -1.0
        if not (0 <= input_price < 1e6 and 0 <= output_price < 1e6):
            problem = f"--price is {text!r}, expected dollars per million input and output tokens."
            raise UsageError(problem, "--price 0.10,0.40", code="bad-option", key="price")
        return Price(input_price, output_price)

    def usd(self, input_tokens: float, output_tokens: float) -> float:
        return (input_tokens * self.input_usd + output_tokens * self.output_usd) / 1e6


@dataclass
class Spending:
    """What this process has spent, and whether another request fits into the budget.

    `sent`, `input_tokens` and `output_tokens` are of this process; `earlier` has the input and output tokens of stored
    replies that were used, `used` counts all replies. `cut_off` requests were under way when asking ended.
    """

    price: Price | None = None
    budget: float | None = None
    sent: int = 0
    used: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    earlier: tuple[int, int] = (0, 0)
    cut_off: int = 0
    _under_way: tuple[int, int, int] = field(default=(0, 0, 0), repr=False)  # requests, estimated tokens
    _lost: tuple[int, int] = field(default=(0, 0), repr=False)  # estimated tokens of what was cut off
    _replies: int = field(default=0, repr=False)
    _input_ratio: float = field(default=0.0, repr=False)  # the highest of billed to estimated tokens
    _output_ratio: float = field(default=0.0, repr=False)
    _counted: set[Hashable] = field(default_factory=set, repr=False)

    def __post_init__(self) -> None:
        if self.budget is not None and self.price is None:
            problem = "--budget-usd needs --price."
            raise UsageError(
                problem, "Pass --price IN,OUT, in dollars per million tokens.", code="bad-option", key="price"
            )
        if self.budget is not None and not self.budget > 0:
            problem = f"--budget-usd is {self.budget:g}, expected more than 0."
            raise UsageError(problem, "--budget-usd 1", code="bad-option", key="budget-usd")

    @property
    def usd(self) -> float | None:
        """The cost of what was sent now."""
        return None if self.price is None else self.price.usd(self.input_tokens, self.output_tokens)

    @property
    def usd_in_all(self) -> float:
        """The cost of all replies that were used, whenever they were sent."""
        return 0.0 if self.price is None else (self.usd or 0.0) + self.price.usd(*self.earlier)

    # --- a request

    def reserve(self, call: EndpointRequest) -> bool:
        """Whether a request may be sent; if so, it is under way from now on. False: wait for a reply.

        Raises a UsageError if it does not fit into the budget although nothing is under way.
        """
        if self.budget is None:  # nothing needs to be estimated
            return True
        count, n_input, n_output = self._under_way
        after = count + 1, n_input + call.input_tokens, n_output + call.output_tokens
        if self._replies < LEARNING and count >= AT_FIRST:
            return False
        if not self._fit(after[1], after[2]):
            if count:
                return False
            raise self._over(call)
        self._under_way = after
        return True

    def settle(self, call: EndpointRequest, billed: tuple[int, int] | None, *, cut_off: bool = False) -> None:
        """Record a finished request: the billed tokens (estimated if the server does not count), or None if nothing was
        billed. One that was `cut_off` may be billed without our knowledge.
        """
        self.sent += 1
        self.release(call)
        if cut_off:
            self.cut_off += 1
            self._lost = self._lost[0] + call.input_tokens, self._lost[1] + call.output_tokens
        if billed is not None:
            self._replies += 1
            n_input, n_output = self._learned(call, billed)
            self.input_tokens += n_input
            self.output_tokens += n_output

    def release(self, call: EndpointRequest) -> None:
        """It is not under way any more, or was not sent."""
        if self.budget is None:
            return
        count, n_input, n_output = self._under_way
        self._under_way = count - 1, n_input - call.input_tokens, n_output - call.output_tokens

    def abandon(self) -> None:
        """What is under way will not be settled: the asking that sent it was ended in between."""
        count, n_input, n_output = self._under_way
        self.cut_off += count
        self._lost = self._lost[0] + n_input, self._lost[1] + n_output
        self._under_way = 0, 0, 0

    def reuse(self, call: EndpointRequest, billed: tuple[int, int]) -> None:
        """Record a stored reply that is used."""
        self.used += 1
        n_input, n_output = self._learned(call, billed)
        self.earlier = self.earlier[0] + n_input, self.earlier[1] + n_output

    def reuse_block(self, block: Hashable, n_input: int, n_output: int) -> None:
        """Record the tokens of a block of answers that is used, once."""
        if block not in self._counted:
            self._counted.add(block)
            self.earlier = self.earlier[0] + n_input, self.earlier[1] + n_output

    def _learned(self, call: EndpointRequest, billed: tuple[int, int]) -> tuple[int, int]:
        """The billed tokens, estimated if the server does not count."""
        n_input, n_output = billed
        if not n_input:
            return call.input_tokens, call.output_tokens
        if self.budget is not None:
            self._input_ratio = max(self._input_ratio, n_input / call.input_tokens)
            self._output_ratio = max(self._output_ratio, n_output / max(1, call.output_tokens))
        return n_input, n_output

    def _most(self, n_input: int, n_output: int, surprise: float = 1.0) -> float:
        """What requests may cost, by their estimated tokens."""
        assert self.price is not None
        caution = CAUTION if self._replies < ACCURATE else 1.0
        return self.price.usd(n_input * max(caution, self._input_ratio), n_output * max(surprise, self._output_ratio))

    def _fit(self, n_input: int, n_output: int) -> bool:
        assert self.budget is not None
        budget_left = self.budget - self.usd_in_all
        most, surprising = self._most(n_input, n_output), self._most(n_input, n_output, SURPRISE)
        return most <= budget_left and surprising <= budget_left + SLACK * self.budget

    def _over(self, call: EndpointRequest) -> UsageError:
        most = self._most(call.input_tokens, call.output_tokens, SURPRISE)
        would = f"the next request, which may cost ${most:.4f}, would exceed the budget of ${self.budget:g}"
        problem = f"{would}: {self.of_budget()}."
        remedy = "All answers are stored. Raise --budget-usd, which covers the whole run, and repeat the command."
        return UsageError(problem, remedy, code="over-budget", key="budget-usd")

    # --- in words

    def of_budget(self) -> str:
        """What is spent, under way and left, of which budget."""
        assert self.price is not None
        assert self.budget is not None
        earlier, spent = self.price.usd(*self.earlier), self.usd_in_all
        of_it = f" (${earlier:.4f} of it by other commands)" if earlier else ""
        count, n_input, n_output = self._under_way
        under_way = self._most(n_input + self._lost[0], n_output + self._lost[1]) if count + self.cut_off else 0.0
        budget_left = max(0.0, self.budget - spent - under_way)
        return f"${spent:.4f} spent{of_it}, ${under_way:.4f} under way, ${budget_left:.4f} left"

    def as_json(self, billed: Mapping[str, int]) -> dict[str, float | None]:
        """For run.json: what the run's answers cost, whenever they were made, and how many requests were sent now."""
        usd = None if self.price is None else self.price.usd(billed["input_tokens"], billed["output_tokens"])
        return {**billed, "usd": None if usd is None else round(usd, 6), "sent_now": self.sent}


class Till:
    """Requests wait here, first come, first served, until they fit into the budget. It belongs to one event loop."""

    def __init__(self, spending: Spending) -> None:
        self.spending = spending
        spending.abandon()
        self._waiting: deque[tuple[asyncio.Future[None], EndpointRequest]] = deque()

    async def reserve(self, call: EndpointRequest) -> None:
        """Wait until a request may be sent; raises a UsageError if it does not fit into the budget."""
        if not self._waiting and self.spending.reserve(call):
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append((turn, call))
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():  # its turn had come already
                self.release(call)
            raise

    def settle(self, call: EndpointRequest, billed: tuple[int, int] | None, *, cut_off: bool = False) -> None:
        self.spending.settle(call, billed, cut_off=cut_off)
        self._wake()

    def release(self, call: EndpointRequest) -> None:
        """It was not sent."""
        self.spending.release(call)
        self._wake()

    def _wake(self) -> None:
        while self._waiting:
            turn, call = self._waiting[0]
            try:
                if not turn.cancelled() and not self.spending.reserve(call):
                    return
            except UsageError as error:
                turn.set_exception(error)
            else:
                if not turn.cancelled():
                    turn.set_result(None)
            self._waiting.popleft()


def billed(reply: Reply) -> tuple[int, int]:
    return reply.input_tokens, reply.output_tokens
