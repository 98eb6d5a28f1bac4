"""A reader of the output that stops early (`assay … | head`) changes neither what a command does nor its exit code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from assay.results.findings import Estimate, Findings

pytestmark = pytest.mark.whole

LIMIT = '[[limit]]\nmetric = "bbq.bias_score"\nupper = {}\n'


@pytest.fixture
def judged(tmp_path: Path) -> Path:
    """A run's folder, with a policy that it keeps and one that it does not."""
    folder = tmp_path / "run"
    folder.mkdir()
    estimate = Estimate("bias_score", {"category": "Age", "context": "ambig"}, 0.1, -0.05, 0.2, n=10)
    (folder / "findings.json").write_text(Findings("bbq", "hf:org/model", [estimate]).to_json())
    (folder / "run.json").write_text(json.dumps({"schema": 3, "model": {"name": "hf:org/model"}, "identity": {}}))
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


FULL = Path("/dev/full")
"""A file that cannot be written to."""


@pytest.mark.skipif(not FULL.exists(), reason="needs Linux's /dev/full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(("command", "code"), [("list", 2), ("--help", 2), ("gate RUN --policy KEPT", 2)])
def test_output_that_cannot_be_written_is_one_message_and_never_a_failed_gate(
    command: str, code: int, unbuffered: str, judged: Path
) -> None:
    named = command.replace("RUN", str(judged)).replace("KEPT", str(judged.parent / "kept.toml"))
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    with FULL.open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "assay", *named.split()],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
    assert done.returncode == code
    (problem, _) = done.stderr.splitlines()
    assert problem == "assay: standard output could not be written (No space left on device)."


@pytest.mark.skipif(not FULL.exists(), reason="needs Linux's /dev/full")
def test_a_run_whose_messages_cannot_be_written_is_finished(tmp_path: Path) -> None:
    few = ("--limit", "32", "--threads", "1", "--set", "draws=20", "--set", "resamples=20")
    command = [sys.executable, "-m", "assay", "run", "unqover", *few, "--out", str(tmp_path / "run")]
    with FULL.open("w") as full:
        assert subprocess.run(command, stderr=full, stdout=subprocess.DEVNULL).returncode == 0
    assert (tmp_path / "run" / "report.html").is_file()


@pytest.mark.skipif(os.name != "posix", reason="closes the output as a POSIX shell does")
@pytest.mark.parametrize("closed", ["2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_a_run_needs_no_streams(closed: str, tmp_path: Path) -> None:
    few = ("--limit", "32", "--threads", "1", "--set", "draws=20", "--set", "resamples=20")
    run = [sys.executable, "-m", "assay", "run", "unqover", *few, "--out", str(tmp_path / "run")]
    assert subprocess.run(["sh", "-c", f'"$@" {closed}', "sh", *run]).returncode == 0
    assert (tmp_path / "run" / "report.html").is_file()


@pytest.mark.parametrize("importing", ["assay.cli", "argparse", "assay.cli.compare", "assay.errors", "assay.probes"])
def test_a_command_that_is_stopped_while_it_begins_prints_no_traceback(importing: str) -> None:
    program = f"""
import os, runpy, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # which whoever runs the tests may ignore
class Stop:
    def find_spec(name, *rest):
        if name == {importing!r}:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Stop)
sys.argv = ["assay", "list"]
runpy.run_module("assay", run_name="__main__")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 130
    assert done.stderr.startswith("assay: stopped.")
    assert len(done.stderr.splitlines()) == 1
