"""What the command line says to somebody who mistypes, and to a shell that completes."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from assay.cli import COMMANDS, _parser, main
from assay.config.settings import shown_name
from assay.errors import DataError
from assay.lab.debiasing import METHODS
from assay.lab.training import KINDS
from assay.lab.training.data_files import existing
from assay.probes import probes


@pytest.mark.parametrize(
    ("mistyped", "meant"),
    [
        (["rnu"], "run"),
        (["run", "--modle", "x"], "--model"),
        (["run", "unqver"], "unqover"),
        (["run", "unqover", "--set", "clas=gender"], "class"),
        (["run", "unqover", "--set", "form=spam"], "span"),
        (["data", "chek"], "check"),
        (["data", "fetch", "bqb"], "bbq"),
        (["report", "runs", "--format", "jsn"], "json"),
        (["list", "prbes"], "probes"),
    ],
)
def test_what_may_have_been_meant_is_named(mistyped: list[str], meant: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        code = main(mistyped)
    except SystemExit as stopped:  # argparse's own way
        code = int(str(stopped.code))
    assert code == 2
    assert f'did you mean "{meant}"?' in capsys.readouterr().err


def test_choices_are_recognised_without_quotes(capsys: pytest.CaptureFixture[str]) -> None:
    """As Python 3.12 and later write them."""
    with pytest.raises(SystemExit):
        _parser().error("argument COMMAND: invalid choice: 'rnu' (choose from run, score, data)")
    assert 'did you mean "run"?' in capsys.readouterr().err


@pytest.mark.parametrize("command", [module.NAME for module in COMMANDS])
@pytest.mark.parametrize("columns", [40, 100])
def test_the_help_of_every_command_has_examples_on_lines_of_their_own(
    command: str, columns: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    with pytest.raises(SystemExit) as stopped:
        main([command, "--help"])
    assert stopped.value.code == 0
    printed = capsys.readouterr().out
    lines = printed[printed.index("examples:") :].splitlines()
    examples = [line for line in lines if line.startswith("  assay ")]
    assert any(line.startswith(f"  assay {command}") for line in examples)
    for line in examples:
        assert "   " not in line.strip(), "what an example does stands above it"
        shlex.split(line)


@pytest.mark.parametrize(
    ("command", "about"), [("run", probe) for probe in probes()] + [("train", "span"), ("debias", "inlp")]
)
def test_the_help_about_one_probe_explains_its_settings_alone(
    command: str, about: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    with pytest.raises(SystemExit):
        main([command, about, "--help"])
    printed = capsys.readouterr().out
    assert re.findall(r"^settings of (.*) \(--set", printed, re.M) == [about]
    kinds = {"run": probes, "train": lambda: KINDS, "debias": lambda: METHODS}[command]()
    explained = printed[printed.index("settings of") :]
    words = " ".join(explained.split())
    for each in fields(kinds[about].settings):
        assert f"  {shown_name(each)}=" in explained
        assert " ".join(each.metadata["help"].split()) in words
    for line in explained.splitlines():
        assert len(line) <= 60 or " " not in line.strip(), "only what cannot be broken is longer"


def test_a_default_is_named_where_the_values_do_not_show_it(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["run", "unqover", "--help"])
    printed = capsys.readouterr().out
    assert "(default: paper)" in printed
    assert "(default: 1000)" not in printed, "draws=1000 shows it"


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
