"""Reading RACE and Social IQa: questions, labels and contexts, and what is refused."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.errors import DataError
from assay.lab.training.choice import read_choice_data
from raising import raises

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
    assert data.notes == ("only dev/ of the folder was read, not test/, train/",)
    assert len(read_choice_data(parts["train"] / "middle").queries) == 4


def test_a_part_that_race_lacks_is_not_taken_from_another(tmp_path: Path, race: Write) -> None:
    for part in ("train", "test"):
        race(tmp_path / part)
    with raises("missing-file", DataError, file=tmp_path) as caught:
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
    ("change", "code", "key"),
    [
        ({}, "missing-key", "correct"),
        ({"correct": "D"}, "bad-label", None),
        ({"correct": 1}, "bad-label", None),
        ({"correct": "A", "answerC": ""}, "bad-value", "an option"),
        ({"correct": "A", "context": None}, "missing-key", "context"),
        ({"correct": "A", "answerD": "Frank"}, "bad-row", None),
    ],
)
def test_a_row_that_cannot_be_used_is_named(
    tmp_path: Path, change: dict[str, object], code: str, key: str | None
) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps({**ROW, "correct": "A"}) + "\n" + json.dumps({**ROW, **change}) + "\n")
    with raises(code, DataError, file=path, line=2, key=key) as caught:
        read_choice_data(path)
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("labels", "line"),
    [
        ("1\n4\n", 2),
        ("1\nA\n", 2),
        ("1\n", None),
        ("1\n2\n3\n", None),
    ],
)
def test_labels_must_fit_their_questions(tmp_path: Path, labels: str, line: int | None) -> None:
    (tmp_path / "rows.jsonl").write_text((json.dumps(ROW) + "\n") * 2)
    (tmp_path / "rows-labels.lst").write_text(labels)
    with raises("bad-label", DataError, file=tmp_path / "rows-labels.lst", line=line):
        read_choice_data(tmp_path / "rows.jsonl")


def test_an_empty_file_and_an_empty_folder_are_refused(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text("\n")
    with raises("empty-file", DataError, file=tmp_path / "rows.jsonl"):
        read_choice_data(tmp_path / "rows.jsonl")
    (tmp_path / "empty").mkdir()
    with raises("empty-file", DataError, file=tmp_path / "empty"):
        read_choice_data(tmp_path / "empty")


@pytest.mark.parametrize(
    ("content", "code", "place"),
    [
        ("[]", "bad-json", ""),
        ('{"article": "A.", "questions": ["Who?"], "options": [], "answers": ["A"]}', "bad-row", ""),
        (
            '{"article": "A.", "questions": ["Who?"], "options": [["a", "b", "c", "d"]], "answers": ["E"]}',
            "bad-label",
            "question 0: ",
        ),
    ],
)
def test_an_article_that_cannot_be_used_is_named(tmp_path: Path, content: str, code: str, place: str) -> None:
    (tmp_path / "1.txt").write_text(content)
    with raises(code, DataError, file=tmp_path / "1.txt") as caught:
        read_choice_data(tmp_path)
    assert place in caught.value.problem


def test_official_social_iqa_is_read_whole(official_data: Path) -> None:
    data = read_choice_data(official_data / "socialiqa", "dev")
    assert (len(data.queries), data.options) == (1954, 3)
    assert [data.labels.count(label) for label in range(3)] == pytest.approx([651, 651, 651], abs=30)
