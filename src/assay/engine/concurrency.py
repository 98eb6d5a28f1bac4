"""When requests are sent to an endpoint: how many at once, how often again, and when it is given up.

Few are sent at once at first, more while all goes well, fewer if the server is overloaded.

Like TCP: the number doubles in every round trip until the server first objects, which halves it. From then on it grows
back to that level in some round trips, and slowly beyond it; every objection or failure lowers it by a tenth, at least
by one. Objections to requests that were sent before the last one do not count again. It does not grow either while
replies are late because the server has requests wait in its own queue.

A pause that the server asks for is a minimum. Whatever it asks for, every request waits longer after each objection,
and all requests together pause longer the longer no request has succeeded.
"""

from __future__ import annotations

import asyncio
import math
import random
from collections import deque
from dataclasses import dataclass

from assay.models.base import RetryableError

# --- limits of retries and of patience

MAX_ATTEMPTS = 6
"""How often a failed request is sent; being asked to wait does not count as a failure."""
MAX_FAILURES_IN_A_ROW = 20
"""Asking ends after this many failed requests without a success between them."""
MAX_SILENCE = 600.0
"""Seconds without any usable reply after which asking ends, and without a word from the server after which a request
has failed, however many attempts that were.
"""
GRACE = 10.0
"""Seconds for requests under way when asking ends early."""
CREDIBLE = 1.0
"""A pause of at least this many seconds, from a server that answers others meanwhile, is not lengthened."""
PAUSE = 2.0
"""A pause of at least this many seconds applies to all requests; a shorter one only to the request itself."""
PART = 0.25
"""After an objection all requests pause for this part of the time since the last success, if that is `LONG_AGO`."""
LONG_AGO = 1.0
"""Seconds."""
LONGEST = 30.0
"""The longest pause in seconds that the server has not asked for."""

# --- how many at once

START, MOST = 8, 256
QUEUED, LONG = 4.0, 10.0
"""A reply that took so many times as long as the quickest, and so many seconds, waited in the server's own queue."""


class ConcurrencyLimiter:
    """Hands out slots. It belongs to one event loop."""

    def __init__(self, start: int = START, most: int = MOST) -> None:
        self.limit, self.most = float(start), most
        self.under_way = 0
        self._doubling = True
        self._lowered_at = self._paused_until = self._backed_off_until = self._too_many = 0.0
        self._succeeded_at: float | None = None  # or since when requests have been sent
        self._quickest = math.inf
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def acquire(self) -> float:
        """Wait for a slot; returns the time when it was granted."""
        loop = asyncio.get_running_loop()
        slot = loop.create_future()
        self._waiting.append(slot)
        self._wake()
        try:
            await slot
        except asyncio.CancelledError:
            if not slot.cancelled():  # it was granted already
                self.release()
            raise
        if self._succeeded_at is None:
            self._succeeded_at = loop.time()
        return loop.time()

    def release(self) -> None:
        self.under_way -= 1
        self._wake()

    def succeeded(self, sent_at: float) -> None:
        """A request that was sent at `sent_at` was answered. One that was queued is no reason to send more at once."""
        now = asyncio.get_running_loop().time()
        took, self._succeeded_at = now - sent_at, now
        if self._backed_off_until > now:
            self._backed_off_until = now
            self._wake()
        self._quickest = min(self._quickest, took)
        if took > max(LONG, QUEUED * self._quickest):
            return
        if self._waiting or self.under_way >= int(self.limit):  # else nobody knows whether more would do
            back = max(0.0, self._too_many - self.limit) / 4  # quickly to where it was too much, slowly beyond that
            more = 1.0 if self._doubling else (back + 0.5) / self.limit
            self.limit = min(self.most, self.limit + more)
            self._wake()

    def rejected(self, sent_at: float, *, after: float | None = None, failed: bool = False) -> None:
        """A request that was sent at `sent_at` was rejected or failed."""
        loop = asyncio.get_running_loop()
        if sent_at >= self._lowered_at:
            lower = 0.5 * self.limit if self._doubling and not failed else min(0.9 * self.limit, self.limit - 1.0)
            self._too_many, self.limit = self.limit, max(1.0, lower)
            self._lowered_at, self._doubling = loop.time(), self._doubling and failed
        now = loop.time()
        if after is not None and after >= PAUSE:
            self._paused_until = max(self._paused_until, now + after)
            loop.call_at(self._paused_until, self._wake)
        idle = 0.0 if self._succeeded_at is None else now - self._succeeded_at
        if not failed and idle >= LONG_AGO and now >= self._backed_off_until:
            self._backed_off_until = now + min(LONGEST, PART * idle)
            loop.call_at(self._backed_off_until, self._wake)

    def _wake(self) -> None:
        """Give free slots to those who waited longest."""
        if asyncio.get_running_loop().time() < max(self._paused_until, self._backed_off_until):
            return
        while self._waiting and self.under_way < int(self.limit):
            slot = self._waiting.popleft()
            if not slot.cancelled():
                self.under_way += 1
                slot.set_result(None)


@dataclass
class Attempts:
    """What has been tried for one request; moments by the loop's clock."""

    tried_at: float
    silent_since: float = 0.0  # 0: it was not sent since the server's last word
    failures: int = 0
    pauses: int = 0

    def failed(self, error: RetryableError, now: float, last_reply_at: float) -> None:
        """Count an attempt; `last_reply_at` is when the last usable reply to any request came."""
        if error.after is not None and error.after >= CREDIBLE and last_reply_at > self.tried_at:
            self.pauses = 0  # the server has answered others since: its pauses are what it needs
        self.tried_at = now
        self.failures += not error.overloaded
        self.pauses += error.overloaded
        if not error.silent:
            self.silent_since = 0.0
        elif now >= self.silent_since + MAX_SILENCE:
            self.failures = MAX_ATTEMPTS


def delay(attempt: int, after: float | None) -> float:
    """Seconds until a request is retried: longer each time, at least what the server asks for, with a random part."""
    least = max(min(LONGEST, 0.25 * 2.0 ** min(attempt, 16)), after or 0.0)
    return least + random.uniform(0.0, 0.5 * least + 0.05)
