"""Batches are a pure function of the lengths: every row once, short rows together, never more than the budget."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from assay.engine.executor import batches

LENGTHS = st.lists(st.integers(1, 60), max_size=80).map(lambda lengths: np.array(lengths, np.int64))
BUDGETS = st.integers(1, 400)


def rows_of(result: list[NDArray[np.int64]]) -> list[int]:
    return [row for batch in result for row in batch.tolist()]


@given(LENGTHS, BUDGETS)
def test_every_row_is_in_exactly_one_batch(lengths: NDArray[np.int64], budget: int) -> None:
    assert sorted(rows_of(batches(lengths, budget))) == list(range(len(lengths)))


@given(LENGTHS, BUDGETS)
def test_no_padded_batch_is_larger_than_the_budget_unless_it_is_one_row(
    lengths: NDArray[np.int64], budget: int
) -> None:
    for batch in batches(lengths, budget):
        assert len(batch) >= 1
        assert len(batch) == 1 or len(batch) * lengths[batch].max() <= budget


@given(LENGTHS, BUDGETS)
def test_rows_come_by_length_and_equally_long_ones_in_their_own_order(lengths: NDArray[np.int64], budget: int) -> None:
    order = rows_of(batches(lengths, budget))
    assert order == sorted(range(len(lengths)), key=lambda row: (lengths[row], row))


@given(LENGTHS, BUDGETS)
def test_no_batch_could_take_the_next_row_as_well(lengths: NDArray[np.int64], budget: int) -> None:
    for batch, following in pairwise(batches(lengths, budget)):
        assert (len(batch) + 1) * lengths[following[0]] > budget


@given(LENGTHS, BUDGETS)
def test_the_same_lengths_give_the_same_batches(lengths: NDArray[np.int64], budget: int) -> None:
    once, again = (batches(lengths.copy(), budget) for _ in range(2))
    assert [batch.tolist() for batch in once] == [batch.tolist() for batch in again]


@given(LENGTHS, BUDGETS, st.integers(1, 30))
def test_fixed_batches_are_consecutive_rows_whatever_their_lengths(
    lengths: NDArray[np.int64], budget: int, fixed: int
) -> None:
    result = batches(lengths, budget, fixed)
    assert rows_of(result) == list(range(len(lengths)))
    assert all(len(batch) == fixed for batch in result[:-1])
    assert all(1 <= len(batch) <= fixed for batch in result[-1:])
