"""Padded rows hold every token once, and say where the padding and where the second text is."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.asking.tokens import Tokens, starts_of
from assay.models.base import padded

PAD = 77


@pytest.mark.parametrize("left", [False, True])
@given(st.lists(st.tuples(st.lists(st.integers(0, 99), min_size=1, max_size=5), st.integers(0, 5)), min_size=1))
def test_rows_are_padded_at_their_ends_or_at_their_beginnings(left: bool, rows: list[tuple[list[int], int]]) -> None:
    lengths = [len(ids) for ids, _ in rows]
    second = [min(place, len(ids)) for ids, place in rows]
    flat = np.array([token for ids, _ in rows for token in ids], np.int32)
    tokens = Tokens("span", flat, starts_of(np.array(lengths)), np.array(second, np.int32))
    ids, there, types = padded(tokens, PAD, left=left)
    assert ids.shape == there.shape == types.shape == (len(rows), max(lengths))
    assert ids.dtype == there.dtype == types.dtype == np.int64
    for row, (length, place) in enumerate(zip(lengths, second, strict=True)):
        before = max(lengths) - length if left else 0
        behind = 0 if left else max(lengths) - length
        assert ids[row].tolist() == [PAD] * before + rows[row][0] + [PAD] * behind
        assert there[row].tolist() == [0] * before + [1] * length + [0] * behind
        assert types[row].tolist() == [0] * (before + place) + [1] * (length - place) + [0] * behind
