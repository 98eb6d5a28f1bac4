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
from assay.asking.queries import Answer, Answers, ChoiceColumns, QueryColumns, Scoring, Status, TextColumns
from assay.engine.claims import LOOK, Claims, Turn, remove_leftovers
from assay.engine.concurrency import ConcurrencyLimiter, delay
from assay.engine.executor import answers_of, loop_in_thread
from assay.engine.journal import BESIDE, Journal
from assay.engine.requests import MAX_ATTEMPTS, MAX_SILENCE, Effort, RequestBlock, Row, StoppedError, next_of
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
MAX_FAILURES_IN_A_ROW = 20
"""Asking ends after this many failed requests without a success between them."""
GRACE = 10.0
"""Seconds for requests under way when asking ends early."""
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
        waits: Callable[[str], None] = lambda what: None,
    ) -> Generator[tuple[range, str, Answers]]:
        """Yield ranges of questions with their digests and answers, each as soon as it is complete.

        Stored replies count from `since` on (Unix time); those until `until` are preferred. `advance` gets the number
        of answered rows, and `waits` every 15 seconds without an answer what is being waited for; both from another
        thread.
        """
        model = self._model(spec)
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

    def _model(self, spec: ModelSpec) -> EndpointModel:
        model = self.load(spec)
        if not isinstance(model, EndpointModel):
            raise missing_ability_error(spec.name, "an endpoint's")
        return model

    def estimate(self, spec: ModelSpec, columns: QueryColumns) -> tuple[int, int]:
        """About how many input tokens and at most how many output tokens the requests for these questions have."""
        assert isinstance(columns, ChoiceColumns | TextColumns)
        model, rows = self._model(spec), range(len(columns))
        calls = [call for row in rows for call in model.calls(columns.row(row), columns.scoring)]
        return sum(call.input_tokens for call in calls), sum(call.output_tokens for call in calls)


class _RequestLoop:
    """One stream of questions to one endpoint, in its own event loop."""

    def __init__(
        self,
        model: EndpointModel,
        journal: Journal,
        spending: Spending,
        advance: Callable[[int], None],
        waits: Callable[[str], None] = lambda what: None,
        period: tuple[float, float] = (0.0, inf),
    ) -> None:
        self.model, self.journal, self.spending = model, journal, spending
        self.advance, self.waits = advance, waits
        self.since, self.until = period
        self.pace, self.till, self.claims = ConcurrencyLimiter(), Till(spending), Claims(journal)
        self.stopping = False
        self.flying: dict[asyncio.Task[Any], float] = {}  # requests under way, and until when
        self.overdue: set[asyncio.Task[Any]] = set()
        self.shared: dict[str, asyncio.Future[Reply | None]] = {}  # equal calls under way
        self.wanted = self.elsewhere = 0  # requests without a reply, and those that other programs send
        self.in_a_row, self.last_words, self.heard_at, self.answered_at = 0, "", 0.0, 0.0

    def run(
        self, columns: Callable[[range], QueryColumns], blocks: Iterable[range]
    ) -> Iterator[tuple[range, str, Answers]]:
        """As `EndpointExecutor.ask`."""
        ready: queue.SimpleQueue[RequestBlock | None] = queue.SimpleQueue()
        with loop_in_thread("assay-endpoint") as loop:
            work: Future[None] = asyncio.run_coroutine_threadsafe(self._work(columns, blocks, ready.put), loop)
            work.add_done_callback(lambda done: ready.put(None))
            try:
                while (block := next_of(ready)) is not None:
                    given = [block.answers[place] for place in range(len(block.rows))]
                    answers = answers_of(given, block.columns, self.model.spec.name, of_endpoint=True)
                    yield block.rows, block.columns.digest(), answers
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
        self.heard_at = self.answered_at = asyncio.get_running_loop().time()
        self.full = asyncio.Event()
        calls = self._calls(columns, blocks)
        self.workers = [asyncio.create_task(self._worker(calls, done)) for _ in range(self.pace.most)]
        beside = [asyncio.create_task(each) for each in (self._sync(), self._watch(), self.full.wait())]
        working = asyncio.create_task(asyncio.wait(self.workers, return_when=asyncio.FIRST_EXCEPTION))
        try:
            await asyncio.wait([working, *beside], return_when=asyncio.FIRST_COMPLETED)
            self._stop()
            late = (await asyncio.wait(self.workers, timeout=GRACE))[1]
            for task in late:
                task.cancel()
            await asyncio.gather(*self.workers, return_exceptions=True)
        finally:
            working.cancel()
            for other in beside:
                other.cancel()
            await asyncio.wait([working, *beside])
            await asyncio.get_running_loop().shutdown_default_executor()  # where the journal may be synced still
            self.claims.close()
            with suppress(*([AssayError] if self.journal.problem else [])):
                self.journal.sync()
        if (complaint := self.journal.complaint()) is not None:
            raise complaint
        errors = [task.exception() for task in (*self.workers, *beside) if not task.cancelled()]
        for error in errors:
            if error is not None and not isinstance(error, StoppedError):
                raise error

    def _stop(self) -> None:
        """Send nothing more: workers that wait for a slot or a retry end at once, those with a request may get its
        reply.
        """
        self.stopping = True
        for task in self.workers:
            if task not in self.flying:
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
            for task in [task for task, until in self.flying.items() if now >= until and task not in self.overdue]:
                self.overdue.add(task)  # whatever drips
                task.cancel()
            if self.wanted and now - self.heard_at >= MAX_SILENCE:
                raise self._gave_up(f"it has given none for {MAX_SILENCE / 60:.0f} minutes")
            if now - max(spoke_at, self.answered_at) >= EVERY:
                self.waits(self._waiting(now))
                spoke_at = now

    def _waiting(self, now: float) -> str:
        """What is being waited for, since when, the server's last words, and when asking ends."""
        if not self.wanted:
            sent = plural(self.elsewhere, "request")
            return f"waiting for replies to {sent} that another program has sent, or for its end"
        silent = now - self.heard_at
        said = f"its last reply: {self.last_words}" if self.last_words else "it has said nothing else"
        requests = f"{len(self.flying):,} requests under way, {self.wanted - len(self.flying):,} waiting"
        left = duration(max(0.0, MAX_SILENCE - silent))
        return f"no usable reply for {duration(silent)} ({requests}); {said}; assay gives up in {left}"

    def _calls(self, columns: Callable[[range], QueryColumns], blocks: Iterable[range]) -> Iterator[tuple[Row, int]]:
        """Every call of every row, created when a worker takes it."""
        for rows in blocks:
            asked = columns(rows)
            if not isinstance(asked, ChoiceColumns | TextColumns):
                raise missing_ability_error(self.model.spec.name, asked.ability)
            block = RequestBlock(rows, asked)
            for place in range(len(rows)):
                query = asked.row(place)
                calls = list(self.model.calls(query, asked.scoring))
                row = Row(block, place, query, calls, [None] * len(calls), len(calls))
                yield from ((row, number) for number in range(len(calls)))

    async def _worker(self, calls: Iterator[tuple[Row, int]], done: Callable[[RequestBlock], None]) -> None:
        for row, number in calls:  # shared: each takes the next call that nobody has taken
            row.replies[number] = await self._reply(row.calls[number])
            row.left -= 1
            if row.left == 0:
                self._answered(row, row.block.columns.scoring, done)
            if self.stopping:
                return

    def _answered(self, row: Row, scoring: Scoring, done: Callable[[RequestBlock], None]) -> None:
        replies = [reply for reply in row.replies if reply is not None]
        whole = len(replies) == len(row.calls)
        answer = self.model.read(row.query, scoring, replies) if whole else Answer(Status.FAILED)
        cost = len(replies), sum(reply.input_tokens for reply in replies), sum(reply.output_tokens for reply in replies)
        row.block.answers[row.place] = replace(answer, billed=cost)
        self.answered_at = asyncio.get_running_loop().time()
        self.advance(1)
        if len(row.block.answers) == len(row.block.rows):
            done(row.block)

    async def _reply(self, call: EndpointRequest) -> Reply | None:
        """The stored reply to a call, or a new one; None if all attempts failed."""
        digest = call.digest(self.model.spec.place)
        if digest in self.shared:
            return await asyncio.shield(self.shared[digest])
        stored = self._stored(call, digest)
        if stored is not None:
            return stored
        shared = self.shared[digest] = asyncio.get_running_loop().create_future()
        try:
            reply = await self._claimed(call, digest)
        except BaseException as error:
            shared.set_exception(StoppedError() if isinstance(error, asyncio.CancelledError) else error)
            shared.exception()  # nobody may be waiting for it
            raise
        else:
            shared.set_result(reply)
            return reply
        finally:
            del self.shared[digest]

    def _stored(self, call: EndpointRequest, digest: str) -> Reply | None:
        stored = self.journal.get(digest, self.since, self.until)
        if stored is not None:
            self.spending.reuse(call, billed(stored))
        return stored

    async def _claimed(self, call: EndpointRequest, digest: str) -> Reply | None:
        """The reply that another program sends for, or a new one."""
        if self.since:  # everything is asked again, whatever others ask
            self.claims.claim(digest)
        else:
            self.elsewhere += 1
            try:
                while (turn := self.claims.take(digest)) is Turn.WAIT:
                    await asyncio.sleep(LOOK)
                    if self.stopping:
                        raise StoppedError
            finally:
                self.elsewhere -= 1
            if turn is Turn.USE:
                return self._stored(call, digest)
        if not self.wanted:
            self.heard_at = asyncio.get_running_loop().time()
        self.wanted += 1
        reply = None
        try:
            reply = await self._sent(call, digest)
        finally:
            self.wanted -= 1
            if reply is None:
                self.claims.release(digest)
            else:
                self.claims.forget(digest)
        return reply

    async def _sent(self, call: EndpointRequest, digest: str) -> Reply | None:
        effort = Effort(asyncio.get_running_loop().time())
        while not self.stopping:
            try:
                return await self._attempt(call, digest, effort)
            except RetryableError as error:
                self.last_words, after = str(error), error.after
                effort.failed(error, asyncio.get_running_loop().time(), self.heard_at)
            if effort.failures >= MAX_ATTEMPTS:
                self.in_a_row += 1
                if self.in_a_row >= MAX_FAILURES_IN_A_ROW:
                    raise self._gave_up(f"{MAX_FAILURES_IN_A_ROW} requests in a row failed")
                return None
            if after is not None and after > MAX_SILENCE:
                raise self._gave_up(f"it asks for a pause of {after:,.0f} seconds")
            if not self.stopping:
                await asyncio.sleep(delay(effort.failures + effort.waits, after))
        raise StoppedError

    async def _attempt(self, call: EndpointRequest, digest: str, effort: Effort) -> Reply:
        """One attempt, as soon as budget and pace allow it."""
        await self.till.reserve(call)
        try:
            began = await self.pace.enter()
        except BaseException:
            self.till.release(call)
            raise
        effort.silent_since = effort.silent_since or began
        try:
            if self.stopping:
                self.till.release(call)
                raise StoppedError
            reply = await self._once(call, digest, effort.silent_since + MAX_SILENCE)
        except RetryableError as error:
            self.pace.objected(began, after=error.after, failed=not error.pressed)
            raise
        else:
            self.pace.succeeded(began)
            self.in_a_row, self.heard_at = 0, asyncio.get_running_loop().time()
            return reply
        finally:
            self.pace.leave()

    async def _once(self, call: EndpointRequest, digest: str, until: float) -> Reply:
        """Send, until a moment; `_stop` does not cancel this task meanwhile."""
        task = asyncio.current_task()
        assert task is not None
        cost: tuple[int, int] | None = None
        cut_off = False
        self.flying[task] = until
        try:
            reply = await self.model.send(call)
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
            del self.flying[task]
            self.till.settle(call, cost, cut_off=cut_off)

    def _gave_up(self, why: str) -> ModelError:
        problem = f"{self.model.spec.place} gives no usable answers: {why}. The last reply: {self.last_words}"
        return ModelError(problem, "All answers are stored. Repeat the command later to resume.", code="no-answer")
