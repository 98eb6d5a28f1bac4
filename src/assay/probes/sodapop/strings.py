"""Sets of strings as arrays: a string is a row of places in a list of words.

Rows become single whole numbers that sort as the rows do, so that finding equal ones is a sort of numbers: NumPy's own
way, by rows, takes some ten times as long.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Strings = NDArray[np.int32]  # (string, word)

_MOST = np.int64(1) << 62


def row_keys(rows: Strings) -> NDArray[np.int64]:
    """A number for every row: equal for equal rows only, and in the rows' own order.

    >>> row_keys(np.array([[1, 5], [0, 9], [1, 5]])).tolist()
    [5, 4, 5]
    """
    keys, most = np.zeros(len(rows), np.int64), 1  # every key is below `most`
    for column in rows.T:
        low = int(column.min()) if len(column) else 0
        size = int(column.max()) - low + 1 if len(column) else 1
        if most > int(_MOST) // size:
            distinct, keys = np.unique(keys, return_inverse=True)
            keys, most = keys.reshape(-1).astype(np.int64), len(distinct)
        keys = keys * size + (column.astype(np.int64) - low)
        most *= size
    return keys


def numbered_rows(rows: Strings) -> tuple[Strings, NDArray[np.int64]]:
    """The different rows in their order, and for every row which of these it is."""
    _, first, number = np.unique(row_keys(rows), return_index=True, return_inverse=True)
    return rows[first], number.reshape(-1)


def unique_rows(rows: Strings) -> Strings:
    """The different rows in their order: that of hashing or of finding does not matter."""
    return rows[np.unique(row_keys(rows), return_index=True)[1]]


def new_rows(rows: Strings, known: Strings) -> Strings:
    """The different rows, in their order, that are not among the known ones."""
    keys = row_keys(np.concatenate([rows, known]))
    own, first = np.unique(keys[: len(rows)], return_index=True)
    return rows[first[~np.isin(own, keys[len(rows) :])]]
