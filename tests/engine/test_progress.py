"""Long work says how far it is: a bar on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import pytest

from assay.progress import Bar, Lines, Silent


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """`clock[0]` is the time."""
    now = [100.0]
    monkeypatch.setattr("assay.progress.time.monotonic", lambda: now[0])
    return now


def said(capsys: pytest.CaptureFixture[str]) -> list[str]:
    captured = capsys.readouterr()
    assert captured.out == "", "progress never mixes with results"
    return captured.err.splitlines()


def test_a_line_says_how_far_how_fast_and_how_long(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    lines = Lines()
    lines.start("gender (span)", 10_000)
    clock[0] += 20
    lines.advance(4_000)
    assert said(capsys) == ["gender (span): 4,000 of 10,000 questions, 200/s, 30 s left"]


def test_lines_come_now_and_then_and_at_the_end(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    lines = Lines()
    lines.start("gender", 100)
    for _ in range(100):
        clock[0] += 1
        lines.advance(1)
    shown = said(capsys)
    assert [line.split(" of ")[0] for line in shown] == [f"gender: {n}" for n in (15, 30, 45, 60, 75, 90, 100)]
    assert shown[-1] == "gender: 100 of 100 questions, 1/s, 0 s left"


def test_stored_answers_do_not_count_towards_the_rate(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    lines = Lines()
    lines.start("gender", 1_000)
    lines.advance(800, stored=True)
    clock[0] += 20
    lines.advance(100)
    assert said(capsys) == ["gender: 900 of 1,000 questions, 5/s, 20 s left"]


def test_a_plan_that_was_stored_already_says_so(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    lines = Lines()
    lines.start("gender", 1_000)
    lines.advance(1_000, stored=True)
    assert said(capsys) == ["gender: 1,000 of 1,000 questions, stored already"]


def test_every_plan_counts_for_itself(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    lines = Lines()
    for label in ("gender", "religion"):
        lines.start(label, 10)
        clock[0] += 1
        lines.advance(10)
    assert said(capsys) == [f"{label}: 10 of 10 questions, 10/s, 0 s left" for label in ("gender", "religion")]


def test_what_takes_long_is_counted_by_the_minute(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    lines = Lines()
    lines.start("study", 10, "steps")
    clock[0] += 120
    lines.advance(5)
    assert said(capsys) == ["study: 5 of 10 steps, 2.5/min, 120 s left"]


def test_parts_say_how_far_the_whole_is_and_how_long_it_takes(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    """The first part ended with fewer questions than was thought; what was stored does not count towards the rate."""
    lines = Lines()
    lines.overall("the tour", 0, 1_000)
    lines.start("gender", 100)
    clock[0] += 10
    lines.advance(100)
    lines.overall("the tour", 400, 1_000)
    lines.start("religion", 200)
    lines.advance(100, stored=True)
    clock[0] += 10
    lines.advance(100)
    assert said(capsys) == [
        "gender: 100 of 100 questions, 10/s, 0 s left (10% of the tour, about 1 min 30 s left)",
        "religion: 200 of 200 questions, 10/s, 0 s left (60% of the tour, about 40 s left)",
    ]


def test_the_bar_of_the_whole_says_its_share_and_time(
    clock: list[float], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "140")
    with Bar() as bar:
        bar.overall("the tour", 0, 400)
        bar.start("gender", 100)
        clock[0] += 10
        bar.advance(100)
    shown = "\n".join(said(capsys))
    assert "100/400" in shown
    assert "100/100" in shown
    assert "25% of the tour, about 30 s left" in " ".join(shown.split())


def test_silence_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    silent = Silent()
    silent.start("gender", 10)
    silent.advance(10)
    assert said(capsys) == []


def test_the_bar_shows_the_label_as_it_is_and_the_rate(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    with Bar() as bar:
        bar.advance(1)  # before anything began
        bar.start("[red]gender[/red]", 200)
        bar.advance(100, stored=True)
        clock[0] += 10
        bar.advance(100)
    shown = "\n".join(said(capsys))
    assert "[red]gender[/red]" in shown
    assert "200/200" in shown
    assert "10/s" in shown
