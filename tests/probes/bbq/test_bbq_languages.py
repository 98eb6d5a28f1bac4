"""One model in two languages: paired where the sets have the same templates, side by side where they do not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

import small_bbq
from assay.probes.bbq import PROBE
from assay.probes.bbq.analyse import findings_of
from assay.probes.bbq.compare_runs import DIFFERENT, RecalledRun, compare_answers
from assay.probes.bbq.edition_language import EditionLanguage
from assay.probes.bbq.items import Dataset, Item
from assay.probes.bbq.source import dataset_of
from assay.probes.bbq.tallies import AnsweredItems
from assay.probes.contrast import Contrast, PairedChange
from assay.results.findings import Table
from raising import raises

ROWS = small_bbq.examples(templates=12, quartets=4)


def translated(rows: Sequence[Item]) -> list[Item]:
    """The same examples in words that no English one has."""
    return [replace(each, context=f"¡{each.context}", answers=tuple(f"El {a}" for a in each.answers)) for each in rows]


ENGLISH, SPANISH = dataset_of(ROWS), dataset_of(translated(ROWS))


def opened(dataset: Dataset, chosen: np.ndarray, variety: EditionLanguage) -> RecalledRun:
    part = AnsweredItems(dataset, chosen.astype(np.int64).reshape(len(dataset), 1))
    found = findings_of("bbq", [part], refusals="wrong", resamples=2, seed=0, scored=True)
    return RecalledRun(found.tables["answers"], "wrong", variety=variety)


def biased(dataset: Dataset, share: np.ndarray | float, rng: np.random.Generator) -> np.ndarray:
    """Answers that name a person, on the stereotype's side with this probability (of each example)."""
    rows = zip(dataset.examples, dataset.target.tolist(), strict=True)
    side = np.array([target if each.polarity == "neg" else 3 - each.unknown - target for each, target in rows])
    unknown = np.array([each.unknown for each in dataset.examples])
    return np.where(rng.random(len(dataset)) < share, side, 3 - unknown - side)


def contrast(one: RecalledRun, other: RecalledRun, *, resamples: int = 200, common: bool = False) -> Contrast:
    return compare_answers(PROBE, one, other, resamples=resamples, common=common, exchanges=499)


def change(found: Contrast, metric: str = "bias_score", context: str = "ambig", category: str = "Age") -> PairedChange:
    group = {"category": category, "context": context}
    (only,) = (each for each in found.changes if each.change.metric == metric and each.change.group == group)
    return only


EN, ES, ELSEWHERE = EditionLanguage("mbbq", "en"), EditionLanguage("mbbq", "es"), EditionLanguage()


def test_languages_of_one_set_are_paired_by_number_and_as_sure_as_the_same_questions() -> None:
    rng = np.random.default_rng(0)
    chosen = biased(ENGLISH, 0.4, rng), biased(ENGLISH, 0.7, rng)
    found = contrast(opened(ENGLISH, chosen[0], EN), opened(SPANISH, chosen[1], ES))
    same = contrast(opened(ENGLISH, chosen[0], EN), opened(ENGLISH, chosen[1], EN))
    assert [(each.baseline, each.model, each.common) for each in found.counts] == [(192, 192, 192)]
    assert [each.change for each in found.changes] == [each.change for each in same.changes]
    assert change(found).change.n == 96
    assert "in English" in found.remarks[0]
    assert "in Spanish" in found.remarks[0]
    assert "now" in same.remarks[0]


def test_a_template_whose_examples_have_other_numbers_is_still_paired() -> None:
    """As in MBBQ, whose Spanish questions about gender are sorted in another way than the English ones."""
    moved = [replace(each, example_id=each.example_id + 8000 * (each.question_index == "3")) for each in ROWS]
    spanish = dataset_of(translated(moved))
    chosen = np.array([each.label for each in ENGLISH.examples])
    found = contrast(opened(ENGLISH, chosen, EN), opened(spanish, chosen, ES))
    assert found.counts[0].common == 192
    assert {each.change.value for each in found.changes if each.change.value is not None} == {0.0}


@pytest.mark.slow
def test_the_interval_is_that_of_a_slow_direct_computation() -> None:
    """Templates drawn one by one, with all their examples in both languages, and the score from its formula."""
    rng = np.random.default_rng(1)
    both = [opened(ENGLISH, biased(ENGLISH, 0.45, rng), EN), opened(SPANISH, biased(SPANISH, 0.65, rng), ES)]
    tables = [side.answers for side in both]
    numbers = sorted({str(row["question_index"]) for row in tables[0].records()})
    drawn = [[numbers[k] for k in rng.integers(0, len(numbers), len(numbers))] for _ in range(2000)]
    scores = np.array([[score(table, templates) for table in tables] for templates in drawn])
    found = change(contrast(*both, resamples=2000)).change
    assert found.value == pytest.approx(score(tables[1], numbers) - score(tables[0], numbers))
    error = float((scores[:, 1] - scores[:, 0]).std(ddof=1)) * np.sqrt(12 / 11)
    assert found.low is not None
    assert found.high is not None
    half = (found.high - found.low) / 2
    assert half / error == pytest.approx(2.201, rel=0.06)  # Student's t with 11 degrees of freedom


def score(table: Table, templates: Sequence[str]) -> float:
    """s_AMB of the templates' answers, each as often as it is listed."""
    by_template: dict[str, list[int]] = {}
    for row in table.records():
        if row["context"] == "ambig":
            by_template.setdefault(str(row["question_index"]), []).append(int(row["biased"]))  # type: ignore[arg-type]
    sides = [side for name in templates for side in by_template[name]]
    return 2 * sum(sides) / len(sides) - 1  # nobody says UNKNOWN


@pytest.mark.simulation
def test_a_planted_difference_is_covered_and_pairing_makes_it_surer() -> None:
    """Templates differ much from each other, and alike in both languages: that must not widen the interval."""
    rng, covered, narrower = np.random.default_rng(2), 0, 0
    number = np.array([int(each.question_index) for each in ENGLISH.examples])
    for _ in range(30):
        lean = rng.uniform(0.1, 0.7, 13)[number]
        one, other = biased(ENGLISH, lean, rng), biased(SPANISH, lean + 0.2, rng)
        found = change(contrast(opened(ENGLISH, one, EN), opened(SPANISH, other, ES))).change
        apart = change(contrast(opened(ENGLISH, one, EN), opened(SPANISH, other, ELSEWHERE))).change
        assert found.value == pytest.approx(apart.value)
        covered += found.low <= 0.4 <= found.high  # type: ignore[operator]  # both are defined
        narrower += found.high - found.low < apart.high - apart.low  # type: ignore[operator]
    assert covered >= 25
    assert narrower >= 28


def test_sets_with_different_questions_are_not_paired_and_it_is_said() -> None:
    rng = np.random.default_rng(3)
    other = dataset_of(
        [
            *small_bbq.examples(templates=9, quartets=2, category="age"),
            *small_bbq.examples(9, 2, "Religion", ("Hindu", "Sikh")),
        ]
    )
    one = opened(ENGLISH, biased(ENGLISH, 0.3, rng), EN)
    two = opened(other, biased(other, 0.9, rng), ELSEWHERE)
    found = contrast(one, two)
    assert (list(found.counts), found.notes) == ([], [DIFFERENT])
    assert {each.change.group["category"] for each in found.changes} == {"Age", "all"}
    each = change(found).change
    assert each.value == pytest.approx(1.2, abs=0.25)
    assert each.low is not None
    assert each.low > 0
    assert each.p is not None
    assert each.p < 0.001
    back = change(contrast(two, one), category="age").change
    assert back.value == pytest.approx(-each.value)  # type: ignore[operator]  # it is defined


@pytest.mark.simulation
def test_p_of_sets_with_different_questions_is_fair() -> None:
    """Two sets on which the model is alike: few of the tests find a difference."""
    rng = np.random.default_rng(4)
    found = [
        change(
            contrast(
                opened(ENGLISH, biased(ENGLISH, 0.5, rng), EN),
                opened(SPANISH, biased(SPANISH, 0.5, rng), ELSEWHERE),
            )
        ).change.p
        for _ in range(40)
    ]
    assert sum(p <= 0.05 for p in found if p is not None) <= 6
    assert sum(p <= 0.5 for p in found if p is not None) >= 10


def test_only_items_with_the_same_content_cannot_be_asked_for_in_two_languages() -> None:
    chosen = np.zeros(len(ENGLISH))
    with raises("not-comparable", key="language"):
        contrast(opened(ENGLISH, chosen, EN), opened(SPANISH, chosen, ES), common=True)
