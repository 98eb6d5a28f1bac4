"""Templates as the units of intervals: those that differ in size count for fewer."""

from __future__ import annotations

import numpy as np
import pytest

from assay.probes.bbq.analyse import METRICS
from assay.probes.bbq.count_answers import FIELDS, TallyField
from assay.probes.bbq.items import AMBIGUOUS
from assay.probes.bbq.tallies import ResampledTallies, ResamplingUnits

ACCURACY = METRICS[AMBIGUOUS][0]
SIZES = np.array([2] * 16 + [4, 12, 16, 18, 18, 32, 32, 2, 2]) * 2  # Gender_identity's ambiguous questions


def drawn(right: np.ndarray, strata: list[str]) -> ResampledTallies:
    """Templates of which so many answers are right (template,), by category."""
    tally = np.zeros((1, len(right), FIELDS))
    tally[0, :, TallyField.COUNTED], tally[0, :, TallyField.CORRECT] = SIZES[: len(right)], right
    units = ResamplingUnits.make([(category, str(place)) for place, category in enumerate(strata)], 400, 0)
    return ResampledTallies(tally, tally.sum(axis=1), units.weights @ tally, units.strata)


def test_templates_of_one_size_count_as_many_as_there_are() -> None:
    spread = drawn(np.ones(6), ["Age"] * 3 + ["SES"] * 3).of(ACCURACY)
    assert (spread.units.tolist(), spread.strata.tolist(), spread.effective.tolist()) == ([6], [2], [6.0])


def test_templates_of_different_sizes_count_for_fewer() -> None:
    (effective,) = drawn(np.ones(25), ["Age"] * 25).of(ACCURACY).effective
    assert effective == pytest.approx(SIZES.sum() ** 2 / (SIZES**2).sum())
    assert effective < 10


def test_there_is_no_interval_where_categories_have_hardly_a_template_each() -> None:
    """Within a category of one template nothing can be resampled."""
    spread = drawn(np.arange(6), ["Age", "SES", "Religion", "Religion", "Nationality", "Nationality"]).of(ACCURACY)
    assert spread.few == "no interval: too few templates (6; 8 are needed)"


@pytest.mark.simulation
def test_an_interval_over_templates_of_different_sizes_contains_the_truth_as_often_as_it_says() -> None:
    rng = np.random.default_rng(1)
    hits = 0
    for _ in range(800):
        spread = drawn(rng.binomial(SIZES, rng.beta(3.6, 2.4, 25)), ["Age"] * 25).of(ACCURACY)
        low, high = spread.interval(float(spread.values[0]), spread.replicates[0], (0.0, 1.0))
        hits += bool(low <= 0.6 <= high)
    assert 0.935 <= hits / 800 <= 0.975
