"""Several steps at a time: the same results, nothing before what it needs, and nobody's end is another's."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from assay.cli import main
from assay.errors import DataError, ModelError, UsageError
from assay.lab.studies import StepState, StudyListener
from forking import forks

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _quick_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes are forks. `SCRIPT` begins them as they are begun outside of tests."""
    monkeypatch.setattr("assay.lab.studies.step_context.get_context", lambda method: forks())


PATIENCE = 60.0
"""Seconds until a test gives up; what it waits for comes much sooner."""


def until(there: Callable[[], Any], what: str) -> None:
    end = time.monotonic() + PATIENCE
    while not there():
        assert time.monotonic() < end, what
        time.sleep(0.02)


def wait_for(name: str, out: Path) -> None:
    """A step that ends only when another one has begun."""
    out.parent.mkdir(parents=True, exist_ok=True)
    (out.parent / f"{out.name} is here").touch()
    until((out.parent / f"{name} is here").exists, f"{out.name} waits for {name}")


def die(out: Path) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def require(needed: str, out: Path) -> None:
    """A step that fails where what it needs is not whole."""
    assert (out.parents[1] / "models" / needed / "assay.json").is_file(), f"{out.name} began before {needed} was there"


def results(out: Path) -> dict[str, Any]:
    """What a study's folder holds, without times."""
    record = json.loads((out / "study.json").read_text())
    return {
        name: {key: step.get(key) for key in ("recipe", "digest", "findings", "from", "scores", "error")}
        for name, step in {**record["models"], **record["runs"]}.items()
    }


def test_several_at_a_time_give_what_one_after_the_other_gives(bench: Any) -> None:
    bench.run()
    one = results(bench.out)
    bench.out.rename(bench.folder / "one")
    done = bench.run(jobs=3)
    assert not done.failures
    assert not bench.fakes.calls, "other processes did it"
    several = results(bench.out)
    assert several.keys() == one.keys()
    for name, step in several.items():
        assert step["recipe"] == one[name]["recipe"]
        assert step["scores"] == one[name]["scores"]
        assert (step["digest"] is None) == (one[name]["digest"] is None)
    assert several["sodapop--inlp-gender"]["from"] == {"inlp-gender": several["inlp-gender"]["digest"]}
    assert done.record["finished"]
    assert done.page is not None
    assert done.page.is_file()
    (bench.out / "models" / "siqa" / "README.md").write_text("as it was")
    assert not bench.run(jobs=3).failures
    assert (bench.out / "models" / "siqa" / "README.md").is_file(), "what is done is not done again"


def test_steps_that_need_nothing_of_each_other_are_done_at_the_same_time(bench: Any) -> None:
    bench.fakes.acts |= {"siqa": partial(wait_for, "cda-gender"), "cda-gender": partial(wait_for, "siqa")}
    assert not bench.run(jobs=2).failures


def test_nothing_begins_before_what_it_needs_is_there(bench: Any) -> None:
    needs = {"inlp-gender": "siqa", "cda-gender-siqa": "cda-gender"}
    needs |= {f"sodapop--{name}": name for name in ("siqa", "inlp-gender", "cda-gender-siqa")}
    bench.fakes.acts |= {name: partial(require, needed) for name, needed in needs.items()}
    assert not bench.run(jobs=8).failures


def test_failures_and_crashes_of_other_processes_are_told_like_ones_own(bench: Any) -> None:
    bench.fakes.broken |= {
        "siqa": DataError("no label.", "Add one.", code="bad-label", file="train.jsonl", line=3, key="label")
    }
    bench.fakes.broken |= {"unqover--base": RuntimeError("CUDA error\nand more")}
    bench.fakes.acts["unqover--cda-gender"] = die
    done = bench.run(jobs=4)
    told = {failure.step: failure for failure in done.failures}
    assert [*told] == [
        *("siqa", "sodapop--siqa", "inlp-gender", "sodapop--inlp-gender", "unqover--base", "unqover--cda-gender"),
        *(f"compare--{run}" for run in ("sodapop--inlp-gender", "sodapop--cda-gender-siqa", "unqover--cda-gender")),
    ], "in the order of the steps, whoever failed first"
    known = told["siqa"].error
    assert (known.code, known.file, known.line, known.key) == ("bad-label", Path("train.jsonl"), 3, "label")
    assert (known.problem, known.remedy) == ("train.jsonl, line 3: no label.", "Add one.")
    assert done.exit_code == 3
    assert told["inlp-gender"].because == "siqa"
    assert told["unqover--base"].error.code == "step-failed"
    assert "CUDA error" in told["unqover--base"].error.problem
    assert "Traceback" in (bench.out / "logs" / "unqover--base.txt").read_text()
    assert told["unqover--cda-gender"].error.code == "step-failed"
    assert "SIGKILL" in told["unqover--cda-gender"].error.problem
    assert isinstance(told["unqover--cda-gender"].error, ModelError)
    assert (bench.out / "runs" / "sodapop--cda-gender-siqa" / "findings.json").is_file(), "the others were done"
    bench.fakes.broken.clear()
    bench.fakes.acts.clear()
    assert not bench.run(jobs=4).failures


SCRIPT = """
import os, sys, time

sys.path.insert(0, {tests!r})
import fake_makers
from assay.lab.studies import study


def rest(out):
    out.parent.mkdir(parents=True, exist_ok=True)
    (out.parent / f"{{out.name}} is {{os.getpid()}}").touch()
    time.sleep(600)


if __name__ == "__main__":
    fakes = fake_makers.Fakes(acts={{"siqa": rest, "cda-gender": rest}})
    study({file!r}, {out!r}, makers=fakes.makers, jobs=2)
"""


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_study_that_is_stopped_leaves_nobody_behind_and_goes_on(bench: Any, how: signal.Signals) -> None:
    script = bench.folder / "conduct.py"
    tests = str(Path(__file__).parents[2])
    script.write_text(SCRIPT.format(tests=tests, file=str(bench.file), out=str(bench.out)))
    models = bench.out / "models"
    with (
        (bench.folder / "said").open("w") as said,
        subprocess.Popen([sys.executable, str(script)], stderr=said) as study,
    ):
        until(lambda: study.poll() is not None or len([*models.glob("* is *")]) == 2, "two steps begin")
        resting = [int(path.name.rpartition(" ")[2]) for path in models.glob("* is *")]
        assert len(resting) == 2, (bench.folder / "said").read_text()
        study.send_signal(how)
        assert study.wait(PATIENCE) != 0
    until(lambda: not any(map(alive, resting)), "the other processes end, too")
    assert not bench.run().failures


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    try:  # one that has ended, and nobody has asked how, is still there
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


@pytest.mark.parametrize("jobs", [1, 3])
def test_what_is_done_already_is_told_first(bench: Any, jobs: int) -> None:
    class Heard(StudyListener):
        def begins(self, step: Any, number: int, total: int, state: StepState) -> None:
            heard.append((step.name, state))

    bench.run(only=["unqover--cda-gender", "siqa"])
    heard: list[tuple[str, StepState]] = []
    assert not bench.run(jobs=jobs, listener=Heard()).failures
    assert heard[:3] == [(name, StepState.DONE) for name in ("siqa", "cda-gender", "unqover--cda-gender")]
    assert StepState.DONE not in {state for _, state in heard[3:]}
    assert len({name for name, _ in heard}) == len(heard) == 12


def test_less_than_one_at_a_time_is_refused(bench: Any, capsys: pytest.CaptureFixture[str]) -> None:
    for more in ([], ["--dry-run"]):
        assert main(["study", str(bench.file), "--out", str(bench.out), "--jobs", "0", *more]) == 2
        assert "jobs is 0" in capsys.readouterr().err
    assert not bench.out.exists()


def test_errors_keep_what_they_say_on_their_way_between_processes() -> None:
    for error in (
        UsageError("a", "b"),
        DataError("a", "b", code="bad-row", file="f", line=2, key="k"),
        ModelError("a"),
    ):
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is type(error)
        assert (vars(again), str(again)) == (vars(error), str(error))
        assert again.exit_code == error.exit_code
