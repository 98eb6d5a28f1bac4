"""Tests what an endpoint can do with a few fixed questions, and remembers the result.

A dialect works only if the reply has what was requested: probabilities that are numbers, have the right sum and change
with the options; the whole prompt repeated; texts that differ if they are drawn at random. If a server answers 200 and
ignores a field, the result says so, and that way is not used.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, wait
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from threading import Thread
from typing import Any, TypeVar

from assay.asking.messages import ANSWER_MODES
from assay.asking.plan import digest_of
from assay.asking.progress import EVERY, duration, waits_shown
from assay.asking.queries import Answer, ChoiceQuery
from assay.errors import AssayError, ModelError
from assay.files.atomic import write_atomically
from assay.files.decoding import json_typed
from assay.files.opening import read_whole
from assay.files.paths import cache_folder
from assay.models.api.address import Address
from assay.models.api.client import Client
from assay.models.api.dialects import (
    ECHO,
    LISTED_MODES,
    TEST_QUERIES,
    WORKS,
    Body,
    Content,
    Dialect,
    UnsupportedError,
    dialects,
)
from assay.models.base import Endpoint, RetryableError

MOST_REQUESTS = 12
VERSION = 4
"""Part of the file name of remembered results: raise it when the tests change, or what they read."""
SECONDS = 120.0
LONGEST = 600.0
"""Seconds after which nothing more is tested."""
Q = TypeVar("Q")


def abilities_of(endpoint: Endpoint) -> frozenset[str]:
    """The abilities of an endpoint."""
    abilities = {
        "listed": not set(LISTED_MODES).isdisjoint(endpoint.ways),
        "choice": f"{ECHO}: {WORKS}" in endpoint.found,
        "sample": "samples" in endpoint.ways,
        "text": "text" in endpoint.ways,
    }
    return frozenset(ability for ability, is_supported in abilities.items() if is_supported)


def detect_endpoint(address: Address, *, send: bool = True, again: bool = False) -> Endpoint:
    """What is remembered about an endpoint, else the result of testing it; without sending, a common assumption."""
    path = remembered_at(address)
    if not again:
        with suppress(OSError, ValueError):
            return replace(json_typed(read_whole(path), Endpoint), key_env=address.key_env)
    if not send:
        modes = ("letters", *(mode for mode in ANSWER_MODES if mode != "letters"))
        return Endpoint(address.model, address.key_env, modes, continued="message", assumed=True)
    endpoint = _run_in_thread(_test_endpoint(address, waits_shown()))
    content = {**asdict(endpoint), "url": address.url}
    write_atomically(path, (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode())
    return endpoint


def remembered_at(address: Address) -> Path:
    """The file with the remembered result."""
    digest = digest_of({"url": address.url, "model": address.model, "version": VERSION})
    return cache_folder() / "endpoints" / f"{digest[:32]}.json"


def _run_in_thread(work: Coroutine[Any, Any, Endpoint]) -> Endpoint:
    """The result of a coroutine, run in a new thread, as the caller's may already have an event loop."""
    result: Future[Endpoint] = Future()

    def run() -> None:
        try:
            result.set_result(asyncio.run(work))
        except BaseException as error:  # handed on to the caller
            result.set_exception(error)

    Thread(target=run, name="assay-finding", daemon=True).start()
    while not result.done():
        wait([result], 0.2)  # so that Ctrl-C is heard
    return result.result()


async def _test_endpoint(address: Address, on_wait: Callable[[str], None]) -> Endpoint:
    client = Client(address.url, address.key_env, seconds=SECONDS)
    try:
        return await EndpointTest(client, Endpoint(address.model, address.key_env), on_wait).watched()
    finally:
        await client.close()


@dataclass
class EndpointTest:
    """One search, with its results so far. `waits` gets every 15 seconds what it waits for."""

    client: Client
    endpoint: Endpoint
    waits: Callable[[str], None] = lambda description: None
    sent: int = 0
    testing: str = ""
    last_words: str = ""
    ends: float = math.inf  # by the loop's clock
    results: dict[str, str] = field(default_factory=dict)
    answered: bool = False

    async def watched(self) -> Endpoint:
        """`search`, at most for `LONGEST` seconds."""
        self.ends = asyncio.get_running_loop().time() + LONGEST
        watching = asyncio.create_task(self._watch())
        try:
            return await self.search()
        finally:
            watching.cancel()

    async def _watch(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(EVERY)
            remaining = self.ends - loop.time()
            test = f"testing what {self.client.url} can do: {self.testing}, request {self.sent} of {MOST_REQUESTS}"
            reply = f"its last reply: {self.last_words}" if self.last_words else "it has said nothing else"
            ending = f"assay gives up in {duration(max(0.0, remaining))}"
            self.waits(f"{test}, for {duration(LONGEST - remaining)}; {reply}; {ending}")

    async def search(self) -> Endpoint:
        tests = sorted((test for dialect in dialects() for test in dialect.tests()), key=lambda test: test.rank)
        for test in tests:
            self.testing = test.name
            try:
                await test.run(self)
            except UnsupportedError as error:
                self.results.setdefault(test.name, str(error))
                if not self.answered and str(error).startswith("fails"):
                    break  # nobody is there, or nobody who could answer now
            else:
                self.results[test.name] = WORKS
        if not self.answered:
            results = "; ".join(f"{name}: {result}" for name, result in self.results.items())
            problem = f"{self.client.url} does not answer in any dialect that assay knows ({results})."
            remedy = "Is the server running? Check the model's name and the address, which usually ends in /v1."
            raise ModelError(problem, remedy, code="no-answer")
        modes = tuple(mode for mode in ANSWER_MODES if self.results.get(mode) == WORKS)
        names = dict.fromkeys([*ANSWER_MODES, *(test.name for test in tests)])
        results_by_name = tuple(f"{name}: {self.results[name]}" for name in names if name in self.results)
        return replace(self.endpoint, ways=modes, found=results_by_name)

    # --- what the tests of dialects use

    async def post(self, dialect: Dialect, body: Body) -> Content:
        """A reply. A wrong key ends the search; any other rejection means that the dialect does not work."""
        for attempt in range(3):
            if self.sent >= MOST_REQUESTS:
                raise UnsupportedError(f"not tested: {MOST_REQUESTS} requests were sent")
            if asyncio.get_running_loop().time() >= self.ends:
                raise UnsupportedError(f"not tested: the tests took {duration(LONGEST)}")
            self.sent += 1
            try:
                async with asyncio.timeout_at(None if self.ends == math.inf else self.ends):
                    content, _ = await self.client.post(dialect.path, body, dialect.headers)
            except TimeoutError:
                raise UnsupportedError(f"fails (no complete reply within {duration(LONGEST)})") from None
            except RetryableError as error:
                self.last_words = str(error)
                if not error.overloaded or attempt == 2:
                    raise UnsupportedError(f"fails ({error})") from None
                await asyncio.sleep(min(30.0, error.after if error.after is not None else 2.0**attempt))
            except ModelError as error:
                if error.key in ("401", "402", "403"):
                    raise
                raise UnsupportedError(_refusal(error)) from None
            else:
                self.answered = True
                return content
        raise AssertionError("unreachable: the last attempt returns or raises")

    def read(self, reader: Callable[[Q, Content], Answer], query: Q, content: Content) -> Answer:
        """What a dialect reads in a reply, which may lack what was requested."""
        try:
            return reader(query, content)
        except ValueError as error:
            raise UnsupportedError(f"answers, but {error}") from None

    async def ask_options(self, dialect: Dialect, query: ChoiceQuery, mode: str) -> Answer:
        """The answer to a question with options."""
        content = await self.post(dialect, dialect.options_body(self.endpoint, query, mode))
        return self.read(dialect.read_options, query, content)

    async def require_moving(self, dialect: Dialect, mode: str) -> None:
        """Require that the probabilities in an answer mode depend on the question."""
        first, second = [await self.ask_options(dialect, query, mode) for query in TEST_QUERIES]
        self.require_different(first, second)

    @staticmethod
    def require_different(first: Answer, second: Answer) -> None:
        """Require that the answers to TEST_QUERIES, whose right options differ, have different probabilities."""
        for answer in (first, second):
            if answer.scores is None:
                raise UnsupportedError(f"does not answer a plain question ({answer.status.name.lower()})")
        if first.scores == second.scores:
            raise UnsupportedError("answers, but its probabilities do not move with the question")


def _refusal(error: AssayError) -> str:
    """A server's refusal in its own words, after its status; a redirect is one, too."""
    if error.key in ("404", "405"):
        return "not there (404)"
    return f"refused ({error.problem.partition(' answers ')[2] if error.key else error.problem})"
