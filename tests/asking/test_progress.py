"""Long work says how far it is: a bar on a terminal, one line in a notebook, a plain line now and then elsewhere."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import assay
from assay.asking.progress import LineProgress, NotebookProgress, ProgressBar, SilentProgress, shown_progress
from assay.models.base import Options


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """`clock[0]` is the time."""
    now = [100.0]
    monkeypatch.setattr("assay.asking.progress.time.monotonic", lambda: now[0])
    return now


def said(capsys: pytest.CaptureFixture[str]) -> list[str]:
    captured = capsys.readouterr()
    assert captured.out == "", "progress never mixes with results"
    return captured.err.splitlines()


def test_a_line_says_how_far_how_fast_and_how_long(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    lines = LineProgress()
    lines.start("gender (span)", 10_000)
    clock[0] += 20
    lines.advance(4_000)
    assert said(capsys) == ["gender (span): 4,000 of 10,000 questions, 200/s, 30 s left"]


def test_lines_come_now_and_then_and_at_the_end(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    lines = LineProgress()
    lines.start("gender", 100)
    for _ in range(100):
        clock[0] += 1
        lines.advance(1)
    shown = said(capsys)
    assert [line.split(" of ")[0] for line in shown] == [f"gender: {n}" for n in (15, 30, 45, 60, 75, 90, 100)]
    assert shown[-1] == "gender: 100 of 100 questions, 1/s, 0 s left"


def test_stored_answers_do_not_count_towards_the_rate(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    lines = LineProgress()
    lines.start("gender", 1_000)
    lines.advance(800, stored=True)
    clock[0] += 20
    lines.advance(100)
    assert said(capsys) == ["gender: 900 of 1,000 questions, 5/s, 20 s left"]


def test_a_plan_that_was_stored_already_says_so(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    lines = LineProgress()
    lines.start("gender", 1_000)
    lines.advance(1_000, stored=True)
    assert said(capsys) == ["gender: 1,000 of 1,000 questions, stored already"]


def test_every_plan_counts_for_itself(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    lines = LineProgress()
    for label in ("gender", "religion"):
        lines.start(label, 10)
        clock[0] += 1
        lines.advance(10)
    assert said(capsys) == [f"{label}: 10 of 10 questions, 10/s, 0 s left" for label in ("gender", "religion")]


def test_what_takes_long_is_counted_by_the_minute(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    lines = LineProgress()
    lines.start("study", 10, "steps")
    clock[0] += 120
    lines.advance(5)
    assert said(capsys) == ["study: 5 of 10 steps, 2.5/min, 120 s left"]


def test_parts_say_how_far_the_whole_is_and_how_long_it_takes(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    """The first part ended with fewer questions than was thought; what was stored does not count towards the rate."""
    lines = LineProgress()
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
    with ProgressBar() as bar:
        bar.overall("the tour", 0, 400)
        bar.start("gender", 100)
        clock[0] += 10
        bar.advance(100)
    shown = "\n".join(said(capsys))
    assert "100/400" in shown
    assert "100/100" in shown
    assert "25%, about 30 s left" in " ".join(shown.split())


@pytest.mark.parametrize("columns", [79, 60, 40])
def test_a_narrow_terminal_shows_everything_in_words(
    columns: int, clock: list[float], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    with ProgressBar() as bar:
        bar.overall("the tour", 0, 400)
        bar.start("context 1, words 2 of 2", 100)
        clock[0] += 10
        bar.advance(100)
    lines = said(capsys)
    shown = " ".join(" ".join(lines).split())
    assert "context 1, words 2 of 2: 100 of 100 10/s" in shown
    assert "the tour: 100 of 400 25%, about 30 s left" in shown
    assert "…" not in shown
    assert max(map(len, lines)) <= columns


def test_what_is_waited_for_is_a_line_of_its_own(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    lines = LineProgress()
    lines.waits("testing what it can do")
    lines.start("gender", 40)
    lines.advance(12)
    clock[0] += 15
    lines.waits("no usable reply for 15 s; its last reply: \x1b]0;owned\x07")
    assert said(capsys) == [
        "testing what it can do",
        r"gender: 12 of 40 questions; no usable reply for 15 s; its last reply: \x1b]0;owned\x07",
    ]


@pytest.mark.parametrize("started", [False, True])
def test_what_is_waited_for_is_a_line_above_the_bar(started: bool, capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressBar() as bar:
        if started:
            bar.start("gender", 40)
        bar.waits("no usable reply for 15 s; its last reply: [red]429\x1b[31m" + " slow down" * 20)
    (line,) = (line for line in said(capsys) if "no usable" in line)
    assert line.rstrip() == r"no usable reply for 15 s; its last reply: [red]429\x1b[31m" + " slow down" * 20


def test_silence_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    silent = SilentProgress()
    silent.start("gender", 10)
    silent.advance(10)
    assert said(capsys) == []


def test_the_bar_shows_the_label_as_it_is_and_the_rate(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressBar() as bar:
        bar.advance(1)  # before anything began
        bar.start("[red]gender[/red]", 200)
        bar.advance(100, stored=True)
        clock[0] += 10
        bar.advance(100)
    shown = "\n".join(said(capsys))
    assert "[red]gender[/red]" in shown
    assert "200/200" in shown
    assert "10/s" in shown


# --- where it is shown


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """This process as a notebook's kernel; the lines that its cell shows, one after the other."""
    lines: list[str] = []

    def display(content: dict[str, str], *, raw: bool, display_id: bool = False) -> Any:
        assert raw
        lines.append(content["text/plain"])
        return SimpleNamespace(update=display) if display_id else None

    ipython, shown = ModuleType("IPython"), ModuleType("IPython.display")
    ipython.__dict__["get_ipython"] = lambda: SimpleNamespace(kernel=object())
    shown.__dict__["display"] = display
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", shown)
    return lines


@pytest.mark.parametrize(
    ("terminal", "wanted", "kind"),
    [
        (True, None, ProgressBar),
        (True, True, ProgressBar),
        (True, False, SilentProgress),
        (False, None, SilentProgress),
        (False, True, LineProgress),
        (False, False, SilentProgress),
    ],
)
def test_a_script_shows_progress_on_a_terminal_unless_told_not_to(
    terminal: bool, wanted: bool | None, kind: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    with shown_progress(wanted) as progress:
        assert type(progress) is kind


def test_without_standard_error_nothing_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    with shown_progress() as progress:
        assert type(progress) is SilentProgress


def test_a_progress_of_the_callers_own_is_taken_as_it_is() -> None:
    own = SilentProgress()
    with shown_progress(own) as progress:
        assert progress is own


def test_ipython_on_a_terminal_is_not_a_notebook(notebook: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["IPython"], "get_ipython", lambda: SimpleNamespace())
    with shown_progress() as progress:
        assert type(progress) is SilentProgress


def test_a_notebook_shows_one_line_that_is_renewed(
    notebook: list[str], clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    with shown_progress() as progress:
        assert type(progress) is NotebookProgress
        progress.start("gender", 100)
        progress.advance(1)  # too soon
        clock[0] += 1
        progress.advance(49)
        progress.advance(50)
    assert notebook == [
        "gender: 0 of 100 questions",
        "gender: 50 of 100 questions, 50/s, 1 s left",
        "gender: 100 of 100 questions, 100/s, 0 s left",
    ]
    assert said(capsys) == []


def test_an_audit_in_a_notebook_shows_its_progress_unless_told_not_to(
    notebook: list[str], tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    few: Any = {"limit": 8, "settings": {"class": "gender"}, "options": Options(threads=1)}
    assay.audit("builtin", "unqover", out=tmp_path / "quiet", progress=False, **few)
    assert notebook == []
    assay.audit("builtin", "unqover", out=tmp_path / "shown", **few)
    assert any("stored already" in line for line in notebook)
