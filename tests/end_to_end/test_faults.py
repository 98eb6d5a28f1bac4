"""What the system does to a program: signals, terminals that are closed, memory that runs out, a second program.

Faults at file-system calls are in `test_kill_points.py`.
"""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assay import cli
from assay.__main__ import main as program
from assay.cli import list_, main
from assay.errors import UsageError
from assay.files.paths import cache_folder
from assay.runs.audit import AuditListener
from assay.runs.tour import MissingProbes

pytestmark = pytest.mark.whole

FEW = ("--limit", "32", "--threads", "1", "--set", "draws=20", "--set", "resamples=20")
RUN = ("run", "unqover", *FEW)
posix = pytest.mark.skipif(os.name != "posix", reason="POSIX's signals and terminals")


def start(*arguments: object, **streams: Any) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-m", "assay", *map(str, arguments)], text=True, **streams)


# --- signals and terminals


@posix
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_program_that_is_asked_to_end_does_so_with_a_message(name: str, tmp_path: Path) -> None:
    def obey() -> None:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)  # also where the tests themselves run under nohup

    with start("work", tmp_path, stderr=subprocess.PIPE, preexec_fn=obey) as worker:
        assert worker.stderr is not None
        assert worker.stderr.readline().startswith("waiting for work")
        worker.send_signal(getattr(signal, name))
        said = worker.stderr.read()
    assert worker.returncode == 128 + getattr(signal, name)
    assert said == f"assay: stopped by {name}. Answers so far are stored; the same command continues from there.\n"


@posix
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGINT"])
@pytest.mark.parametrize("at", ["_parser", "_stoppable"], ids=["before the command", "before that"])
def test_a_signal_before_a_command_begins_ends_it_with_a_message(
    name: str, at: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cli, at, failing(cli._CommandStoppedError(getattr(signal, name))))
    monkeypatch.setattr(sys, "argv", ["assay", "list"])
    assert program() == 128 + getattr(signal, name)
    said = capsys.readouterr().err
    assert said.startswith("assay: stopped")
    assert said.count("\n") == 1


@posix
def test_a_signal_that_is_ignored_stays_ignored(tmp_path: Path) -> None:
    def ignore() -> None:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does

    with start("work", tmp_path, "--exit-when-idle", 1, stderr=subprocess.PIPE, preexec_fn=ignore) as worker:
        assert worker.stderr is not None
        worker.stderr.readline()
        worker.send_signal(signal.SIGHUP)
        assert worker.stderr.read() == "nothing left to do; 0 blocks computed\n"
    assert worker.returncode == 0


@posix
def test_a_command_leaves_signals_as_they_were() -> None:
    before = [signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)]
    assert main(["list"]) == 0
    assert [signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)] == before


@posix
def test_a_run_whose_terminal_is_closed_is_finished(tmp_path: Path) -> None:
    ours, theirs = os.openpty()
    with start(*RUN, "--out", tmp_path / "run", stdout=theirs, stderr=theirs) as program:
        os.close(theirs)
        os.read(ours, 1)
        os.close(ours)  # it is not the program's controlling terminal, so no signal comes
    assert program.returncode == 0
    assert (tmp_path / "run" / "report.html").is_file()


# --- memory, and errors of the system


def failing(error: BaseException) -> Callable[..., Any]:
    def fail(*arguments: object, **more: object) -> Any:
        raise error

    return fail


NO_MEMORY = "there is not enough memory."


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (MemoryError(), NO_MEMORY),
        (RuntimeError("can't start new thread"), NO_MEMORY),
        (RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory"), NO_MEMORY),
        (RuntimeError("CUDA error: out of memory"), NO_MEMORY),
        (RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"), NO_MEMORY),
        (OSError(errno.EMFILE, os.strerror(errno.EMFILE)), "Too many open files."),
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), "no space left"),
    ],
    ids=["memory", "threads", "torch", "CUDA", "cuBLAS", "files", "disk"],
)
def test_what_the_system_refuses_is_one_message(
    error: Exception, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(list_, "call", failing(error))
    assert main(["list"]) == 2
    problem, remedy = capsys.readouterr().err.splitlines()
    assert problem.startswith(f"assay: {said}")
    assert remedy.startswith("       ")


def test_a_device_that_fails_is_one_message(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    error = RuntimeError("CUDA error: unknown error\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1")
    monkeypatch.setattr(list_, "call", failing(error))
    assert main(["list"]) == 4
    problem, remedy = capsys.readouterr().err.splitlines()
    assert problem == "assay: the device failed (CUDA error: unknown error)."
    assert "--device" in remedy


def test_what_nobody_foresaw_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(list_, "call", failing(RuntimeError("a bug")))
    with pytest.raises(RuntimeError, match="a bug"):
        main(["list"])


def test_memory_that_runs_out_in_one_probe_of_a_tour_is_not_told_as_a_bug() -> None:
    told: dict[str, Exception] = {}

    class Heard(AuditListener):
        def fails(self, probe: str, error: Exception) -> None:
            told[probe] = error

    with MissingProbes(Heard()).about("unqover"):
        raise MemoryError
    error = told["unqover"]
    assert isinstance(error, UsageError)
    assert error.code == "out-of-memory"


# --- two programs


def test_of_two_programs_on_one_folder_one_is_refused_and_others_may_use_the_same_cache(tmp_path: Path) -> None:
    programs = [
        start(*RUN, "--out", tmp_path / name, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        for name in ("same", "same", "other")
    ]
    said = [program.communicate(timeout=240)[1] for program in programs]
    codes = [program.returncode for program in programs]
    assert codes[2] == 0, said[2]
    assert sorted(codes[:2]) in ([0, 0], [0, 2]), said  # two may also run one after the other
    assert all(code == 0 or "another program is" in told for code, told in zip(codes, said, strict=True)), said
    assert (tmp_path / "same" / "findings.json").read_bytes() == (tmp_path / "other" / "findings.json").read_bytes()
    left = [*cache_folder().rglob("*"), *tmp_path.rglob("*")]
    assert not [path for path in left if path.name == ".lock" or path.suffix in (".tmp", ".dir")]
