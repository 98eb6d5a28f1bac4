"""What the command line says to somebody who mistypes, and to a shell that completes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from assay.cli import main
from assay.errors import DataError
from assay.lab.training.data_files import existing


@pytest.mark.parametrize(
    ("mistyped", "meant"),
    [
        (["rnu"], "run"),
        (["run", "--modle", "x"], "--model"),
        (["run", "unqver"], "unqover"),
        (["run", "unqover", "--set", "clas=gender"], "class"),
        (["data", "chek"], "check"),
    ],
)
def test_what_may_have_been_meant_is_named(mistyped: list[str], meant: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        code = main(mistyped)
    except SystemExit as stopped:  # argparse's own way
        code = int(str(stopped.code))
    assert code == 2
    assert f'did you mean "{meant}"?' in capsys.readouterr().err


def test_nothing_is_suggested_where_nothing_is_near(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["xylophone"])
    assert "did you mean" not in capsys.readouterr().err


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_gets_a_script_that_asks_assay(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert "assay" in script
    assert "_ARGCOMPLETE" in script


@pytest.mark.parametrize(
    ("typed", "completed"),
    [("assay ru", "run"), ("assay run un", "unqover"), ("assay run unqover --set cl", "class=")],
)
def test_commands_probes_and_settings_are_completed(typed: str, completed: str, tmp_path: Path) -> None:
    out = tmp_path / "completions"
    shell = {"COMP_LINE": typed, "COMP_POINT": str(len(typed)), "COMP_TYPE": "9", "_ARGCOMPLETE": "1"}
    asked = {**shell, "_ARGCOMPLETE_IFS": "\n", "_ARGCOMPLETE_STDOUT_FILENAME": str(out)}
    subprocess.run([sys.executable, "-m", "assay"], env={**os.environ, **asked}, check=False, capture_output=True)
    assert completed in [line.strip() for line in out.read_text().splitlines()]


def test_data_that_are_not_there_are_bad_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "check", "bbq", "--data", str(tmp_path)]) == 3
    told = capsys.readouterr()
    assert "are missing in" in told.err
    assert "assay data fetch bbq" in told.err


def test_a_packed_form_of_a_file_will_do(tmp_path: Path) -> None:
    packed = tmp_path / "train.jsonl.gz"
    packed.touch()
    assert existing(tmp_path / "train.jsonl") == packed
    with pytest.raises(DataError, match="no such file"):
        existing(tmp_path / "other.jsonl")
