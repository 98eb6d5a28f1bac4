"""Batches: a pure function of the lengths of a block's rows, so that a resumed run computes the same numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def batches(lengths: NDArray[np.int64], token_budget: int, fixed: int | None = None) -> list[NDArray[np.int64]]:
    """Rows sorted by length and cut where a padded batch would pass the token budget (always at least one row).

    With `fixed`, batches of so many rows in their own order instead.

    >>> [batch.tolist() for batch in batches(np.array([2, 5, 2, 2]), 6)]
    [[0, 2, 3], [1]]
    """
    if fixed is not None:
        return [np.arange(lo, min(lo + fixed, len(lengths))) for lo in range(0, len(lengths), fixed)]
    order = np.argsort(lengths, kind="stable")
    result, lo = [], 0
    while lo < len(order):
        hi = lo + 1
        while hi < len(order) and (hi - lo + 1) * lengths[order[hi]] <= token_budget:
            hi += 1
        result.append(order[lo:hi])
        lo = hi
    return result
