"""How many requests are under way at once: few at first, more while all goes well, fewer when a server is pressed.

As TCP does it: doubled in every round trip until the server first says that it is too much, which halves it. From then
on it comes back to where it was too much in some round trips, and grows slowly beyond that; whenever the server objects
or fails it is a tenth less, at least one. Objections to what was sent before the last one count as one with it.
"""

from __future__ import annotations

import asyncio
import random
from collections import deque

START, MOST = 8, 256
PAUSE = 2.0
"""A server that wants us to wait at least so long means everybody; a shorter wait concerns the request alone."""


class Pace:
    """Hands out slots. It belongs to one event loop."""

    def __init__(self, start: int = START, most: int = MOST) -> None:
        self.limit, self.most = float(start), most
        self.under_way = 0
        self._doubling = True
        self._lowered_at = self._paused_until = self._too_many = 0.0
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def enter(self) -> float:
        """Wait for a slot; returns when it was had."""
        loop = asyncio.get_running_loop()
        place = loop.create_future()
        self._waiting.append(place)
        self._wake()
        try:
            await place
        except asyncio.CancelledError:
            if not place.cancelled():  # the slot was had already
                self.leave()
            raise
        return loop.time()

    def leave(self) -> None:
        self.under_way -= 1
        self._wake()

    def succeeded(self) -> None:
        if self._waiting or self.under_way >= int(self.limit):  # else nobody knows whether more would do
            back = max(0.0, self._too_many - self.limit) / 4  # quickly to where it was too much, slowly beyond that
            more = 1.0 if self._doubling else (back + 0.5) / self.limit
            self.limit = min(self.most, self.limit + more)
            self._wake()

    def objected(self, began: float, *, after: float | None = None, failed: bool = False) -> None:
        """A request that was sent at `began` was turned down, or failed."""
        loop = asyncio.get_running_loop()
        if began >= self._lowered_at:
            lower = 0.5 * self.limit if self._doubling and not failed else min(0.9 * self.limit, self.limit - 1.0)
            self._too_many, self.limit = self.limit, max(1.0, lower)
            self._lowered_at, self._doubling = loop.time(), self._doubling and failed
        if after is not None and after >= PAUSE:
            self._paused_until = max(self._paused_until, loop.time() + after)
            loop.call_at(self._paused_until, self._wake)

    def _wake(self) -> None:
        """Give slots that are free to who waited longest."""
        if asyncio.get_running_loop().time() < self._paused_until:
            return
        while self._waiting and self.under_way < int(self.limit):
            place = self._waiting.popleft()
            if not place.cancelled():
                self.under_way += 1
                place.set_result(None)


def delay(attempt: int, after: float | None) -> float:
    """Seconds until a request is tried again: what the server wants, or longer each time; never all at one moment."""
    least = min(30.0, 0.25 * 2**attempt) if after is None else after
    return least + random.uniform(0.0, 0.5 * least + 0.05)
