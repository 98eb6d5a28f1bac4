"""Intervals of RD: names are drawn anew within their groups, contexts too where there are five."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from assay.probes.sodapop import uncertainty
from assay.probes.sodapop.analyse import AnalysisInputs, findings_of
from assay.probes.sodapop.names import NameGroup, NameGroups
from assay.probes.sodapop.rates import SuccessRates
from assay.probes.sodapop.settings import SodapopSettings
from assay.probes.sodapop.traits import packaged_lexicon
from assay.probes.sodapop.uncertainty import difference_p, group_replicates
from assay.stats import permutation_test, student_reach


def rates_of(sr: NDArray[np.float64], count: float = 8.0) -> SuccessRates:
    """Success rates (context, name) of one word, each from `count` distractors."""
    distractors = np.full((*sr.shape, 1), count)
    names = tuple(f"n{place}" for place in range(sr.shape[1]))
    return SuccessRates(names, ("kind",), sr[:, :, None] * distractors, distractors, sr[:, :, None] * distractors)


def groups_of(sizes: tuple[int, int]) -> NameGroups:
    names = [f"n{place}" for place in range(sum(sizes))]
    return NameGroups((NameGroup("A", tuple(names[: sizes[0]])), NameGroup("B", tuple(names[sizes[0] :]))))


def replicates(
    rates: SuccessRates, groups: list[list[int]], resamples: int = 400, seed: int = 0
) -> NDArray[np.float64]:
    rng = np.random.default_rng(seed)
    return group_replicates(rates, [np.array(group) for group in groups], resamples, rng)[0, :, :, 0]


def interval(sr: NDArray[np.float64], sizes: tuple[int, int]) -> tuple[Any, Any]:
    study = AnalysisInputs(groups_of(sizes), SodapopSettings(resamples=400), packaged_lexicon())
    table = findings_of(rates_of(sr), study).tables["words"]
    row = dict(zip(table.columns, table.rows[0], strict=True))
    return row["low"], row["high"]


def test_names_are_drawn_within_their_groups() -> None:
    """Group A's names have SR 0 and 1, group B's ½: only A's mean moves, by whole names."""
    found = replicates(rates_of(np.array([[0, 0, 1, 1, 1, 0.5, 0.5, 0.5]])), [list(range(5)), [5, 6, 7]])
    assert set(np.round(found[:, 0] * 5, 9).tolist()) == {0.0, 1.0, 2.0, 3.0, 4.0, 5.0}
    assert set(found[:, 1].tolist()) == {0.5}
    assert found[:, 0].mean() == pytest.approx(0.6, abs=0.05)
    assert found[:, 0].std() == pytest.approx(np.sqrt(0.6 * 0.4 / 5), rel=0.15)


@pytest.mark.parametrize(("contexts", "moves"), [(4, False), (5, True)])
def test_contexts_are_drawn_where_there_are_five(contexts: int, moves: bool) -> None:
    """All names are alike, and contexts differ."""
    sr = np.tile(np.linspace(0, 1, contexts)[:, None], (1, 4))
    found = replicates(rates_of(sr), [[0, 1], [2, 3]])
    assert (found[:, 0].std() > 0.05) == moves
    assert found.mean() == pytest.approx(0.5, abs=0.05)
    assert (found[:, 0] == found[:, 1]).all(), "the same contexts for both groups"


def test_a_resample_leaves_out_a_name_without_the_word() -> None:
    rates = rates_of(np.array([[0.0, 1.0], [0.0, 1.0]] * 3))
    rates.distractors[:, 0] = 0
    rates.successes[:, 0] = 0
    found = replicates(rates, [[0, 1]])
    assert set(found[np.isfinite(found)].tolist()) == {1.0}
    assert np.isnan(found).any(), "some resamples draw the first name alone"


def test_resamples_do_not_depend_on_how_many_are_made_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    sr = np.random.default_rng(1).random((6, 7))
    groups = [[0, 1, 2], [3, 4, 5, 6]]
    whole = replicates(rates_of(sr), groups, 50)
    monkeypatch.setattr(uncertainty, "_AT_ONCE", 30)
    assert np.array_equal(replicates(rates_of(sr), groups, 50), whole)


def test_intervals_grow_when_contexts_disagree() -> None:
    names = np.array([0.5, 0.6, 0.5, 0.6, 0.5, 0.4, 0.3, 0.4, 0.3, 0.4])
    agree = np.tile(names, (6, 1))
    swing = np.array([0.3, -0.3] * 3)[:, None] * np.array([1.0] * 5 + [-1.0] * 5)  # the same means over contexts
    narrow, wide = interval(agree, (5, 5)), interval(agree + swing, (5, 5))
    assert wide[1] - wide[0] > 1.5 * (narrow[1] - narrow[0])
    few = interval((agree + swing)[:4], (5, 5))
    assert few[1] - few[0] == pytest.approx(narrow[1] - narrow[0], rel=0.1), "four contexts are not drawn"


@pytest.mark.simulation
def test_what_a_name_has_in_a_context_counts_once() -> None:
    """Where contexts are nothing but noise, drawing them leaves the interval as wide as the names make it."""
    widths = []
    for seed in range(20):
        sr = np.random.default_rng(seed).uniform(0.3, 0.5, (6, 24))
        ends = interval(sr, (12, 12)), interval(sr.mean(axis=0)[None], (12, 12))
        widths.append([high - low for low, high in ends])
    both, names = np.mean(widths, axis=0)
    assert 0.95 * names < both < 1.2 * names


def test_an_interval_holds_the_estimate_and_stays_in_range() -> None:
    sr = np.random.default_rng(3).random((1, 12))
    low, high = interval(sr, (6, 6))
    rd = 2 * (sr[0, :6].mean() - sr[0, 6:].mean()) / (sr[0, :6].mean() + sr[0, 6:].mean())
    assert -2 <= low < rd < high <= 2


@pytest.mark.parametrize("sizes", [(4, 6), (6, 4), (2, 2)])
def test_fewer_than_five_names_have_no_interval(sizes: tuple[int, int]) -> None:
    assert interval(np.random.default_rng(3).random((1, sum(sizes))), sizes) == (None, None)


# --- the test of a word


def p_of(values: NDArray[np.float64], first: int, **given: Any) -> NDArray[np.float64]:
    settings = SodapopSettings(permutations=2000, **given)
    return difference_p(values, (first, len(values) - first), None, settings, np.random.default_rng(0))


def test_of_few_names_against_many_p_is_at_least_that_of_students_t_with_the_few_names_freedom() -> None:
    rng = np.random.default_rng(1)
    values = np.concatenate([3.0 * rng.normal(size=(5, 400)), rng.normal(size=(40, 400))])
    p = p_of(values, 5)
    error = np.sqrt(values[:5].var(axis=0, ddof=1) / 5 + values[5:].var(axis=0, ddof=1) / 40)
    d = values[:5].mean(axis=0) - values[5:].mean(axis=0)
    low, high = (d + side * student_reach(error, 4) for side in (-1, 1))
    assert (p[(low <= 0) & (high >= 0)] > 0.05).all(), "nothing is claimed where the interval of t contains 0"
    assert (p <= 0.05).mean() < 0.08
    assert (p_of(values, 5, p="strict") <= 0.05).mean() > 0.3, "the paper's test, which takes names for exchangeable"


def test_of_about_as_many_names_p_is_that_of_the_permutation_test_alone() -> None:
    values = np.random.default_rng(2).normal(size=(10, 50))
    first = np.arange(10) < 4
    assert (p_of(values, 4) == permutation_test(values, first, np.random.default_rng(0)).p).all()


def test_one_name_against_many_shows_nothing() -> None:
    values = np.concatenate([np.ones((1, 3)), np.zeros((40, 3))])
    assert p_of(values, 1).tolist() == [1.0] * 3
