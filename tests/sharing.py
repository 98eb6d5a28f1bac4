"""Folders that several tests need, made once for all processes of a test run: models, runs, a tour."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock


@dataclass(frozen=True)
class Shared:
    """`shared(name, make)` is the folder in which `make(folder)` was called once. Tests must not write into it."""

    root: Path

    def __call__(self, name: str, make: Callable[[Path], object], *about: object) -> Path:
        """`about` distinguishes folders of one name."""
        digest = hashlib.sha256(repr(about).encode()).hexdigest()[:12]
        folder = self.root / f"{name}-{digest}"
        done = folder.with_name(f"{folder.name}.done")
        with FileLock(folder.with_name(f"{folder.name}.lock")):
            if not done.exists():
                shutil.rmtree(folder, ignore_errors=True)  # another process may have failed here
                folder.mkdir()
                make(folder)
                done.touch()
        return folder
