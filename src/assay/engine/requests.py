"""What is asked of an endpoint: blocks, their rows, and the attempts for one request."""

from __future__ import annotations

import queue
from contextlib import suppress
from dataclasses import dataclass, field

from assay.asking.queries import Answer, ChoiceColumns, Query, TextColumns
from assay.models.base import EndpointRequest, Reply, RetryableError

MAX_ATTEMPTS = 6
"""How often a failed request is sent; being asked to wait does not count as a failure."""
MAX_SILENCE = 600.0
"""Seconds without any usable reply after which asking ends, and without a word from the server after which a request
has failed, however many attempts that were.
"""
CREDIBLE = 1.0
"""A pause of at least this many seconds, from a server that answers others meanwhile, is not lengthened."""


@dataclass
class RequestBlock:
    """A range of questions that is being asked."""

    rows: range
    columns: ChoiceColumns | TextColumns
    answers: dict[int, Answer] = field(default_factory=dict)


@dataclass
class Row:
    """A query, and the replies to its calls."""

    block: RequestBlock
    place: int
    query: Query
    calls: list[EndpointRequest]
    replies: list[Reply | None] = field(default_factory=list)
    left: int = 0


@dataclass
class Effort:
    """What has been tried for one request; moments by the loop's clock."""

    tried_at: float
    silent_since: float = 0.0  # 0: it was not sent since the server's last word
    failures: int = 0
    waits: int = 0

    def failed(self, error: RetryableError, now: float, heard_at: float) -> None:
        """Count an attempt; `heard_at` is when the last usable reply to any request came."""
        if error.after is not None and error.after >= CREDIBLE and heard_at > self.tried_at:
            self.waits = 0  # the server has answered others since: its pauses are what it needs
        self.tried_at = now
        self.failures += not error.pressed
        self.waits += error.pressed
        if not error.silent:
            self.silent_since = 0.0
        elif now >= self.silent_since + MAX_SILENCE:
            self.failures = MAX_ATTEMPTS


class StoppedError(Exception):
    """Asking ends: nothing more is sent."""


def next_of(ready: queue.SimpleQueue[RequestBlock | None]) -> RequestBlock | None:
    """The next block; waits in short steps, so that Ctrl-C works on every system."""
    while True:
        with suppress(queue.Empty):
            return ready.get(timeout=0.2)
