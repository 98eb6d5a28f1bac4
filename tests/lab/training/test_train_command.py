"""`assay train` on the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.cli import main

pytestmark = pytest.mark.training

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
    assert f"Model: hf:{out}" in printed
    info = json.loads((out / "assay.json").read_text())
    assert (info["preset"], info["seed"], info["settings"]["rate"]) == ("bbq", 3, 1e-5)

    assert main(command) == 2
    message = capsys.readouterr().err
    assert "holds a finished model" in message
    assert main([*command, "--resume", "never", "--json"]) == 0
    printed = capsys.readouterr().out
    assert json.loads(printed)["steps"] == 3
    assert printed == (out / "assay.json").read_text()


def test_a_preset_and_its_numbers_are_in_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["train", "--help"])
    printed = capsys.readouterr().out
    assert all(name in printed for name in ("unqover", "bbq", "sodapop", "--resume", "windows=all|answer"))


@pytest.mark.parametrize("seed", ["-1", "99999999999"])
def test_a_seed_that_numpy_refuses_is_a_usage_error(
    tmp_path: Path, social_iqa: Write, small_base: Base, capsys: pytest.CaptureFixture[str], seed: str
) -> None:
    command = ["train", "choice", "--base", small_base(), "--data", str(social_iqa(tmp_path))]
    assert main([*command, "--out", str(tmp_path / "out"), "--device", "cpu", "--seed", seed]) == 2
    assert f"the seed is {seed}, expected a whole number from 0 to 4294967295" in capsys.readouterr().err


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
