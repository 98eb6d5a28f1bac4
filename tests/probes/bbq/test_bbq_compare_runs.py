"""Two models on the same items: paired differences, intervals over templates, p-values by exchanging answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import small_bbq
from assay.answers import REFUSED, TIED, UNPARSED
from assay.compare.differences import Difference, differences_of
from assay.errors import DataError
from assay.probes import method_of
from assay.probes.bbq import PROBE
from assay.probes.bbq.analyse import METRICS, ORDER_SENSITIVITY, findings_of
from assay.probes.bbq.compare_runs import ItemTallies, RecalledRun, _changes, side_by_side
from assay.probes.bbq.count_answers import FIELDS, TallyField
from assay.probes.bbq.items import Dataset
from assay.probes.bbq.source import dataset_of
from assay.probes.bbq.tallies import AnsweredItems, counts
from assay.probes.contrast import ALIKE, Contrast
from assay.results.findings import Estimate, Findings, Table
from raising import raises

DATASET = dataset_of(small_bbq.examples(templates=12, quartets=4))
GOLD = np.array([example.label for example in DATASET.examples])
UNKNOWN = np.array([example.unknown for example in DATASET.examples])


def answered(chosen: np.ndarray, dataset: Dataset = DATASET, refusals: str = "wrong") -> Findings:
    part = AnsweredItems(dataset, chosen.astype(np.int64).reshape(len(dataset), -1))
    return findings_of("bbq", [part], refusals=refusals, resamples=20, seed=0, scored=True)


def paired(one: RecalledRun, other: RecalledRun, *, common: bool, resamples: int = 2000) -> Contrast:
    return method_of("bbq").contrast(one, other, settings={"resamples": resamples}, common=common)


Named = dict[tuple[str, str, str], Difference]


def differences(one: Findings, other: Findings, refusals: str = "wrong") -> Named:
    found = paired(
        RecalledRun(one.tables["answers"], refusals), RecalledRun(other.tables["answers"], refusals), common=True
    )
    made, _ = differences_of("bbq", "one", {"other": found.changes}, {})
    return {(each.change.group["context"], each.change.metric, each.change.group["category"]): each for each in made}


def guesses(seed: int, dataset: Dataset = DATASET) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 3, len(dataset))


def test_a_model_does_not_differ_from_itself() -> None:
    found = [each.change for each in differences(answered(guesses(0)), answered(guesses(0))).values()]
    assert {(each.value, each.low, each.high, each.p) for each in found} == {(0.0, 0.0, 0.0, 1.0)}
    assert {each.note for each in found} == {ALIKE}


@pytest.mark.slow
@settings(max_examples=4, deadline=None)
@given(st.integers(0, 1000), st.sampled_from([1, 3]))
@example(227, 1)  # all templates of a category are tied equally often
def test_beside_a_model_that_never_errs_a_difference_is_as_sure_as_the_runs_own_number(seed: int, orders: int) -> None:
    """Its accuracy is 1 in every resample, and its rates are 0: one path makes intervals of runs and of differences."""
    gold = np.array([[example.label] * orders for example in TWO.examples])
    chosen = np.random.default_rng(seed).choice([0, 1, 2, REFUSED, UNPARSED, TIED], size=gold.shape)
    right, own = answered(gold, TWO), answered(chosen, TWO)
    sides = [RecalledRun(each.tables["answers"], "wrong") for each in (right, own)]
    estimates = {(e.metric, *e.group.values()): e for e in own.estimates}
    constant = {"accuracy", "unparsed_rate", "tied_rate", "refused_rate", "accuracy_cost", "diff_bias"}
    seen = set()
    for change in paired(*sides, common=True, resamples=20).changes:
        estimate = estimates[change.change.metric, *change.change.group.values()]
        if change.change.metric in constant and estimate.value != 0:
            seen.add(change.change.metric)
            if estimate.low is None:  # of too few templates
                assert change.change.low is None
                continue
            low, high = PROBE.metric(estimate.metric).bounds
            own_reach, reach = reaches_of(estimate, low, high), reaches_of(change.change, low - high, high - low)
            assert any(reach[kind] == pytest.approx(own_reach[kind]) for kind in own_reach.keys() & reach.keys())
    assert seen >= {"accuracy", "unparsed_rate", "tied_rate", "accuracy_cost"}


def reaches_of(estimate: Estimate, low: float, high: float) -> dict[str, float]:
    """What an interval from `low` to `high` may be made of; in the middle of the range it may be either.

    t · error on the logit scale; or, where all templates agree, the share of others that there may be.
    """
    ends = (np.array([estimate.value, estimate.low, estimate.high], float) - low) / (high - low)
    middle, first, last = np.log(ends / (1 - ends))
    others = 1 - ends[1] / ends[0], 1 - (1 - ends[2]) / (1 - ends[0])
    found = {}
    if middle - first == pytest.approx(last - middle, abs=1e-6):
        found["error"] = float(last - first) / 2 * ends[0] * (1 - ends[0]) * (high - low)
    if others[0] == pytest.approx(others[1], abs=1e-6):
        found["others"] = float(others[0])
    return found


def test_exchanging_baseline_and_model_turns_the_sign() -> None:
    one, other = answered(guesses(1)), answered(guesses(2))
    there, back = differences(one, other), differences(other, one)
    for key, each in there.items():
        change, turned = each.change, back[key].change
        assert change.value == pytest.approx(-turned.value)  # type: ignore[operator]  # it is defined
        assert change.low == pytest.approx(-turned.high)  # type: ignore[operator]
        assert (change.p, change.q) == (turned.p, turned.q)


def test_a_better_model_is_clearly_better_and_the_sign_is_model_minus_baseline() -> None:
    rng = np.random.default_rng(1)
    worse = np.where(rng.random(len(GOLD)) < 0.5, GOLD, rng.integers(0, 3, len(GOLD)))
    found = differences(answered(worse), answered(GOLD))["disambig", "accuracy", "Age"]
    accuracy = float((worse == GOLD)[[e.condition == "disambig" for e in DATASET.examples]].mean())
    change = found.change
    assert change.value == pytest.approx(1 - accuracy)
    assert change.low is not None
    assert change.low > 0
    assert change.p is not None
    assert change.p < 0.01
    assert change.n == len(DATASET) // 2
    assert found.clear
    assert found.worse is not None
    assert found.worse.value == pytest.approx(accuracy - 1)
    assert found.worse.high is not None
    assert found.worse.high < 0


@pytest.mark.parametrize("refusals", ["wrong", "unknown", "exclude"])
def test_the_change_is_that_of_the_findings(refusals: str) -> None:
    rng = np.random.default_rng(2)
    shape = (len(TWO), 3)
    chosen = [rng.choice([0, 1, 2, REFUSED, UNPARSED], size=shape, p=[0.3, 0.3, 0.2, 0.1, 0.1]) for _ in range(2)]
    one, other = (answered(each, TWO, refusals) for each in chosen)
    found = differences(one, other, refusals)
    values = [
        {(e.group["context"], e.metric, e.group["category"]): e.value for e in each.estimates if len(e.group) == 2}
        for each in (one, other)
    ]
    assert found.keys() == values[0].keys()
    assert {metric for _, metric, _ in found} >= {"order_sensitivity", "error_alignment", "unknown_rate"}
    assert {category for _, _, category in found} == {"Age", "Religion", "all"}
    for key, each in found.items():
        assert each.before == pytest.approx(values[0][key])
        assert each.change.value == pytest.approx(values[1][key] - values[0][key], abs=1e-9)  # type: ignore[operator]
        assert each.change.low <= each.change.value <= each.change.high  # type: ignore[operator]  # all are defined
        assert each.change.q is not None


TWO = dataset_of(
    [
        *small_bbq.examples(templates=6, quartets=2),
        *small_bbq.examples(templates=6, quartets=2, category="Religion", labels=("Jewish", "Hindu")),
    ]
)


@pytest.mark.parametrize("refusals", ["wrong", "unknown", "exclude"])
@pytest.mark.parametrize("question_only", [False, True])
def test_tallies_of_the_table_are_those_of_the_answers(refusals: str, question_only: bool) -> None:
    chosen = np.random.default_rng(3).choice([0, 1, 2, REFUSED, UNPARSED], size=(len(TWO), 2))
    part = AnsweredItems(TWO, chosen, question_only=question_only)
    table = findings_of("bbq", [part], refusals=refusals, resamples=9, seed=0, scored=False).tables["answers"]
    items = ItemTallies.of(table, refusals, contents=True)
    assert len(items.rows) == len(TWO)
    np.testing.assert_allclose(items.tallies[:, :FIELDS], counts(part, refusals))


def test_one_exchange_by_hand() -> None:
    """A single template: exchanging it or not gives the change or its opposite, so that p is 1 and nothing is clear."""
    one = dataset_of(small_bbq.examples(templates=1, quartets=3))
    gold, unknown = (np.array([getattr(example, name) for example in one.examples]) for name in ("label", "unknown"))
    found = differences(answered(gold, one), answered(unknown, one))
    change = found["disambig", "accuracy", "Age"].change
    assert (change.value, change.p, change.low, change.n) == (-1.0, 1.0, None, 6)
    assert "too few templates" in str(change.note)


def test_only_items_that_both_answered_count() -> None:
    half = DATASET.take(np.arange(len(DATASET) // 2))
    one, other = answered(GOLD), answered(UNKNOWN[: len(half)], half)
    change = differences(one, other)["ambig", "accuracy", "Age"].change
    assert change.n == len(half) // 2
    assert change.value == 0.0
    found = paired(
        RecalledRun(one.tables["answers"], "wrong"), RecalledRun(other.tables["answers"], "wrong"), common=True
    )
    assert [(each.baseline, each.model, each.common) for each in found.counts] == [(192, 96, 96)]


def test_one_number_for_two_questions_is_not_one_item() -> None:
    examples = [replace(e, context=e.context + " It rained.") if e.example_id % 8 < 4 else e for e in DATASET.examples]
    other = dataset_of(examples)
    found = differences(answered(GOLD), answered(GOLD, other))
    assert {each.change.n for (context, *_), each in found.items() if context != "both"} == {len(DATASET) // 4}


def test_a_question_that_a_file_asks_twice_is_two_items() -> None:
    twice = dataset_of([*DATASET.examples, *(replace(e, example_id=e.example_id + 1000) for e in DATASET.examples)])
    chosen = guesses(5, twice)
    found = differences(answered(chosen, twice), answered(chosen, twice))
    assert {each.change.n for (context, *_), each in found.items() if context != "both"} == {len(DATASET)}
    assert {each.change.value for each in found.values()} == {0.0}


def test_refusals_are_counted_alike_and_it_is_said() -> None:
    chosen = np.where(np.arange(len(GOLD)) % 3 == 0, REFUSED, guesses(6))
    table = answered(chosen).tables["answers"]
    found = paired(RecalledRun(table, "exclude"), RecalledRun(table, "wrong"), common=False)
    assert {change.change.value for change in found.changes} == {0.0}
    assert "refusals count as exclude in both" in found.notes[0]


def test_an_undefined_score_has_a_reason() -> None:
    found = differences(answered(GOLD), answered(UNKNOWN))
    change = found["disambig", "bias_score", "Age"].change
    assert change.value is None
    assert "undefined in the model: no answer named a person" in str(change.note)
    assert found["ambig", "bias_score", "Age"].change.value == 0.0


@pytest.mark.simulation
def test_a_planted_change_is_covered() -> None:
    """The baseline is right in 60 of 100 answers, the model in 70."""
    covered = 0
    rng = np.random.default_rng(4)
    for _ in range(30):
        one, other = (np.where(rng.random(len(GOLD)) < share, GOLD, (GOLD + 1) % 3) for share in (0.6, 0.7))
        change = differences(answered(one), answered(other))["disambig", "accuracy", "Age"].change
        covered += change.low <= 0.1 <= change.high  # type: ignore[operator]  # both are defined
    assert covered >= 25


def test_intervals_are_drawn_as_often_as_the_baseline_says_and_the_rest_does_not_depend_on_it() -> None:
    sides = [RecalledRun(answered(guesses(seed)).tables["answers"], "wrong") for seed in (1, 2)]
    few, many = (paired(*sides, common=True, resamples=resamples).changes for resamples in (50, 2000))
    for mine, theirs in zip(few, many, strict=True):
        assert replace(mine.change, low=None, high=None) == replace(theirs.change, low=None, high=None)
    assert any(mine.change.low != theirs.change.low for mine, theirs in zip(few, many, strict=True))


def test_the_descriptor_has_the_metrics_ranges() -> None:
    for metric in (*(each for own in METRICS.values() for each in own), ORDER_SENSITIVITY):
        described = PROBE.metric(metric.name)
        assert (described.bounds, described in PROBE.metrics) == (metric.bounds, True)


def test_scores_stand_side_by_side() -> None:
    rows = list(side_by_side([("one", answered(GOLD)), ("other", answered(UNKNOWN))])["scores"].records())
    assert {row["model"] for row in rows} == {"one", "other"}
    assert {row["value"] for row in rows if (row["context"], row["metric"]) == ("ambig", "accuracy")} == {1.0}


# --- what a change of the bias score comes with


def stereotyped(dataset: Dataset = DATASET) -> np.ndarray:
    both = zip(dataset.examples, dataset.target.tolist(), strict=True)
    return np.array([target if each.polarity == "neg" else 3 - each.unknown - target for each, target in both])


def contrast(one: np.ndarray, other: np.ndarray, dataset: Dataset = DATASET) -> Contrast:
    opened = [RecalledRun(answered(chosen, dataset).tables["answers"], "wrong") for chosen in (one, other)]
    return paired(*opened, common=True, resamples=50)


@pytest.mark.parametrize("several", [False, True])
def test_beside_a_gain_stand_accuracy_and_the_rate_of_unknown(several: bool) -> None:
    """A model that evades every question has no bias, and is of no use."""
    rows = small_bbq.examples(12, 4) + (small_bbq.examples(12, 4, "Religion", ("Hindu", "Sikh")) if several else [])
    dataset = dataset_of(rows)
    found = contrast(stereotyped(dataset), np.array([each.unknown for each in dataset.examples]), dataset)
    table = {(row["category"], row["measure"]): row for row in found.tables["beside"].records()}
    assert [*dict.fromkeys(category for category, _ in table)] == (["all", "Age", "Religion"] if several else ["Age"])
    whole = "all" if several else "Age"
    assert {name: (row["before"], row["after"]) for (where, name), row in table.items() if where == whole} == {
        "bias, ambig.": (1.0, 0.0),
        "accuracy, disamb.": (0.5, 0.0),
        "UNKNOWN, ambig.": (0.0, 1.0),
        "UNKNOWN, disamb.": (0.0, 1.0),
    }
    (said,) = found.remarks
    called = "all categories" if several else "Age"
    assert said.startswith(
        f"Bias score in ambiguous questions, {called}: 1.000, now 0.000. Accuracy in disambiguated questions: "
    )
    assert said.endswith(" The smaller score came with fewer right answers.")


def test_a_gain_without_a_loss_is_not_called_one() -> None:
    (said,) = contrast(stereotyped(), GOLD).remarks
    assert "Accuracy in disambiguated questions: 0.500, now 1.000" in said
    assert "fewer right answers" not in said
    (worse,) = contrast(UNKNOWN, stereotyped()).remarks
    assert "fewer right answers" not in worse


def test_without_questions_that_the_text_answers_nothing_stands_beside() -> None:
    half = DATASET.take(np.flatnonzero([each.condition == "ambig" for each in DATASET.examples]))
    opened = RecalledRun(answered(guesses(0, half), half).tables["answers"], "wrong")
    found = paired(opened, opened, common=True, resamples=50)
    assert found.changes
    assert (dict(found.tables), list(found.remarks)) == ({}, [])


def test_a_table_of_answers_that_lacks_a_column_is_bad_data() -> None:
    with raises("missing-key", DataError, key="question_index"):
        ItemTallies.of(Table(("category", "answer"), [("Age", "target")]), "unknown", contents=False)


# --- few answers


def wrong_in(rows: Sequence[int]) -> np.ndarray:
    """Right answers, but for these ambiguous questions, in which the first person is named."""
    chosen = GOLD.copy()
    ambiguous = np.flatnonzero(GOLD == UNKNOWN)
    for row in ambiguous[list(rows)]:
        chosen[row] = (UNKNOWN[row] + 1) % 3
    return chosen


def test_nothing_is_tested_against_one_wrong_answer_of_the_baseline() -> None:
    found = differences(answered(wrong_in([3])), answered(wrong_in(range(0, 96, 2))))
    share = found["ambig", "error_alignment", "Age"]
    assert (share.change.p, share.change.q, share.change.low, share.change.high) == (None,) * 4
    assert share.change.note == "not tested: 1 answer counts in the baseline, and at least 5 are needed in both"
    assert share.change.value is not None
    assert not share.clear
    assert found["ambig", "accuracy", "Age"].clear  # this counts all answers


@pytest.mark.parametrize(("wrong", "tested"), [(4, False), (5, True)])
def test_five_answers_on_either_side_are_tested(wrong: int, tested: bool) -> None:
    few, many = answered(wrong_in(range(0, 8 * wrong, 8))), answered(wrong_in(range(0, 96, 2)))
    for pair in ((few, many), (many, few)):
        share = differences(*pair)["ambig", "error_alignment", "Age"].change
        assert (share.p is not None) == tested
        if not tested:
            assert share.note is not None
            assert f"4 answers count in the {'baseline' if pair[0] is few else 'model'}" in share.note


def clear_of(tends: tuple[tuple[float, float], tuple[float, float]], pairs: int) -> list[str]:
    """Clear differences of biases between models that each name a person this often, agreeing this often."""
    rng, templates, asked = np.random.default_rng(1), 50, 4
    keys = [("Age", str(number), "ambig", "", str(number), 0) for number in range(templates)]
    clear = []
    for _ in range(pairs):
        tallies = np.zeros((2, templates, FIELDS))
        for own, (person, agrees) in zip(tallies, tends, strict=True):
            named = rng.binomial(asked, person, templates)
            own[:, [TallyField.ASKED, TallyField.COUNTED, TallyField.TARGETED]] = asked
            own[:, TallyField.BIASED] = rng.binomial(named, agrees)
            own[:, TallyField.COUNTER] = named - own[:, TallyField.BIASED]
            own[:, [TallyField.CORRECT, TallyField.TARGETED_CORRECT, TallyField.UNKNOWN]] = (asked - named)[:, None]
        changes = _changes(PROBE, keys, tallies, 200, 199, None, ())
        found, _ = differences_of("bbq", "one", {"other": changes}, {})
        clear += [each.change.metric for each in found if each.clear and each.change.metric in BIAS]
    return clear


BIAS = ("bias_score", "error_alignment", "diff_bias")


@pytest.mark.parametrize(
    "tends",
    [
        ((0.05, 0.5), (0.05, 0.5)),  # the same tendencies, and few errors
        ((0.02, 0.5), (0.5, 0.5)),  # neither leans, but one makes far fewer errors
    ],
)
def test_models_without_a_lean_have_no_headline_about_it(
    tends: tuple[tuple[float, float], tuple[float, float]],
) -> None:
    assert len(clear_of(tends, 40)) <= 2  # 5%


def test_a_lean_is_still_found_where_one_model_makes_few_errors() -> None:
    assert clear_of(((0.1, 0.1), (0.5, 0.9)), 10).count("error_alignment") >= 9
