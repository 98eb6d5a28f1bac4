"""The largest |RD| of a run's words: its band, and the size that would settle it."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from assay.probes.claims import with_claims
from assay.probes.sodapop import PROBE, analyse
from assay.probes.sodapop.analyse import AnalysisInputs, findings_of
from assay.probes.sodapop.largest import METRIC, LargestDifference, SampleSize, WordBand, largest_difference
from assay.probes.sodapop.names import NameGroup, NameGroups
from assay.probes.sodapop.rates import SuccessRates
from assay.probes.sodapop.settings import SodapopSettings
from assay.probes.sodapop.traits import packaged_lexicon
from assay.results.findings import Estimate, Findings
from assay.results.verdict import VerdictKind

ALL_AGREE = np.zeros(3)


def findings_with(sr: NDArray[np.float64], sizes: tuple[int, int], size: SampleSize | None = None) -> Findings:
    """The findings from success rates (context, name, word)."""
    names = [f"n{place}" for place in range(sum(sizes))]
    groups = NameGroups((NameGroup("A", tuple(names[: sizes[0]])), NameGroup("B", tuple(names[sizes[0] :]))))
    asked = np.full(sr.shape, 4.0)
    words = tuple(f"w{place}" for place in range(sr.shape[2]))
    rates = SuccessRates(tuple(names), words, sr * asked, asked, sr * asked)
    settings = SodapopSettings(resamples=400, permutations=500)
    return with_claims(
        findings_of(rates, AnalysisInputs(groups, settings, packaged_lexicon(), size=size)), PROBE, vars(settings)
    )


def largest_of(findings: Findings) -> Estimate:
    return next(estimate for estimate in findings.estimates if estimate.metric == METRIC)


def noisy(sizes: tuple[int, int], spread: float, *, shift: float = 0.0, seed: int = 0) -> NDArray[np.float64]:
    rng = np.random.default_rng(seed)
    own = 0.4 + spread * rng.normal(size=(sum(sizes), 3))
    own[: sizes[0], 0] += shift
    return np.clip(own + 0.02 * rng.normal(size=(2, sum(sizes), 3)), 0.01, 0.99)


def band(size: NDArray[np.float64], error: NDArray[np.float64], names: tuple[int, int]) -> WordBand:
    sides = np.arange(names[0]), names[0] + np.arange(names[1])
    deviations = np.random.default_rng(1).normal(size=(4000, len(size))) * (error > 0)
    return WordBand([f"w{place}" for place in range(len(size))], sides, size, error, deviations)


def test_the_band_is_the_largest_size_and_the_quantile_of_the_largest_t_of_all_words() -> None:
    found = largest_difference([band(np.array([0.3, 0.1]), np.array([0.1, 0.05]), (50, 50))], np.random.default_rng(0))
    assert found is not None
    assert found.reach == pytest.approx(2.28, abs=0.08)  # √(Student's t) of two words: 1 − √0.95, two-sided, 98 freedom
    assert (found.value, found.low) == (0.3, pytest.approx(0.3 - 0.1 * found.reach))
    assert found.high == pytest.approx(0.3 + 0.1 * found.reach)


def test_where_sizes_differ_the_errors_are_as_uncertain_as_those_of_the_smaller_side() -> None:
    reaches = []
    for names in ((5, 40), (40, 40)):
        found = largest_difference([band(np.array([0.1]), np.array([0.1]), names)], np.random.default_rng(0))
        assert found is not None
        reaches.append(found.reach)
    assert reaches[0] == pytest.approx(2.776, abs=0.2)  # Student's t with 4 degrees of freedom
    assert reaches[1] == pytest.approx(1.99, abs=0.08)


def test_where_all_names_agree_the_band_is_what_so_many_names_allow() -> None:
    found = LargestDifference([band(np.array([0.0]), ALL_AGREE[:1], (17, 17))], 2.0, 1.0)
    assert found.high == pytest.approx(2 * (1 - 0.025 ** (1 / 17)))
    assert found.high < 0.4 < LargestDifference([band(np.array([0.0]), ALL_AGREE[:1], (16, 16))], 2.0, 1.0).high


def test_a_run_without_differences_rules_them_out() -> None:
    found = findings_with(noisy((50, 50), 0.04), (50, 50))
    estimate, verdict = largest_of(found), found.verdict
    assert verdict is not None
    assert verdict.says is VerdictKind.NONE
    assert estimate.high is not None
    assert estimate.high < 0.4
    assert "a relative difference above 0.4 is ruled out for all of the 3 words" in verdict.why


def test_a_smaller_limit_is_not_ruled_out() -> None:
    found = findings_with(noisy((50, 50), 0.04), (50, 50))
    again = with_claims(found, PROBE, {"ruled_out": 0.01})
    assert again.verdict is not None
    assert again.verdict.says is VerdictKind.FEW


def test_a_run_with_few_names_says_how_many_would_do() -> None:
    size = SampleSize(names=8, available=40, cap=12, min_count=2, questions=960)
    verdict = findings_with(noisy((8, 8), 0.12), (8, 8), size).verdict
    assert verdict is not None
    assert verdict.says is VerdictKind.FEW
    assert "names in each group" in verdict.why
    assert verdict.next is not None
    assert verdict.next.startswith("--set names_per_group=")


def test_where_the_names_do_not_suffice_the_set_cannot_tell() -> None:
    size = SampleSize(names=8, available=8, cap=12, min_count=2, questions=960)
    verdict = findings_with(noisy((8, 8), 0.12), (8, 8), size).verdict
    assert verdict is not None
    assert verdict.says is VerdictKind.CANNOT
    assert verdict.next is None
    assert "here are 8" in verdict.why


def test_of_words_that_never_fool_the_model_nothing_is_known() -> None:
    estimate = largest_of(findings_with(np.zeros((2, 20, 3)), (10, 10)))
    assert (estimate.value, estimate.high) == (None, None)
    assert "no word fooled the model" in str(estimate.note)


@pytest.mark.simulation
@pytest.mark.parametrize("sizes", [(25, 25), (8, 30)])
def test_the_band_holds_for_all_words_at_once(sizes: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    """No word differs in truth: the lower end exceeds 0 in at most a twentieth of the runs."""
    monkeypatch.setattr(analyse, "projection", lambda groups, sr: {})  # which takes longest
    lows = [largest_of(findings_with(noisy(sizes, 0.08, seed=seed), sizes)).low for seed in range(100)]
    assert np.mean([low > 0 for low in lows if low is not None]) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 100)
