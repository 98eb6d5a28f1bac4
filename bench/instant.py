"""`instant:SEED`: a model that answers at once, so that what is measured is assay's own.

Its answers depend on the question's texts and the seed alone.
"""

from __future__ import annotations

import hashlib
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from assay.asking.queries import (
    ChoiceColumns,
    EmbedColumns,
    FillColumns,
    MaskColumns,
    QueryColumns,
    SpanColumns,
    StringColumn,
    TokenColumns,
    WordColumns,
)
from assay.asking.tokens import Tokens
from assay.models import kinds
from assay.models.base import ModelSpec, Options

KIND, HELP = "instant", "instant:SEED: for measuring"
ABILITIES = frozenset({"span", "mask", "fill", "choice", "embed", "word", "token"})
WORDS = (
    *("kind", "calm", "proud", "angry", "happy", "rude", "shy", "brave", "tired", "lazy", "clever", "honest", "mean"),
    *("gentle", "loud", "strict", "warm", "cold", "friendly", "bored", "nice", "smart", "poor", "rich", "strong"),
)
Numbers = NDArray[np.uint64]


def install() -> None:
    """Make the kind known to this process."""
    kinds()[KIND] = __name__  # type: ignore[index]  # a mapping that nobody else writes to


def find(name: str, rest: str, options: Options) -> ModelSpec:
    digest = hashlib.sha256(name.encode()).hexdigest()
    return ModelSpec(name, KIND, rest, digest, ABILITIES, "cpu", "float32")


def load(spec: ModelSpec) -> Instant:
    return Instant(spec)


class Instant:
    """Answers when it encodes; `forward` only hands the answers over."""

    def __init__(self, spec: ModelSpec) -> None:
        self.spec, self.seed = spec, crc32(spec.place.encode())

    def encode(self, columns: QueryColumns) -> Tokens:
        rows = len(columns)
        nothing, offsets = np.zeros(rows, np.int32), np.arange(rows + 1, dtype=np.int64)
        return Tokens(columns.ability, nothing, offsets, nothing, self._answers(columns), columns.scoring)

    def forward(self, tokens: Tokens) -> dict[str, NDArray[Any]]:
        return dict(tokens.marks)

    def _answers(self, columns: QueryColumns) -> dict[str, NDArray[Any]]:
        match columns:
            case SpanColumns():
                place = columns.start[:, :, 0].astype(np.uint64)  # (row, subject)
                return {"score": self._scores(_of(columns.question), _of(columns.context), place)}
            case MaskColumns():
                words = _of(StringColumn.in_order(columns.words))[columns.subjects[:, :, 0]]  # (row, subject)
                return {"score": self._scores(_of(columns.context), _of(columns.sentence), words)}
            case ChoiceColumns():
                options = _of(StringColumn.in_order(columns.choices))[columns.options]  # (row, option)
                return {"score": 8 * self._scores(_of(columns.context), _of(columns.question), options)}
            case FillColumns():
                words = np.arange(len(WORDS), dtype=np.uint64)[None]
                fit = self._scores(_of(columns.context), _of(columns.sentence), words)  # (row, word)
                token = np.argsort(-fit, axis=1)[:, : columns.top].astype(np.int32)
                return {"token": token, "probability": np.take_along_axis(fit, token, 1) / len(WORDS)}
            case EmbedColumns():
                width = np.arange(12, dtype=np.uint64)[None]
                return {"vector": self._scores(_of(columns.text), columns.start.astype(np.uint64), width)}
            case WordColumns():
                key = _of(columns.words)
                return {"pieces": (1 + (key % 5 == 0)).astype(np.int32), "key": key}
            case TokenColumns():
                said = np.array([WORDS[token].encode() for token in columns.tokens.tolist()])
                return {"text": said, "whole": np.ones(len(columns), np.uint8)}
        raise NotImplementedError(f"a query of another kind: {columns.ability}")

    def _scores(self, one: Numbers, other: Numbers, options: Numbers) -> NDArray[np.float32]:
        """Between 0 and 1: mostly by the texts, somewhat by the option alone. (row, option)"""
        about = _mixed(one * 3 + _mixed(other + self.seed))[:, None]
        return 0.7 * _share(_mixed(about + options)) + 0.3 * _share(_mixed(options + self.seed))


def _of(texts: StringColumn) -> Numbers:
    """A number for each row's text."""
    return np.array([crc32(text.encode()) for text in texts.values], np.uint64)[texts.index]


def _mixed(numbers: Numbers) -> Numbers:
    """Numbers that depend on every bit of these (splitmix64)."""
    mixed = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def _share(numbers: Numbers) -> NDArray[np.float32]:
    return (numbers >> np.uint64(40)).astype(np.float32) / np.float32(2**24)
