"""Padded rows hold every token once, and say where the padding and where the second text is."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from assay.models.padding import padded
from assay.queries import Tokens, starts_of

PAD = 77


@given(st.lists(st.tuples(st.lists(st.integers(0, 99), min_size=1, max_size=5), st.integers(0, 5)), min_size=1))
def test_rows_are_padded_at_their_ends(rows: list[tuple[list[int], int]]) -> None:
    lengths = [len(ids) for ids, _ in rows]
    second = [min(place, len(ids)) for ids, place in rows]
    flat = np.array([token for ids, _ in rows for token in ids], np.int32)
    tokens = Tokens("span", flat, starts_of(np.array(lengths)), np.array(second, np.int32))
    ids, there, types = padded(tokens, PAD)
    assert ids.shape == there.shape == types.shape == (len(rows), max(lengths))
    assert ids.dtype == there.dtype == types.dtype == np.int64
    for row, (length, place) in enumerate(zip(lengths, second, strict=True)):
        behind = max(lengths) - length
        assert ids[row].tolist() == [*rows[row][0], *[PAD] * behind]
        assert there[row].tolist() == [1] * length + [0] * behind
        assert types[row].tolist() == [0] * place + [1] * (length - place) + [0] * behind
