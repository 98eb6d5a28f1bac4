"""Reading RACE and Social IQa: questions, labels and contexts, and what is refused."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.errors import DataError
from assay.lab.training.choice_data import read_choice_data

Write = Callable[..., Path]


def test_race_is_read_article_by_article(tmp_path: Path, race: Write) -> None:
    data = read_choice_data(race(tmp_path / "race"))
    assert (len(data.queries), data.options) == (8, 4)
    assert data.contexts == [0, 0, 1, 1, 2, 2, 3, 3]
    for query, label in zip(data.queries, data.labels, strict=True):
        who, place = query.question.split()[2], query.options[label]
        assert f"{who} went to the {place}" in query.context
    assert sorted(data.digests)[0] == "high/0.txt"


def test_social_iqas_labels_count_from_one(tmp_path: Path, social_iqa: Write) -> None:
    data = read_choice_data(social_iqa(tmp_path))
    assert data.options == 3
    for query, label in zip(data.queries, data.labels, strict=True):
        assert query.options[label] in query.context
    assert sorted(data.digests) == ["train-labels.lst", "train.jsonl"]


def test_packed_files_and_labels_inside_rows_say_the_same(tmp_path: Path, social_iqa: Write) -> None:
    plain = social_iqa(tmp_path / "plain")
    labels = plain.with_name("train-labels.lst").read_text().split()
    packed = tmp_path / "packed"
    packed.mkdir()
    for name in ("train.jsonl", "train-labels.lst"):
        (packed / f"{name}.gz").write_bytes(gzip.compress((plain.parent / name).read_bytes()))
    rows = [json.loads(line) for line in plain.read_text().splitlines()]
    inside = tmp_path / "inside.jsonl"
    inside.write_text(
        "".join(
            json.dumps({**row, "correct": "ABC"[int(label) - 1]}) + "\n"
            for row, label in zip(rows, labels, strict=True)
        )
    )
    expected = read_choice_data(plain)
    for path in (packed / "train.jsonl.gz", inside):
        data = read_choice_data(path)
        assert (data.queries, data.labels, data.contexts) == (expected.queries, expected.labels, expected.contexts)


def test_a_folder_of_social_iqa_has_a_part_for_training_and_one_for_evaluation(
    tmp_path: Path, social_iqa: Write
) -> None:
    social_iqa(tmp_path, "train", 10, seed=1)
    social_iqa(tmp_path, "dev", 6, seed=2)
    assert len(read_choice_data(tmp_path).queries) == 10
    assert len(read_choice_data(tmp_path, "dev").queries) == 6


def test_of_race_itself_one_part_is_read_and_noted(tmp_path: Path, race: Write) -> None:
    parts = {part: race(tmp_path / part, seed) for seed, part in enumerate(("train", "dev", "test"))}
    (tmp_path / "README.txt").write_text("about these files")
    for part in ("train", "dev"):
        data, alone = read_choice_data(tmp_path, part), read_choice_data(parts[part])
        assert (data.queries, data.labels, data.digests) == (alone.queries, alone.labels, alone.digests)
        assert not alone.notes
    assert data.notes == ("of the folder's parts dev/ was read, not test/, train/",)
    assert len(read_choice_data(parts["train"] / "middle").queries) == 4


def test_a_part_that_race_lacks_is_not_taken_from_another(tmp_path: Path, race: Write) -> None:
    for part in ("train", "test"):
        race(tmp_path / part)
    with pytest.raises(DataError, match=r"there is no dev/ with articles in this folder, only test/, train/") as caught:
        read_choice_data(tmp_path, "dev")
    assert str(tmp_path / "test") in caught.value.remedy


def test_equal_contexts_are_one_unit(tmp_path: Path) -> None:
    row = {"question": "Who?", "answerA": "Anna", "answerB": "Ben", "correct": "A"}
    rows = [{**row, "context": context} for context in ("One.", "Two.", "One.")]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert read_choice_data(path).contexts == [0, 1, 0]


ROW = {"context": "Anna sat down.", "question": "Who?", "answerA": "Anna", "answerB": "Ben", "answerC": "Emma"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({}, "line 2: this row has no label"),
        ({"correct": "D"}, "line 2: the right answer is 'D', expected one of A, B, C"),
        ({"correct": 1}, "line 2: the right answer is 1, expected one of A, B, C"),
        ({"correct": "A", "answerC": ""}, "line 2: \"an option\" is '', expected a text"),
        ({"correct": "A", "context": None}, 'line 2: "context" is missing'),
        ({"correct": "A", "answerD": "Frank"}, "line 2: this question has 4 options, those before it 3"),
    ],
)
def test_a_row_that_cannot_be_used_is_named(tmp_path: Path, change: dict[str, object], message: str) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps({**ROW, "correct": "A"}) + "\n" + json.dumps({**ROW, **change}) + "\n")
    with pytest.raises(DataError, match=message) as caught:
        read_choice_data(path)
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ("1\n4\n", r"rows-labels\.lst, line 2: the label is '4', expected a number from 1 to 3"),
        ("1\nA\n", r"rows-labels\.lst, line 2: the label is 'A'"),
        ("1\n", r"rows-labels\.lst: there are 1 labels"),
        ("1\n2\n3\n", r"rows-labels\.lst: there are 3 labels"),
    ],
)
def test_labels_must_fit_their_questions(tmp_path: Path, labels: str, message: str) -> None:
    (tmp_path / "rows.jsonl").write_text((json.dumps(ROW) + "\n") * 2)
    (tmp_path / "rows-labels.lst").write_text(labels)
    with pytest.raises(DataError, match=message):
        read_choice_data(tmp_path / "rows.jsonl")


def test_an_empty_file_and_an_empty_folder_are_refused(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text("\n")
    with pytest.raises(DataError, match=r"rows\.jsonl: there is no question in it"):
        read_choice_data(tmp_path / "rows.jsonl")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="neither RACE's articles nor train"):
        read_choice_data(tmp_path / "empty")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[]", "expected a JSON object"),
        ('{"article": "A.", "questions": ["Who?"], "options": [], "answers": ["A"]}', "must be lists of one length"),
        (
            '{"article": "A.", "questions": ["Who?"], "options": [["a", "b", "c", "d"]], "answers": ["E"]}',
            "question 0: the right answer is 'E', expected one of A, B, C, D",
        ),
    ],
)
def test_an_article_that_cannot_be_used_is_named(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "1.txt").write_text(content)
    with pytest.raises(DataError, match=message) as caught:
        read_choice_data(tmp_path)
    assert "1.txt" in caught.value.problem


def test_official_social_iqa_is_read_whole(official_data: Path) -> None:
    data = read_choice_data(official_data / "socialiqa", "dev")
    assert (len(data.queries), data.options) == (1954, 3)
    assert [data.labels.count(label) for label in range(3)] == pytest.approx([651, 651, 651], abs=30)
