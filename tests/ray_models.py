"""Fake models for the workers of a Ray cluster, and how they are loaded there.

In a module of its own, so that workers can import it.
"""

from __future__ import annotations

import json
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.errors import DataError
from assay.models.base import ModelSpec
from fake_models import FakeModel


class Slow(FakeModel):
    """Takes a moment for every batch."""

    def forward(self, tokens: Any) -> Any:
        time.sleep(0.02)
        return super().forward(tokens)


class Picky(FakeModel):
    def encode(self, columns: Any) -> Any:
        raise DataError("this text cannot be tokenised.", code="bad-text")


@dataclass(frozen=True)
class Deadly:
    """Loads a model that kills its process when it is asked the word, and first notes its process id in a file.

    Without a word, loading kills.
    """

    word: str
    file: Path

    def __call__(self, spec: ModelSpec) -> FakeModel:
        if not self.word:
            self.kill()
        outer = self

        class Model(FakeModel):
            def encode(self, columns: Any) -> Any:
                if outer.word in {columns.words[row] for row in range(len(columns))}:
                    outer.kill()
                return super().encode(columns)

        return Model(spec)

    def kill(self) -> None:
        with self.file.open("a") as file:
            file.write(f"{os.getpid()}\n")
        os.kill(os.getpid(), signal.SIGKILL)


@dataclass(frozen=True)
class Noting:
    """Writes the names of the environment's variables to a file when a model is loaded, and those that the process
    began with.
    """

    file: Path

    def __call__(self, spec: ModelSpec) -> FakeModel:
        began = Path("/proc/self/environ").read_bytes().decode().split("\0")
        names = {"now": sorted(os.environ), "began": sorted(each.partition("=")[0] for each in began)}
        with self.file.open("a") as file:
            file.write(json.dumps(names) + "\n")
        return FakeModel(spec)


def small_memory(spec: ModelSpec) -> FakeModel:
    return FakeModel(spec, most_tokens=40)
