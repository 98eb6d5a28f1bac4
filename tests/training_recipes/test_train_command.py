"""`assay train` on the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.cli import main

Write = Callable[..., Path]
Base = Callable[..., str]


def test_the_command_trains_and_prints_what_came_of_it(
    tmp_path: Path, small_base: Base, social_iqa: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    data, out = social_iqa(tmp_path), tmp_path / "out"
    command = ["train", "choice", "--base", small_base(), "--data", str(data), "--eval", str(data), "--out", str(out)]
    command += ["--preset", "bbq", "--set", "epochs=1", "--set", "batch=8", "--device", "cpu", "--seed", "3"]
    assert main(command) == 0
    printed = capsys.readouterr().out
    assert "3 steps; loss " in printed
    assert "accuracy: " in printed
    assert f"the model: hf:{out}" in printed
    info = json.loads((out / "assay.json").read_text())
    assert (info["preset"], info["seed"], info["settings"]["rate"]) == ("bbq", 3, 1e-5)

    assert main(command) == 2
    message = capsys.readouterr().err
    assert "training is finished" in message
    assert main([*command, "--resume", "never", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["steps"] == 3


def test_a_preset_and_its_numbers_are_in_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["train", "--help"])
    printed = capsys.readouterr().out
    assert all(name in printed for name in ("unqover", "bbq", "sodapop", "--resume", "windows=all|answer"))


def test_a_wrong_setting_is_a_usage_error(
    tmp_path: Path, social_iqa: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    command = [
        "train",
        "choice",
        "--base",
        "builtin",
        "--data",
        str(social_iqa(tmp_path)),
        "--out",
        str(tmp_path / "out"),
    ]
    assert main([*command, "--set", "epochs=none"]) == 2
    assert capsys.readouterr().err.startswith("assay: epochs is 'none', expected a number above 0.")
