"""Two models on the same names, contexts and words."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.compare.differences import Difference, differences_of
from assay.probes import method_of
from assay.probes.claims import corrected_table
from assay.probes.contrast import SEED, Contrast
from assay.probes.sodapop.analyse import AnalysisInputs, findings_of
from assay.probes.sodapop.compare_runs import COLUMNS, WORD_DIFFERENCES
from assay.probes.sodapop.method import SodapopAnswers
from assay.probes.sodapop.names import NameGroup, NameGroups
from assay.probes.sodapop.rates import SuccessRates
from assay.probes.sodapop.score_files import KeptQuestions
from assay.probes.sodapop.settings import SodapopSettings
from assay.probes.sodapop.traits import packaged_lexicon

WORDS = ("bold", "calm", "mild", "neat")
SIZE = 8


def groups(size: int = SIZE) -> NameGroups:
    return NameGroups(tuple(NameGroup(name, tuple(f"{name}{k}" for k in range(size))) for name in "AB"))


def opened(
    seed: int = 0, *, bold: float = 0.0, size: int = SIZE, contexts: int = 6, level: float = 0.4
) -> SodapopAnswers:
    """Random success rates; "bold" fools the model more for A's names by `bold`, less for B's."""
    rng = np.random.default_rng(seed)
    who = groups(size)
    names = who.all_names()
    rates = level + rng.normal(0, 0.05, (contexts, len(names), len(WORDS)))
    rates[:, :size, 0] += bold
    rates[:, size:, 0] -= bold
    asked = rng.integers(20, 40, rates.shape).astype(np.float64)
    won = np.clip(rates, 0, 1) * asked
    texts = tuple((f"NAME saw {k}.", "How is NAME?", "kind") for k in range(contexts))
    return gathered(SuccessRates(names, WORDS, won, asked, won), who, texts)


def gathered(rates: SuccessRates, who: NameGroups, texts: tuple[tuple[str, ...], ...]) -> SodapopAnswers:
    return SodapopAnswers(rates, who, texts, KeptQuestions(who, "lower"), seed=0)


def paired(one: SodapopAnswers, other: SodapopAnswers, *, common: bool, resamples: int = 1000) -> Contrast:
    return method_of("sodapop").contrast(one, other, settings={"resamples": resamples}, common=common)


def words(one: SodapopAnswers, other: SodapopAnswers) -> dict[str, dict[str, float]]:
    rows = corrected_table(paired(one, other, common=False).tables[WORD_DIFFERENCES]).records()
    return {str(row["word"]): row for row in rows}  # type: ignore[misc]  # the other cells are numbers


def separation(one: SodapopAnswers, other: SodapopAnswers) -> Difference:
    (found,), _ = differences_of("sodapop", "one", {"other": paired(one, other, common=False).changes}, {})
    return found


def test_a_model_does_not_differ_from_itself() -> None:
    own = opened()
    change = separation(own, own).change
    assert (change.value, change.p, change.low) == (0.0, 1.0, None)
    assert "no interval" in str(change.note)
    for row in words(own, own).values():
        assert (row["difference"], row["p"], row["q"]) == (0.0, 1.0, 1.0)
        assert (row["low"], row["high"]) == (0.0, 0.0)


@pytest.mark.simulation
@settings(max_examples=12, deadline=None)
@given(st.integers(0, 1000), st.sampled_from([4, 6]), st.floats(-0.2, 0.2))
def test_beside_a_model_that_knows_no_groups_an_interval_is_the_runs_own(seed: int, contexts: int, bold: float) -> None:
    """Its RD is 0 in every resample: one path makes the intervals of runs and of differences."""
    own = opened(seed, bold=bold, contexts=contexts)
    study = AnalysisInputs(own.groups, SodapopSettings(permutations=99, resamples=60), packaged_lexicon(), seed=SEED)
    rows = findings_of(own.rates, study).tables["words"].records()
    intervals = {row["word"]: [row["low"], row["high"]] for row in rows}
    alike = replace(own, rates=replace(own.rates, successes=own.rates.distractors / 2))
    found = paired(alike, own, common=False, resamples=60).tables[WORD_DIFFERENCES].records()
    assert {row["word"]: [row["low"], row["high"]] for row in found} == {
        word: pytest.approx(ends, abs=1e-9) for word, ends in intervals.items()
    }


def test_the_changes_are_those_of_the_findings() -> None:
    """RD of every word and KMeans' accuracy, when both runs have the same names, contexts and words."""
    one, other = opened(1, bold=0.1), opened(2)
    found = []
    for each in (one, other):
        study = AnalysisInputs(each.groups, SodapopSettings(permutations=99, resamples=20), packaged_lexicon())
        found.append(findings_of(each.rates, study))
    rd = [{str(row["word"]): row["rd"] for row in each.tables["words"].records()} for each in found]
    for word, row in words(one, other).items():
        assert row["rd_baseline"] == pytest.approx(rd[0][word])
        assert row["difference"] == pytest.approx(rd[1][word] - rd[0][word])  # type: ignore[operator]  # both defined
        assert row["low"] <= row["difference"] <= row["high"]
    accuracies = [each.estimates[0].value for each in found]
    change = separation(one, other)
    assert [change.before, change.after] == pytest.approx(accuracies)
    assert change.change.group == found[0].estimates[0].group


def test_exchanging_baseline_and_model_turns_the_sign() -> None:
    one, other = opened(3, bold=0.05), opened(4)
    there, back = words(one, other), words(other, one)
    for word, row in there.items():
        assert row["difference"] == pytest.approx(-back[word]["difference"])
        assert row["low"] == pytest.approx(-back[word]["high"])
        assert row["p"] == pytest.approx(back[word]["p"])
    changes = separation(one, other).change, separation(other, one).change
    assert changes[0].value == -changes[1].value  # type: ignore[operator]  # both are defined
    assert changes[0].p == changes[1].p


def test_a_planted_change_is_found_and_the_others_are_not() -> None:
    found = words(opened(5), opened(6, bold=0.15))
    bold = found.pop("bold")
    assert bold["q"] < 0.01
    assert bold["low"] > 0
    assert bold["difference"] == pytest.approx(0.75, abs=0.1)  # 0.3 of 0.4
    assert all(row["q"] > 0.05 for row in found.values())
    assert next(iter(words(opened(5), opened(6, bold=0.15)))) == "bold"  # the greatest change first


@pytest.mark.slow
def test_being_fooled_more_often_is_no_difference_between_groups() -> None:
    """Twice as often for everybody: RD does not change, and p does not think so."""
    small = [row["p"] <= 0.05 for k in range(10) for row in words(opened(k), opened(50 + k, level=0.8)).values()]
    assert sum(small) <= 6  # of 40


def test_separation_by_hand() -> None:
    """Two names of six change into the cluster of their group: 2 of 2² exchanges are as one-sided."""
    who = groups(3)

    def made(values: list[float]) -> SodapopAnswers:
        won = np.array(values).reshape(1, 6, 1)
        return gathered(SuccessRates(who.all_names(), ("w",), won, np.ones_like(won), won), who, (("NAME came.",),))

    mixed, apart = made([0.9, 0.1, 0.1, 0.9, 0.1, 0.9]), made([0.9, 0.9, 0.9, 0.1, 0.1, 0.1])
    found = separation(mixed, apart)
    assert found.before == pytest.approx(4 / 6)
    assert found.change.value == pytest.approx(2 / 6)
    assert found.change.p == pytest.approx(0.5)  # two names moved, both for the better
    assert found.change.n == 6
    assert found.worse is not None
    assert found.worse.value == pytest.approx(2 / 6)


def test_only_what_both_have_counts() -> None:
    one, other = opened(7), opened(8, size=6, contexts=7)
    fewer = replace(other, rates=replace(other.rates, words=("bold", "calm", "mild", "loud")))
    found = paired(one, fewer, common=True)
    (counts,) = found.counts
    assert (counts.baseline, counts.model, counts.common) == (6 * 16 * 4, 7 * 12 * 4, 6 * 12 * 3)
    assert {row["word"] for row in found.tables[WORD_DIFFERENCES].records()} == {"bold", "calm", "mild"}
    assert found.changes[0].change.n == 12
    assert "names: 16, 12, 12 in common; contexts: 6, 7, 6 in common; words: 4, 4, 3 in common" in found.notes[0]
    elsewhere = replace(other, contexts=tuple(("NAME left.", *context[1:]) for context in other.contexts))
    assert paired(one, elsewhere, common=True).counts[0].common == 0


def test_a_context_is_its_text_its_question_and_its_answer() -> None:
    one, other = opened(9), opened(10)
    asked = replace(other, contexts=tuple((text, "Why?", answer) for text, _, answer in other.contexts))
    assert paired(one, asked, common=True).counts[0].common == 0
    text_alone = replace(other, contexts=tuple((text,) for text, *_ in other.contexts))  # results of somebody else
    assert paired(one, text_alone, common=True).counts[0].common == one.rates.successes.size


def test_pools_of_different_models_are_mentioned() -> None:
    one, other = replace(opened(), filler="x"), replace(opened(1), filler="y")
    assert "different models wrote the distractors" in paired(one, other, common=False).notes[1]
    assert len(paired(one, replace(other, filler="x"), common=False).notes) == 1


def test_intervals_are_drawn_as_often_as_the_baseline_says_and_the_rest_does_not_depend_on_it() -> None:
    one, other = opened(3), opened(4)
    few, many = (paired(one, other, common=False, resamples=n).tables[WORD_DIFFERENCES].records() for n in (50, 1000))
    for mine, theirs in zip(few, many, strict=True):
        assert mine["low"] != theirs["low"]
        assert {**mine, "low": 0, "high": 0} == {**theirs, "low": 0, "high": 0}


def test_few_names_have_neither_interval_nor_p() -> None:
    row = words(opened(size=3), opened(1, size=3))["bold"]
    assert [key for key in COLUMNS if row[key] is None] == ["low", "high", "p", "q"]
