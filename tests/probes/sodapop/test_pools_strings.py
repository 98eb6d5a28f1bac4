"""Sets of strings as arrays are those that NumPy makes row by row, for strings of any width and any words."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from assay.probes.sodapop.pools import new_rows, numbered_rows, row_keys, unique_rows

WIDE = [-1, 0, 1, 2**31 - 1]  # three columns of these do not fit into one number


@st.composite
def rows(draw: st.DrawFn, count: int = 1) -> list[NDArray[np.int32]]:
    """Arrays of one width."""
    width = draw(st.integers(0, 6))
    words = st.sampled_from(draw(st.sampled_from([WIDE, [-1, 0, 1, 2]])))
    string = st.lists(words, min_size=width, max_size=width)
    made = [draw(st.lists(string, max_size=12)) for _ in range(count)]
    return [np.array(each, np.int32).reshape(len(each), width) for each in made]


def tuples(array: NDArray[Any]) -> list[tuple[int, ...]]:
    return [tuple(row) for row in array.tolist()]


@given(rows())
@settings(deadline=None)
def test_keys_are_equal_for_equal_rows_alone_and_sort_as_they_do(made: list[NDArray[np.int32]]) -> None:
    (array,) = made
    keys, given_rows = row_keys(array).tolist(), tuples(array)
    for one, key in zip(given_rows, keys, strict=True):
        for other, another in zip(given_rows, keys, strict=True):
            assert (one < other) == (key < another)


@given(rows())
@settings(deadline=None)
def test_different_rows_are_sorted_and_every_row_finds_its_own(made: list[NDArray[np.int32]]) -> None:
    (array,) = made
    expected = sorted(set(tuples(array)))
    assert tuples(unique_rows(array)) == expected
    different, number = numbered_rows(array)
    assert tuples(different) == expected
    assert tuples(different[number]) == tuples(array)


@given(rows(2))
@example([np.zeros((2, 3), np.int32), np.zeros((0, 3), np.int32)])
@settings(deadline=None)
def test_new_rows_are_those_that_are_not_known(made: list[NDArray[np.int32]]) -> None:
    array, known = made
    assert tuples(new_rows(array, known)) == sorted(set(tuples(array)) - set(tuples(known)))
