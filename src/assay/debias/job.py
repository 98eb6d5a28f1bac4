"""What every method is told, and what it gives back."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay.engine.progress import Progress, Silent
from assay.errors import UsageError

Evaluate = Callable[[Path], Mapping[str, float]]
"""Scores of the model in a folder of transformers, by name; higher is better."""


@dataclass(frozen=True)
class Job:
    """One debiasing, as `assay.debias.debias` was called. `settings` are still text; each method reads its own."""

    method: str
    model: str
    out: Path
    corpus: Path
    attribute: str | None = None
    words: Path | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    seed: int = 0
    device: str = "auto"
    dtype: str = "auto"
    evaluate: Evaluate | None = None
    progress: Progress = field(default_factory=Silent)

    def command(self) -> str:
        """The same job for the command line."""
        given = {"model": self.model, "attribute": self.attribute, "corpus": self.corpus, "words": self.words}
        given |= {"eval": getattr(self.evaluate, "data", None)}  # the command line's own evaluation has its data
        given |= {name: value for name in ("device", "dtype") if (value := getattr(self, name)) != "auto"}
        options = [word for name, value in given.items() if value is not None for word in (f"--{name}", str(value))]
        options += [word for key, value in self.settings.items() for word in ("--set", f"{key}={value}")]
        ending = ["--out", str(self.out), "--seed", str(self.seed)]
        return shlex.join(["assay", "debias", self.method, *options, *ending])


@dataclass(frozen=True)
class Debiased:
    """A model that was made: its folder, for `hf:`, and what is in its assay.json."""

    folder: Path
    report: Mapping[str, Any]


def require_new(folder: Path) -> None:
    """Nobody's files are overwritten; and the finished folder takes its place, so that nobody may stand in it."""
    if folder.resolve() == Path.cwd().resolve():
        raise UsageError("this is the folder that you are in.", "Choose a new one with --out, for example --out NAME.")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is there already, and not empty.", "Choose a new folder with --out.")


def require_space(folder: Path, size: int) -> None:
    """Refuse to begin what could not be saved: `size` is in bytes."""
    place = next(each for each in (folder.absolute(), *folder.absolute().parents) if each.exists())
    free = shutil.disk_usage(place).free
    if free < size:
        problem = f"{folder}: {size / 1e6:,.0f} MB are needed, and {free / 1e6:,.0f} MB are free."
        raise UsageError(problem, "Free some space, or choose another disk with --out.")
