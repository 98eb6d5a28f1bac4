"""BBQ's diagnosis: who follows the option's place, and who answers by what the options say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

import small_bbq
from assay.answers import REFUSED, UNPARSED
from assay.probes.bbq.diagnose import diagnosis_of
from assay.probes.bbq.items import NEGATIVE, Dataset, Item
from assay.probes.bbq.plan import ORDERS
from assay.probes.bbq.settings import BBQSettings
from assay.probes.bbq.source import ItemSample, dataset_of, selected
from assay.probes.bbq.tallies import AnsweredItems
from assay.probes.bbq_starter.method import StarterSource
from assay.results.diagnosis import Diagnosis, NegatedPairs, SwappedPairs

STARTER = selected(StarterSource(), ItemSample(in_all=66))  # 264 questions
UNKNOWN_LAST = dataset_of(
    [
        each
        for n in range(60)
        for each in small_bbq.quartet("Age", str(n % 12), n, bad=n % 2, order=(n // 2 % 2, 1 - n // 2 % 2, 2))
    ]
)


def diagnosis(dataset: Dataset, chosen: object, *, question_only: bool = False) -> Diagnosis:
    answers = np.array(chosen, np.int64).reshape(len(dataset), -1)
    return diagnosis_of([AnsweredItems(dataset, answers, question_only)], None, BBQSettings())


def biased(dataset: Dataset) -> list[int]:
    """The person who fits the stereotype."""
    return [
        int(target) if example.polarity == NEGATIVE else 3 - example.unknown - int(target)
        for example, target in zip(dataset.examples, dataset.target, strict=True)
    ]


BY_CONTENT: dict[str, Callable[[Dataset], list[int]]] = {
    "always right": lambda dataset: [each.label for each in dataset.examples],
    "always UNKNOWN": lambda dataset: [each.unknown for each in dataset.examples],
    "always stereotyped": biased,
    "never right": lambda dataset: [3 - each.unknown - each.label if each.label != each.unknown else right
                                    for each, right in zip(dataset.examples, biased(dataset), strict=True)],
}  # fmt: skip


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_model_that_always_chooses_one_place_follows_it(place: int) -> None:
    found = diagnosis(STARTER, [place] * len(STARTER))
    assert found.follows_place
    assert f"{'ABC'[place]} got 100% of 264 answers" in found.why


@pytest.mark.parametrize("dataset", [STARTER, UNKNOWN_LAST], ids=["mixed", "UNKNOWN last"])
@pytest.mark.parametrize("answers", BY_CONTENT.values(), ids=BY_CONTENT)
def test_a_model_that_answers_by_what_options_say_has_the_expected_shares(
    dataset: Dataset, answers: Callable[[Dataset], list[int]]
) -> None:
    """Wherever the options stand: an UNKNOWN that is always last is no place that the model prefers."""
    found = diagnosis(dataset, answers(dataset))
    assert not found.follows_place
    assert found.places is not None
    assert [each.share for each in found.places] == pytest.approx([each.expected for each in found.places])


@pytest.mark.parametrize("seed", range(20))
def test_a_model_that_guesses_does_not_follow_a_place(seed: int) -> None:
    rng = np.random.default_rng(seed)
    assert not diagnosis(STARTER, rng.integers(0, 3, len(STARTER))).follows_place
    assert not diagnosis(STARTER, rng.integers(0, 3, (len(STARTER), len(ORDERS)))).follows_place


def test_a_preference_for_a_place_shows_over_what_is_answered_rightly() -> None:
    """Half of the answers are right, the others A."""
    half = np.random.default_rng(0).random(len(STARTER)) < 0.5
    found = diagnosis(STARTER, np.where(half, [each.label for each in STARTER.examples], 0))
    assert found.follows_place


def test_targets_that_nobody_knows_change_nothing() -> None:
    unknown = replace(STARTER, target=np.full_like(STARTER.target, -1))
    assert not diagnosis(unknown, [each.label for each in unknown.examples]).follows_place
    assert diagnosis(unknown, [0] * len(unknown)).follows_place


def test_answers_that_name_no_option_have_no_place() -> None:
    chosen = np.array([each.label for each in STARTER.examples])
    chosen[::2], chosen[1::4] = UNPARSED, REFUSED
    found = diagnosis(STARTER, chosen)
    assert found.places is not None
    assert {each.n for each in found.places} == {66}
    nothing = diagnosis(STARTER, [UNPARSED] * len(STARTER))
    assert {*nothing.missing} == {"places", "exchanged", "ties", "negation"}
    assert not nothing.follows_place


# --- orders


def test_options_that_moved_take_the_answer_along_or_leave_the_place() -> None:
    first_shown = np.array(ORDERS)[:, 0]
    found = diagnosis(STARTER, np.tile(first_shown, (len(STARTER), 1)))
    assert found.exchanged == [SwappedPairs(264 * 6, 264 * 6)]
    assert found.follows_place
    right = np.repeat([[each.label] for each in STARTER.examples], len(ORDERS), axis=1)
    found = diagnosis(STARTER, right)
    assert found.exchanged == [SwappedPairs(0, 264 * 6)]
    assert not found.follows_place
    assert diagnosis(STARTER, right[:, :1]).exchanged is None


def test_a_place_of_its_own_for_every_question_is_seen_when_orders_are_exchanged() -> None:
    """All places are chosen equally often: the shares alone show nothing."""
    shown_at = np.array(ORDERS)  # (order, place)
    chosen = [shown_at[:, number % 3] for number in range(len(STARTER))]
    found = diagnosis(STARTER, chosen)
    assert found.places is not None
    assert max(each.excess for each in found.places) < 0.01
    assert found.follows_place


# --- negation


def test_twins_whose_right_answer_changes_are_looked_at_and_no_others() -> None:
    def answered(answer: Callable[[Item], int]) -> NegatedPairs | None:
        return diagnosis(STARTER, [answer(each) for each in STARTER.examples]).negation

    assert answered(lambda each: each.label) == NegatedPairs(0, 66)
    assert answered(lambda each: each.unknown) == NegatedPairs(66, 66)
    by_name = {each.example_id // 4: each.info[each.label] for each in STARTER.examples if each.label != each.unknown}
    same_person = answered(
        lambda each: (
            each.info.index(by_name[each.example_id // 4])
            if by_name[each.example_id // 4] in each.info
            else each.unknown
        )
    )
    assert same_person is not None
    assert same_person.unchanged == same_person.n == 66
    ambiguous_only = np.array([each.label if each.label == each.unknown else UNPARSED for each in STARTER.examples])
    assert diagnosis(STARTER, ambiguous_only).negation is None


def test_questions_alone_have_no_right_person() -> None:
    assert diagnosis(STARTER, [each.unknown for each in STARTER.examples], question_only=True).negation is None
