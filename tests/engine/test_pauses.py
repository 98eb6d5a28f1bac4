"""Pauses, in virtual time: a hostile header costs no more requests than none, an honest one no more time."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.errors import ModelError
from raising import raises
from virtual_time import VirtualServer, ask, virtual

__all__ = ["virtual"]
pytestmark = pytest.mark.usefixtures("virtual")

HOSTILE = {
    "a date in the past": {"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"},
    "a date before the server's own": {
        "retry-after": "Wed, 21 Oct 2026 07:28:00 GMT",
        "date": "Wed, 21 Oct 2026 07:28:05 GMT",
    },
    "0": {"retry-after": "0"},
    "a millisecond": {"retry-after-ms": "1"},
}


def forever(headers: dict[str, str], folder: Path) -> VirtualServer:
    """A server that turns everything down, until asking ends."""
    server = VirtualServer(refuses=lambda now: True, headers=headers)
    with raises("no-answer", ModelError):
        ask(server, folder, 40)
    return server


@pytest.mark.parametrize("headers", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_server_that_refuses_for_ever_gets_few_requests_whatever_its_header_says(
    headers: dict[str, str], tmp_path: Path
) -> None:
    plain, hostile = forever({}, tmp_path / "plain"), forever(headers, tmp_path / "hostile")
    assert hostile.number <= 1.2 * plain.number
    assert plain.number <= 150
    assert 500 < hostile.times[-1] < 700


@pytest.mark.parametrize("headers", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_rate_limit_is_not_hammered_whatever_the_header_says(headers: dict[str, str], tmp_path: Path) -> None:
    servers = [VirtualServer(rate=10, headers=those) for those in ({}, headers)]
    for number, server in enumerate(servers):
        ask(server, tmp_path / str(number), 300)
        assert set(server.answered.values()) == {1}
        assert len(server.answered) == 300
    assert servers[1].number <= 1.2 * servers[0].number


@pytest.mark.parametrize(
    ("rate", "window", "pause", "before"), [(10, 1.0, "5", 254.2), (1, 60.0, "5", 544.4), (10, 1.0, "1", 83.1)]
)
def test_an_honest_pause_takes_no_longer_than_it_did_before_ours_grew(
    rate: float, window: float, pause: str, before: float, tmp_path: Path
) -> None:
    """The seconds of 600 questions when only the server decided."""
    server = VirtualServer(rate=rate, window=window, headers={"retry-after": pause})
    ask(server, tmp_path, 600)
    assert server.times[-1] <= 1.05 * before


def test_a_server_that_recovers_is_asked_soon(tmp_path: Path) -> None:
    server = VirtualServer(refuses=lambda now: now < 60)
    ask(server, tmp_path, 200)
    assert next(moment for moment in server.times if moment >= 60) < 60 + 60 / 4
    assert server.times[-1] < 120


def test_one_success_ends_the_common_pause(tmp_path: Path) -> None:
    """A slow reply that comes during the pause shows that the server answers."""
    server = VirtualServer(latency=lambda number: 100.0 if number < 4 else 1.0)
    server.refuses = lambda now: 0 < now < 100
    ask(server, tmp_path, 40)
    assert any(100 <= moment < 100.1 for moment in server.times)
