"""Attribute words: which lists are read, which are refused, and what counts as one of the words in a text."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import DataError, UsageError
from assay.lab.debiasing.attribute_words import PACKAGED, AttributeWords, in_case_of, read_attribute, read_words
from raising import raises

TWO = AttributeWords("gender", ("male", "female"), (("he", "she"), ("him", "her"), ("his", "her"), ("mr.", "mrs.")))


def write(folder: Path, content: Any, name: str = "words.json") -> Path:
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def found(text: str, attribute: AttributeWords = TWO, *, whole_tokens: bool = False) -> list[str]:
    return [text[each.start : each.end] for each in attribute.find(text, whole_tokens=whole_tokens)]


# --- lists


def test_the_packaged_list_has_pairs_and_triples() -> None:
    attributes = read_words(PACKAGED)
    assert {name: len(each.classes) for name, each in attributes.items()} == {"gender": 2, "race": 3, "religion": 3}
    assert len(attributes["gender"].tuples) >= 50
    assert all(len(each.tuples) >= 6 for each in attributes.values())
    assert attributes["gender"].class_of["she"] == 1
    assert attributes["gender"].tuples_with("her") == [("him", "her"), ("his", "her")]
    assert list(dict.fromkeys(words[2] for words in attributes["religion"].tuples))[:2] == ["muslim", "muslims"]


def test_a_file_in_the_usual_form_is_read(tmp_path: Path) -> None:
    path = write(tmp_path, {"gender": [["man", "woman"]], "race": [["black", "white", "asian"], ["a", "b", "c"]]})
    assert read_attribute("gender", path) == AttributeWords("gender", ("male", "female"), (("man", "woman"),))
    assert read_attribute("race", path).classes == ("class 1", "class 2", "class 3")


def test_a_file_may_name_its_classes(tmp_path: Path) -> None:
    path = write(tmp_path, '[age]\nclasses = ["old", "young"]\nwords = [["old", "young"]]\n', "words.toml")
    assert read_attribute("age", path) == AttributeWords("age", ("old", "young"), (("old", "young"),))


def test_the_usual_list_is_read_as_it_is(official_data: Path) -> None:
    attributes = read_words(official_data / "bias_bench" / "bias_attribute_words.json")
    assert {name: len(each.tuples) for name, each in attributes.items()} == {"gender": 57, "religion": 6, "race": 6}
    assert attributes["gender"].classes == ("male", "female")
    assert attributes["gender"].class_of["ma'am"] == 1
    assert len(attributes["gender"].tuples_with("her")) == 2


def test_the_digest_tells_lists_apart(tmp_path: Path) -> None:
    one = write(tmp_path, {"gender": [["man", "woman"], ["he", "she"]]}, "one.json")
    other = write(tmp_path, {"gender": [["man", "woman"]]}, "other.json")
    assert read_attribute("gender", one).digest != read_attribute("gender", other).digest
    assert read_attribute("gender", one).digest == read_attribute("gender", one).digest


@pytest.mark.parametrize(
    ("content", "code", "key", "expected"),
    [
        ("{", "bad-json", None, ""),
        ("[]", "bad-list", None, ""),
        ({}, "bad-list", None, ""),
        ({"gender": []}, "bad-list", "gender", "gender: there are no words"),
        ({"gender": "he"}, "bad-list", "gender", "gender: there are no words"),
        ({"gender": [["he", "she"], ["man"]]}, "bad-row", "gender", "gender, tuple 2: "),
        ({"gender": [["he", 1]]}, "bad-row", "gender", "gender, tuple 1: "),
        ({"race": [["a", "b", "c"], ["d", "e"]]}, "bad-row", "race", r"race, tuple 2 \(d, e\): "),
        ({"gender": [["he", "she"], ["he", "she"]]}, "duplicate", "gender", "tuple 2 .* tuple 1"),
        ({"gender": [["he", "he"]]}, "duplicate", "gender", "its own counterpart"),
        (
            {"gender": [["he", "she"], ["she", "it"]]},
            "bad-list",
            "gender",
            "'she' is word 1 here and word 2 in tuple 1",
        ),
        ({"gender": [["he", " "]]}, "bad-list", "gender", "a word is empty"),
        ({"gender": [["He", "she"]]}, "bad-list", "gender", "'He' has capitals"),
        ({"gender": [["young man", "she"]]}, "bad-list", "gender", "'young man' is not one word"),
        ({"gender": [["he!", "she"]]}, "bad-list", "gender", "'he!' is not one word"),
        ({"gender": {"classes": ["one"], "words": [["he", "she"]]}}, "bad-value", "classes", ""),
        ({"gender": {"clases": ["a", "b"], "words": [["he", "she"]]}}, "unknown-key", "clases", ""),
        ({"gender": {"classes": ["a", "a"], "words": [["he", "she"]]}}, "bad-value", "classes", ""),
    ],
)
def test_a_bad_list_is_refused_with_file_and_place(
    content: Any, code: str, key: str | None, expected: str, tmp_path: Path
) -> None:
    path = write(tmp_path, content)
    with raises(code, DataError, file=path, key=key) as wrong:
        read_words(path)
    assert re.search(expected, wrong.value.problem)
    assert wrong.value.remedy


def test_an_unknown_attribute_is_wrong_use() -> None:
    with raises("bad-option", UsageError, key="attribute"):
        read_attribute("height")


# --- finding


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("HE met her, and “she” met him!", ["HE", "her", "she", "him"]),
        ("There, here, shed, thee and cher are other words.", []),
        ("she’s here, he'll come, her's is his's", ["she", "he", "her", "his"]),
        ("a she-wolf and a he-man", []),  # a compound is a word of its own
        ("Mr. A met mr B and Mrs.", ["Mr.", "Mrs."]),
        ("he_she 1he he1", []),
    ],
)
def test_whole_words_are_found_whatever_is_around_them(text: str, expected: list[str]) -> None:
    assert found(text) == expected


def test_as_released_only_what_stands_between_blanks_is_found() -> None:
    text = "Then he, she and his's (her) met Mr. mr"
    assert found(text, whole_tokens=True) == ["she", "Mr."]
    assert found(text) == ["he", "she", "his", "her", "Mr."]


def test_words_with_an_apostrophe_or_a_hyphen_are_found_whole() -> None:
    attribute = AttributeWords("a", ("x", "y"), (("sir", "ma'am"), ("he-man", "she-man")))
    assert found("Yes, Ma’am, said the He-man.", attribute) == ["Ma’am", "He-man"]


@given(
    st.lists(st.sampled_from(["he", "SHE", "her’s", "mr.", "cat", "-", "“", "mrs", "He's", "\u0130", "."]), max_size=12)
)
def test_what_is_found_is_where_it_is_said_to_be(pieces: list[str]) -> None:
    text = " ".join(pieces)
    for each in TWO.find(text):
        assert text[each.start : each.end].lower().replace("’", "'") == each.word
        assert TWO.class_of[each.word] == each.class_number


@pytest.mark.parametrize(
    ("old", "expected"), [("man", "woman"), ("Man", "Woman"), ("MAN", "WOMAN"), ("mAn", "woman"), ("M", "Woman")]
)
def test_a_replacement_has_the_capitals_of_the_word_before(old: str, expected: str) -> None:
    assert in_case_of("woman", old) == expected
