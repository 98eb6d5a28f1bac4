"""A model in memory that counts what it is asked, and a plan for it: for tests of the engine without any real model.

A question is a word, its tokens are the word's letters. An answer is computed from those letters and from the shape of
the batch that they came in, so that wrong rows and other batches both show.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.asking.plan import Arrays
from assay.asking.queries import QueryColumns, Scoring, StringColumn, WordColumns
from assay.asking.tokens import Tokens, starts_of
from assay.engine.store import digest_of_arrays
from assay.models.base import BatchTooLargeError, ModelSpec


def fake_spec(name: str = "fake:one", *, device: str = "cpu", abilities: tuple[str, ...] = ("word",)) -> ModelSpec:
    digest = hashlib.sha256(name.encode()).hexdigest()
    return ModelSpec(name, "fake", "memory", digest, frozenset(abilities), device, "float32")


@dataclass
class MemoryArrays:
    """Plans' arrays in memory, for whoever has no store."""

    kept: dict[str, Arrays] = field(default_factory=dict)

    def keep(self, arrays: Arrays) -> str:
        digest = digest_of_arrays(arrays)
        self.kept[digest] = arrays
        return digest

    def load(self, digest: str) -> Arrays:
        return self.kept[digest]


@dataclass(frozen=True)
class FakePlan:
    """`count` words of different lengths. `accent` is the fault of a generator: other words under the same digest."""

    count: int
    name: str = "words"
    accent: str = ""
    batch: int | None = None
    ability: str = "word"

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.name.encode()).hexdigest()

    def __len__(self) -> int:
        return self.count

    def columns(self, lo: int, hi: int) -> WordColumns:
        words = [f"{self.accent}{number:x}" + "x" * (number * 7 % 23) for number in range(lo, hi)]
        return WordColumns(StringColumn.of(words), Scoring(batch=self.batch))


@dataclass
class FakeModel:
    """Cannot take batches of more than `most_tokens` tokens, padding included, or `most_rows` rows."""

    spec: ModelSpec
    most_tokens: int | None = None
    most_rows: int | None = None
    encoded: list[int] = field(default_factory=list)
    forwarded: list[tuple[int, int]] = field(default_factory=list)  # rows and width of every batch that fitted

    def encode(self, columns: QueryColumns) -> Tokens:
        assert isinstance(columns, WordColumns)
        words = [columns.words[row] for row in range(len(columns))]
        self.encoded.append(len(words))
        ids = np.array([ord(letter) for word in words for letter in word], np.int32)
        offsets = starts_of(np.array([len(word) for word in words], np.int64))
        return Tokens("word", ids, offsets, np.zeros(len(words), np.int32), scoring=columns.scoring)

    def forward(self, tokens: Tokens) -> dict[str, NDArray[Any]]:
        rows, width = len(tokens), int(tokens.lengths.max())
        if (self.most_tokens or rows * width) < rows * width or (self.most_rows or rows) < rows:
            raise BatchTooLargeError("no memory left")
        self.forwarded.append((rows, width))
        words = [tokens.ids[lo:hi] for lo, hi in zip(tokens.offsets[:-1], tokens.offsets[1:], strict=True)]
        value = np.array([float(np.dot(word, np.arange(1, len(word) + 1))) for word in words], np.float32)
        return {"value": value, "batch": np.tile(np.array([[rows, width]], np.int32), (rows, 1))}


def expected_values(plan: FakePlan) -> NDArray[np.float32]:
    """What a fake model answers to a plan, whatever the batches."""
    words = plan.columns(0, len(plan)).words
    letters = [[ord(letter) for letter in words[row]] for row in range(len(plan))]
    return np.array([sum(k * letter for k, letter in enumerate(word, 1)) for word in letters], np.float32)
