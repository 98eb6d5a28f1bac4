"""`assay run --model api:…` alone: the tour on an endpoint, whose requests are counted, said and confirmed first."""

from __future__ import annotations

import json
import os
import pty
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from assay.runs import tour
from endpoint_server import Server, serving
from html_pages import Page
from nursery import Nursery

pytestmark = pytest.mark.whole

FEW = 150
"""Requests that the tour may send in these tests."""


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tour, "REQUESTS", FEW)


def number(text: str, before: str) -> int:
    found = re.search(rf"{before}: ([\d,]+)", text)
    assert found, text
    return int(found[1].replace(",", ""))


def test_a_dry_run_sums_over_the_probes_and_sends_nothing(assay: Any) -> None:
    """With the limits that the tour would choose: at most 3,000 requests."""
    with serving() as server:
        done = assay("run", "--model", server.model, "--dry-run", "--price", "1,2")
        assert done.code == 0, done.err
        assert server.asked == []
    parts = [int(count.replace(",", "")) for count in re.findall(r"^[\w-]+: ([\d,]+) requests", done.out, re.M)]
    assert parts
    assert number(done.out, "^requests|\nrequests") == sum(parts) <= 3000
    assert done.out.count("cost: about $") == 1


@pytest.mark.usefixtures("few")
def test_the_tour_sends_no_more_than_it_says_and_has_one_page(assay: Any) -> None:
    with serving() as server:
        done = assay("run", "--model", server.model, "--out", "tour", "--price", "1,2")
        assert done.code == 0, done.err
        assert FEW / 4 < len(server.questions) <= FEW
        assert number(done.err, "to send") == len(server.questions)
        assert "cost: about $" in done.err
        runs = sorted(path.parent.name for path in Path("tour").glob("*/findings.json"))
        assert "bbq-starter" in runs
        for name in runs:
            endpoint = json.loads(Path("tour", name, "run.json").read_text(encoding="utf-8"))["endpoint"]
            assert [each["model"] for each in endpoint["served"]] == ["tiny-llm"]
        page = Page(Path("tour/report.html").read_text(encoding="utf-8"))
        left_out = json.loads(Path("tour/missing.json").read_text()) if Path("tour/missing.json").exists() else {}
        assert page.words.count("is missing from this report") == len(left_out)
        sent = len(server.asked)
        again = assay("run", "--model", server.model, "--out", "tour", "--price", "1,2")
        assert again.code == 0, again.err
        assert number(again.err, "to send") == 0
        assert len(server.asked) == sent
        assert again.out == done.out


@pytest.mark.usefixtures("few")
def test_a_limit_is_for_each_probe(assay: Any) -> None:
    with serving() as server:
        done = assay("run", "--model", server.model, "--dry-run", "--limit", 2 * FEW)
    assert done.code == 0, done.err
    assert number(done.out, "bbq-starter") >= 2 * FEW


Terminal = Callable[..., tuple[int, str]]


@pytest.fixture
def on_a_terminal(programs: Nursery, tmp_path: Path) -> Terminal:
    """`on_a_terminal(server, answer, …)`: the tour with a terminal for input and errors; it is answered when it asks.

    Its exit code, and what it said.
    """

    def tour_of(server: Server, answer: bytes, *more: str) -> tuple[int, str]:
        ours, theirs = pty.openpty()
        terminal = Path(os.ttyname(theirs))

        def program() -> int:
            command = ["run", "--model", server.model, "--limit", "16", "--out", "tour", *more]
            streams = {"log": Path(os.devnull), "errors": terminal, "typed": terminal}
            try:
                return int(programs.attempt(command, cache=tmp_path / "cache", folder=tmp_path, **streams)["status"])
            finally:
                os.close(theirs)

        said = b""
        with ThreadPoolExecutor(1) as pool:
            status = pool.submit(program)
            with suppress(OSError):  # the terminal is closed when the program ends
                while part := os.read(ours, 4096):
                    said += part
                    if b"[y/N]" in said and answer:
                        os.write(ours, answer)
                        answer = b""
        os.close(ours)
        return os.waitstatus_to_exitcode(status.result()), said.decode(errors="replace")

    return tour_of


def test_on_a_terminal_it_asks_before_it_sends(on_a_terminal: Terminal, tmp_path: Path) -> None:
    with serving() as server:
        code, said = on_a_terminal(server, b"n\n")
        assert code == 2, said
        assert "to send: " in said
        assert "no request was sent" in said
        assert server.questions == []
        assert not (tmp_path / "tour").exists()
        code, said = on_a_terminal(server, b"y\n")
        assert code == 0, said
        assert len(server.questions) >= 16
        code, said = on_a_terminal(server, b"")
        assert (code, "[y/N]" in said) == (0, False), "there is nothing left to ask about"


def test_yes_is_not_asked(on_a_terminal: Terminal) -> None:
    with serving() as server:
        code, said = on_a_terminal(server, b"", "--yes")
        assert code == 0, said
        assert "to send: " in said
        assert "[y/N]" not in said
        assert len(server.questions) >= 16
