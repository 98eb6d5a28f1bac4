"""Whatever is missing or wrong in a reply, whoever reads it says so; nothing else is raised."""

from __future__ import annotations

import contextlib
import random
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from assay.asking.queries import Status
from assay.errors import AssayError, ModelError
from assay.models.api.client import BEARER, Client, retry_after
from assay.models.api.detect_dialect import EndpointTest
from assay.models.api.dialects import billed, served_by
from assay.models.base import Endpoint, Reply, RetryableError
from changed_replies import FEW, QUERIES, Change, Sending, read, right_replies, search, unchanged, wrong_copies
from fuzzing import changed
from own_loop import run_alone

SEED = 31


def only(number: int, said: bytes) -> Change:
    """A change of one reply."""
    return lambda at, right: said if at == number else unchanged(at, right)


@pytest.mark.parametrize("way", QUERIES)
def test_right_replies_are_answers(way: str) -> None:
    assert read(way, unchanged).status.tolist() == [Status.OK]


def test_an_endpoint_with_right_replies_can_do_everything() -> None:
    ways = ("decisions", "systemone", "structured", "letters", "samples", "text")
    assert search(unchanged).ways == ways
    assert search(unchanged).continued == "message"


@pytest.mark.parametrize("status", [200, 400, 429])
@pytest.mark.parametrize("way", QUERIES)
def test_a_reply_with_a_missing_or_wrong_field_is_read_or_refused(way: str, status: int) -> None:
    for number, right in enumerate(right_replies(way)[:2]):
        for what, said in wrong_copies(right):
            try:
                with contextlib.suppress(RetryableError, ModelError):
                    read(way, only(number, said), status)
            except Exception as error:
                raise AssertionError(f"{way}, reply {number}, {what}") from error


def seen_by_tests() -> list[Any]:
    """The replies that the tests of an endpoint get."""
    right: list[Any] = []

    def keep(number: int, reply: Any) -> bytes:
        right.append(reply)
        return unchanged(number, reply)

    search(keep)
    return right


RIGHT = seen_by_tests()


@pytest.mark.parametrize("number", range(len(RIGHT)))
def test_an_endpoint_with_one_missing_or_wrong_field_is_tested_or_refused(number: int) -> None:
    for what, said in wrong_copies(RIGHT[number], FEW):
        try:
            with contextlib.suppress(ModelError):
                search(only(number, said))
        except Exception as error:
            raise AssertionError(f"reply {number}, {what}") from error


@pytest.mark.slow
def test_an_endpoint_that_always_sends_the_same_wrong_reply_is_tested_or_refused() -> None:
    for right in RIGHT:
        for what, said in wrong_copies(right, FEW):
            for status in (200, 400):
                try:
                    with contextlib.suppress(ModelError):
                        search(lambda at, right, said=said: said, status)
                except Exception as error:
                    raise AssertionError(f"{status}, {what}") from error


def test_replies_with_several_wrong_fields_are_read_or_refused() -> None:
    """Drawn at random, always the same."""
    drawn = random.Random(SEED)
    for _ in range(1_000):
        way, status = drawn.choice(list(QUERIES)), drawn.choice((200, 200, 200, 400, 503))
        said = unchanged(0, right_replies(way)[0])
        for _ in range(drawn.randint(2, 4)):
            said = changed(said, ".json", (drawn.randrange(100), drawn.randrange(1 << 24), drawn.randrange(1_000)))
        with contextlib.suppress(RetryableError, ModelError):
            read(way, lambda at, right, said=said: said, status)


# --- single defects


def test_a_first_reply_with_logprobs_and_no_message_is_no_text() -> None:
    def without_message(number: int, right: Any) -> bytes:
        for choice in right.get("choices", ()):
            choice.pop("message", None)
        return unchanged(number, right)

    found = dict(each.split(": ", 1) for each in search(without_message).found)  # type: ignore[misc]  # two parts
    assert found["letters"] == "works"
    assert found["text"] == "answers, but gives no message"
    with pytest.raises(RetryableError, match="gives no message"):
        read("text", lambda at, right: b'{"choices": [{"logprobs": {"content": []}}]}')


LATER = ("9" * 400, "99999999999999999999.5")
DATES = (
    "Wed, 21 Oct 10000000000000000000 07:28:00 GMT",
    "Wed, 21 Oct 99999 07:28:00 GMT",
    "Wed, 21 Oct 0001 07:28:00 -0000",
    "Wed, 21 Oct 2026 07:28:00 +999999999999",
    "Wed, 21 Oct 2026 99:99:99 GMT",
    "Wed, 0 Oct 2026 07:28:00 GMT",
    "Sat, 31 Dec 9999 23:59:59 -2359",
    "Mon, 1 Jan 0001 00:00:00 +2359",
    *(",", "Oct", "1 2 3 4 5 6 7", "Wed, 21 Oct 2026", "\x00", "Infinity", "nan", "-1", "1e400", "٣"),
)


@pytest.mark.parametrize("said", [*LATER, *DATES])
@pytest.mark.parametrize("date", ["", *DATES, "Wed, 21 Oct 2026 07:28:00 GMT"])
def test_a_pause_that_is_none_is_no_pause(said: str, date: str) -> None:
    for name in ("retry-after", "retry-after-ms"):
        pause = retry_after({name: said, "date": date})
        assert pause is None or 0.0 <= pause < 1e10
        if said in LATER:
            assert pause is not None
            assert pause > 1e6


@pytest.mark.parametrize("value", [None, True, "3", 2.5, [], {}, {"a": 1}, -5])
def test_a_bill_that_is_no_number_of_tokens_is_unknown(value: Any) -> None:
    assert billed({"usage": {"prompt_tokens": value, "completion_tokens": value}}) == (0, 0)
    assert billed({"usage": value}) == (0, 0)


@pytest.mark.parametrize("value", [None, True, 7, [], {}, {"a": "b"}, ["llm"]])
def test_a_name_that_is_no_text_is_no_name(value: Any) -> None:
    assert served_by(Reply({"model": value, "system_fingerprint": value}))[:2] == ("", "")


def test_words_of_a_server_do_not_pass_for_its_status() -> None:
    """A refusal is judged by its status, not by what its message looks like."""

    def refused(number: int, right: Any) -> bytes:
        if "choices" in right and number == 0:
            return unchanged(number, right)
        return b'{"error": {"message": "the page answers 404: really"}}'

    class Refusing(Sending):
        async def post(self, path: str, body: Any, headers: Any = BEARER) -> Any:
            self.status = 200 if self.sent == 0 else 422
            return await super().post(path, body, headers)

    found = run_alone(EndpointTest(Refusing(refused, 200), Endpoint("m")).search()).found
    assert "decisions: refused (422: the page answers 404: really)" in found


# --- heads of replies

HEADS = (
    *(
        b"",
        b"\r\n\r\n",
        b"HTTP/1.1\r\n\r\n",
        b"HTTP/9.9 200 OK\r\n\r\n",
        b"HTTP/1.1 99999 X\r\n\r\n",
        b"\xff\xfe\r\n\r\n",
    ),
    b"HTTP/1.1 200 OK\r\nContent-Length: 1e9\r\n\r\n{}",
    b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n{}",
    b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: nonsense\r\n\r\n{}",
    b"HTTP/1.1 200 OK\r\nServer\r\n\r\n{}",
    b"HTTP/1.1 200 OK\r\n: x\r\nS\xc3\xa4: \xff\r\nContent-Length: 2\r\n\r\n{}",
    b"HTTP/1.1 200 OK\r\nServer: " + b"x" * 200_000 + b"\r\n\r\n{}",
    b"HTTP/1.1 101 Switching\r\n\r\n",
    b"HTTP/1.1 100 Go on\r\n\r\n" * 50 + b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
    b"HTTP/1.1 000 X\r\nContent-Length: 2\r\n\r\n{}",
    b"HTTP/1.1 204 None\r\n\r\n",
    b"HTTP/1.1 302 X\r\nLocation: \xff\x00\r\nContent-Length: 0\r\n\r\n",
    b"HTTP/1.1 429 X\r\nRetry-After: Wed, 21 Oct 10000000000000000000 07:28:00 GMT\r\nContent-Length: 2\r\n\r\n{}",
)


@contextlib.contextmanager
def sending(said: bytes) -> Iterator[str]:
    """The address of a server that sends these bytes to whoever comes, and hangs up."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer() -> None:
            with contextlib.suppress(OSError), listening.accept()[0] as connection:
                asked.append(connection.recv(1 << 16))
                connection.sendall(said)

        asked: list[bytes] = []
        thread = threading.Thread(target=answer)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
        finally:
            socket.create_connection(listening.getsockname()).close()  # else it waits for a client that never came
            thread.join()
        assert asked[0].startswith(b"POST /v1/chat/completions "), "the client came"


@pytest.mark.parametrize("said", HEADS, ids=range(len(HEADS)))
def test_whatever_the_head_of_a_reply_is_it_is_read_or_refused(said: bytes) -> None:
    async def post(url: str) -> None:
        client = Client(url, seconds=20.0)
        try:
            await client.post("/chat/completions", {})
        finally:
            await client.close()

    with sending(said) as url, contextlib.suppress(RetryableError, AssayError):
        run_alone(post(url))
