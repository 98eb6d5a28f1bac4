"""What a model reads: ragged rows of token ids, and functions to split and join such rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.asking.queries import Ints, Scoring


@dataclass(frozen=True)
class Tokens:
    """Rows ready for a model: ragged token ids without padding, and what each row is about.

    `marks` are per-row arrays that only the model that made them understands (token positions, candidate ids).
    A choice row holds one sequence for each of its options, one after another (`option_rows` splits them):
    its marks `parts` (row, option + 1) say where in the row they begin, the row's end included. For a causal model the
    first of these sequences is what all options share, and the others are what each adds to it: (row, option + 2). A
    text row's mark `tokens` (row,) is the most new tokens that are wanted. An embed row's marks `start` and
    `end` (row,) are the word's first token and the one after its last.
    """

    ability: str
    ids: Ints  # (token,)
    offsets: NDArray[np.int64]  # (row + 1,)
    second: Ints  # (row,): index in the row (choice: in each of its sequences) of the first token with token type 1
    marks: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    scoring: Scoring = field(default_factory=Scoring)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> NDArray[np.int64]:
        return np.diff(self.offsets)

    def take(self, rows: NDArray[np.int64]) -> Tokens:
        ids, lengths = ragged_take(self.ids, self.offsets, rows)
        marks = {name: values[rows] for name, values in self.marks.items()}
        return Tokens(self.ability, ids, starts_of(lengths), self.second[rows], marks, self.scoring)


def option_rows(tokens: Tokens) -> Tokens:
    """Choice rows split into one row per option, without marks; answers reshape to (row, option).

    >>> tokens = Tokens("choice", np.arange(5), np.array([0, 5]), np.array([2]), {"parts": np.array([[0, 3, 5]])})
    >>> options = option_rows(tokens)
    >>> options.offsets.tolist(), options.second.tolist()
    ([0, 3, 5], [2, 2])
    """
    parts = tokens.marks["parts"]  # (row, option + 1)
    starts = tokens.offsets[:-1, None] + parts[:, :-1]  # (row, option)
    offsets = np.append(starts.reshape(-1), tokens.offsets[-1:])
    second = np.minimum(tokens.second[:, None], np.diff(parts, axis=1)).reshape(-1).astype(np.int32)
    return Tokens(tokens.ability, tokens.ids, offsets, second, scoring=tokens.scoring)


def starts_of(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Offsets of consecutive pieces with these lengths, the end included."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])


def ragged_take(
    flat: NDArray[Any], offsets: NDArray[np.int64], rows: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The chosen pieces of a ragged array, joined, and their lengths.

    >>> ragged_take(np.array([1, 2, 3, 4]), np.array([0, 1, 4]), np.array([1, 0, 0]))[0].tolist()
    [2, 3, 4, 1, 1]
    """
    lengths = offsets[rows + 1] - offsets[rows]
    shift = np.repeat(offsets[rows] - starts_of(lengths)[:-1], lengths)
    return flat[np.arange(len(shift)) + shift], lengths
