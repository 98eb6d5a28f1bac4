"""A reader of the output that stops early (`assay … | head`) changes neither what a command does nor its exit code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from assay.findings import Estimate, Findings

LIMIT = '[[limit]]\nmetric = "bbq.bias_score"\nupper = {}\n'


@pytest.fixture
def judged(tmp_path: Path) -> Path:
    """A run's folder, with a policy that it keeps and one that it does not."""
    folder = tmp_path / "run"
    folder.mkdir()
    estimate = Estimate("bias_score", {"category": "Age", "context": "ambig"}, 0.1, -0.05, 0.2, n=10)
    (folder / "findings.json").write_text(Findings("bbq", "hf:org/model", [estimate]).to_json())
    (folder / "run.json").write_text(json.dumps({"model": {"name": "hf:org/model"}, "identity": {}}))
    (tmp_path / "kept.toml").write_text(LIMIT.format(0.3))
    (tmp_path / "broken.toml").write_text(LIMIT.format(0.1))
    return folder


def unread(*arguments: object, unbuffered: str = "") -> int:
    """The exit code of a command whose output, with its messages, goes into a pipe that nobody reads from any more."""
    reader, writer = os.pipe()
    os.close(reader)
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    try:
        return subprocess.run(
            [sys.executable, "-m", "assay", *map(str, arguments)], stdout=writer, stderr=writer, env=environment
        ).returncode
    finally:
        os.close(writer)


@pytest.mark.parametrize(("form", "unbuffered"), [("text", ""), ("md", ""), ("md", "1"), ("junit", ""), ("json", "")])
@pytest.mark.parametrize(("policy", "code"), [("kept", 0), ("broken", 1)])
def test_a_gates_verdict_does_not_depend_on_who_reads_it(
    policy: str, code: int, form: str, unbuffered: str, judged: Path
) -> None:
    command = ("gate", judged, "--policy", judged.parent / f"{policy}.toml", "--format", form)
    assert unread(*command, unbuffered=unbuffered) == code


@pytest.mark.skipif(os.name != "posix", reason="closes the output as a POSIX shell does")
def test_a_gate_needs_no_output_at_all(judged: Path) -> None:
    gate = [sys.executable, "-m", "assay", "gate", judged, "--policy", judged.parent / "kept.toml", "--format", "md"]
    done = subprocess.run(["sh", "-c", '"$@" >&-', "sh", *gate], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("--help", 0),
        ("list", 0),
        ("gate run", 2),  # argparse's own message
        ("gate run --policy nowhere.toml", 3),
    ],
)
def test_without_a_reader_the_exit_code_is_the_same(command: str, code: int) -> None:
    assert unread(*command.split()) == code


def test_a_run_whose_messages_nobody_reads_is_finished(tmp_path: Path) -> None:
    few = ("--limit", 32, "--threads", 1, "--set", "draws=20", "--set", "resamples=20")
    assert unread("run", "unqover", *few, "--out", tmp_path / "run") == 0
    assert (tmp_path / "run" / "findings.json").is_file()


def test_a_reader_that_leaves_after_the_first_line_gets_that_line(judged: Path) -> None:
    gate = [sys.executable, "-m", "assay", "gate", judged, "--policy", judged.parent / "broken.toml", "--format", "md"]
    with subprocess.Popen(gate, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        process.stdout.close()
    assert (first, process.returncode) == ("## Bias gate: FAILED\n", 1)
