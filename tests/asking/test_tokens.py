"""Ragged rows of tokens: taking some of them, and taking the options of a choice apart."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from assay.asking.queries import Scoring
from assay.asking.tokens import Tokens, option_rows


@given(st.data(), st.lists(st.lists(st.integers(0, 99), min_size=1, max_size=5), min_size=1, max_size=6))
def test_taking_rows_takes_their_tokens_and_marks(data: st.DataObject, rows: list[list[int]]) -> None:
    chosen = data.draw(st.lists(st.integers(0, len(rows) - 1), min_size=1))
    lengths = [len(row) for row in rows]
    tokens = Tokens(
        "span",
        np.array([token for row in rows for token in row], np.int32),
        np.concatenate([[0], np.cumsum(lengths)]),
        np.arange(len(rows), dtype=np.int32),
        {"sum": np.array([sum(row) for row in rows])},
        Scoring(top=3),
    )
    taken = tokens.take(np.array(chosen))
    assert len(taken) == len(chosen)
    assert taken.lengths.tolist() == [lengths[row] for row in chosen]
    for place, row in enumerate(chosen):
        assert taken.ids[taken.offsets[place] : taken.offsets[place + 1]].tolist() == rows[row]
    assert taken.marks["sum"].tolist() == [sum(rows[row]) for row in chosen]
    assert taken.second.tolist() == chosen
    assert (taken.ability, taken.scoring) == ("span", Scoring(top=3))


OPTIONS = st.integers(1, 3).flatmap(
    lambda options: st.lists(st.lists(st.integers(1, 4), min_size=options, max_size=options), min_size=1, max_size=5)
)


@given(st.data(), OPTIONS)
def test_every_option_is_a_row_of_its_own_when_taken_apart(data: st.DataObject, lengths: list[list[int]]) -> None:
    """In any batch of the rows; token types begin at the same place of a row's options, or at the option's end."""
    chosen = data.draw(st.lists(st.integers(0, len(lengths) - 1), min_size=1))
    sequences = [
        [[100 * row + 10 * k + at for at in range(n)] for k, n in enumerate(of)] for row, of in enumerate(lengths)
    ]
    tokens = Tokens(
        "choice",
        np.array([token for row in sequences for option in row for token in option], np.int32),
        np.concatenate([[0], np.cumsum([sum(row) for row in lengths])]),
        np.full(len(lengths), 2, np.int32),
        {"parts": np.array([np.concatenate([[0], np.cumsum(row)]) for row in lengths], np.int32)},
        Scoring(token_types=False),
    )
    apart = option_rows(tokens.take(np.array(chosen)))
    expected = [option for row in chosen for option in sequences[row]]
    assert [apart.ids[lo:hi].tolist() for lo, hi in pairwise(apart.offsets)] == expected
    assert apart.second.tolist() == [min(2, len(option)) for option in expected]
    assert (apart.ability, apart.scoring, apart.marks) == ("choice", Scoring(token_types=False), {})
