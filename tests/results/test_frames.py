"""Findings and tables as frames of polars and pandas: every estimate a row, the right types, undefined as null."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pandas
import polars
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import UsageError
from assay.results.findings import Estimate, Findings, Table
from raising import raises

FOUND = Findings(
    "unqover",
    "hf:./größe",
    [
        Estimate("mu", {"class": "gender", "form": "span"}, 0.25, 0.1, 0.4, n=1840, p=0.001, q=0.004, floor=0.02),
        Estimate("eta", {"class": "gender", "subjects": "pooled"}, None, n=3, note="every answer was the same"),
        Estimate("delta", {}, 1, n=7),
    ],
)
NUMBERS = ["value", "corrected", "low", "high", "level", "n", "p", "q", "claimed", "floor"]
WHOLE = ("n", "claimed")


def cells_of(frame: Any) -> dict[str, list[Any]]:
    """The columns of a frame of pandas with None for NA."""
    return {column: [None if cell is pandas.NA else cell for cell in frame[column]] for column in frame.columns}


def test_every_estimate_is_a_row_and_every_key_of_a_group_a_column() -> None:
    frame = FOUND.to_polars()
    assert frame.columns == ["probe", "model", "metric", "class", "form", "subjects", *NUMBERS, "note"]
    assert frame.row(0) == (
        *("unqover", "hf:./größe", "mu", "gender", "span", None),
        *(0.25, None, 0.1, 0.4, 0.95, 1840, 0.001, 0.004, None, 0.02, None),
    )
    assert frame.row(1)[3:6] == ("gender", None, "pooled")
    assert frame["value"].to_list() == [0.25, None, 1.0]
    assert frame["note"].to_list() == [None, "every answer was the same", None]


@pytest.mark.parametrize("estimates", [FOUND.estimates, FOUND.estimates[1:2], FOUND.estimates[2:], []])
def test_types_do_not_depend_on_what_is_there(estimates: list[Estimate]) -> None:
    found = Findings("unqover", "m", estimates)
    types = found.to_polars().schema
    texts = [column for column in types if column not in NUMBERS]
    assert {types[column] for column in NUMBERS if column not in WHOLE} == {polars.Float64()}
    assert types["n"] == types["claimed"] == polars.Int64()
    assert {types[column] for column in texts} == {polars.String()}
    of_pandas = found.to_pandas().dtypes
    assert {str(of_pandas[column]) for column in NUMBERS if column not in WHOLE} == {"Float64"}
    assert str(of_pandas["n"]) == str(of_pandas["claimed"]) == "Int64"
    assert {str(of_pandas[column]) for column in texts} == {"string"}


def test_pandas_has_the_same_and_na_where_it_is_undefined() -> None:
    frame = FOUND.to_pandas()
    assert cells_of(frame) == FOUND.to_polars().to_dict(as_series=False)
    assert frame["value"][1] is pandas.NA
    assert frame["value"].mean() == pytest.approx(0.625)


def test_a_key_that_is_called_like_another_column_is_kept_apart() -> None:
    frame = Findings("p", "m", [Estimate("x", {"n": "few", "model": "other"}, 0.5, n=4)]).to_polars()
    assert frame.select("group_n", "n", "group_model", "model").row(0) == ("few", 4, "other", "m")


# --- tables


def test_columns_of_a_table_are_whole_numbers_numbers_or_texts() -> None:
    table = Table(
        ["subject", "gamma", "n", "mixed", "q"],
        [["Ann", 0.5, 1, 1, None], [None, 1, None, "a", None], ["Bo", None, 3, 2.5, None]],
    )
    frame = table.to_polars()
    assert [str(kind) for kind in frame.dtypes] == ["String", "Float64", "Int64", "String", "Float64"]
    assert frame.rows() == [
        ("Ann", 0.5, 1, "1", None),
        (None, 1.0, None, "a", None),
        ("Bo", None, 3, "2.5", None),
    ]
    assert [str(kind) for kind in table.to_pandas().dtypes] == ["string", "Float64", "Int64", "string", "Float64"]


@pytest.mark.parametrize("rows", [[], [[None, None]], [[7, None]]])
def test_what_is_known_to_be_text_is_text_whatever_it_holds(rows: list[list[int | None]]) -> None:
    frame = Table(["question_index", "human"], rows, ["question_index", "human"]).to_polars()
    assert frame.dtypes == [polars.String, polars.String]
    assert frame["question_index"].to_list() == ["7" if cell == 7 else None for cell, _ in rows]


def test_numbers_of_numpy_and_whole_numbers_that_fit_nowhere_are_numbers_too() -> None:
    rows: list[Any] = [[np.int64(3), np.float32(0.5), 2**70]]
    frame = Table(["n", "x", "large"], rows).to_polars()
    assert [str(kind) for kind in frame.dtypes] == ["Int64", "Float64", "Float64"]
    assert frame.row(0) == (3, 0.5, float(2**70))


cells = st.none() | st.integers(-(2**62), 2**62) | st.floats(allow_nan=False) | st.text()


@given(st.lists(st.tuples(cells, cells), max_size=6))
def test_whatever_a_table_holds_both_libraries_have_its_cells(rows: list[tuple[Any, Any]]) -> None:
    table = Table(["one", "two"], rows)
    assert cells_of(table.to_pandas()) == table.to_polars().to_dict(as_series=False)
    for place, column in enumerate(table.columns):
        found = table.to_polars()[column].to_list()
        assert [cell is None for cell in found] == [row[place] is None for row in rows]


# --- what is not there


@pytest.mark.parametrize("library", ["polars", "pandas"])
@pytest.mark.parametrize("shown", [FOUND, Table(["n"], [[1]])], ids=["findings", "table"])
def test_without_the_library_the_message_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, library: str, shown: Findings | Table
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with raises("not-installed", UsageError, key=library) as refused:
        getattr(shown, f"to_{library}")()
    assert refused.value.remedy == f"pip install {library}"
