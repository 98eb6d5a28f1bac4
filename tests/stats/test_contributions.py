"""Whether a change is the work of few units."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.stats import contribution_p, sign_flip_p


@given(st.lists(st.floats(-1, 1), min_size=5, max_size=12))
def test_of_a_mean_every_unit_contributes_its_own_difference(values: list[float]) -> None:
    gained = np.round(np.array(values), 6)
    left_out = (gained.sum() - gained) / (len(gained) - 1)
    found = contribution_p(gained.mean(), left_out, np.zeros(len(gained), np.int64))
    assert float(found) == pytest.approx(float(sign_flip_p(gained[None, :])[0]), abs=1e-9)


def test_contributions_by_hand() -> None:
    """Five units that all gain 1: only all signs alike reach the mean, 2 of 32 choices."""
    found = contribution_p(np.array([1.0, 0.0]), np.array([[1.0, 0.0]] * 5), np.zeros(5, np.int64))
    assert found.tolist() == [2 / 32, 1.0]
    assert np.isnan(contribution_p(np.array([1.0]), np.array([[1.0], [np.nan]]), np.zeros(2, np.int64))).all()
