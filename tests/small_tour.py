"""A tour of few questions, as a user begins it: the real program, once for all tests that look at what it leaves."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

LIMIT = 32  # one cell for each class and form
SMALL = ("--limit", LIMIT, "--threads", 1)
NAME = Path("runs") / f"tour-builtin-limit{LIMIT}"


@dataclass(frozen=True)
class Toured:
    """A finished tour: the working folder that it began in, empty; its cache; what it printed."""

    work: Path
    cache: Path
    out: str
    err: str

    @property
    def folder(self) -> Path:
        return self.work / NAME


def program(work: Path, cache: Path, *arguments: object) -> Toured:
    """`assay run` in a process of its own."""
    command = [sys.executable, "-m", "assay", "run", *map(str, arguments)]
    environment = {**os.environ, "ASSAY_CACHE": str(cache)}
    done = subprocess.run(command, cwd=work, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return Toured(work, cache, done.stdout, done.stderr)


def write_tour(folder: Path) -> None:
    """Make the tour, and keep what it printed."""
    (folder / "work").mkdir()
    made = program(folder / "work", folder / "cache", *SMALL)
    for name, text in (("out", made.out), ("err", made.err)):
        (folder / name).write_text(text, encoding="utf-8", newline="")


def tour_in(folder: Path) -> Toured:
    """What `write_tour` left in a folder."""
    out, err = (folder.joinpath(name).read_bytes().decode() for name in ("out", "err"))
    return Toured(folder / "work", folder / "cache", out, err)
