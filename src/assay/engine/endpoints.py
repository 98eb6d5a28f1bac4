"""Asks a model behind an endpoint: every reply goes to the journal, and blocks are built from it.

A bounded number of workers each take the next call; calls that have a reply in the journal are not sent. A block is
complete when each of its rows has an answer or has failed. When asking ends early (Ctrl-C, a rejected key, the budget),
replies to requests under way are still accepted for some seconds, because they are paid for.
"""

from __future__ import annotations

import asyncio
import queue
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field, replace
from math import inf
from pathlib import Path
from typing import Any

from assay.asking.progress import EVERY, duration
from assay.asking.queries import Answer, Answers, ChoiceColumns, Query, QueryColumns, Status, TextColumns
from assay.engine.claims import LOOK, Claims, Turn, remove_leftovers
from assay.engine.concurrency import (
    GRACE,
    MAX_ATTEMPTS,
    MAX_FAILURES_IN_A_ROW,
    MAX_SILENCE,
    Attempts,
    ConcurrencyLimiter,
    delay,
)
from assay.engine.executor import answers_of, loop_in_thread
from assay.engine.journal import BESIDE, Journal
from assay.engine.spending import Spending, Till, billed
from assay.errors import AssayError, ModelError
from assay.models.base import (
    AnyModel,
    EndpointModel,
    EndpointRequest,
    ModelSpec,
    Reply,
    RetryableError,
    missing_ability_error,
)
from assay.results.formatting import plural

TICK = 1.0
"""Seconds between two looks at the clock."""
SYNC = 0.5
"""Seconds between two syncs of the journal to the disk."""


@dataclass
class EndpointExecutor:
    """What asking endpoints needs: how to load models, the folder of journals, the budget, and the run's folder.

    Replies that the journal cannot store go to the run's folder.
    """

    load: Callable[[ModelSpec], AnyModel]
    root: Path
    spending: Spending = field(default_factory=Spending)
    run: Path | None = None

    def ask(
        self,
        spec: ModelSpec,
        columns: Callable[[range], QueryColumns],
        blocks: Iterable[range],
        *,
        since: float = 0.0,
        until: float = inf,
        advance: Callable[[int], None] = lambda rows: None,
        waits: Callable[[str], None] = lambda state: None,
    ) -> Generator[tuple[range, str, Answers]]:
        """Yield ranges of questions with their digests and answers, each as soon as it is complete.

        Stored replies count from `since` on (Unix time); those until `until` are preferred. `advance` gets the number
        of answered rows, and `waits` every 15 seconds without an answer what is being waited for; both from another
        thread.
        """
        model = self.model(spec)
        journal = Journal.of(self.root, spec, self._beside)
        remove_leftovers(journal.folder)
        try:
            yield from _RequestLoop(model, journal, self.spending, advance, waits, (since, until)).run(columns, blocks)
        except KeyboardInterrupt:
            raise
        except BaseException:  # also what the caller could not store, which ended this generator
            if (complaint := journal.complaint()) is not None:
                raise complaint from None
            raise
        finally:
            with suppress(*([AssayError] if journal.problem else [])):
                journal.close()

    def tidy(self, spec: ModelSpec) -> None:
        """Remove what killed programs left in the journal's folder, and take in what was left in the run's."""
        journal = Journal.of(self.root, spec, self._beside, read=self._beside is not None and self._beside.is_file())
        remove_leftovers(journal.folder)
        journal.close()

    @property
    def _beside(self) -> Path | None:
        return self.run / BESIDE if self.run is not None else None

    def model(self, spec: ModelSpec) -> EndpointModel:
        model = self.load(spec)
        if not isinstance(model, EndpointModel):
            raise missing_ability_error(spec.name, "an endpoint's")
        return model

    def estimate(self, spec: ModelSpec, columns: QueryColumns) -> tuple[int, int]:
        """About how many input tokens and at most how many output tokens the requests for these questions have."""
        assert isinstance(columns, ChoiceColumns | TextColumns)
        model, rows = self.model(spec), range(len(columns))
        calls = [call for row in rows for call in model.calls(columns.row(row), columns.scoring)]
        return sum(call.input_tokens for call in calls), sum(call.output_tokens for call in calls)


@dataclass
class RequestBlock:
    """A range of questions that is being asked."""

    rows: range
    columns: ChoiceColumns | TextColumns
    answers: dict[int, Answer] = field(default_factory=dict)


@dataclass
class _Row:
    """A query, and the replies to its requests; it is the row `index` of its block."""

    block: RequestBlock
    index: int
    query: Query
    requests: list[EndpointRequest]
    replies: dict[int, Reply | None] = field(default_factory=dict)


class _StoppedError(Exception):
    """Asking ends: nothing more is sent."""


class _RequestLoop:
    """One stream of questions to one endpoint, in its own event loop."""

    def __init__(
        self,
        model: EndpointModel,
        journal: Journal,
        spending: Spending,
        advance: Callable[[int], None],
        waits: Callable[[str], None] = lambda state: None,
        period: tuple[float, float] = (0.0, inf),
    ) -> None:
        self.model, self.journal, self.spending = model, journal, spending
        self.advance, self.waits = advance, waits
        self.since, self.until = period
        self.limiter, self.till, self.claims = ConcurrencyLimiter(), Till(spending), Claims(journal)
        self.stopping = False
        self.deadlines: dict[asyncio.Task[Any], float] = {}  # of the requests under way
        self.overdue: set[asyncio.Task[Any]] = set()
        self.shared: dict[str, asyncio.Future[Reply | None]] = {}  # equal requests under way
        self.unanswered = self.elsewhere = 0  # requests without a reply, and those that other programs send
        self.failures_in_a_row, self.last_error, self.last_reply_at, self.last_answer_at = 0, "", 0.0, 0.0

    def run(
        self, columns: Callable[[range], QueryColumns], blocks: Iterable[range]
    ) -> Iterator[tuple[range, str, Answers]]:
        """As `EndpointExecutor.ask`."""
        ready: queue.SimpleQueue[RequestBlock | None] = queue.SimpleQueue()
        with loop_in_thread("assay-endpoint") as loop:
            work: Future[None] = asyncio.run_coroutine_threadsafe(self._work(columns, blocks, ready.put), loop)
            work.add_done_callback(lambda done: ready.put(None))
            try:
                while (block := _next_of(ready)) is not None:
                    answers = [block.answers[row] for row in range(len(block.rows))]
                    arrays = answers_of(answers, block.columns, self.model.spec.name, of_endpoint=True)
                    yield block.rows, block.columns.digest(), arrays
                work.result()
            finally:
                if not work.done():
                    loop.call_soon_threadsafe(self._stop)
                    with suppress(TimeoutError, Exception):
                        work.result(GRACE + 1.0)
                with suppress(TimeoutError):
                    asyncio.run_coroutine_threadsafe(self.model.close(), loop).result(5.0)

    # --- in the loop

    async def _work(
        self, columns: Callable[[range], QueryColumns], blocks: Iterable[range], done: Callable[[RequestBlock], None]
    ) -> None:
        self.last_reply_at = self.last_answer_at = asyncio.get_running_loop().time()
        self.full = asyncio.Event()
        requests = self._requests(columns, blocks)
        self.workers = [asyncio.create_task(self._worker(requests, done)) for _ in range(self.limiter.most)]
        beside: list[asyncio.Task[Any]] = [
            asyncio.create_task(work) for work in (self._sync(), self._watch(), self.full.wait())
        ]
        working = asyncio.create_task(asyncio.wait(self.workers, return_when=asyncio.FIRST_EXCEPTION))
        try:
            await asyncio.wait([working, *beside], return_when=asyncio.FIRST_COMPLETED)
            self._stop()
            late = (await asyncio.wait(self.workers, timeout=GRACE))[1]
            for task in late:
                task.cancel()
            await asyncio.gather(*self.workers, return_exceptions=True)
        finally:
            for helper in (working, *beside):
                helper.cancel()
            await asyncio.wait([working, *beside])
            await asyncio.get_running_loop().shutdown_default_executor()  # where the journal may be synced still
            self.claims.close()
            with suppress(*([AssayError] if self.journal.problem else [])):
                self.journal.sync()
        if (complaint := self.journal.complaint()) is not None:
            raise complaint
        ended: list[asyncio.Task[Any]] = [*self.workers, *beside]
        for error in [task.exception() for task in ended if not task.cancelled()]:
            if error is not None and not isinstance(error, _StoppedError):
                raise error

    def _stop(self) -> None:
        """Send nothing more: workers that wait for a slot or a retry end at once, those with a request may get its
        reply.
        """
        self.stopping = True
        for task in self.workers:
            if task not in self.deadlines:
                task.cancel()

    async def _sync(self) -> None:
        """Sync the journal in a thread: a busy disk takes a tenth of a second, which would block all requests."""
        while True:
            await asyncio.sleep(SYNC)
            await asyncio.to_thread(self.journal.sync)

    async def _watch(self) -> None:
        """Say what is being waited for, and end asking when nothing usable has come for too long."""
        loop = asyncio.get_running_loop()
        spoke_at = loop.time()
        while True:
            await asyncio.sleep(TICK)
            now = loop.time()
            for task, deadline in self.deadlines.items():
                if now >= deadline and task not in self.overdue:
                    self.overdue.add(task)  # whatever drips
                    task.cancel()
            if self.unanswered and now - self.last_reply_at >= MAX_SILENCE:
                raise self._no_answer_error(f"it has given none for {MAX_SILENCE / 60:.0f} minutes")
            if now - max(spoke_at, self.last_answer_at) >= EVERY:
                self.waits(self._waiting(now))
                spoke_at = now

    def _waiting(self, now: float) -> str:
        """What is being waited for, since when, the server's last words, and when asking ends."""
        if not self.unanswered:
            sent = plural(self.elsewhere, "request")
            return f"waiting for replies to {sent} that another program has sent, or for its end"
        silent, under_way = now - self.last_reply_at, len(self.deadlines)
        last_error = f"its last reply: {self.last_error}" if self.last_error else "it has said nothing else"
        requests = f"{under_way:,} requests under way, {self.unanswered - under_way:,} waiting"
        rest = duration(max(0.0, MAX_SILENCE - silent))
        return f"no usable reply for {duration(silent)} ({requests}); {last_error}; assay gives up in {rest}"

    def _requests(
        self, columns: Callable[[range], QueryColumns], blocks: Iterable[range]
    ) -> Iterator[tuple[_Row, int]]:
        """Every request of every row, created when a worker takes it."""
        for rows in blocks:
            queries = columns(rows)
            if not isinstance(queries, ChoiceColumns | TextColumns):
                raise missing_ability_error(self.model.spec.name, queries.ability)
            block = RequestBlock(rows, queries)
            for i in range(len(rows)):
                query = queries.row(i)
                row = _Row(block, i, query, list(self.model.calls(query, queries.scoring)))
                yield from ((row, number) for number in range(len(row.requests)))

    async def _worker(self, requests: Iterator[tuple[_Row, int]], done: Callable[[RequestBlock], None]) -> None:
        for row, number in requests:  # shared: each takes the next request that nobody has taken
            row.replies[number] = await self._reply(row.requests[number])
            if len(row.replies) == len(row.requests):
                self._answer(row)
                if len(row.block.answers) == len(row.block.rows):
                    done(row.block)
            if self.stopping:
                return

    def _answer(self, row: _Row) -> None:
        replies = [reply for _, reply in sorted(row.replies.items()) if reply is not None]
        answer = Answer(Status.FAILED)
        if len(replies) == len(row.requests):
            answer = self.model.read(row.query, row.block.columns.scoring, replies)
        cost = len(replies), sum(reply.input_tokens for reply in replies), sum(reply.output_tokens for reply in replies)
        row.block.answers[row.index] = replace(answer, billed=cost)
        self.last_answer_at = asyncio.get_running_loop().time()
        self.advance(1)

    async def _reply(self, request: EndpointRequest) -> Reply | None:
        """The stored reply to a request, or a new one; None if all attempts failed."""
        digest = request.digest(self.model.spec.place)
        if digest in self.shared:
            return await asyncio.shield(self.shared[digest])
        stored = self._stored(request, digest)
        if stored is not None:
            return stored
        shared = self.shared[digest] = asyncio.get_running_loop().create_future()
        try:
            reply = await self._claim_and_send(request, digest)
        except BaseException as error:
            shared.set_exception(_StoppedError() if isinstance(error, asyncio.CancelledError) else error)
            shared.exception()  # nobody may be waiting for it
            raise
        else:
            shared.set_result(reply)
            return reply
        finally:
            del self.shared[digest]

    def _stored(self, request: EndpointRequest, digest: str) -> Reply | None:
        stored = self.journal.get(digest, self.since, self.until)
        if stored is not None:
            self.spending.reuse(request, billed(stored))
        return stored

    async def _claim_and_send(self, request: EndpointRequest, digest: str) -> Reply | None:
        """The reply that another program sends for, or a new one."""
        if self.since:  # everything is asked again, whatever others ask
            self.claims.claim(digest)
        else:
            self.elsewhere += 1
            try:
                while (turn := self.claims.take(digest)) is Turn.WAIT:
                    await asyncio.sleep(LOOK)
                    if self.stopping:
                        raise _StoppedError
            finally:
                self.elsewhere -= 1
            if turn is Turn.USE:
                return self._stored(request, digest)
        if not self.unanswered:
            self.last_reply_at = asyncio.get_running_loop().time()
        self.unanswered += 1
        reply = None
        try:
            reply = await self._send_with_retries(request, digest)
        finally:
            self.unanswered -= 1
            if reply is None:
                self.claims.release(digest)
            else:
                self.claims.forget(digest)
        return reply

    async def _send_with_retries(self, request: EndpointRequest, digest: str) -> Reply | None:
        """The reply to a request; None if all attempts failed."""
        loop = asyncio.get_running_loop()
        attempts = Attempts(loop.time())
        while not self.stopping:
            sent_at = await self._slot(request)
            attempts.silent_since = attempts.silent_since or sent_at
            try:
                reply = await self._send_once(request, digest, attempts.silent_since + MAX_SILENCE)
            except RetryableError as error:
                self.limiter.rejected(sent_at, after=error.after, failed=not error.overloaded)
                self.last_error, retry_after = str(error), error.after
                attempts.failed(error, loop.time(), self.last_reply_at)
            else:
                self.limiter.succeeded(sent_at)
                self.failures_in_a_row, self.last_reply_at = 0, loop.time()
                return reply
            finally:
                self.limiter.release()
            if attempts.failures >= MAX_ATTEMPTS:
                self.failures_in_a_row += 1
                if self.failures_in_a_row >= MAX_FAILURES_IN_A_ROW:
                    raise self._no_answer_error(f"{MAX_FAILURES_IN_A_ROW} requests in a row failed")
                return None
            if retry_after is not None and retry_after > MAX_SILENCE:
                raise self._no_answer_error(f"it asks for a pause of {retry_after:,.0f} seconds")
            if not self.stopping:
                await asyncio.sleep(delay(attempts.failures + attempts.pauses, retry_after))
        raise _StoppedError

    async def _slot(self, request: EndpointRequest) -> float:
        """Wait until a request may be sent; returns the time then."""
        await self.till.reserve(request)
        try:
            sent_at = await self.limiter.acquire()
            if self.stopping:
                self.limiter.release()
                raise _StoppedError
        except BaseException:
            self.till.release(request)
            raise
        return sent_at

    async def _send_once(self, request: EndpointRequest, digest: str, deadline: float) -> Reply:
        """Send, until a moment; `_stop` does not cancel this task meanwhile."""
        task = asyncio.current_task()
        assert task is not None
        cost: tuple[int, int] | None = None
        cut_off = False
        self.deadlines[task] = deadline
        try:
            reply = await self.model.send(request)
            cost = billed(reply)
            try:
                reply = self.journal.put(digest, reply, self.since)
            finally:
                if self.journal.problem is not None:
                    self.stopping = True  # at once: what is sent now could not be stored
                    self.full.set()
            self.spending.used += 1
            return reply
        except RetryableError as error:
            cost = (error.input_tokens, error.output_tokens) if error.input_tokens else None
            raise
        except asyncio.CancelledError:
            if task not in self.overdue:
                cut_off = True
                raise
            self.overdue.discard(task)
            task.uncancel()
            raise RetryableError(f"no complete reply within {MAX_SILENCE:g} s", silent=True) from None
        finally:
            del self.deadlines[task]
            self.till.settle(request, cost, cut_off=cut_off)

    def _no_answer_error(self, reason: str) -> ModelError:
        problem = f"{self.model.spec.place} gives no usable answers: {reason}. The last reply: {self.last_error}"
        return ModelError(problem, "All answers are stored. Repeat the command later to resume.", code="no-answer")


def _next_of(ready: queue.SimpleQueue[RequestBlock | None]) -> RequestBlock | None:
    """The next block; waits in short steps, so that Ctrl-C works on every system."""
    while True:
        with suppress(queue.Empty):
            return ready.get(timeout=0.2)
