"""Answers that say nothing: they are counted by why, and the step that would make them readable is named."""

from __future__ import annotations

import numpy as np
import pytest

from assay.asking.queries import Answers, Status
from assay.probes.diagnose import doubts, lost_by_status, lost_in_words, readable_with, unreadable
from assay.probes.question_format import QuestionFormat

OPTIONS = ("Mary", "James", "Not enough information")
REFUSAL = "I'm sorry, but I can't help with that request."


def lost(listing: QuestionFormat, texts: list[list[str]], status: list[Status]) -> dict[str, int]:
    written = np.array([[each.encode() for each in row] for row in texts])
    answers = Answers(np.array(status, np.uint8), {"text": written if listing.way == "samples" else written[:, 0]})
    shares = listing.shares(answers, lambda row: OPTIONS)
    return dict(listing.lost(answers, shares, lambda row: OPTIONS))


def test_written_answers_are_lost_for_the_reason_that_their_status_or_their_text_gives() -> None:
    texts = [["A"], [REFUSAL], ["Well, well."], ["Let me think about"], [""], [""], [""], ["B"]]
    status = [Status.OK] * 3 + [Status.TRUNCATED, Status.EMPTY, Status.FAILED, Status.FILTERED, Status.TRUNCATED]
    found = lost(QuestionFormat("text"), texts, status)
    assert found == {"refused": 2, "not understood": 1, "cut off": 1, "empty": 1, "failed": 1}


def test_every_sample_counts() -> None:
    texts = [["A", "B", "Well, well.", REFUSAL], ["A"] * 4, [""] * 4]
    found = lost(QuestionFormat("samples", 4), texts, [Status.OK, Status.OK, Status.FAILED])
    assert found == {"not understood": 1, "refused": 1, "failed": 4}


def test_scored_options_are_lost_only_where_they_have_no_score() -> None:
    score = np.log(np.array([[0.5, 0.3, 0.2], [1.0, 1.0, 1.0], [0.2, 0.2, 0.6]], np.float32))
    score[1] = np.nan
    answers = Answers(np.array([Status.OK, Status.UNCLEAR, Status.REFUSED], np.uint8), {"score": score})
    listing = QuestionFormat("letters")
    shares = listing.shares(answers, lambda row: OPTIONS)
    assert dict(listing.lost(answers, shares, lambda row: OPTIONS)) == {"not understood": 1, "refused": 1}


def test_nothing_is_counted_where_nothing_is_lost() -> None:
    assert lost_by_status(np.zeros(3, np.int64), np.array([0, 1, 4])) == {}


@pytest.mark.parametrize(("refused", "id"), [(51, "refuses"), (49, "unreadable")])
def test_a_refuser_has_a_sentence_of_its_own(refused: int, id: str) -> None:
    (found,) = unreadable({"refused": refused, "empty": 30}, 100, 0.5, "--set x=y")
    assert (found.id, found.next) == (id, "--set x=y")
    assert found.why.startswith("the model refuses: 51.0%" if id == "refuses" else "most answers cannot be read: 79.0%")


def test_the_largest_kind_is_named() -> None:
    (found,) = unreadable({"empty": 20, "cut off": 60}, 100, 0.5, None)
    assert found.why.endswith("most of them cut off at the limit of tokens")
    assert lost_in_words({"empty": 20}, 100) == "20.0% of 100 answers are empty"


@pytest.mark.parametrize(("some", "diagnosed", "doubted"), [(10, 0, 0), (11, 0, 1), (50, 0, 1), (51, 1, 1)])
def test_up_to_a_tenth_does_no_harm_and_up_to_half_is_a_doubt(some: int, diagnosed: int, doubted: int) -> None:
    lost = {"not understood": some}
    assert len([*unreadable(lost, 100, 0.5, None)]) == diagnosed
    assert len([*doubts(lost, 100, None)]) == doubted


def test_nothing_asked_is_nothing_lost() -> None:
    assert not [*unreadable({}, 0, 0.5, None), *doubts({}, 0, None)]


@pytest.mark.parametrize(
    ("kind", "answer", "listed", "step"),
    [
        ("cut off", "auto", None, "--set tokens=256"),
        ("empty", "text", None, "--set tokens=256"),
        ("not understood", "auto", "--set form=letters", "--set form=letters"),
        ("not understood", "text", None, "--set answer=auto"),
        ("not understood", "auto", None, None),
        ("refused", "samples", "--set form=letters", "--set answer=auto"),
        ("refused", "auto", None, None),
        ("failed", "text", None, None),
    ],
)
def test_the_step_fits_the_largest_kind(kind: str, answer: str, listed: str | None, step: str | None) -> None:
    assert readable_with({kind: 5, "tied": 1}, tokens=32, answer=answer, listed=listed) == step


def test_no_step_is_needed_where_nothing_is_lost() -> None:
    assert readable_with({}, tokens=32, answer="text") is None
