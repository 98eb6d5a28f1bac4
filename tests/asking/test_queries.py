"""Questions as columns: a row is a view of them, a digest tells them apart, answers stay aligned with them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from assay.asking.messages import Dialogue, Message
from assay.asking.plan import TokenPlan, WordPlan, digest_of
from assay.asking.queries import (
    MASK,
    NONE,
    Answers,
    ChoiceColumns,
    ChoiceQuery,
    EmbedColumns,
    EmbedQuery,
    FillColumns,
    FillQuery,
    MaskColumns,
    MaskQuery,
    QueryColumns,
    Scoring,
    SpanColumns,
    SpanQuery,
    Status,
    StringColumn,
    TextColumns,
    TextQuery,
    TokenColumns,
    TokenQuery,
    WordColumns,
    WordQuery,
)


def span() -> SpanColumns:
    start = np.array([[[0, 3], [9, NONE]], [[9, NONE], [0, NONE]]], np.int32)
    end = np.array([[[4, 8], [13, NONE]], [[13, NONE], [4, NONE]]], np.int32)
    return SpanColumns(StringColumn.of(["Who?", "Who not?"]), StringColumn.of(["Anne met John."] * 2), start, end)


def mask() -> MaskColumns:
    sentences = StringColumn.of([f"{MASK} sang.", f"{MASK} slept."])
    subjects = np.array([[[0, 2], [1, NONE]], [[1, NONE], [0, 2]]], np.int32)
    return MaskColumns(StringColumn.of(["Anne met John.", ""]), sentences, ["Anne", "John", "She"], subjects)


def fill() -> FillColumns:
    return FillColumns(StringColumn.of(["Anne met John.", ""]), StringColumn.of([f"{MASK} sang.", f"{MASK} slept."]))


def choice() -> ChoiceColumns:
    options = np.array([[0, 1, 2], [2, 1, 0]], np.int32)
    return ChoiceColumns(
        StringColumn.of(["Anne met John.", ""]),
        StringColumn.of(["Who sang?", "Who slept?"]),
        ["Anne", "John", "nobody"],
        options,
    )


def text() -> TextColumns:
    return TextColumns(StringColumn.of(["Anne met John.", "Who slept?"]))


def embed() -> EmbedColumns:
    texts = StringColumn.of(["Anne met John.", "Then Anne sang."])
    return EmbedColumns(texts, np.array([0, 5], np.int32), np.array([4, 9], np.int32))


def word() -> WordColumns:
    return WordColumns(StringColumn.of(["Anne", "John"]))


def token() -> TokenColumns:
    return TokenColumns(np.array([7, 103], np.int32))


ALL: dict[str, Callable[[], Any]] = {
    "span": span,
    "mask": mask,
    "fill": fill,
    "choice": choice,
    "text": text,
    "embed": embed,
    "word": word,
    "token": token,
}


# --- rows


def test_a_row_is_the_question_as_a_reader_would_see_it() -> None:
    assert span().row(0) == SpanQuery("Who?", "Anne met John.", ((0, 4), (9, 13)))
    assert span().row(1) == SpanQuery("Who not?", "Anne met John.", ((9, 13), (0, 4)))
    assert mask().row(0) == MaskQuery(f"Anne met John. {MASK} sang.", ("Anne", "John"))
    assert mask().row(1) == MaskQuery(f"{MASK} slept.", ("John", "Anne"))
    assert fill().row(0) == FillQuery(f"Anne met John. {MASK} sang.")
    assert fill().row(1) == FillQuery(f"{MASK} slept.")
    assert choice().row(0) == ChoiceQuery("Anne met John.", "Who sang?", ("Anne", "John", "nobody"))
    assert choice().row(1) == ChoiceQuery("", "Who slept?", ("nobody", "John", "Anne"))
    assert text().row(1) == TextQuery("Who slept?", 32)
    assert embed().row(1) == EmbedQuery("Then Anne sang.", (5, 9))
    assert word().row(1) == WordQuery("John")
    assert token().row(1) == TokenQuery(103)


@pytest.mark.parametrize("ability", ALL)
def test_columns_know_their_ability_and_length(ability: str) -> None:
    columns: QueryColumns = ALL[ability]()
    assert columns.ability == ability
    assert len(columns) == 2


@given(st.lists(st.text(max_size=3)))
def test_equal_texts_are_stored_once_and_come_back(texts: list[str]) -> None:
    column = StringColumn.of(texts)
    assert [column[row] for row in range(len(texts))] == texts
    assert list(column.values) == list(dict.fromkeys(texts))


# --- digests


@pytest.mark.parametrize("ability", ALL)
def test_the_same_questions_have_the_same_digest(ability: str) -> None:
    assert ALL[ability]().digest() == ALL[ability]().digest()


def told(begun: str | None) -> StringColumn:
    return StringColumn.of([Dialogue((Message("system", "Be brief."),), begun).to_text()] * 2)


def test_a_row_has_its_own_dialogue() -> None:
    own = [Dialogue((Message("user", "Hello"),), begun) for begun in (None, "It was")]
    for columns, queries in (
        (ChoiceColumns.of, [ChoiceQuery("", "Who?", ("Anne", "John"), each) for each in own]),
        (TextColumns.of, [TextQuery("Who?", 8, each) for each in own]),
    ):
        made = columns(queries)  # type: ignore[arg-type]  # each with its own kind
        assert [made.row(row) for row in range(len(made))] == queries


def test_whatever_changes_a_question_changes_the_digest() -> None:
    other = StringColumn.of(["x", "y"])
    changed: list[Any] = [
        *[make() for make in ALL.values()],
        *[replace(make(), scoring=Scoring(top=10)) for make in ALL.values()],
        replace(span(), question=other),
        replace(span(), context=other),
        replace(span(), start=span().start + 1),
        replace(span(), end=span().end + 1),
        replace(span(), start=span().start[:, :, :1], end=span().end[:, :, :1]),
        replace(mask(), context=other),
        replace(mask(), sentence=other),
        replace(mask(), words=["Anne", "John", "she"]),
        replace(mask(), subjects=mask().subjects[:, ::-1]),
        replace(fill(), context=other),
        replace(fill(), sentence=other),
        replace(fill(), top=5),
        replace(choice(), context=other),
        replace(choice(), question=other),
        replace(choice(), context=choice().question, question=choice().context),
        replace(choice(), choices=["Anne", "John", "Nobody"]),
        replace(choice(), options=choice().options[:, ::-1]),
        replace(choice(), options=choice().options[:, :2]),
        replace(text(), prompt=other),
        replace(text(), tokens=33),
        *[replace(make(), dialogue=told(begun)) for make in (choice, text) for begun in (None, "", "It was")],
        replace(embed(), text=other),
        replace(embed(), start=embed().start + 1),
        replace(embed(), end=embed().end + 1),
        replace(word(), words=other),
        replace(word(), words=StringColumn(["Anne", "John"], np.array([1, 0], np.int32))),
        replace(token(), tokens=np.array([103, 7], np.int32)),
        replace(token(), tokens=np.array([7], np.int32)),
    ]
    digests = [columns.digest() for columns in changed]
    assert len(set(digests)) == len(digests)


@pytest.mark.parametrize(
    "scoring",
    [
        Scoring(top=5),
        Scoring(count_padding=True),
        Scoring(token_types=False),
        Scoring(separators=1),
        Scoring(batch=8),
        Scoring(chat=False),
    ],
)
def test_every_way_of_scoring_changes_the_digest(scoring: Scoring) -> None:
    assert replace(span(), scoring=scoring).digest() != span().digest()


def test_questions_have_the_digests_under_which_their_answers_were_stored() -> None:
    """Other digests would ask everything again; a change of the questions' columns raises GENERATION, too."""
    released = Scoring(top=10, count_padding=True, separators=1, batch=100)
    digests = [columns.digest()[:12] for columns in (span(), choice(), word(), replace(span(), scoring=released))]
    assert digests == ["940ad7044e3f", "c7ef337f22fa", "16a262c4cb1b", "7aab9ee3c0d8"]


@example(["ab", "c"], ["a", "bc"])
@given(st.lists(st.text(max_size=3), min_size=1), st.lists(st.text(max_size=3), min_size=1))
def test_texts_cannot_be_cut_differently_under_the_same_digest(one: list[str], other: list[str]) -> None:
    same = WordColumns(StringColumn.of(one)).digest() == WordColumns(StringColumn.of(other)).digest()
    assert same == (one == other)


# --- plans that are written down


def test_a_plan_of_words_asks_them_in_order() -> None:
    plan = WordPlan(("Anne", "John", "Anne"))
    assert [plan.columns(1, 3).row(row) for row in range(2)] == [WordQuery("John"), WordQuery("Anne")]
    assert (len(plan), plan.ability) == (3, "word")


def test_a_plan_of_tokens_asks_them_in_order() -> None:
    plan = TokenPlan((5, 3, 5))
    assert [plan.columns(1, 3).row(row) for row in range(2)] == [TokenQuery(3), TokenQuery(5)]
    assert plan.columns(1, 3).tokens.dtype == np.int32
    assert (len(plan), plan.ability) == (3, "token")


def test_plans_are_told_apart_by_what_they_ask() -> None:
    words = [WordPlan(words) for words in (("a", "b"), ("b", "a"), ("a b",), ("ab",))]
    tokens = [TokenPlan(tokens) for tokens in ((1, 2), (2, 1), (12,))]
    digests = [plan.digest for plan in (*words, *tokens)]
    assert len(set(digests)) == len(digests)


def test_a_digest_of_something_is_of_its_content_not_of_its_order_of_keys() -> None:
    assert digest_of({"é": [1, {"b": 2, "a": None}]}) == digest_of({"é": [1, {"a": None, "b": 2}]})
    assert digest_of([1, 2]) != digest_of([2, 1])


# --- answers


def test_answers_to_consecutive_ranges_join() -> None:
    parts = [
        Answers(np.full(rows, status, np.uint8), {"score": np.full((rows, 2), rows, np.float32)})
        for rows, status in ((2, Status.OK), (1, Status.REFUSED))
    ]
    joined = Answers.joined(parts)
    assert len(joined) == 3
    assert joined.status.tolist() == [Status.OK, Status.OK, Status.REFUSED]
    assert joined["score"].tolist() == [[2, 2], [2, 2], [1, 1]]
    assert joined["score"].dtype == np.float32


def test_joined_texts_are_as_wide_as_the_longest() -> None:
    texts = [[b"no"], [b"a long answer", b""], ["caf\u00e9".encode()]]
    joined = Answers.joined([Answers(np.zeros(len(part), np.uint8), {"text": np.array(part)}) for part in texts])
    assert joined["text"].tolist() == [b"no", b"a long answer", b"", "caf\u00e9".encode()]
