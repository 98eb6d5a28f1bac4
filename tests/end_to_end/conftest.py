"""Driving the command line as a user would: in this process where that is enough, which is faster."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

import small_lists

Snapshot = dict[str, bytes]


@dataclass(frozen=True)
class Done:
    """What a command did: its exit code and what it printed."""

    code: int | str | None
    out: str
    err: str

    @property
    def message(self) -> str:
        """The error message and the remedy below it; there must be one of each, and nothing behind them."""
        lines = self.err.rstrip("\n").split("\n")
        begins = [place for place, line in enumerate(lines) if line.startswith("assay: ") and "warning:" not in line]
        assert len(begins) == 1, f"expected one message, got: {self.err}"
        assert "Traceback" not in self.err
        tail = lines[begins[0] :]
        assert len(tail) == 2, f"expected the problem and one line of remedy, got: {tail}"
        assert tail[1].startswith("       ")
        assert tail[1].strip()
        return "\n".join(tail)


Command = Callable[..., Done]


@pytest.fixture
def assay(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Command:
    """`assay("run", "unqover", …)` in an empty working folder."""
    from assay.cli import main

    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)

    def call(*arguments: object) -> Done:
        capsys.readouterr()
        try:
            code: int | str | None = main([str(argument) for argument in arguments])
        except SystemExit as stopped:  # argparse, for options that do not exist
            code = stopped.code
        captured = capsys.readouterr()
        return Done(code, captured.out, captured.err)

    return call


@pytest.fixture
def lists(tmp_path: Path) -> Path:
    """A folder of small word lists of this test's own."""
    return small_lists.write(tmp_path / "lists")


@pytest.fixture
def snapshot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Snapshot]:
    """All files of the working folder, and whatever unfinished file lies anywhere in the test's folders."""
    import os

    def take() -> Snapshot:
        work, cache = tmp_path / "work", Path(os.environ["ASSAY_CACHE"])
        files = {str(path.relative_to(work)): path for path in work.rglob("*")}
        files |= {str(path): path for root in (tmp_path, cache) for path in root.rglob("*.tmp")}
        return {name: path.read_bytes() if path.is_file() else b"" for name, path in files.items()}

    return take
