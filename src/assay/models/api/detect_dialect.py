"""Tests what an endpoint can do with a few fixed questions, and remembers the result.

A dialect works only if the reply has what was requested: probabilities that are numbers, have the right sum and change
with the options; the whole prompt repeated; texts that differ if they are drawn at random. If a server answers 200 and
ignores a field, the result says so, and that way is not used.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any

from assay.asking.messages import Dialogue
from assay.asking.option_prompts import ANSWER_MODES
from assay.asking.plan import digest_of
from assay.asking.progress import EVERY, duration, waits_shown
from assay.asking.queries import Answer, ListedQuery, Status, TextQuery
from assay.errors import AssayError, ModelError
from assay.files.atomic import write_atomically
from assay.files.decoding import json_typed
from assay.files.opening import read_whole
from assay.files.paths import cache_folder
from assay.models.api.address import Address
from assay.models.api.client import Client
from assay.models.api.dialects import CONTINUED, LEAST_MASS, LISTED, EchoDialect, LettersDialect, TextDialect, billed
from assay.models.base import Endpoint, RetryableError

MOST_REQUESTS = 12
VERSION = 4
"""Part of the file name of remembered results: raise it when the tests change, or what they read."""
SECONDS = 120.0
LONGEST = 600.0
"""Seconds after which nothing more is tested."""
TOP = (20, 5)
"""How many alternatives for a token are requested; some servers list fewer."""
WORKS = "works"

_QUESTIONS = (
    ListedQuery("A spoon, a boat and a candle lie there.", "Which floats?", ("the spoon", "the boat", "the candle")),
    ListedQuery("It is dark in the room.", "Which of them gives light?", ("the candle", "the spoon", "the boat")),
)
_NO_LETTER = "does not answer with a letter"
_HELLO = ListedQuery("", "Please say hello to everybody.", ("green", "blue"))
_NUMBER = TextQuery("Write one random number between 1 and 1000000, and nothing else.", 12)
_BEGUN = "The opposite of hot is co"
_OPPOSITE = TextQuery("What is the opposite of hot?", 4, Dialogue(begun=_BEGUN))
_GOES_ON = "ld"
"""How a continued answer goes on; one that is started again does not begin like this."""


def abilities_of(endpoint: Endpoint) -> frozenset[str]:
    """The abilities of an endpoint."""
    can = {"text": "text" in endpoint.ways, "sample": "samples" in endpoint.ways}
    can |= {"listed": any(way in LISTED for way in endpoint.ways), "choice": f"echo: {WORKS}" in endpoint.found}
    return frozenset(ability for ability, able in can.items() if able)


def detect_endpoint(address: Address, *, send: bool = True, again: bool = False) -> Endpoint:
    """What is remembered about an endpoint, else the result of testing it; without sending, a common assumption."""
    place = remembered_at(address)
    known = None if again else _remembered(place)
    if known is not None:
        return replace(known, key_env=address.key_env)
    if not send:
        usual = ("letters", *(way for way in ANSWER_MODES if way != "letters"))
        return Endpoint(address.model, address.key_env, usual, continued="message", assumed=True)
    endpoint = _apart(_found(address, waits_shown()))
    content = {**asdict(endpoint), "url": address.url}
    write_atomically(place, (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode())
    return endpoint


def remembered_at(address: Address) -> Path:
    """The file with the remembered result."""
    named = digest_of({"url": address.url, "model": address.model, "version": VERSION})
    return cache_folder() / "endpoints" / f"{named[:32]}.json"


def _remembered(place: Path) -> Endpoint | None:
    try:
        return json_typed(read_whole(place), Endpoint)
    except (OSError, ValueError):
        return None


def _apart(work: Any) -> Endpoint:
    """The result of a coroutine, run in a new thread, as the caller's may already have an event loop."""
    result: list[Endpoint] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            result.append(asyncio.run(work))
        except BaseException as error:  # handed on to the caller
            failed.append(error)

    thread = Thread(target=run, name="assay-finding", daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(0.2)  # so that Ctrl-C is heard
    if failed:
        raise failed[0]
    return result[0]


async def _found(address: Address, waits: Callable[[str], None]) -> Endpoint:
    client = Client(address.url, address.key_env, seconds=SECONDS)
    try:
        return await _EndpointTest(client, Endpoint(address.model, address.key_env), waits).watched()
    finally:
        await client.close()


class _UnsupportedError(Exception):
    """A dialect does not work; the message says how."""


@dataclass
class _EndpointTest:
    """One search, with what it has found so far. `waits` gets every 15 seconds what it waits for."""

    client: Client
    endpoint: Endpoint
    waits: Callable[[str], None] = lambda what: None
    sent: int = 0
    testing: str = ""
    last_words: str = ""
    ends: float = math.inf  # by the loop's clock
    words: dict[str, str] = field(default_factory=dict)
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
            left = self.ends - loop.time()
            what = f"testing what {self.client.url} can do: {self.testing}, request {self.sent} of {MOST_REQUESTS}"
            said = f"its last reply: {self.last_words}" if self.last_words else "it has said nothing else"
            self.waits(f"{what}, for {duration(LONGEST - left)}; {said}; assay gives up in {duration(max(0.0, left))}")

    async def search(self) -> Endpoint:
        ways = [
            ("letters", self._chat),
            ("decisions", lambda: self._moves("decisions")),
            ("systemone", lambda: self._moves("systemone")),
            ("structured", self._structured),
            ("echo", self._echo),
            ("samples", self._samples),
            ("continued", self._continued),
        ]
        for name, check in ways:
            self.testing = name
            try:
                await check()
            except _UnsupportedError as why:
                self.words.setdefault(name, str(why))
                if not self.answered and str(why).startswith("fails"):
                    break  # nobody is there, or nobody who could answer now
            else:
                self.words[name] = WORKS
        if not self.answered:
            said = "; ".join(f"{name}: {words}" for name, words in self.words.items())
            problem = f"{self.client.url} does not answer in any dialect that assay knows ({said})."
            remedy = "Is the server running? Check the model's name and the address, which usually ends in /v1."
            raise ModelError(problem, remedy, code="no-answer")
        order = [*LISTED, "samples", "text"]
        working = tuple(way for way in order if self.words.get(way) == WORKS)
        found = tuple(f"{name}: {self.words[name]}" for name in (*order, "echo", "continued") if name in self.words)
        return replace(self.endpoint, ways=working, found=found)

    async def _post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """A reply. A wrong key ends the search; any other rejection means that the dialect does not work."""
        for attempt in range(3):
            if self.sent >= MOST_REQUESTS:
                raise _UnsupportedError(f"not tested: {MOST_REQUESTS} requests were sent")
            if asyncio.get_running_loop().time() >= self.ends:
                raise _UnsupportedError(f"not tested: the tests took {duration(LONGEST)}")
            self.sent += 1
            try:
                async with asyncio.timeout_at(None if self.ends == math.inf else self.ends):
                    content, _ = await self.client.post(path, body)
            except TimeoutError:
                raise _UnsupportedError(f"fails (no complete reply within {duration(LONGEST)})") from None
            except RetryableError as error:
                self.last_words = str(error)
                if not error.overloaded or attempt == 2:
                    raise _UnsupportedError(f"fails ({error})") from None
                await asyncio.sleep(min(30.0, error.after if error.after is not None else 2.0**attempt))
            except ModelError as error:
                if error.key in ("401", "402", "403"):
                    raise
                raise _UnsupportedError(_refusal(error)) from None
            else:
                self.answered = True
                return content
        raise AssertionError("unreachable: the last attempt returns or raises")

    async def _checked(self, path: str, body: Mapping[str, Any], read: Callable[[Mapping[str, Any]], Any]) -> Any:
        return self._read(read, await self._post(path, body))

    async def _chat(self) -> None:
        """Test letters, and with them texts, without the fields that the server rejects by name."""
        letters = LettersDialect()
        first, more = _QUESTIONS
        for _ in range(4):
            body = letters.body(self.endpoint, first)
            try:
                content = await self._post(letters.path, body)
            except _UnsupportedError as why:
                changed = _adapted(self.endpoint, str(why))
                if changed == self.endpoint:
                    await self._text_only(str(why))
                    raise
                self.endpoint = changed
                continue
            self._texts(content)
            one = self._read(partial(letters.read, first), content)
            two = await self._checked(letters.path, letters.body(self.endpoint, more), lambda c: letters.read(more, c))
            if one.mass < LEAST_MASS and two.mass < LEAST_MASS:
                mass = max(one.mass, two.mass)
                raise _UnsupportedError(f"answers, but {_NO_LETTER}: these have a probability of {mass:.2g}")
            _require_moving(one, two)
            return
        raise _UnsupportedError("rejects one field after another")

    def _read(self, read: Callable[[Mapping[str, Any]], Any], content: Mapping[str, Any]) -> Any:
        try:
            return read(content)
        except ValueError as error:
            raise _UnsupportedError(f"answers, but {error}") from None

    def _texts(self, content: Mapping[str, Any]) -> None:
        """Whether a chat's reply has a text; an empty one counts, as reasoning may have used the only token."""
        try:
            TextDialect().read(content)
        except ValueError as error:
            self.words["text"] = f"answers, but {error}"
        else:
            self.words["text"] = WORKS

    async def _text_only(self, why: str) -> None:
        """Test texts alone: a server that rejects logprobs may still write."""
        if "logprobs" in why:
            self._texts(await self._post(TextDialect.path, TextDialect().body(self.endpoint, _NUMBER)))

    async def _moves(self, way: str) -> None:
        dialect = LISTED[way]
        one, two = [
            await self._checked(dialect.path, dialect.body(self.endpoint, query), partial(dialect.read, query))
            for query in _QUESTIONS
        ]
        _require_moving(one, two)

    async def _structured(self) -> None:
        """Whether the server can restrict a model that prefers another answer to the letters."""
        letters = self.words.get("letters", "")
        if letters != WORKS and _NO_LETTER not in letters:
            raise _UnsupportedError("not tested: it needs logprobs")
        dialect = LISTED["structured"]
        body = dialect.body(self.endpoint, _HELLO)
        body["messages"] = [{"role": "user", "content": _HELLO.question}]
        answer = await self._checked(dialect.path, body, lambda content: dialect.read(_HELLO, content))
        if answer.mass < 0.99:
            raise _UnsupportedError("answers, but ignores structured_outputs")

    async def _echo(self) -> None:
        echo, (query, _) = EchoDialect(), _QUESTIONS
        option = query.options[1]
        await self._checked(echo.path, echo.body(self.endpoint, query, option), lambda c: echo.read(query, option, c))

    async def _samples(self) -> None:
        if self.words.get("text") != WORKS:
            raise _UnsupportedError("not tested: it writes no text")
        text = TextDialect()
        drawn = [await self._checked(text.path, text.body(self.endpoint, _NUMBER, k), text.read) for k in (1, 2)]
        said = {each.text for each in drawn}
        if all(each.status in (Status.OK, Status.TRUNCATED) for each in drawn) and len(said) == 1:
            raise _UnsupportedError("answers, but gives the same text at temperature 1 with another seed")

    async def _continued(self) -> None:
        """Whether the server continues the start of an answer: by itself, or with fields that some servers have."""
        if self.words.get("text") != WORKS:
            raise _UnsupportedError("not tested: it writes no text")
        text = TextDialect()
        for how in CONTINUED:
            endpoint = replace(self.endpoint, continued=how)
            content = await self._post(text.path, text.body(endpoint, _OPPOSITE))
            said = self._read(text.read, content).text or ""
            written = billed(content)[1]  # too few tokens to write the beginning: it was only repeated
            repeated = said.startswith(_BEGUN) and 0 < written <= _OPPOSITE.tokens
            if said.strip().startswith(_GOES_ON) or repeated:
                self.endpoint = endpoint
                return
        raise _UnsupportedError("answers, but starts the answer again")


def _require_moving(one: Answer, two: Answer) -> None:
    """Two questions with different right answers, in different places, must not get the same probabilities."""
    for answer in (one, two):
        if answer.scores is None:
            raise _UnsupportedError(f"does not answer a plain question ({answer.status.name.lower()})")
    if one.scores == two.scores:
        raise _UnsupportedError("answers, but its probabilities do not move with the question")


def _refusal(error: AssayError) -> str:
    """A server's refusal in its own words, after its status; a redirect is one, too."""
    if error.key in ("404", "405"):
        return "not there (404)"
    return f"refused ({error.problem.partition(' answers ')[2] if error.key else error.problem})"


def _adapted(endpoint: Endpoint, why: str) -> Endpoint:
    """The endpoint without the field that it rejected, if its message names one."""
    if "max_completion_tokens" in why and endpoint.limit_key == "max_tokens":
        return replace(endpoint, limit_key="max_completion_tokens")
    if "temperature" in why and "temperature" not in endpoint.without:
        return replace(endpoint, without=(*endpoint.without, "temperature"))
    if "top_logprobs" in why and endpoint.top == TOP[0]:
        return replace(endpoint, top=TOP[1])
    return endpoint
