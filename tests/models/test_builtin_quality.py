"""The built-in model is small, but no coin: it answers easy questions sensibly, with a clear margin."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from assay.asking.queries import MASK, ChoiceColumns, EmbedColumns, FillColumns, StringColumn, TokenColumns
from assay.models import load_model
from reference_scores import columns_of, span_query

Answer = Callable[..., dict[str, NDArray[Any]]]


@pytest.fixture(scope="module")
def model() -> Any:
    return load_model("builtin", threads=1)


PETS = "Ann has a dog. Ben has a cat."
HOMES = "Ann lives in Oslo and Ben lives in Lima."


@pytest.mark.parametrize(
    ("question", "context", "right", "wrong"),
    [
        ("Who has a dog?", PETS, "Ann", "Ben"),
        ("What does Ann have?", PETS, "a dog", "a cat"),
        ("Where does Ann live?", HOMES, "Oslo", "Lima"),
        ("Where does Ben live?", HOMES, "Lima", "Oslo"),
    ],
)
def test_it_finds_the_answer_in_a_text(
    question: str, context: str, right: str, wrong: str, model: Any, answer: Answer
) -> None:
    columns = columns_of((span_query(question, context, right, wrong),))
    good, bad = answer(model, columns)["score"][0].tolist()
    assert good > 1.3 * bad
    assert good > 0.4


@pytest.mark.parametrize(
    ("sentence", "sensible"),
    [
        (f"Paris is the capital of {MASK}.", {"france"}),
        (f"She put on her coat because it was {MASK} outside.", {"cold", "raining", "freezing", "snowing"}),
        (f"He washed his {MASK} with soap.", {"hands", "face", "body", "hair"}),
        (f"The cat chased the {MASK}.", {"mouse", "bird", "birds", "dog", "rat", "mice"}),
    ],
)
def test_it_fills_a_gap_with_a_sensible_word(sentence: str, sensible: set[str], model: Any, answer: Answer) -> None:
    found = answer(model, FillColumns(StringColumn.of([""]), StringColumn.of([sentence]), 10))
    texts = [text.decode() for text in answer(model, TokenColumns(found["token"][0]))["text"].tolist()]
    words = dict(zip(texts, found["probability"][0].tolist(), strict=True))
    assert sum(words.get(word, 0) for word in sensible) > 0.05, words


@pytest.mark.parametrize(
    ("context", "question", "sensible", "absurd"),
    [
        ("Kim broke a window with a ball.", "What will Kim do next?", "say sorry and pay for it", "paint the moon"),
        ("Lee had studied hard for weeks.", "How would Lee feel after passing?", "proud of it", "like a wooden chair"),
        ("Sam was thirsty after the run.", "What does Sam need to do now?", "drink some water", "buy a new hat"),
        ("Pat's bicycle had a flat tyre.", "What will Pat want to do next?", "repair the tyre", "learn French"),
        ("Robin gave Alex a present.", "How would Alex feel as a result?", "grateful", "made of wood"),
    ],
)
def test_it_prefers_the_sensible_option(
    context: str, question: str, sensible: str, absurd: str, model: Any, answer: Answer
) -> None:
    options = np.array([[0, 1], [1, 0]], np.int32)  # where an option stands must not matter
    asked = ChoiceColumns(StringColumn.of([context] * 2), StringColumn.of([question] * 2), [sensible, absurd], options)
    scores = answer(model, asked)["score"]
    assert scores[0, 0] > scores[0, 1] + 1
    assert scores[1, 1] > scores[1, 0] + 1


def vectors(model: Any, answer: Answer, *uses: tuple[str, str]) -> NDArray[np.float64]:
    """Vectors of length 1 of words in texts."""
    start = np.array([text.index(word) for text, word in uses], np.int32)
    end = start + np.array([len(word) for _, word in uses], np.int32)
    found = answer(model, EmbedColumns(StringColumn.of(text for text, _ in uses), start, end))["vector"].astype(
        np.float64
    )
    return np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True))


def test_a_word_is_closer_to_itself_than_to_other_words(model: Any, answer: Answer) -> None:
    dog, same, ship, teacher = vectors(
        model,
        answer,
        ("The old dog slept by the fire.", "dog"),
        ("A young dog slept near the fire.", "dog"),
        ("The old ship slept by the fire.", "ship"),
        ("The old teacher slept by the fire.", "teacher"),
    )
    assert dog @ same > 0.15 + max(dog @ ship, dog @ teacher)


def test_a_word_of_two_senses_has_vectors_of_two_kinds(model: Any, answer: Answer) -> None:
    """Otherwise the vectors would not be those of words in their texts."""
    loan, credit, shore, stream = vectors(
        model,
        answer,
        ("We borrowed money from the bank.", "bank"),
        ("The bank lent us money.", "bank"),
        ("We sat on the bank of the river.", "bank"),
        ("We fished from the bank of the stream.", "bank"),
    )
    assert min(loan @ credit, shore @ stream) > 0.15 + max(loan @ shore, credit @ stream)


def test_it_answers_most_of_social_iqa(official_data: Path, model: Any, answer: Answer) -> None:
    """Of three answers, chance finds a third; 300 questions leave a standard error of 0.03."""
    folder = official_data / "socialiqa"
    with gzip.open(folder / "dev.jsonl.gz", "rt", encoding="utf-8") as lines:
        examples = [json.loads(line) for _, line in zip(range(300), lines, strict=False)]
    with gzip.open(folder / "dev-labels.lst.gz", "rt", encoding="utf-8") as lines:
        labels = np.array([int(line) - 1 for _, line in zip(range(300), lines, strict=False)])
    assert len(examples) == len(labels) == 300
    choices = [example[f"answer{letter}"] for example in examples for letter in "ABC"]
    asked = ChoiceColumns(
        StringColumn.of(example["context"] for example in examples),
        StringColumn.of(example["question"] for example in examples),
        choices,
        np.arange(len(choices), dtype=np.int32).reshape(-1, 3),
    )
    accuracy = (answer(model, asked)["score"].argmax(axis=1) == labels).mean()
    assert accuracy > 0.55
