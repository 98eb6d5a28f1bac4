"""What else differs between names is regressed out."""

from __future__ import annotations

import numpy as np
import pytest

from assay.probes.sodapop.metrics import adjusted_difference
from assay.probes.sodapop.names import UNCOUNTED, control_columns

FIRST = np.array([True] * 5 + [False] * 5)
PIECES = np.array([1.0, 2, 2, 3, 3, 1, 1, 1, 2, 2])
FREQUENCY = np.array([2.0, 3, 5, 4, 2, 3, 5, 4, 3, 2])


def test_a_difference_that_pieces_explain_is_gone() -> None:
    values = np.column_stack([0.1 + 0.2 * PIECES, 0.5 - 0.1 * PIECES + 0.03 * FREQUENCY])
    plain = values[FIRST].mean(axis=0) - values[~FIRST].mean(axis=0)
    assert (np.abs(plain) > 0.05).all()
    adjusted = adjusted_difference(values, FIRST, np.column_stack([PIECES, FREQUENCY]))
    assert adjusted is not None
    assert adjusted.tolist() == [0.0, 0.0], "not even rounding is left"


def test_the_groups_own_part_remains() -> None:
    values = (0.1 + 0.2 * PIECES + 0.25 * FIRST)[:, None]
    adjusted = adjusted_difference(values, FIRST, np.column_stack([PIECES, FREQUENCY]))
    assert adjusted is not None
    assert adjusted.tolist() == pytest.approx([0.25])


def test_it_is_the_groups_coefficient_by_least_squares() -> None:
    values = np.random.default_rng(0).random((10, 4))
    design = np.column_stack([np.ones(10), FIRST, PIECES, FREQUENCY])
    expected = np.linalg.lstsq(design, values, rcond=None)[0][1]
    adjusted = adjusted_difference(values, FIRST, np.column_stack([PIECES, FREQUENCY]))
    assert adjusted is not None
    assert adjusted.tolist() == pytest.approx(expected.tolist())


def test_a_control_that_is_the_same_for_all_names_changes_nothing() -> None:
    values = np.random.default_rng(0).random((10, 1))
    both = adjusted_difference(values, FIRST, np.column_stack([PIECES, np.full(10, 3.0)]))
    one = adjusted_difference(values, FIRST, PIECES[:, None])
    none = adjusted_difference(values, FIRST, np.full((10, 2), 3.0))
    assert both is not None
    assert one is not None
    assert none is not None
    assert both.tolist() == pytest.approx(one.tolist())
    assert none.tolist() == pytest.approx((values[FIRST].mean(axis=0) - values[~FIRST].mean(axis=0)).tolist())


def test_a_control_that_is_the_group_itself_leaves_nothing_to_say() -> None:
    values = np.random.default_rng(0).random((10, 1))
    assert adjusted_difference(values, FIRST, np.column_stack([1.0 + FIRST, FREQUENCY])) is None
    assert adjusted_difference(values, FIRST, np.column_stack([PIECES, 2 * PIECES])) is None


def test_as_many_names_as_unknowns_are_too_few() -> None:
    rows = [0, 1, 5, 8]
    controls = np.column_stack([PIECES, FREQUENCY])[rows]
    assert adjusted_difference(np.random.default_rng(0).random((4, 1)), FIRST[rows], controls) is None


def test_names_without_a_count_are_taken_for_rare() -> None:
    columns = control_columns(("Ann", "Zyx"), np.array([1, 3], np.int32), {"Ann": 10_000})
    assert columns.tolist() == [[1.0, 4.0], [3.0, pytest.approx(np.log10(UNCOUNTED))]]
