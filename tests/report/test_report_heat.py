"""Heat maps: what is drawn, in which order, and what is left out."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.presentation.elements import Beside, Cells, HeatMap
from assay.report.drawing import (
    CELL,
    FEW,
    MOST,
    STEPS,
    WIDEST,
    HeatMapLayout,
    draw_heat,
    similar_first,
    step,
)

NUMBERS = st.floats(-1, 1)


def some(rows: int, columns: int) -> dict[tuple[str, str], float]:
    rng = np.random.default_rng(0)
    return {(f"row {i}", f"column {j}"): float(rng.normal()) for i in range(rows) for j in range(columns)}


def heat_map(cells: Cells, beside: Beside | None = None) -> HeatMapLayout:
    heat = draw_heat(HeatMap(name="", row="r", column="c", value="v", cells=cells, beside=beside or {}))
    assert heat is not None
    return heat


def drawn(heat: HeatMapLayout) -> int:
    return sum(len(re.findall("M", cells)) for _, cells in heat.paths)


@settings(deadline=None)  # the first call imports scipy
@given(st.dictionaries(st.tuples(st.sampled_from("abcdefg"), st.sampled_from("uvwxyz")), NUMBERS, min_size=1))
def test_every_value_is_drawn_once_and_stands_in_its_data(cells: dict[tuple[str, str], float]) -> None:
    heat = heat_map(cells)
    assert drawn(heat) == len(cells)
    assert {(row, column): value for row, column, value in heat.table.rows} == cells


@given(NUMBERS, st.floats(0.01, 2))
def test_a_colour_has_the_sign_of_its_value(value: float, end: float) -> None:
    assert step(value, end) * value >= 0
    assert abs(step(value, end)) <= STEPS
    assert step(-value, end) == -step(value, end)


def test_the_strongest_colour_begins_at_the_end_of_the_scale() -> None:
    assert [step(value, 0.5) for value in (0.5, 0.46, 0.04, -0.5, 3.0)] == [5, 5, 0, -5, 5]


def test_similar_rows_are_neighbours() -> None:
    rng = np.random.default_rng(1)
    kinds = np.array([0, 1, 2] * 5)
    matrix = np.eye(3)[kinds] * 5 + rng.normal(0, 0.1, (15, 3))
    order = kinds[similar_first(matrix)]
    assert (np.diff(order) != 0).sum() == 2  # three runs of one kind each


def test_what_is_missing_stays_blank_and_is_none_in_the_data() -> None:
    heat = heat_map({("a", "x"): 0.5, ("b", "y"): -0.5})
    assert drawn(heat) == 2
    assert sorted(value is None for row in heat.data["values"] for value in row) == [False, False, True, True]


def test_values_with_a_small_n_are_pale() -> None:
    heat = heat_map({("a", "x"): 0.5, ("b", "x"): 0.5}, {"n": {("a", "x"): FEW - 1, ("b", "x"): FEW}})
    assert heat.why_pale == "n below 5"
    assert sorted(colour for colour, _ in heat.paths) == ["h5", "h5 pale"]


def test_values_that_are_not_distinguishable_from_chance_are_pale() -> None:
    drawn = draw_heat(replace(heat_map({("a", "x"): 0.5, ("b", "x"): 0.5}).block, unclear={("b", "x")}))
    assert drawn is not None
    assert drawn.why_pale == "not distinguishable from chance"
    assert sorted(colour for colour, _ in drawn.paths) == ["h5", "h5 pale"]
    pale = dict(zip(drawn.data["rows"], drawn.data["pale"], strict=True))
    assert pale == {"a": "0", "b": "1"}


def test_of_very_many_rows_and_columns_the_strongest_are_kept_and_the_others_counted() -> None:
    cells = some(MOST + 7, MOST + 3)
    cells["row 0", "column 0"] = 100.0
    heat = heat_map(cells)
    assert (len(heat.rows), len(heat.columns), heat.left_out) == (MOST, MOST, (7, 3))
    assert "row 0" in heat.rows
    assert "column 0" in heat.columns


def test_the_picture_has_room_for_all_cells() -> None:
    heat = heat_map(some(4, 9))
    places = [(int(x), int(y)) for _, cells in heat.paths for x, y in re.findall(r"M(\d+) (\d+)h", cells)]
    assert max(x for x, _ in places) + CELL <= heat.width
    assert max(y for _, y in places) + CELL <= heat.height + 1
    assert min(x for x, _ in places) == pytest.approx(heat.left, abs=1)


@pytest.mark.parametrize(("columns", "level"), [(3, True), (10, True), (11, False), (40, False)])
def test_labels_over_columns_are_level_where_they_fit_and_upright_elsewhere(columns: int, level: bool) -> None:
    heat = heat_map(some(4, columns))
    assert (heat.level, heat.across > CELL) == (level, level)
    assert heat.width <= WIDEST + 6 or not level
    longest = 6 * len("column 0")  # a letter is at least that wide
    places = [x for _, x in heat.column_labels]
    assert heat.top > longest if not level else min(np.diff(places)) > longest


def test_nothing_gives_no_map() -> None:
    assert draw_heat(HeatMap(name="", row="r", column="c", value="v", cells={})) is None
