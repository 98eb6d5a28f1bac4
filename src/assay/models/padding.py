"""Ragged rows of tokens to the padded arrays that models run on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.queries import Tokens


class Padded(NamedTuple):
    """Rows of one width; each array is (row, position)."""

    ids: NDArray[np.int64]
    there: NDArray[np.int64]  # 1 at a token, 0 at padding: the attention mask
    types: NDArray[np.int64]  # 1 from the second text on, 0 before it and at padding


def padded(tokens: Tokens, pad: int, *, left: bool = False) -> Padded:
    """All rows as wide as the longest, with `pad` behind the others, or before them.

    >>> padded(Tokens("span", np.array([5, 6, 7]), np.array([0, 1, 3]), np.array([1, 1])), pad=0).ids.tolist()
    [[5, 0], [6, 7]]
    """
    lengths = tokens.lengths[:, None]
    width = int(lengths.max())
    column = np.arange(width) - left * (width - lengths)  # counted from the row's first token
    there = (column >= 0) & (column < lengths)
    ids = np.full(there.shape, pad, np.int64)
    ids[there] = tokens.ids
    types = there & (column >= tokens.second[:, None])
    return Padded(ids, there.astype(np.int64), types.astype(np.int64))
