"""Which sentences of a corpus are chosen, how they are cut, and which corpora cannot be used."""

from __future__ import annotations

import gzip
import hashlib
import lzma
import random
from pathlib import Path
from typing import Any

import pytest

from assay.errors import DataError
from assay.lab.debiasing.attribute_words import AttributeWords
from assay.lab.debiasing.corpus import (
    Corpus,
    SentenceSample,
    SentenceSelection,
    counterfactual_sentences,
    counterfactuals_of,
    kinds_of_sentences,
    sentences_of,
)
from raising import raises

TWO = AttributeWords("gender", ("male", "female"), (("he", "she"), ("him", "her"), ("his", "her")))
THREE = AttributeWords("faith", ("a", "b", "c"), (("rabbi", "pastor", "imam"), ("synagogue", "church", "mosque")))
WHOLE = SentenceSelection(clip=False, lower=False)
ANIMALS = ("cat", "dog", "hen", "fox", "owl", "bee", "ant", "cow", "pig", "rat", "bat", "elk")


def text(count: int = 12) -> str:
    """`count` sentences each with words of one class, of the other, of both, and of none; and some that are short."""
    lines = []
    for number in range(count):
        animal = ANIMALS[number % len(ANIMALS)] * (number // len(ANIMALS) + 1)
        lines += [
            f"Then he saw the {animal} there. Then she saw the {animal} there.",
            f"Then he gave her the {animal}. Nobody saw the {animal} there. He ran. The {animal}.",
        ]
    return "\n".join(lines)


def corpus(folder: Path, content: str, name: str = "corpus.txt") -> Corpus:
    path = folder / name
    raw = content.encode()
    path.write_bytes({".gz": gzip.compress, ".xz": lzma.compress}.get(path.suffix, bytes)(raw))
    return Corpus(path)


# --- reading


@pytest.mark.parametrize("name", ["c.txt", "c.txt.gz", "c.txt.xz"])
def test_packed_or_not_a_corpus_is_the_same_text_with_the_same_digest(name: str, tmp_path: Path) -> None:
    content = "One line.\r\nTwo “lines”.\n\nlast"
    read = corpus(tmp_path, content, name)
    assert list(read.lines()) == ["One line.", "Two “lines”.", "", "last"]
    assert read.digest == hashlib.sha256(content.encode()).hexdigest()


@pytest.mark.parametrize(
    ("paragraph", "expected"),
    [
        ("He came. She left! Who? Nobody…", ["He came.", "She left!", "Who?", "Nobody…"]),
        (
            "“Stop!” he cried. “Why?” (No answer.) Then 3 more.",
            ["“Stop!” he cried.", "“Why?”", "(No answer.)", "Then 3 more."],
        ),
        (
            "Mrs. Ames met Dr. J. Poe in St. Ives. All was well.",
            ["Mrs. Ames met Dr. J. Poe in St. Ives.", "All was well."],
        ),
        ("it cost 3.50 e.g. here. no capital follows", ["it cost 3.50 e.g. here. no capital follows"]),
        ("  many \t blanks   here.   Öl too. ", ["many blanks here.", "Öl too."]),
        ("", []),
    ],
)
def test_sentences_end_where_the_rule_says(paragraph: str, expected: list[str]) -> None:
    assert list(sentences_of(paragraph)) == expected


def test_what_is_no_text_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "c.txt"
    path.write_bytes(b"fine\nbad \xff here\n")
    with raises("unreadable-file", DataError, file=path, line=2):
        list(Corpus(path).lines())


@pytest.mark.parametrize("name", ["c.txt.gz", "c.txt.xz"])
def test_a_damaged_packed_file_is_refused(name: str, tmp_path: Path) -> None:
    whole = corpus(tmp_path, text(200), name).path
    whole.write_bytes(whole.read_bytes()[:-20])
    with raises("unreadable-file", DataError, file=whole, line=None):
        list(Corpus(whole).lines())


def test_a_missing_file_and_a_folder_are_refused_at_once(tmp_path: Path) -> None:
    with raises("missing-file", DataError, file=tmp_path / "none.txt"):
        Corpus(tmp_path / "none.txt")
    with raises("unreadable-file", DataError, file=tmp_path):
        Corpus(tmp_path)


# --- choosing


def test_the_choice_depends_on_the_sentences_and_the_seed_alone() -> None:
    sentences = [f"sentence {number}" for number in range(200)]
    chosen = []
    for order in (sentences, sentences[::-1], sentences * 3):
        sample = SentenceSample(20, seed=5)
        for sentence in order:
            sample.add(sentence)
        chosen.append(sample.chosen())
    assert chosen[0] == chosen[1] == chosen[2]
    assert len({sentence for _, sentence in chosen[0]}) == 20
    other = SentenceSample(20, seed=6)
    for sentence in sentences:
        other.add(sentence)
    assert other.chosen() != chosen[0]


def test_every_sentence_is_as_likely_as_any_other() -> None:
    taken = [0] * 40
    for seed in range(500):
        sample = SentenceSample(10, seed)
        for number in range(40):
            sample.add(str(number))
        for _, sentence in sample.chosen():
            taken[int(sentence)] += 1
    assert 125 - 60 < min(taken) <= max(taken) < 125 + 60  # 500 draws of 1/4: six standard deviations


def test_two_classes_give_three_kinds_and_sentences_with_both_are_left_out(tmp_path: Path) -> None:
    kinds, available = kinds_of_sentences(corpus(tmp_path, text()), TWO, WHOLE)
    assert available == {"male": 12, "female": 12, "neutral": 12}
    assert {*kinds["male"]} == {f"Then he saw the {animal} there." for animal in ANIMALS}
    assert {*kinds["female"]} == {f"Then she saw the {animal} there." for animal in ANIMALS}
    assert {*kinds["neutral"]} == {f"Nobody saw the {animal} there." for animal in ANIMALS}


def test_more_classes_give_two_kinds(tmp_path: Path) -> None:
    lines = [f"The {word} saw a {animal}." for animal in ANIMALS for word in ("rabbi", "imam", "child")]
    kinds, _ = kinds_of_sentences(corpus(tmp_path, "\n".join(lines)), THREE, WHOLE)
    assert {name: len(texts) for name, texts in kinds.items()} == {"any faith": 24, "neutral": 12}


def test_there_are_no_more_than_asked_for_and_the_same_again(tmp_path: Path) -> None:
    content = corpus(tmp_path, text(30))
    few = SentenceSelection(limit=11)
    kinds, available = kinds_of_sentences(content, TWO, few)
    assert [len(texts) for texts in kinds.values()] == [11, 11, 11]
    assert [*available.values()] == [30, 30, 30]
    assert kinds_of_sentences(content, TWO, few) == (kinds, available)
    assert kinds_of_sentences(content, TWO, SentenceSelection(limit=11, seed=1)) != (kinds, available)


def test_all_sentences_are_taken_where_there_is_no_limit(tmp_path: Path) -> None:
    kinds, _ = kinds_of_sentences(corpus(tmp_path, text(30)), TWO, SentenceSelection(limit=0))
    assert [len(texts) for texts in kinds.values()] == [30, 30, 30]


def test_cut_sentences_keep_their_attribute_word_or_four_words(tmp_path: Path) -> None:
    tail = "and so on and on until the very end of it all"
    lines = [
        line
        for animal in ANIMALS
        for line in (f"A {animal} bit HIM, {tail}.", f"“A {animal} bit her,” {tail}.", f"A {animal} bit it {tail}.")
    ]
    kinds, _ = kinds_of_sentences(corpus(tmp_path, "\n".join(lines)), TWO, SentenceSelection())
    assert all(" bit him," in each for each in kinds["male"])
    assert all(" bit her,” "[:-1] in each for each in kinds["female"])
    assert all(len(each.split()) >= 4 for each in kinds["neutral"])
    for texts in kinds.values():
        assert len({len(each.split()) for each in texts}) > 3
        assert all(each == each.lower() for each in texts)
        assert all(f"{each} ".startswith(("a ", "“a ")) for each in texts)


def test_short_sentences_are_left_out(tmp_path: Path) -> None:
    lines = [
        f"he saw {animal}\nhe once saw a {animal}\nshe once saw a {animal}\none once saw a {animal}"
        for animal in ANIMALS
    ]
    _, available = kinds_of_sentences(corpus(tmp_path, "\n".join(lines)), TWO, SentenceSelection(clip=False))
    assert available["male"] == 12
    shorter_too = SentenceSelection(clip=False, least_words=3)
    _, available = kinds_of_sentences(corpus(tmp_path, "\n".join(lines)), TWO, shorter_too)
    assert available["male"] == 24


# --- counterfactuals


def test_a_sentence_stands_beside_itself_with_its_counterparts(tmp_path: Path) -> None:
    lines = [f"The Rabbi saw one {animal} in a church, said the rabbi." for animal in ANIMALS]
    examples, origins, _ = counterfactual_sentences(corpus(tmp_path, "\n".join(lines)), THREE, WHOLE)
    assert len(examples) == 24
    assert sorted(origins) == sorted([*range(12)] * 2)
    assert (
        "The Rabbi saw one owl in a church, said the rabbi.",
        "The Pastor saw one owl in a church, said the pastor.",
        "The Imam saw one owl in a church, said the imam.",
    ) in examples
    assert (
        "The Rabbi saw one owl in a synagogue, said the rabbi.",
        "The Rabbi saw one owl in a church, said the rabbi.",
        "The Rabbi saw one owl in a mosque, said the rabbi.",
    ) in examples


def test_a_word_with_two_counterparts_gives_two_examples() -> None:
    assert counterfactuals_of("her dog bit HER", TWO) == [
        ("him dog bit HIM", "her dog bit HER"),
        ("his dog bit HIS", "her dog bit HER"),
    ]


def test_possessives_and_punctuation_stay() -> None:
    assert counterfactuals_of("(He's late!)", TWO) == [("(He's late!)", "(She's late!)")]


def test_in_lower_case_unless_told_otherwise(tmp_path: Path) -> None:
    examples, *_ = counterfactual_sentences(corpus(tmp_path, text()), TWO, SentenceSelection(limit=10))
    assert all(each == each.lower() for texts in examples for each in texts)


# --- corpora that cannot be used


@pytest.mark.parametrize("choose", [kinds_of_sentences, counterfactual_sentences])
def test_a_corpus_without_any_attribute_word_is_refused(choose: Any, tmp_path: Path) -> None:
    content = corpus(tmp_path, "\n".join(f"Nobody saw the {animal} there." for animal in ANIMALS))
    with raises("empty-file", DataError, file=content.path, key="words"):
        choose(content, TWO, SentenceSelection())


@pytest.mark.parametrize("choose", [kinds_of_sentences, counterfactual_sentences])
def test_an_empty_corpus_is_refused(choose: Any, tmp_path: Path) -> None:
    with raises("empty-file", DataError, file=tmp_path / "corpus.txt", key=None):
        choose(corpus(tmp_path, "\n\n"), TWO, SentenceSelection())


def test_too_few_sentences_of_one_kind_are_refused(tmp_path: Path) -> None:
    lines = text().replace("she saw", "it saw") + "\nThen she saw them all there." * 20
    with raises("empty-file", DataError, file=tmp_path / "corpus.txt", key="female"):
        kinds_of_sentences(corpus(tmp_path, lines), TWO, SentenceSelection())


def test_where_a_sentence_is_cut_does_not_depend_on_the_others(tmp_path: Path) -> None:
    lines = text(30).splitlines()
    one, _ = kinds_of_sentences(corpus(tmp_path, "\n".join(lines)), TWO, SentenceSelection())
    random.Random(0).shuffle(lines)
    other, _ = kinds_of_sentences(corpus(tmp_path, "\n".join(lines[:40]), "other.txt"), TWO, SentenceSelection())
    assert all({*other[name]} <= {*one[name]} for name in one)
