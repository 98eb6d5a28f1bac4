"""What every method is told, and what it gives back."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
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
        options = [f"--{name} {value}" for name, value in given.items() if value is not None]
        options += [f"--set {key}={value}" for key, value in self.settings.items()]
        return " ".join(["assay debias", self.method, *options, f"--out {self.out}", f"--seed {self.seed}"])


@dataclass(frozen=True)
class Debiased:
    """A model that was made: its folder, for `hf:`, and what is in its assay.json."""

    folder: Path
    report: Mapping[str, Any]


def require_new(folder: Path) -> None:
    """Nobody's files are overwritten."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is there already, and not empty.", "Choose a new folder with --out.")


def require_space(folder: Path, size: int) -> None:
    """Refuse to begin what could not be saved: `size` is in bytes."""
    place = next(each for each in (folder.absolute(), *folder.absolute().parents) if each.exists())
    free = shutil.disk_usage(place).free
    if free < size:
        problem = f"{folder}: {size / 1e6:,.0f} MB are needed, and {free / 1e6:,.0f} MB are free."
        raise UsageError(problem, "Free some space, or choose another disk with --out.")


@contextmanager
def whole_folder(folder: Path) -> Iterator[Path]:
    """A folder to write beside `folder`; when the block ends it takes its name, when it fails it is removed."""
    beside = folder.with_name(f".{folder.name}.{os.getpid()}.part")
    try:
        beside.mkdir(parents=True)
        yield beside
        require_new(folder)
        if folder.exists():
            folder.rmdir()
        beside.rename(folder)
    except OSError as error:
        raise UsageError(f"{folder}: cannot be written ({error.strerror}).", "Choose another with --out.") from error
    finally:
        shutil.rmtree(beside, ignore_errors=True)
