"""On a terminal, no text of data, models or servers controls it: what others wrote is written out."""

from __future__ import annotations

import os
import pty
import re
import sys
import threading
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

import wide_runs
from assay.asking.progress import LineProgress, ProgressBar, console_on
from assay.cli import main
from assay.report import terminal_summary
from assay.runs.folder import open_runs

CONTROLS = "\x1b]0;owned\x07\x1b[2J\x9b2J\x90q\x9c\x1b[8m\x08\x7f\x00\u202e\u2066\u200f\u061c\u2028"
"""A new title, an emptied screen (twice), a string for the terminal, hidden text, and the direction turned around."""
OURS = re.compile(r"\x1b\[([0-79;]*m|[0-9]*[AK]|\?25[lh])|\x1b\]8;[^\x1b\x07]*\x1b\\|[\r\n\t]")
"""What rich prints: colours (never hidden text, 8), lines that are renewed, the cursor; and what ends a line."""
FOREIGN = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def on_terminal(work: Callable[[], object]) -> str:
    """What arrives at a terminal that is standard output and error of some work."""
    outer, inner = pty.openpty()
    seen: list[bytes] = []

    def watch() -> None:
        while piece := _read(outer):
            seen.append(piece)

    watching = threading.Thread(target=watch)
    watching.start()
    with os.fdopen(inner, "w", encoding="utf-8") as stream, redirect_stdout(stream), redirect_stderr(stream):
        work()
    watching.join()
    os.close(outer)
    return b"".join(seen).decode(errors="replace")


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # as Linux says that nobody writes there any more
        return b""


def foreign(text: str) -> set[str]:
    return set(FOREIGN.findall(OURS.sub("", text)))


@pytest.fixture(autouse=True)
def _colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of two models, with control sequences in every text."""
    folder = wide_runs.write_all(tmp_path_factory.mktemp("runs"), ("hf:org/model", "hf:org/other"))
    wide_runs.rewrite(folder, lambda own: f"{CONTROLS}{own}{CONTROLS}")
    return folder


PROBES = ("unqover", "bbq", "sodapop", "another")


@pytest.mark.parametrize("probe", PROBES)
def test_what_is_in_a_run_does_not_control_the_terminal(probe: str, runs: Path, tmp_path: Path) -> None:
    folder = runs / "model-0" / probe
    (tmp_path / "p.toml").write_text("[[limit]]\nmetric = '*'\nupper = 0.1\n", encoding="utf-8")
    commands = [("report", str(folder), "--format", form) for form in ("md", "csv", "json", "model-card")]
    commands += [("gate", str(folder), "--policy", str(tmp_path / "p.toml")), ("report", str(folder))]
    commands += [("compare", str(folder), str(runs / "model-1" / probe)), ("export", str(folder))]
    for command in commands:
        text = on_terminal(lambda command=command: main(command))
        assert text
        assert "Traceback" not in text
        assert foreign(text) == set(), command
        assert "owned" in text or "--format" not in command


@pytest.mark.parametrize("verbose", [True, False])
@pytest.mark.parametrize("probe", PROBES)
def test_nor_does_what_a_finished_run_says(probe: str, verbose: bool, runs: Path) -> None:
    (run,) = open_runs(runs / "model-0" / probe)
    text = on_terminal(lambda: terminal_summary(run, console_on(sys.stdout), verbose=verbose))
    assert "owned" in text
    assert foreign(text) == set()


@pytest.mark.parametrize("progress", [ProgressBar, LineProgress])
def test_nor_do_labels_of_progress(progress: type[ProgressBar] | type[LineProgress]) -> None:
    def work() -> None:
        shown = progress()
        shown.start(f"Age{CONTROLS}", 10)
        shown.advance(10)
        if isinstance(shown, ProgressBar):
            shown.clear()

    text = on_terminal(work)
    assert "owned" in text
    assert foreign(text) == set()


def test_such_sequences_would_be_seen() -> None:
    assert foreign(on_terminal(lambda: print(CONTROLS))) >= {"\x1b", "\x07", "\x9b", "\u202e"}
