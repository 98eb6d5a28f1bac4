"""The cost of asking an endpoint: tokens as the server counts them, dollars from the user's price."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from assay.errors import UsageError
from assay.models.base import Call, Reply

CAUTION = 1.5
"""The factor for estimates of a request's tokens, until replies show how accurate they are."""


@dataclass(frozen=True)
class Price:
    """Dollars per million input tokens, and per million output tokens."""

    read: float
    written: float

    @staticmethod
    def of(text: str) -> Price:
        """
        >>> Price.of("0.10,0.40")
        Price(read=0.1, written=0.4)
        """
        try:
            read, written = (float(part) for part in text.split(","))
        except ValueError:
            read = written = -1.0
        if not (0 <= read < 1e6 and 0 <= written < 1e6):
            problem = f"--price is {text!r}, expected dollars per million input and output tokens."
            raise UsageError(problem, "--price 0.10,0.40", code="bad-option", key="price")
        return Price(read, written)

    def usd(self, read: float, written: float) -> float:
        return (read * self.read + written * self.written) / 1e6


@dataclass
class Spending:
    """What this process has spent, and whether another request fits into the budget."""

    price: Price | None = None
    budget: float | None = None
    sent: int = 0
    used: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    _reserved: float = field(default=0.0, repr=False)
    _caution: float = field(default=CAUTION, repr=False)

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
        return None if self.price is None else self.price.usd(self.input_tokens, self.output_tokens)

    def reserve(self, call: Call) -> float:
        """Reserve what a call may cost; raises a UsageError if that would exceed the budget."""
        if self.price is None or self.budget is None:
            return 0.0
        most = self.price.usd(call.input_tokens * self._caution, call.output_tokens)
        if (self.usd or 0.0) + self._reserved + most > self.budget:
            problem = f"the next request would exceed the budget of ${self.budget:g}; ${self.usd or 0.0:.4f} are spent."
            remedy = "All answers are stored. Raise --budget-usd and repeat the command to resume."
            raise UsageError(problem, remedy, code="over-budget", key="budget-usd")
        self._reserved += most
        return most

    def settle(self, call: Call, reserved: float, billed: tuple[int, int] | None) -> None:
        """Record a finished call: the billed tokens (estimated if the server does not count), or None if nothing was
        billed.
        """
        self.sent += 1
        self._reserved -= reserved
        if billed is None:
            return
        read, written = billed
        if read:
            self._caution = max(1.0, self._caution if self.sent < 32 else 1.0, 1.1 * read / call.input_tokens)
        self.input_tokens += read or call.input_tokens
        self.output_tokens += written if read else call.output_tokens

    def as_json(self, billed: Mapping[str, int]) -> dict[str, float | None]:
        """For run.json: what the run's answers cost, whenever they were made, and how many requests were sent now."""
        usd = None if self.price is None else self.price.usd(billed["input_tokens"], billed["output_tokens"])
        return {**billed, "usd": None if usd is None else round(usd, 6), "sent_now": self.sent}


def billed(reply: Reply) -> tuple[int, int]:
    return reply.input_tokens, reply.output_tokens
