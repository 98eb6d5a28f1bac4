"""Asking an endpoint: no answer that was paid for is lost or asked for twice, and a server may do what it likes."""

from __future__ import annotations

import base64
import gzip
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.asking.plan import digest_of
from assay.asking.queries import (
    Answers,
    ListedColumns,
    ListedQuery,
    QueryColumns,
    SampleColumns,
    Scoring,
    Status,
    StringColumn,
    TextColumns,
)
from assay.engine import endpoints, journal
from assay.engine.ask import LiveAsk, Resume
from assay.engine.endpoints import EndpointExecutor
from assay.engine.executor import EngineSettings, LocalExecutor
from assay.engine.spending import Price, Spending
from assay.engine.store import BlockStore
from assay.errors import ModelError, UsageError, printable
from assay.models import find_model, load
from assay.models.api import client
from assay.models.base import ModelSpec, RetryableError
from endpoint_server import Asked, Sent, Server, serving
from own_loop import run_alone
from raising import raises


@dataclass(frozen=True)
class Listed:
    """Questions with three listed options."""

    count: int = 40
    answer: str = "letters"
    ability: str = "listed"
    first: int = 0

    @property
    def digest(self) -> str:
        return digest_of(["listed", self.answer, self.ability, self.first, self.count])

    def __len__(self) -> int:
        return self.count

    def columns(self, lo: int, hi: int) -> QueryColumns:
        rows = range(self.first + lo, self.first + hi)
        scoring = Scoring(answer=self.answer)
        if self.ability == "text":
            return TextColumns(StringColumn.of(f"A. Question {row}?" for row in rows), 8, scoring)
        if self.ability == "sample":
            return SampleColumns(StringColumn.of(f"A. Question {row}?" for row in rows), 8, scoring, samples=5)
        return ListedColumns.of([ListedQuery("", f"Question {row}?", ("yes", "no", "maybe")) for row in rows], scoring)


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setattr(endpoints, "delay", lambda attempt, after: after or 0.01)


@dataclass
class Asking:
    """Asks a server through a store in a folder; `spec` was found when it behaved."""

    folder: Path
    spec: ModelSpec

    def __call__(self, plan: Listed, resume: Resume = Resume.ALWAYS, spending: Spending | None = None) -> Answers:
        self.desk = EndpointExecutor(load, self.folder / "journal", spending or Spending())
        store = BlockStore(self.folder / "blocks")
        self.asker = LiveAsk(
            self.spec, store, LocalExecutor(load), EngineSettings(block_size=16), resume=resume, desk=self.desk
        )
        return self.asker(plan, "questions")


@pytest.fixture
def made(tmp_path: Path) -> Callable[[Server], Asking]:
    def make(server: Server) -> Asking:
        return Asking(tmp_path, find_model(server.model))

    return make


Made = Callable[[Server], Asking]


def times(server: Server) -> Counter[int]:
    """How many questions were asked once, twice, …."""
    return Counter(Counter(str(each.body) + each.path for each in server.questions).values())


def test_every_row_has_its_answer_whatever_the_order(made: Made) -> None:
    with serving() as server:
        asking = made(server)
        answers = asking(Listed())
        for row in (0, 17, 39):
            asked = next(each for each in server.questions if f"Question {row}?" in each.prompt)
            shares = np.array(server._shares(asked, 3)) * 0.98
            assert np.allclose(np.exp(answers["score"][row]), shares, atol=1e-6)
    assert answers.status.tolist() == [Status.OK] * 40
    assert np.allclose(answers["mass"], 0.98)
    assert {*zip(answers["model"].tolist(), answers["fingerprint"].tolist(), strict=True)} == {(b"tiny-llm", b"fp_1")}
    assert times(server) == {1: 40}


@pytest.mark.parametrize("ability", ["text", "sample"])
def test_texts_come_alone_or_several_at_a_time(made: Made, ability: str) -> None:
    with serving() as server:
        answers = made(server)(Listed(ability=ability))
    assert answers["text"].shape == ((40,) if ability == "text" else (40, 5))
    if ability == "sample":
        assert all(len(set(row.tolist())) == 5 for row in answers["text"]), "every sample has a seed of its own"
        seeds = Counter(each.body["seed"] for each in server.questions)
        assert seeds == dict.fromkeys(range(1, 6), 40)
        assert answers["billed"][:, 0].tolist() == [5] * 40


def test_stored_answers_are_not_paid_for_again(made: Made) -> None:
    with serving() as server:
        asking = made(server)
        first = asking(Listed(30))
        again = asking(Listed(30))
        assert (times(server), asking.desk.spending.sent) == ({1: 30}, 0)
        assert np.array_equal(first["score"], again["score"])
        larger = asking(Listed(50))  # another plan: only what is new is sent
        assert (times(server), asking.desk.spending.sent, asking.desk.spending.used) == ({1: 50}, 20, 50)
        assert np.array_equal(larger["score"][:30], first["score"])
        asking(Listed(50), Resume.NEVER)
        assert times(server) == {2: 50}


def test_equal_requests_of_one_run_are_sent_once(made: Made) -> None:
    @dataclass(frozen=True)
    class Twice(Listed):
        def columns(self, lo: int, hi: int) -> QueryColumns:
            rows = [ListedQuery("", f"Question {row % 10}?", ("yes", "no", "maybe")) for row in range(lo, hi)]
            return ListedColumns.of(rows, Scoring(answer="letters"))

    with serving(latency=0.02) as server:
        for resume in (Resume.ALWAYS, Resume.NEVER):
            made(server)(Twice(), resume)
    assert times(server) == {2: 10}


def test_blocks_are_the_same_whatever_the_server_did_on_the_way(tmp_path: Path) -> None:
    def flaky(asked: Asked) -> Sent | None:
        return [Sent(500, {"error": "no"}), Sent(429, {}), Sent(content=b"", cut=0), None][min(asked.before, 3)]

    stores = []
    with serving() as server:
        spec = find_model(server.model)
        for name, behave in (("quiet", lambda asked: None), ("flaky", flaky)):
            server.behave = behave
            server.came.clear()
            answers = Asking(tmp_path / name, spec)(Listed())
            stores.append({key: values.tobytes() for key, values in answers.arrays.items() if key != "at"})
            assert len([*(tmp_path / name / "blocks").rglob("*.block")]) == 3
    assert stores[0] == stores[1], "but for the times of the replies"


# --- hostile servers

CHOICE: dict[str, Any] = {"message": {"content": "A"}, "finish_reason": "stop"}
BAD = {
    "garbage": Sent(content=b"<html>Bad"),
    "a list": Sent(content=[1]),
    "an error with 200": Sent(content={"error": {"message": "overloaded"}}),
    "without the field": Sent(content={"choices": [CHOICE]}),
    "no choices": Sent(content={"choices": []}),
    "nonsense": Sent(content={"choices": [CHOICE | {"logprobs": {"content": [{"top_logprobs": [1, 2]}]}}]}),
    "cut": Sent(content={"choices": [CHOICE] * 9}, cut=20),
    "closed at once": Sent(content=b"", cut=0),
    "500": Sent(500, {"error": {"message": "oh"}}),
    "502 with a page": Sent(502, b"<h1>Bad gateway</h1>"),
    "too much": Sent(content=b'"' + b"x" * 5_000_000 + b'"'),
    "a drip": Sent(content=b" " * 400, drip=0.01),
    "a long header": Sent(content={}, headers={"X": "x" * 1_000_000}),
    "many headers": Sent(content={}, headers={f"X-{number}": "x" for number in range(20_000)}),
    "a bomb": Sent(content=gzip.compress(b" " * 10_000_000), headers={"Content-Encoding": "gzip"}),
    "two lengths": Sent(content={}, headers={"Content-Length": "7"}),
    "a gigantic length": Sent(content=b"", headers={"content-length": "9" * 30}, cut=0),
}


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD.keys())
def test_what_is_no_answer_is_tried_again(bad: Sent, made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "SECONDS", 1.0)
    with serving() as server:
        asking = made(server)
        server.behave = lambda asked: bad if asked.before == 0 and asked.number % 3 == 0 else None
        answers = asking(Listed(12))
    assert answers.status.tolist() == [Status.OK] * 12
    assert set(times(server)) == {1, 2}


@pytest.mark.parametrize("bad", [BAD["without the field"], BAD["garbage"], BAD["500"]], ids=("lies", "garbage", "500"))
def test_what_never_is_an_answer_ends_the_run_and_keeps_the_others(bad: Sent, made: Made) -> None:
    with serving() as server:
        asking = made(server)
        server.behave = lambda asked: bad if "Question 7?" in asked.prompt else None
        with raises("no-answer", ModelError) as error:
            asking(Listed(40))
        assert "1 of 40 questions" in str(error.value)
        server.behave = lambda asked: None
        answers = asking(Listed(40))  # only that one is asked again
        assert asking.desk.spending.sent == 1
    assert answers.status.tolist() == [Status.OK] * 40


def test_a_few_failures_in_many_are_noted_never_scored_and_asked_again(made: Made) -> None:
    with serving() as server:
        asking = made(server)
        server.behave = lambda asked: Sent(500, {}) if "Question 7?" in asked.prompt else None
        answers = asking(Listed(200))
        assert answers.status[7] == Status.FAILED
        assert np.isnan(answers["score"][7]).all()
        assert any("1 failed" in note for note in asking.asker.notes)
        server.behave = lambda asked: None
        again = asking(Listed(200))
        assert again.status[7] == Status.OK
        assert asking.asker.notes == []
        assert asking.desk.spending.sent == 1


def test_a_server_that_only_fails_is_given_up(made: Made) -> None:
    with serving() as server:
        asking = made(server)
        server.behave = lambda asked: Sent(500, {"error": {"message": "out of order"}})
        with raises("no-answer", ModelError) as error:
            asking(Listed(2000))
        assert len(server.questions) < 1500
    assert "out of order" in str(error.value)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
def test_a_refusal_stops_at_once_with_the_servers_own_words(status: int, made: Made) -> None:
    with serving() as server:
        asking = made(server)
        server.behave = lambda asked: Sent(status, {"error": {"message": "my own words"}})
        with raises("refused-request", ModelError, key=str(status)) as error:
            asking(Listed(2000))
        assert len(server.questions) <= 16
    assert "my own words" in str(error.value)


def test_an_account_without_money_stops_at_once(made: Made) -> None:
    with serving() as server:
        asking = made(server)
        server.behave = lambda asked: Sent(429, {"error": {"message": "pay", "code": "insufficient_quota"}})
        with raises("refused-request", ModelError):
            asking(Listed(100))


@pytest.mark.parametrize(
    "target", ["OTHER/chat/completions", "file:///etc/passwd", "http://[::1/x", "\x1b]0;owned\x07"]
)
@pytest.mark.parametrize("status", [302, 307])
def test_redirects_are_not_followed_and_the_key_stays(
    target: str, status: int, made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-7-of-nobody")
    with serving() as other, serving() as server:
        asking, target = made(server), target.replace("OTHER", other.url)
        server.behave = lambda asked: Sent(status, b"", {"Location": target})
        with raises("refused-request", ModelError) as error:
            asking(Listed(40))
        assert other.asked == []
    assert printable(target) in str(error.value)
    assert not {"\x1b", "\x07"} & set(str(error.value))


def test_a_proxy_of_the_environment_is_used_for_other_machines_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    async def post(url: str) -> Any:
        http = client.Client(url)
        try:
            content, _ = await http.post("/chat/completions", {"messages": []})
            return content
        finally:
            await http.close()

    with serving() as other, serving() as proxy:
        proxy.behave = lambda asked: Sent(content={"through": "the proxy"})
        other.behave = lambda asked: Sent(content={"through": "nothing"})
        monkeypatch.setenv("http_proxy", proxy.url.removesuffix("/v1").replace("//", "//me:secret%21@"))
        monkeypatch.setenv("no_proxy", "inside.invalid")
        assert run_alone(post("http://endpoint.invalid/v1")) == {"through": "the proxy"}
        (asked,) = proxy.asked
        assert asked.path == "http://endpoint.invalid/v1/chat/completions"
        assert base64.b64decode(asked.headers["proxy-authorization"].removeprefix("Basic ")) == b"me:secret!"
        assert run_alone(post(other.url)) == {"through": "nothing"}
        with pytest.raises(RetryableError):
            run_alone(post("http://inside.invalid/v1"))
        assert len(proxy.asked) == 1


def test_a_connection_that_the_server_ended_is_not_used_again(made: Made) -> None:
    with serving() as server:
        asking = made(server)
        server.behave = lambda asked: Sent(content=server.usual(asked), headers={"Connection": "close"})
        asking(Listed(20))
        assert times(server) == {1: 20}
    with serving() as server:
        asking = made(server)
        server.hang_up = True
        asking(Listed(20))
        assert times(server) == {1: 20}


@pytest.mark.slow
def test_the_server_may_say_how_long_to_wait(made: Made) -> None:
    with serving() as server:
        asking = made(server)
        limits = {0: {"Retry-After": "1"}, 1: {"retry-after-ms": "200"}}
        server.behave = lambda asked: Sent(429, {}, limits[asked.before]) if asked.before < 2 else None
        asking(Listed(3))
        waits = [np.diff(moments) for body, moments in server.came.items() if "A. yes" in body]
    assert all(wait[0] >= 1.0 and 0.2 <= wait[1] < 1.0 for wait in waits)


def test_a_wait_that_is_too_long_ends_the_run(made: Made) -> None:
    with serving() as server:
        asking = made(server)
        server.behave = lambda asked: Sent(429, {"error": "tomorrow"}, {"Retry-After": "86400"})
        with raises("no-answer", ModelError) as error:
            asking(Listed(100))
    assert "86,400 seconds" in str(error.value)


def test_being_told_to_wait_is_no_failure(made: Made) -> None:
    with serving() as server:
        asking = made(server)
        server.behave = lambda asked: Sent(429, {}) if asked.before < 8 else None
        assert asking(Listed(5)).status.tolist() == [Status.OK] * 5


# --- statuses


def chat(**message: Any) -> dict[str, Any]:
    finish = message.pop("finish", "stop")
    return {"choices": [{"message": {"content": None, **message}, "finish_reason": finish}]}


@pytest.mark.parametrize(
    ("content", "http", "status"),
    [
        (chat(refusal="I can't help with that."), 200, Status.REFUSED),
        (chat(finish="content_filter"), 200, Status.FILTERED),
        ({"error": {"code": "content_filter", "message": "no"}}, 400, Status.FILTERED),
        (chat(finish="length", reasoning_content="So"), 200, Status.EMPTY),
        (chat(content="", finish="stop"), 200, Status.EMPTY),
        (chat(content=None), 200, Status.EMPTY),
        ({"choices": chat(content="B")["choices"] + chat(content="A")["choices"]}, 200, Status.OK),  # the first counts
        (chat(content="<think>well,", finish="length"), 200, Status.EMPTY),
        (chat(content="The answer", finish="length"), 200, Status.TRUNCATED),
        (chat(content=[{"type": "text", "text": "B"}]), 200, Status.OK),
        (chat(content="<think>A or B?</think> B"), 200, Status.OK),
    ],
)
def test_a_status_is_final_and_stored(content: dict[str, Any], http: int, status: Status, made: Made) -> None:
    with serving() as server:
        asking = made(server)
        server.behave = lambda asked: Sent(http, content)
        answers = asking(Listed(3, ability="text"))
        assert answers.status.tolist() == [status] * 3
        if status is Status.OK:
            assert answers["text"].tolist() == [b"B"] * 3
        asking(Listed(4, ability="text"))
        assert asking.desk.spending.sent == 1


@pytest.mark.parametrize("way", ["decisions", "systemone"])
def test_decisions_may_be_refused_or_filtered(way: str, made: Made) -> None:
    refusal = {"type": "refusal"}
    with serving() as server:
        asking = made(server)
        server.behave = lambda asked: Sent(
            content={"answers": [refusal] if way == "decisions" else {"answer": refusal}}
        )
        assert asking(Listed(3, way)).status.tolist() == [Status.REFUSED] * 3
        server.behave = lambda asked: Sent(400, {"error": {"code": "content_filter"}})
        assert asking(Listed(3, way, first=3)).status.tolist() == [Status.FILTERED] * 3


def test_what_a_server_exaggerates_is_not_believed(made: Made) -> None:
    def boastful(asked: Asked) -> Sent:
        choice = {"message": {"content": "x" * 1_000_000 + " B"}, "finish_reason": "stop"}
        usage = {"prompt_tokens": 10**30, "completion_tokens": -5}
        return Sent(
            content={"choices": [choice], "usage": usage, "model": "m" * 100_000, "system_fingerprint": ["x"] * 9}
        )

    with serving() as server:
        asking = made(server)
        server.behave = boastful
        answers = asking(Listed(3, ability="text"))
    assert answers["text"].dtype.itemsize < 20_000
    assert all(text.endswith(b" B") for text in answers["text"].tolist())
    assert answers["model"].dtype.itemsize < 1000
    assert answers["fingerprint"].dtype.itemsize < 1000
    assert answers["billed"].tolist() == [[1, 10**9, 0]] * 3


def test_a_second_answer_to_one_question_is_not_taken(made: Made) -> None:
    with serving() as server:
        asking = made(server)

        def doubled(asked: Asked) -> Sent | None:
            content = server.usual(asked)
            return Sent(content=content | {"answers": content["answers"] * 2}) if asked.before == 0 else None

        server.behave = doubled
        assert asking(Listed(3, "decisions")).status.tolist() == [Status.OK] * 3
        assert times(server) == {2: 3}


@pytest.mark.parametrize("way", ["letters", "decisions", "systemone"])
def test_neither_replies_nor_probabilities_need_to_come_in_order(way: str, made: Made) -> None:
    def reversed_(asked: Asked) -> Sent | None:
        content = server.usual(asked)
        if way == "letters":
            content["choices"][0]["logprobs"]["content"][0]["top_logprobs"].reverse()
        elif way == "decisions":
            content["answers"][0]["probabilities"].reverse()
        else:
            answer = content["answers"]["answer"]
            answer["probabilities"] = dict(reversed(answer["probabilities"].items()))
        return Sent(content=content, wait=0.3 - 0.05 * (asked.number % 6))

    with serving() as server:
        asking = made(server)
        plain = asking(Listed(12, way))
        server.behave = reversed_
        again = asking(Listed(12, way), Resume.NEVER)
    assert times(server) == {2: 12}
    assert np.array_equal(again["score"], plain["score"])


def test_an_answer_without_a_token_is_empty(made: Made) -> None:
    with serving() as server:
        asking = made(server)
        server.behave = lambda asked: Sent(content={"choices": [CHOICE | {"message": {}, "logprobs": {"content": []}}]})
        assert asking(Listed(3)).status.tolist() == [Status.EMPTY] * 3


def test_letters_with_little_probability_are_unclear(made: Made) -> None:
    top = [{"token": "Well", "logprob": -0.1}, {"token": " A", "logprob": -3.0}, {"token": "A", "logprob": -3.5}]
    entry = {"logprobs": {"content": [{"token": "Well", "top_logprobs": top}]}, "message": {"content": "Well"}}
    with serving() as server:
        asking = made(server)
        server.behave = lambda asked: Sent(content={"choices": [entry]})
        answers = asking(Listed(3))
    assert answers.status.tolist() == [Status.UNCLEAR] * 3
    assert np.allclose(answers["mass"], np.exp(-3.0) + np.exp(-3.5))
    assert np.isneginf(answers["score"][:, 1:]).all()
    assert any("3 unclear" in note for note in asking.asker.notes)


def test_a_change_of_the_served_model_is_reported_also_against_stored_answers(made: Made) -> None:
    with serving() as server:
        asking = made(server)
        asking(Listed(10))
        assert asking.asker.notes == []
        server.behave = lambda asked: Sent(content=server.usual(asked) | {"system_fingerprint": "fp_2"})
        asking(Listed(15))
    (note,) = asking.asker.notes
    assert "tiny-llm fp_1 (10), tiny-llm fp_2 (5)" in note


# --- money, concurrency, interruptions


@pytest.mark.slow
def test_a_budget_stops_before_it_is_passed_and_what_came_is_stored(made: Made) -> None:
    with serving(latency=0.01) as server:
        asking = made(server)
        spending = Spending(Price(10.0, 10.0), budget=0.02)
        with raises("over-budget", UsageError):
            asking(Listed(400), spending=spending)
        assert spending.usd is not None
        assert 0.01 < spending.usd <= 0.02
        sent = len(server.questions)
        assert 20 < sent < 100
        asking(Listed(400))
        assert times(server) == {1: 400}
        assert asking.desk.spending.sent == 400 - sent


@pytest.mark.slow
def test_many_questions_never_are_many_tasks(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    import asyncio

    most = 0

    async def watched(self: Any) -> None:
        nonlocal most
        while True:
            most = max(most, len(asyncio.all_tasks()))
            await asyncio.sleep(0.005)

    monkeypatch.setattr(endpoints._RequestLoop, "_sync", watched)
    with serving() as server:
        made(server)(Listed(1500))
    assert most < 600


@pytest.mark.slow
def test_a_slow_disk_does_not_hold_up_the_asking(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    went_on: list[bool] = []

    def slow(handle: int) -> None:
        before, end = len(server.questions), time.monotonic() + 3
        while not went_on and len(server.questions) < before + 20 and time.monotonic() < end:
            time.sleep(0.01)
        went_on.append(len(server.questions) >= before + 20)

    monkeypatch.setattr(endpoints, "SYNC", 0.05)
    with serving(latency=0.02) as server:
        asking = made(server)
        monkeypatch.setattr(journal.os, "fsync", slow)
        assert asking(Listed(400)).status.tolist() == [Status.OK] * 400
    assert went_on[0]


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Ctrl-C is KeyboardInterrupt here: a browser's tests leave another handler."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.slow
@pytest.mark.usefixtures("interruptible")
def test_an_interruption_keeps_what_is_under_way(made: Made) -> None:
    with serving(latency=0.2) as server:
        asking = made(server)
        asked = 0

        def interrupted(rows: int, *, stored: bool = False) -> None:
            nonlocal asked
            asked += rows
            if asked == 12:
                threading.Timer(0.0, _interrupt).start()

        asking.desk = EndpointExecutor(load, asking.folder / "journal")
        stream = asking.desk.ask(
            asking.spec, lambda rows: Listed().columns(rows.start, rows.stop), [range(0, 400)], advance=interrupted
        )
        began = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            list(stream)
        assert time.monotonic() - began < 5
        sent = len(server.questions)
        assert 12 <= sent < 200
        asking(Listed(sent))
        assert times(server) == {1: len(server.questions)}


def _interrupt() -> None:
    import _thread

    _thread.interrupt_main()


def test_an_endpoint_is_not_asked_without_a_journal(made: Made) -> None:
    with serving() as server:
        asking = made(server)
        with raises("unsupported", UsageError):
            LiveAsk(asking.spec, BlockStore(asking.folder), LocalExecutor(load))(Listed(), "questions")
        with raises("missing-ability", UsageError):
            list(LocalExecutor(load).run(asking.spec, Listed(), [range(0, 3)], EngineSettings(), None))  # type: ignore[arg-type]
        assert server.questions == []
