"""The journal keeps every reply, whatever becomes of the program that wrote it."""

from __future__ import annotations

import os
import random
import time
from dataclasses import replace
from pathlib import Path

import pytest

from assay.engine.journal import Journal
from assay.errors import UsageError
from assay.models.base import Reply
from raising import raises


def reply(number: int) -> Reply:
    return Reply({"choices": [{"text": f"ä\nb {number}"}], "model": "model v1"}, number, 1, "engine/1.2")


def got(journal: Journal, call: str, **period: float) -> Reply | None:
    """A stored reply without its time."""
    stored = journal.get(call, **period)
    return stored and replace(stored, at=0.0)


def test_replies_are_there_again_for_another_program(tmp_path: Path) -> None:
    first = Journal(tmp_path)
    for number in range(20):
        first.put(f"call{number}", reply(number))
        assert got(first, f"call{number}") == reply(number)
    again = Journal(tmp_path)  # the first is not closed: nothing waits in a buffer
    assert len(again) == 20
    assert [got(again, f"call{number}") for number in range(20)] == [reply(number) for number in range(20)]
    assert again.get("another") is None
    assert "call1" in again
    first.close(), again.close()


def test_of_two_replies_the_later_counts_whoever_wrote_it(tmp_path: Path) -> None:
    journals = [Journal(tmp_path) for _ in range(2)]
    for number, journal in enumerate([*journals, journals[0]]):
        journal.put("call", reply(number))
    again = Journal(tmp_path)
    assert got(again, "call") == reply(2)
    for journal in (*journals, again):
        journal.close()


def test_of_two_replies_the_later_counts_even_if_the_clock_was_set_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, moment in enumerate((3e9, 2e9, 1e9)):
        monkeypatch.setattr(time, "time", lambda now=moment: now)
        monkeypatch.setattr(time, "time_ns", lambda now=moment: int(now * 1e9))
        journal = Journal(tmp_path)
        journal.put("call", reply(number))
        again = Journal(tmp_path)
        assert [got(each, "call") for each in (journal, again)] == [reply(number)] * 2
        journal.close(), again.close()


def test_a_run_that_is_built_again_gets_the_replies_that_it_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever came later; and where everything is asked again, no earlier reply counts."""
    journal = Journal(tmp_path)
    for number in (1, 2, 3):
        monkeypatch.setattr(time, "time", lambda now=number * 100.0: now)
        journal.put("call", reply(number))
    journal.close()
    again = Journal(tmp_path)
    assert [got(again, "call", until=moment) for moment in (100.0, 199.0, 200.0, 250.0, 300.0)] == [
        reply(number) for number in (1, 1, 2, 2, 3)
    ]
    assert got(again, "call", until=50.0) == reply(1), "the first after it, as it had none"
    assert [got(again, "call", since=moment) for moment in (150.0, 300.0, 301.0)] == [reply(3), reply(3), None]
    assert got(again, "call", since=150.0, until=250.0) == reply(2)
    again.close()


def test_a_reply_is_never_older_than_what_it_was_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even if the clock was set back meanwhile."""
    monkeypatch.setattr(time, "time", lambda: 1e9)
    journal = Journal(tmp_path)
    journal.put("call", reply(1), 2e9)
    assert got(journal, "call", since=2e9) == reply(1)
    journal.close()


@pytest.mark.skipif(os.name != "posix", reason="needs resource limits")
def test_a_reply_that_did_not_fit_on_the_disk_does_not_cost_the_next_one(tmp_path: Path) -> None:
    import resource

    journal = Journal(tmp_path)
    journal.put("first", reply(1))
    (path,) = tmp_path.iterdir()
    _, hard = before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 20, hard))
    try:
        with raises("no-space", UsageError, file=path):
            journal.put("second", reply(2))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert "second" not in journal
    journal.put("third", reply(3))
    again = Journal(tmp_path)
    assert [got(again, each) for each in ("first", "second", "third")] == [reply(1), None, reply(3)]
    journal.close(), again.close()


def test_reading_alone_writes_nothing(tmp_path: Path) -> None:
    Journal(tmp_path / "none").close()
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("seed", range(5))
def test_a_file_that_was_cut_off_anywhere_loses_at_most_its_last_line(tmp_path: Path, seed: int) -> None:
    journal = Journal(tmp_path)
    for number in range(10):
        journal.put(f"call{number}", reply(number))
    journal.close()
    (path,) = tmp_path.iterdir()
    content = path.read_bytes()
    cut = random.Random(seed).randrange(len(content))
    path.write_bytes(content[:cut])
    whole = content[:cut].count(b"\n")
    again = Journal(tmp_path)
    assert len(again) == whole
    assert all(got(again, f"call{number}") == reply(number) for number in range(whole))
    again.close()


def test_a_damaged_line_is_left_out(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    for number in range(3):
        journal.put(f"call{number}", reply(number))
    journal.close()
    (path,) = tmp_path.iterdir()
    lines = path.read_bytes().splitlines(keepends=True)
    lines[1] = lines[1].replace(b"choices", b"chOices")
    path.write_bytes(b"".join(lines))
    again = Journal(tmp_path)
    assert ("call0" in again, "call1" in again, "call2" in again) == (True, False, True)
    again.close()
