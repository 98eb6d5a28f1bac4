"""Traits: which words speak of them, how groups are ordered by their words, and whether people agree."""

from __future__ import annotations

import json
import re

import pytest

from assay.errors import DataError
from assay.probes.sodapop.traits import (
    HumanRating,
    agreement,
    ordering,
    packaged_lexicon,
    read_human,
    read_lexicon,
    trait_scores,
)
from raising import raises

SMALL = {
    "cold-warm": {"cold": ["aloof", "cruel"], "warm": ["kind", "sweet", "Tender"]},
    "weak-strong": {"weak": ["frail", "kind"], "strong": ["tough", "cruel"]},
    "poor-rich": {"poor": ["broke"], "rich": ["posh"]},
}
TABLE_5 = (
    "powerless-powerful",
    "low status-high status",
    "dominated-dominant",
    "poor-wealthy",
    "unconfident-confident",
    "unassertive-competitive",
    "traditional-modern",
    "religious-science oriented",
    "conventional-alternative",
    "conservative-liberal",
    "untrustworthy-trustworthy",
    "dishonest-sincere",
    "cold-warm",
    "threatening-benevolent",
    "repellent-likable",
    "egoistic-altruistic",
)


def written(folder, content):
    path = folder / "traits.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return read_lexicon(path)


@pytest.fixture
def small(tmp_path):
    return written(tmp_path, SMALL)


# --- lexicons


def test_the_packaged_lexicon_has_the_papers_traits_and_enough_words_for_each_pole():
    lexicon = packaged_lexicon()
    assert tuple(lexicon.traits) == TABLE_5
    assert all("-".join(poles) == trait for trait, poles in lexicon.traits.items())
    sizes = {
        (trait, pole): sum((trait, pole) in places for places in lexicon.words.values())
        for trait, poles in lexicon.traits.items()
        for pole in poles
    }
    assert len(sizes) == 32
    assert all(20 <= size <= 40 for size in sizes.values()), sizes
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", word) for word in lexicon.words)


def test_the_packaged_lexicon_maps_the_papers_example():
    assert ("threatening-benevolent", "threatening") in packaged_lexicon().words["brutal"]


def test_a_word_has_a_pole_of_every_trait_that_lists_it(small):
    assert small.traits["cold-warm"] == ("cold", "warm")
    assert small.words["kind"] == {("cold-warm", "warm"), ("weak-strong", "weak")}
    assert small.words["tender"] == {("cold-warm", "warm")}
    assert "Tender" not in small.words


def test_toml_is_read_as_json_is(tmp_path, small):
    lines = [
        f'["{trait}"]\n' + "".join(f"{pole} = {words}\n" for pole, words in poles.items())
        for trait, poles in SMALL.items()
    ]
    (tmp_path / "traits.toml").write_text("".join(lines), encoding="utf-8")
    assert read_lexicon(tmp_path / "traits.toml") == small


@pytest.mark.parametrize(
    ("content", "code", "key"),
    [
        ("not JSON", "bad-json", None),
        ({}, "empty-file", None),
        ({"a-b": ["x"]}, "bad-value", "a-b"),
        ({"a-b": {"a": ["x"]}}, "bad-value", "a-b"),
        ({"a-b": {"a": ["x"], "b": ["y"], "c": ["z"]}}, "bad-value", "a-b"),
        ({"a-b": {"a": [], "b": ["y"]}}, "bad-list", "a-b.a"),
        ({"a-b": {"a": ["x"], "b": "y"}}, "bad-list", "a-b.b"),
        ({"a-b": {"a": ["x", 1], "b": ["y"]}}, "bad-list", "a-b.a"),
        ({"a-b": {"a": ["two words"], "b": ["y"]}}, "bad-list", "a-b.a"),
        ({"a-b": {"a": [""], "b": ["y"]}}, "bad-list", "a-b.a"),
        ({"a-b": {"a": ["x"], "b": ["X"]}}, "duplicate", "a-b.b"),
        ({"a-b": {"a": ["x", "x"], "b": ["y"]}}, "duplicate", "a-b.a"),
    ],
)
def test_what_is_wrong_with_a_lexicon_is_said(tmp_path, content, code, key):
    with raises(code, DataError, file=tmp_path / "traits.json", key=key) as found:
        written(tmp_path, content)
    assert found.value.remedy


# --- scores


def test_a_score_is_the_words_for_a_trait_less_those_for_its_opposite(small):
    words = {"A": ["cruel", "aloof", "kind", "table"], "B": ["Sweet", "tender", "kind"], "C": ["table"]}
    assert trait_scores(words, small) == {
        "A": {"cold-warm": 1 - 2, "weak-strong": 1 - 1, "poor-rich": None},
        "B": {"cold-warm": 3, "weak-strong": -1, "poor-rich": None},
        "C": {"cold-warm": None, "weak-strong": None, "poor-rich": None},
    }


def test_a_word_counts_once_however_often_and_in_whatever_case_it_is_found(small):
    assert trait_scores({"A": ["kind", "Kind", "kind"]}, small)["A"]["cold-warm"] == 1


def test_groups_are_ordered_by_their_scores(small):
    scores = trait_scores({"A": ["cruel", "aloof"], "B": ["sweet"], "C": ["kind", "tough"], "D": []}, small)
    assert ordering(scores, "A", "B", "cold-warm") == "<"
    assert ordering(scores, "B", "A", "cold-warm") == ">"
    assert ordering(scores, "B", "C", "cold-warm") == "="
    assert ordering(scores, "A", "D", "cold-warm") == "<"  # -2 against no word at all, which counts as 0
    assert ordering(scores, "C", "D", "weak-strong") == "="  # one word for each pole: there are words, and they tie
    assert ordering(scores, "A", "B", "poor-rich") is None


# --- people


def human(folder, *lines: str, first: str = "trait,group_a,group_b,score_a,score_b") -> list[HumanRating]:
    path = folder / "human.csv"
    path.write_text("\n".join([first, *lines]) + "\n", encoding="utf-8")
    return read_human(path, written(folder, SMALL))


def test_ratings_by_people_are_read(tmp_path):
    found = human(tmp_path, "weak-strong,women,men,46.8,81.4", "cold-warm,women,men,70,70")
    assert found == [
        HumanRating("weak-strong", "women", "men", 46.8, 81.4),
        HumanRating("cold-warm", "women", "men", 70, 70),
    ]
    assert found[0].ordering("women", "men") == "<"
    assert found[0].ordering("men", "women") == ">"
    assert found[1].ordering("men", "women") == "="
    assert found[0].ordering("women", "children") is None


def test_agreement_counts_the_traits_that_words_and_people_both_order(tmp_path, small):
    people = human(
        tmp_path,
        "cold-warm,A,B,20,60",  # A < B, as the words have it
        "weak-strong,B,A,30,40",  # A > B; the words: A < B
        "poor-rich,A,B,10,20",  # no word tells
        "cold-warm,A,C,50,50",  # others
    )
    scores = trait_scores({"A": ["cruel", "aloof", "frail", "kind"], "B": ["sweet", "tough"], "C": []}, small)
    assert scores["A"] == {"cold-warm": -1, "weak-strong": -1, "poor-rich": None}
    assert agreement(scores, people, "A", "B") == (1, 2)
    assert agreement(scores, people, "B", "A") == (1, 2)
    assert agreement(scores, people, "A", "C") == (0, 1)
    assert agreement(scores, people, "B", "C") == (0, 0)
    tied = trait_scores({"A": ["kind"], "B": ["sweet"]}, small)
    assert agreement(tied, [HumanRating("cold-warm", "A", "B", 50, 50)], "A", "B") == (1, 1)


@pytest.mark.parametrize(
    ("lines", "code", "key"),
    [
        ("warm-cold,A,B,1,2", "bad-value", "trait"),
        ("cold-warm,A,A,1,2", "bad-value", "group_b"),
        ("cold-warm,,B,1,2", "bad-value", "group_a"),
        ("cold-warm,A,B,1,101", "bad-value", "score_b"),
        ("cold-warm,A,B,-1,10", "bad-value", "score_a"),
        ("cold-warm,A,B,nan,10", "bad-value", "score_a"),
        ("cold-warm,A,B,high,10", "bad-value", "score_a"),
        ("cold-warm,A,B,1", "bad-csv", None),
        ("cold-warm,A,B,1,2\ncold-warm,B,A,2,1", "duplicate", None),
    ],
)
def test_what_is_wrong_with_ratings_is_said(tmp_path, lines, code, key):
    line = 2 + lines.count("\n")
    with raises(code, DataError, file=tmp_path / "human.csv", line=line, key=key) as found:
        human(tmp_path, lines)
    assert found.value.remedy


def test_ratings_need_their_columns_a_row_and_a_csv_file(tmp_path):
    with raises("missing-key", DataError, file=tmp_path / "human.csv", line=2, key="score_a"):
        human(tmp_path, "cold-warm,A,B,1,2", first="trait,group_a,group_b,a,b")
    with raises("empty-file", DataError, file=tmp_path / "human.csv"):
        human(tmp_path)
    with raises("bad-csv", DataError, file=tmp_path / "human.txt"):
        read_human(tmp_path / "human.txt", written(tmp_path, SMALL))
