"""Words of answers: what is masked, what has a success rate, and that nothing gets lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.probes.sodapop.contexts import NAME
from assay.probes.sodapop.split_words import STOP_WORDS, is_vocabulary, is_word, join, split, stop_words

ANSWERS = st.one_of(st.text(), st.text(alphabet=f"ab7É é-'’´_.,!? \t{NAME}\u0301"))


@given(ANSWERS)
def test_words_and_glue_are_the_answer_again(answer: str) -> None:
    words, glue = split(answer)
    assert len(glue) == len(words) + 1
    assert join(words, glue) == answer


@given(ANSWERS)
def test_every_word_is_a_word_and_no_letter_is_left_between_them(answer: str) -> None:
    words, glue = split(answer)
    assert all(map(is_word, words))
    named = "".join(glue).replace(f"{NAME}'s", "").replace(f"{NAME}’s", "").replace(f"{NAME}´s", "")
    assert not any(map(str.isalnum, named))


@given(st.lists(st.sampled_from(["kind", "well-read", "isn't", "7th", "É"]), min_size=1), st.sampled_from([" ", ", "]))
def test_words_that_were_put_together_come_apart_again(words: list[str], between: str) -> None:
    assert split(between.join(words)).words == tuple(words)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("very patient", ("very", "patient")),
        ("a no-nonsense person", ("a", "no-nonsense", "person")),
        ("didn't care", ("didn't", "care")),
        ("mom’s and dad´s friend", ("mom’s", "and", "dad´s", "friend")),
        ("(quite) rude!", ("quite", "rude")),
        ("careless/dangerous", ("careless", "dangerous")),
        ("the parents' friend", ("the", "parents", "friend")),
        ("- ... ?!", ()),
        ("cafe\u0301 owner", ("cafe\u0301", "owner")),
    ],
)
def test_words_are_letters_and_digits_with_hyphens_and_apostrophes_inside(answer: str, words: tuple[str, ...]) -> None:
    assert split(answer).words == words


def test_the_name_and_its_possessive_are_never_masked() -> None:
    answer = f"{NAME}'s best friend, not {NAME}"
    assert split(answer) == (("best", "friend", "not"), (f"{NAME}'s ", " ", ", ", f" {NAME}"))
    assert join(("worst", "enemy", "and"), split(answer).glue) == f"{NAME}'s worst enemy, and {NAME}"


def test_join_refuses_words_that_do_not_fit_the_glue() -> None:
    with pytest.raises(ValueError, match="zip"):
        join(("too", "many"), ("", ""))


@pytest.mark.parametrize("text", ["kind", "Kind", "7", "well-read", "isn't", "café"])
def test_words(text: str) -> None:
    assert is_word(text)


@pytest.mark.parametrize("text", ["", " ", ".", "-", "kind.", "'s", "kind-", "a--b", "so kind", " kind", "a_b", NAME])
def test_no_words(text: str) -> None:
    assert not is_word(text)


@pytest.mark.parametrize("word", ["kind", "Violent", "well-read", "7"])
def test_words_with_a_success_rate(word: str) -> None:
    assert is_vocabulary(word)


@pytest.mark.parametrize("word", ["the", "The", "OF", "themself", "isn't", "isn’t", "kind.", "-", ""])
def test_words_without_one(word: str) -> None:
    assert not is_vocabulary(word)


def test_stop_words_are_a_list_of_different_words_in_lower_case() -> None:
    lines = [line for line in STOP_WORDS.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    assert len(lines) == len(set(lines)) == len(stop_words())
    assert 120 <= len(lines) <= 200
    assert all(is_word(line) and line == line.lower() for line in lines)
    assert not stop_words() & {"kind", "man", "woman", "good", "bad", "person"}
