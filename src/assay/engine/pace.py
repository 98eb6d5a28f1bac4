"""How many requests are under way at once: few at first, more while all goes well, fewer when a server is pressed.

As TCP does it: doubled in every round trip until the server first says that it is too much, which halves it; from then
on one more in every round trip, and a tenth less when the server objects or fails. Objections to what was sent before
the last one count as one with it.
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
        self._lowered_at = self._paused_until = 0.0
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def enter(self) -> float:
        """Wait for a slot; returns when it was had."""
        loop = asyncio.get_running_loop()
        while self.under_way >= int(self.limit) or loop.time() < self._paused_until:
            place = loop.create_future()
            self._waiting.append(place)
            try:
                await place
            finally:
                if place in self._waiting:
                    self._waiting.remove(place)
        self.under_way += 1
        return loop.time()

    def leave(self) -> None:
        self.under_way -= 1
        self._wake()

    def succeeded(self) -> None:
        if self.under_way >= int(self.limit):  # else nobody knows whether more would do
            self.limit = min(self.most, self.limit + (1.0 if self._doubling else 1.0 / self.limit))

    def objected(self, began: float, *, after: float | None = None, failed: bool = False) -> None:
        """A request that was sent at `began` was turned down, or failed."""
        loop = asyncio.get_running_loop()
        if began >= self._lowered_at:
            self.limit = max(1.0, self.limit * (0.5 if self._doubling and not failed else 0.9))
            self._lowered_at, self._doubling = loop.time(), self._doubling and failed
        if after is not None and after >= PAUSE:
            self._paused_until = max(self._paused_until, loop.time() + after)
            loop.call_at(self._paused_until, self._wake)

    def _wake(self) -> None:
        room = int(self.limit) - self.under_way
        while room > 0 and self._waiting:
            place = self._waiting.popleft()
            if not place.done():
                place.set_result(None)
                room -= 1


def delay(attempt: int, after: float | None) -> float:
    """Seconds until a request is tried again: what the server wants, or longer each time; never all at one moment."""
    least = min(30.0, 0.25 * 2**attempt) if after is None else after
    return least + random.uniform(0.0, 0.5 * least + 0.05)
