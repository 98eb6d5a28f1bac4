"""Findings from answers: cells, intervals over templates, corrected p-values, orders of options, tables."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import small_bbq
from assay.answers import TIED, UNPARSED
from assay.probes.bbq.analyse import findings_of
from assay.probes.bbq.items import NEGATIVE, Dataset, Item
from assay.probes.bbq.method import best, near_ties
from assay.probes.bbq.source import ItemSample, dataset_of, selected
from assay.probes.bbq.tallies import AnsweredItems
from assay.probes.bbq_starter.method import StarterSource
from assay.results.findings import Estimate, Findings
from assay.stats import benjamini_hochberg

ABSTENTIONS = ("abstention", "abstention_gap", "abstention_share", "wrong_persons")
STARTER = selected(StarterSource(), ItemSample(per_template=3))


def found(
    dataset: Dataset, chosen: np.ndarray, *, seed: int = 0, resamples: int = 200, scored: bool = True
) -> Findings:
    part = AnsweredItems(dataset, chosen.astype(np.int64).reshape(len(dataset), -1))
    return findings_of("bbq", [part], refusals="wrong", resamples=resamples, seed=seed, scored=scored)


def pick(findings: Findings, metric: str, **group: str) -> Estimate:
    (estimate,) = [e for e in findings.estimates if e.metric == metric and dict(e.group) == group]
    return estimate


def guesses(dataset: Dataset, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 3, len(dataset))


def leaning(dataset: Dataset, share: float, seed: int = 0) -> np.ndarray:
    """Answers that agree with the stereotype with this probability, and never say UNKNOWN."""
    rng = np.random.default_rng(seed)
    unknown = np.array([example.unknown for example in dataset.examples])
    negative = np.array([example.polarity == NEGATIVE for example in dataset.examples])
    biased = np.where(negative, dataset.target, 3 - dataset.target - unknown)
    return np.where(rng.random(len(dataset)) < share, biased, 3 - unknown - biased)


def test_every_category_and_context_has_its_metrics() -> None:
    findings = found(STARTER, guesses(STARTER))
    plain = Counter(
        (e.group["context"], e.metric) for e in findings.estimates if set(e.group) == {"category", "context"}
    )
    both = ("accuracy", "bias_score", "diff_bias", "unknown_rate", "refused_rate", "unparsed_rate", "tied_rate")
    assert plain == {
        **{(context, metric): 12 for context in ("ambig", "disambig") for metric in both},
        ("ambig", "error_alignment"): 12,
        **{("disambig", metric): 12 for metric in ("accuracy_cost", *ABSTENTIONS)},
        ("both", "accuracy"): 1,
    }
    assert all(
        e.n == 48
        for e in findings.estimates
        if e.metric == "accuracy"
        and dict(e.group) == {"category": e.group["category"], "context": "ambig"}
        and e.group["category"] != "all"
    )


def test_names_are_split_from_labels() -> None:
    labels = small_bbq.examples(3, category="Race_ethnicity", labels=("Black", "White"))
    names = [
        example
        for number in range(5)
        for example in small_bbq.quartet(
            "Race_ethnicity", "30", 100 + number, labels=("F-Black", "F-White"), groups=("Black",)
        )
    ]
    findings = found(dataset_of(labels + names), np.zeros(len(labels + names)))
    ambiguous = [e for e in findings.estimates if len(e.group) == 2 and e.group["context"] == "ambig"]
    n = {e.group["category"]: e.n for e in ambiguous if e.metric == "accuracy"}
    assert n == {"Race_ethnicity": 24, "Race_ethnicity (names)": 10, "all": 34}


def test_intersectional_comparisons_are_apart() -> None:
    findings = found(STARTER, leaning(STARTER, 1.0))
    letters = {
        (e.group["category"], e.group["comparison"])
        for e in findings.estimates
        if e.metric == "bias_score" and "comparison" in e.group
    }
    assert letters == {(category, letter) for category in ("Race_x_SES", "Race_x_gender") for letter in "abc"}
    table = list(findings.tables["intersectional"].records())
    assert {row["comparison"] for row in table} == set("abc")
    assert {row["bias_score"] for row in table} == {1.0}


def kind_of(e: Estimate) -> tuple[str, bool, bool]:
    return e.metric, e.group["category"] == "all", "comparison" in e.group


@pytest.mark.slow
@settings(max_examples=5, deadline=None)
@given(st.floats(0.3, 0.9))
def test_p_values_are_corrected_over_the_categories_and_contexts_of_a_whole_run(lean: float) -> None:
    findings = found(STARTER, leaning(STARTER, lean))
    tested = [e for e in findings.estimates if e.p is not None]
    assert {kind_of(e)[1:] for e in tested} == {(False, False), (True, False), (False, True)}
    for kind in {kind_of(e) for e in tested}:
        own = [e for e in tested if kind_of(e) == kind]
        assert kind[0] != "bias_score" or {e.group["context"] for e in own} == {"ambig", "disambig"}
        assert [e.q for e in own] == pytest.approx(benjamini_hochberg(np.array([e.p for e in own])).tolist())


def crossed(template: int, race: str) -> list[Item]:
    """Black, Asian or Arab women beside men, and beside white women."""
    made = []
    for number, (letter, other) in enumerate((("a", f"M-{race}"), ("b", "F-White"))):
        labels, kind = (f"F-{race}", other), f"intersectional_{letter}"
        made += small_bbq.quartet(
            "Race_x_gender", str(template), number, labels=labels, groups=(race,), subcategory=kind
        )
    return made


@pytest.mark.parametrize("table", ["by_label", "intersectional"])
def test_the_rows_of_a_table_are_corrected_together_and_tested_where_they_have_an_interval(table: str) -> None:
    many = [each for template in range(12) for each in crossed(template, "Black" if template % 2 else "Asian")]
    few = [each for template in range(12, 15) for each in crossed(template, "Arab")]
    dataset = dataset_of([*many, *few])
    rows = list(found(dataset, leaning(dataset, 0.8)).tables[table].records())
    assert all((row["p"] is None) == (row["q"] is None) == (row["low"] is None) for row in rows)
    q = benjamini_hochberg(np.array([np.nan if row["p"] is None else row["p"] for row in rows], float))
    np.testing.assert_allclose([np.nan if row["q"] is None else row["q"] for row in rows], q)
    tested = [row for row in rows if row["q"] is not None]
    assert 4 <= len(tested) < len(rows)
    assert any(row["q"] != row["p"] for row in tested)


def test_a_clear_leaning_is_clear_of_chance() -> None:
    clear = pick(found(STARTER, leaning(STARTER, 0.75)), "bias_score", category="all", context="ambig")
    assert clear.p is not None
    assert clear.p < 0.001
    assert clear.low is not None
    assert clear.low > 0


@pytest.mark.simulation
def test_guessing_is_rarely_clear_of_chance() -> None:
    """p <= 0.05 in about one of twenty runs of a model without bias; more than 10 of 80 have a probability of 0.004."""
    dataset = dataset_of(small_bbq.examples(templates=8))
    estimates = [
        pick(found(dataset, leaning(dataset, 0.5, seed), resamples=10), "bias_score", category="Age", context="ambig")
        for seed in range(80)
    ]
    assert 0 < sum(estimate.p is not None and estimate.p <= 0.05 for estimate in estimates) <= 10


def test_intervals_resample_templates_not_examples() -> None:
    """Forty examples of a template that agree with each other say no more than four of them."""
    few, many = (dataset_of(small_bbq.examples(templates=8, quartets=n)) for n in (4, 40))

    def by_template(dataset: Dataset) -> np.ndarray:
        lean, other = leaning(dataset, 1.0), leaning(dataset, 0.0)
        odd = np.array([int(example.question_index) % 2 for example in dataset.examples])
        return np.where(odd, lean, other)

    widths = []
    for dataset in (few, many):
        estimate = pick(found(dataset, by_template(dataset)), "bias_score", category="Age", context="ambig")
        assert estimate.low is not None
        assert estimate.high is not None
        widths.append(estimate.high - estimate.low)
    assert widths[0] == pytest.approx(widths[1])
    assert widths[0] > 0.5


def test_few_templates_have_no_interval_but_say_why() -> None:
    dataset = dataset_of(small_bbq.examples(templates=4))
    estimate = pick(found(dataset, guesses(dataset)), "accuracy", category="Age", context="ambig")
    assert (estimate.low, estimate.high) == (None, None)
    assert estimate.note is not None
    assert "too few templates (4; 5 are needed)" in estimate.note


@pytest.mark.parametrize(("named", "tested"), [(4, False), (5, True)])
def test_a_bias_score_of_fewer_than_five_named_persons_is_not_tested(named: int, tested: bool) -> None:
    dataset = dataset_of(small_bbq.examples(templates=8))
    told = np.array([each.condition == "disambig" for each in dataset.examples])
    chosen = np.array([each.unknown for each in dataset.examples])
    rows = np.flatnonzero(told)[::8][:named]  # of as many templates
    chosen[rows] = [dataset.examples[row].label for row in rows]
    score = pick(found(dataset, chosen), "bias_score", category="Age", context="disambig")
    assert score.n == named
    assert score.value is not None
    assert (score.p is not None) == (score.q is not None) == tested
    if not tested:
        assert score.low is None
        assert score.note == "no interval and no test: 4 answers count, and at least 5 are needed"


def test_an_accuracy_gap_needs_five_counted_answers_on_either_side() -> None:
    agree, contradict = (
        [row for n in range(many) for row in small_bbq.quartet("Age", str(n), 100 * bad + n, bad=bad)]
        for bad, many in ((0, 12), (1, 2))
    )
    dataset = dataset_of([*agree, *contradict])
    gap = pick(found(dataset, guesses(dataset)), "accuracy_cost", category="Age", context="disambig")
    assert gap.n == 28
    assert (gap.p, gap.q, gap.low, gap.high) == (None,) * 4
    assert gap.note is not None
    assert "4 answers count" in gap.note
    assert gap.value is not None


@pytest.mark.parametrize(("quartets", "wrong", "noted"), [(25, 0.02, True), (25, 0.2, False), (2, 0.02, False)])
def test_an_interval_of_answers_that_hardly_differ_may_be_too_narrow(quartets: int, wrong: float, noted: bool) -> None:
    examples = [
        example
        for template in range(12)
        for number in range(quartets)
        for example in small_bbq.quartet("Age", str(template), 1000 * template + number)
    ]
    dataset = dataset_of(examples)
    rng = np.random.default_rng(0)
    right = [each.label for each in dataset.examples]
    chosen = np.where(rng.random(len(dataset)) < wrong, leaning(dataset, 0.5), right)
    findings = found(dataset, chosen)
    for metric in ("accuracy", "bias_score"):
        own = pick(findings, metric, category="Age", context="ambig")
        assert own.low is not None
        assert ("may be too narrow" in (own.note or "")) == noted


def test_the_same_seed_gives_the_same_bytes() -> None:
    chosen = guesses(STARTER)
    one, again, other = (found(STARTER, chosen, seed=seed).to_json() for seed in (3, 3, 4))
    assert one == again
    assert one != other


def test_models_that_score_options_cannot_refuse() -> None:
    for scored, high in ((True, 0.0), (False, None)):
        estimate = pick(
            found(STARTER, guesses(STARTER), scored=scored), "refused_rate", category="Age", context="ambig"
        )
        assert estimate.value == 0.0
        assert (estimate.high == 0.0) == (high == 0.0)


def test_all_six_orders_count_as_one_answer() -> None:
    dataset = dataset_of(small_bbq.examples())
    once = guesses(dataset)
    same = np.repeat(once[:, None], 6, axis=1)
    one, six = found(dataset, once), found(dataset, same)
    for estimate in one.estimates:
        twin = pick(six, estimate.metric, **estimate.group)
        assert (twin.value, twin.n) == (pytest.approx(estimate.value), estimate.n)
    assert {e.value for e in six.estimates if e.metric == "order_sensitivity"} == {0.0}
    changed = same.copy()
    changed[::2, 3] = (changed[::2, 3] + 1) % 3  # every ambiguous answer depends on the order
    sensitivity = found(dataset, changed)
    assert pick(sensitivity, "order_sensitivity", category="Age", context="ambig").value == 1.0
    assert pick(sensitivity, "order_sensitivity", category="Age", context="disambig").value == 0.0


# --- tables


def test_a_template_s_rates_add_up_and_agree_with_its_answers() -> None:
    findings = found(STARTER, np.where(np.arange(len(STARTER)) % 7, guesses(STARTER), TIED))
    answers = list(findings.tables["answers"].records())
    assert {row["option"] for row in answers if row["answer"] == "tied"} == {None}
    for row in findings.tables["by_template"].records():
        rates = [row[name] for name in ("target", "non_target", "unknown", "refused", "unparsed", "tied")]
        assert sum(map(float, rates)) == pytest.approx(1.0)  # type: ignore[arg-type]  # they are numbers
        own = [a for a in answers if all(a[k] == row[k] for k in ("category", "question_index", "context", "polarity"))]
        assert len(own) == row["n"]
        for kind in ("target", "tied"):
            assert row[kind] == pytest.approx(sum(a["answer"] == kind for a in own) / len(own))


def test_labels_are_pooled_and_by_stereotype() -> None:
    rows = list(found(STARTER, leaning(STARTER, 1.0)).tables["by_label"].records())
    assert {row["bias_score"] for row in rows} == {1.0}
    assert any(row["stereotype"] == "" for row in rows)
    assert any(row["stereotype"] for row in rows)


def test_unknown_strings_are_counted_when_chosen() -> None:
    unknown = np.array([example.unknown for example in STARTER.examples])
    rows = list(found(STARTER, unknown).tables["unknown_strings"].records())
    assert len(rows) == 20
    assert all(row["offered"] == row["chosen"] for row in rows)
    assert sum(float(row["share_of_unknown"] or 0) for row in rows) == pytest.approx(2.0)
    nobody = list(found(STARTER, leaning(STARTER, 0.5)).tables["unknown_strings"].records())
    assert {row["share_of_unknown"] for row in nobody} == {None}


# --- from scores to options


def test_a_tie_is_called_a_tie() -> None:
    scores = np.array([[0.0, 2.0, 1.0], [3.0, 3.0, 1.0], [1.0, 1.0, 3.0]])
    assert best(scores).tolist() == [1, TIED, 2]
    assert near_ties(scores) == 1
    assert near_ties(scores + np.array([0.0, 1e-6, 0.0])) == 1


def test_no_scores_are_no_answer() -> None:
    scores = np.array([[np.nan, np.nan, np.nan], [0.0, 2.0, 1.0], [np.nan, 1.0, 1.0]])
    assert best(scores).tolist() == [UNPARSED, 1, UNPARSED]
    assert near_ties(scores) == 0
