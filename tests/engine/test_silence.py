"""Silence, in virtual time: what is being waited for is said every 15 seconds, and nothing waits for ever."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from assay.errors import ModelError
from assay.models.api.detect_dialect import LONGEST, EndpointTest
from assay.models.base import Endpoint, RetryableError
from own_loop import in_own_thread
from raising import raises
from virtual_time import VirtualLoop, VirtualServer, ask, virtual

__all__ = ["virtual"]
pytestmark = pytest.mark.usefixtures("virtual")


def test_pauses_without_end_are_spoken_of_every_15_seconds_and_end(tmp_path: Path) -> None:
    lines: list[str] = []
    server = VirtualServer(refuses=lambda now: True)
    with raises("no-answer", ModelError) as error:
        ask(server, tmp_path, 40, waits=lines.append)
    assert "429: slow down" in str(error.value)
    assert "10 minutes" in str(error.value)
    assert 560 < server.times[-1] < 601
    assert len(lines) == 39
    assert re.fullmatch(
        r"no usable reply for 15 s \(\d+ requests under way, \d+ waiting\); its last reply: 429: slow down; "
        r"assay gives up in 9 min 45 s",
        lines[0],
    )
    assert "no usable reply for 9 min 45 s" in lines[-1]


@pytest.mark.parametrize("drip", [False, True])
def test_a_server_that_says_nothing_is_given_up_after_ten_minutes(drip: bool, tmp_path: Path) -> None:
    """Also if its attempts never end, as where the client's own limit does not see a byte a minute."""
    lines: list[str] = []
    server = VirtualServer(silent=lambda number: not drip, latency=1e6)
    with raises("no-answer", ModelError) as error:
        ask(server, tmp_path, 40, waits=lines.append)
    assert server.times[-1] <= 601
    assert max(server.sent.values()) <= 3
    assert "it has said nothing else" in lines[0]
    assert len(lines) == 39
    assert "no complete reply" in str(error.value) or drip


def test_one_silent_question_among_others_fails_after_ten_minutes(tmp_path: Path) -> None:
    """Others are answered meanwhile: only this question is without an answer."""
    server = VirtualServer(latency=40.0, most=2)
    silent = "A question of some length, number 3?"
    send = server.send

    async def sometimes(call: Any) -> Any:
        if call.body["prompt"] == silent:
            began.append(asyncio.get_running_loop().time())
            await asyncio.sleep(1e6)
        return await send(call)

    began: list[float] = []
    server.send = sometimes  # type: ignore[method-assign]
    lines: list[str] = []
    answers = ask(server, tmp_path, 60, waits=lines.append)
    assert began == began[:1]
    assert [number for number, text in enumerate(answers["text"].tolist()) if text != b"yes"] == [3]
    assert lines, "some replies took longer than 15 seconds"


def test_answers_are_no_silence(tmp_path: Path) -> None:
    lines: list[str] = []
    ask(VirtualServer(rate=20), tmp_path, 600, waits=lines.append)
    assert lines == []


# --- what an endpoint can do


class _Client:
    """A client of a server that answers the first requests, and then says nothing or asks for pauses."""

    url = "http://virtual/v1"

    def __init__(self, answers: int, error: RetryableError | None = None) -> None:
        self.answers, self.error, self.sent = answers, error, 0

    async def post(self, path: str, body: Mapping[str, Any], headers: Mapping[str, str]) -> Any:
        self.sent += 1
        if self.sent <= self.answers:
            return {"choices": [{"message": {"content": f"A {self.sent}"}, "finish_reason": "stop"}]}, ""
        if self.error is not None:
            raise self.error
        await asyncio.sleep(1e6)


def searched(client: Any) -> tuple[float, list[str], Any]:
    """How long the search took, what it said meanwhile, and what it found or why it found nothing."""
    lines: list[str] = []
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        search = EndpointTest(client, Endpoint("m"), lines.append)
        try:
            found: Any = runner.run(search.watched())
        except ModelError as error:
            found = error
        return runner.get_loop().time(), lines, found


@pytest.mark.parametrize("answers", [0, 1])
def test_a_search_for_abilities_says_what_it_waits_for_and_ends(answers: int) -> None:
    seconds, lines, found = in_own_thread(lambda: searched(_Client(answers)))
    assert seconds == pytest.approx(LONGEST)
    assert len(lines) >= 39
    what = "letters, request 1 of 12" if not answers else "decisions, request 2 of 12"
    tested, _, rest = lines[0].partition(", for ")
    assert tested == f"testing what http://virtual/v1 can do: {what}"
    assert rest == "15 s; it has said nothing else; assay gives up in 9 min 45 s"
    if answers:
        assert found.ways == ("text",)
        assert "echo: not tested: the tests took 10 min 0 s" in found.found
    else:
        assert isinstance(found, ModelError)


def test_a_search_that_is_told_to_wait_says_so() -> None:
    refusal = RetryableError("429: slow down", after=30.0, overloaded=True)
    seconds, lines, found = in_own_thread(lambda: searched(_Client(0, refusal)))
    assert seconds <= 61
    assert "its last reply: 429: slow down" in lines[0]
    assert isinstance(found, ModelError)
