"""Questions with listed options: how they are put to every kind of language model, and what is made of the answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from assay.asking.messages import ANSWER_MODES
from assay.asking.queries import Answers, ChoiceQuery, ListedQuery, SampleQuery, Status, TextQuery
from assay.errors import UsageError
from assay.probes.question_format import ListedQuestion, QuestionFormat, answer_mode_for, question_format_for

ASKED = ListedQuestion("Ann met Bo.", "Who slept?", ("Ann", "Bo", "Unknown"))


@dataclass
class Asks:
    """As much of an `Ask` as is looked at."""

    ways: tuple[str, ...] = ()
    abilities: frozenset[str] = frozenset({"choice", "text"})


def answers(status: list[Status], **arrays: Any) -> Answers:
    return Answers(np.array(status, np.uint8), {name: np.array(values) for name, values in arrays.items()})


@pytest.mark.parametrize("way", ["", *ANSWER_MODES])
def test_every_way_puts_the_same_question(way: str) -> None:
    listing = QuestionFormat(way, samples=3)
    query = listing.query(ASKED)
    kinds = {"": ChoiceQuery, "samples": SampleQuery, "text": TextQuery}
    assert type(query) is kinds.get(way, ListedQuery)
    told = listing.told(ASKED)
    assert all(text in told for text in (*ASKED.options, ASKED.context, ASKED.question))
    if not isinstance(query, ListedQuery):
        assert query.prompt == told
    columns = listing.columns([ASKED, ASKED])
    assert columns.ability == listing.ability
    assert columns.row(1) == query
    assert columns.scoring.answer == (way if listing.ability == "listed" else "")


def test_the_best_way_is_chosen_unless_one_is_named() -> None:
    able = Asks(("structured", "text"))
    assert question_format_for("auto", 10, able).way == "structured"
    assert question_format_for("text", 10, able).way == "text"
    assert question_format_for("auto", 10, Asks()).way == ""
    with pytest.raises(UsageError, match="supports structured, text"):
        answer_mode_for("letters", able)
    with pytest.raises(UsageError, match="is for endpoints"):
        question_format_for("letters", 10, Asks())
    with pytest.raises(UsageError, match="need a language model"):
        question_format_for("auto", 10, Asks(abilities=frozenset({"choice"})))


def test_scores_become_probabilities_and_missing_ones_stay_missing() -> None:
    score = np.log([[0.2, 0.1, 0.1], [0.5, 0.25, 0.25], [0.1, 0.1, 0.1], [1.0, 1.0, 1.0]])
    given = answers([Status.OK, Status.OK, Status.UNCLEAR, Status.REFUSED], score=score)
    shares = QuestionFormat("letters").shares(given, lambda row: ASKED.options)
    assert shares[:2] == pytest.approx(np.array([[0.5, 0.25, 0.25], [0.5, 0.25, 0.25]]))
    assert np.isnan(shares[2]).all()
    assert (shares[3] == 0).all()


def test_samples_are_shares_of_what_is_named_whatever_the_order_of_options() -> None:
    text = [[b"A", b"Bo", b"It can't be determined.", b"who knows"], [b"A", b"A.", b"Ann", b"B"]]
    given = answers([Status.OK, Status.OK], text=text)
    shown = [ASKED.options, ("Bo", "Ann", "Unknown")]
    shares = QuestionFormat("samples", samples=4).shares(given, lambda row: shown[row])
    assert shares.tolist() == [[0.25, 0.25, 0.25], [0.5, 0.5, 0.0]]


def test_one_written_answer_names_one_option_or_none() -> None:
    given = answers([Status.OK, Status.OK, Status.REFUSED], text=[b"Bo.", b"Ann or Bo", b""])
    shares = QuestionFormat("text").shares(given, lambda row: ASKED.options)
    assert shares.tolist() == [[0, 1, 0], [0, 0, 0], [0, 0, 0]]
