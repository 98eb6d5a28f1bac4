"""A run that is killed again and again, and resumed each time, finds what an undisturbed one finds, byte for byte.

Starting Python and importing torch takes seconds, and a kill during that proves nothing. So attempts are forks of a
process that has imported everything already.

A tiny model is fast, so that most of the time goes into writing; the tour is killed with the built-in one, which is
mostly computing when that happens.
"""

from __future__ import annotations

import random
import re
import shutil
from pathlib import Path

import pytest

import small_lists
from nursery import KILLED, Nursery

pytestmark = pytest.mark.kill

Blocks = dict[str, tuple[int, int]]


class Attempts:
    """Attempts at one run, each in a process of its own."""

    def __init__(self, folder: Path, made_in: Nursery, arguments: list[str]) -> None:
        self.folder, self.made_in, self.arguments = folder, made_in, arguments

    def attempt(self, name: str, delay: float | None = None) -> tuple[int, float]:
        """Run until the end, or until it is killed after `delay` seconds: how it ended, and after how long."""
        arguments = [*self.arguments, "--out", str(self.folder / name)]
        log = self.folder / f"{name}.log"
        answer = self.made_in.attempt(arguments, cache=self.cache(name), log=log, delay=delay)
        return answer["status"], answer["ended"] - answer["began"]

    def cache(self, name: str) -> Path:
        return self.folder / f"{name}-cache"

    def forget(self, name: str) -> None:
        for path in (self.folder / name, self.cache(name)):
            shutil.rmtree(path, ignore_errors=True)

    def blocks(self, name: str) -> Blocks:
        """The stored blocks: which file it is, and when it was written."""
        found = {str(path.relative_to(self.cache(name))): path.stat() for path in self.cache(name).rglob("*.block")}
        return {path: (status.st_ino, status.st_mtime_ns) for path, status in found.items()}

    def findings(self, name: str) -> dict[str, bytes]:
        folder = self.folder / name
        paths = [*folder.rglob("findings.json"), *folder.rglob("tables/*")]
        return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def killed_and_resumed(runs: Attempts, *, kills: int, blocks: int, partial: int, files: int) -> None:
    """Kill a run at random moments, let it end, and compare what it found with what an undisturbed one finds.

    The kills show something if there are more than so many `blocks`, and if at least so many attempts found a `partial`
    run; where all is stored too soon, it begins anew and kills earlier, and on a busy machine that may take more kills.
    A finished run has so many `files` of findings.
    """
    rng, killed, began_partial = random.Random(20201116), 0, 0
    whole, without_asking = (runs.attempt("undisturbed")[1] for _ in range(2))  # the second time all is stored
    total = len(runs.blocks("undisturbed"))
    assert total > blocks
    longest = without_asking + (whole - without_asking) / 3
    before = runs.blocks("killed")
    while killed < kills or (began_partial < partial and killed < 3 * kills):
        delay = rng.uniform(0.1 * longest, longest)
        status, _ = runs.attempt("killed", delay)
        assert status in (0, KILLED), (runs.folder / "killed.log").read_text()
        killed += status == KILLED
        longest *= 0.8 if status != KILLED else 1.0  # the machine is faster now than it was when measured
        after = runs.blocks("killed")
        assert before.items() <= after.items(), "an attempt computed blocks again that were stored"
        began_partial += 0 < len(before) < total
        before = after
        if len(after) == total and began_partial < partial:  # everything is stored before a kill could hit the asking
            runs.forget("killed")
            before, longest = {}, 0.7 * longest
    assert began_partial >= partial, "the kills hardly hit the asking"
    log = runs.folder / "killed.log"
    assert runs.attempt("killed")[0] == 0, log.read_text()
    assert before.items() <= runs.blocks("killed").items()
    said = len(log.read_text())
    assert runs.attempt("killed")[0] == 0
    assert "stored already" in log.read_text()[said:]  # once more, with everything there
    assert len(runs.findings("killed")) == files
    assert runs.findings("killed") == runs.findings("undisturbed")


def test_a_run_killed_at_five_random_moments_finds_the_same(
    tmp_path: Path, span_model_folder: Path, programs: Nursery
) -> None:
    lists = small_lists.write(tmp_path / "lists")
    arguments = ["run", "unqover", "--model", f"hf:{span_model_folder}", "--set", f"word_lists={lists}"]
    arguments += ["--preset", "paper", "--set", "draws=50", "--set", "resamples=50", "--block-size", "6"]
    killed_and_resumed(Attempts(tmp_path, programs, arguments), kills=5, blocks=100, partial=2, files=5)


def test_a_tour_killed_at_two_random_moments_finds_the_same(tmp_path: Path, programs: Nursery) -> None:
    arguments = ["run", "--limit", "128", "--threads", "1", "--block-size", "4"]
    killed_and_resumed(Attempts(tmp_path, programs, arguments), kills=2, blocks=60, partial=1, files=15)
    pages = [without_times((tmp_path / name / "report.html").read_text()) for name in ("killed", "undisturbed")]
    assert (
        pages[0].replace(str(tmp_path / "killed"), str(tmp_path / "undisturbed")).splitlines() == pages[1].splitlines()
    )


def without_times(page: str) -> str:
    """A page without when the runs were made, by which command, and how long they took."""
    page, commands = re.subn(r"<code>assay[^<]*</code>", "", page)
    page, seconds = re.subn(r"(<bdi>(?:run|asking|analysing)</bdi></dt>\s*<dd><bdi>)[\d.e-]+", r"\1", page)
    page, moments = re.subn(r"\d{4}-\d\d-\d\dT[\d:]+\+00:00", "", page)
    assert (seconds, moments) == (9, 6)
    assert commands >= 6
    return page
