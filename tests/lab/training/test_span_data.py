"""Reading SQuAD and MRQA: what is taken over, what is refused, and what the message says."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assay.errors import DataError
from assay.lab.training.span import read_span_data
from raising import raises

Squad = Callable[..., dict[str, Any]]


def write(path: Path, content: Any) -> Path:
    text = content if isinstance(content, str) else json.dumps(content)
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text, encoding="utf-8")
    return path


def test_squads_answers_are_where_the_file_says(tmp_path: Path, squad: Squad) -> None:
    data = read_span_data(write(tmp_path / "train.json", squad(4)))
    assert len(data.examples) == 12
    assert len(data.passages) == 4
    for example in data.examples:
        assert data.passages[example.passage][example.start : example.end] == example.answers[0]
    assert not data.has_unanswerable


def test_unanswerable_questions_of_version_2_have_no_place(tmp_path: Path, squad: Squad) -> None:
    data = read_span_data(write(tmp_path / "train.json", squad(4, version=2)))
    assert data.has_unanswerable
    without = [example for example in data.examples if example.start is None]
    assert len(without) == 4
    assert all(example.answers == () for example in without)


@pytest.mark.parametrize("name", ["made.jsonl", "made.jsonl.gz"])
def test_mrqas_spans_count_their_last_character_in(tmp_path: Path, mrqa: Callable[..., str], name: str) -> None:
    data = read_span_data(write(tmp_path / name, mrqa(5)))
    assert len(data.examples) == 5
    for example in data.examples:
        found = data.passages[example.passage][example.start : example.end]
        assert found == example.answers[1]  # the first of "answers"; the detected text is in capitals
        assert example.answers[0] == found.upper()


def test_packed_and_plain_files_have_one_digest(tmp_path: Path, mrqa: Callable[..., str]) -> None:
    plain, packed = write(tmp_path / "a.jsonl", mrqa(2)), write(tmp_path / "b.jsonl.gz", mrqa(2))
    assert set(read_span_data(plain).digests.values()) == set(read_span_data(packed).digests.values())


def test_a_folders_files_are_read_together(tmp_path: Path, squad: Squad, mrqa: Callable[..., str]) -> None:
    write(tmp_path / "a.json", squad(2))
    write(tmp_path / "b.jsonl.gz", mrqa(3))
    data = read_span_data(tmp_path)
    assert len(data.examples) == 9
    assert sorted(data.digests) == ["a.json", "b.jsonl.gz"]
    assert {example.passage for example in data.examples} == set(range(5))


def test_answers_that_are_elsewhere_are_left_out_and_counted(tmp_path: Path, squad: Squad) -> None:
    content = squad(4)
    for paragraph in content["data"][0]["paragraphs"][:2]:
        paragraph["qas"][0]["answers"][0]["answer_start"] += 1
    data = read_span_data(write(tmp_path / "train.json", content))
    assert (len(data.examples), data.left_out) == (10, 2)


def test_a_file_whose_answers_are_mostly_elsewhere_is_refused(tmp_path: Path, squad: Squad) -> None:
    content = squad(4)
    for paragraph in content["data"][0]["paragraphs"]:
        for entry in paragraph["qas"][:2]:
            entry["answers"][0]["answer_start"] += 1
    with raises("bad-label", DataError, file=tmp_path / "train.json"):
        read_span_data(write(tmp_path / "train.json", content))


def no_context(content: dict[str, Any]) -> None:
    del content["data"][0]["paragraphs"][1]["context"]


def no_answers(content: dict[str, Any]) -> None:
    content["data"][0]["paragraphs"][1]["qas"][2]["answers"] = []


def no_questions(content: dict[str, Any]) -> None:
    content["data"][0]["paragraphs"] = []


def text_offset(content: dict[str, Any]) -> None:
    content["data"][0]["paragraphs"][0]["qas"][0]["answers"][0]["answer_start"] = "3"


@pytest.mark.parametrize(
    ("damage", "code", "key", "place"),
    [
        (no_context, "missing-key", "context", "data[0].paragraphs[1]: "),
        (no_answers, "missing-key", "answers", "data[0].paragraphs[1].qas[2]: "),
        (no_questions, "empty-file", None, ""),
        (text_offset, "bad-row", "answers", "qas[0]: "),
    ],
)
def test_what_is_missing_is_named_with_its_place(
    tmp_path: Path, squad: Squad, damage: Callable[[dict[str, Any]], None], code: str, key: str | None, place: str
) -> None:
    content = squad(2)
    damage(content)
    with raises(code, DataError, file=tmp_path / "train.json", key=key) as caught:
        read_span_data(write(tmp_path / "train.json", content))
    assert place in caught.value.problem
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("text", "code", "line", "key"),
    [
        ("", "empty-file", None, None),
        ("not JSON\n", "bad-json", None, None),
        ('{"rows": []}', "missing-key", None, "data"),
        ('{"header": {}}\n{"context": "A b.", "qas": [{"question": "Who?"}]}\n', "missing-key", 2, "detected_answers"),
        ('{"header": {}}\n[1]\n', "bad-json", 2, None),
    ],
)
def test_files_of_another_kind_are_refused(
    tmp_path: Path, text: str, code: str, line: int | None, key: str | None
) -> None:
    with raises(code, DataError, file=tmp_path / "data.json", line=line, key=key):
        read_span_data(write(tmp_path / "data.json", text))


def test_a_damaged_archive_is_data_that_cannot_be_read(tmp_path: Path, mrqa: Callable[..., str]) -> None:
    path = write(tmp_path / "a.jsonl.gz", mrqa(50))
    path.write_bytes(path.read_bytes()[:200])
    with raises("unreadable-file", DataError, file=path):
        read_span_data(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with raises("missing-file", DataError, file=tmp_path / "nowhere.json"):
        read_span_data(tmp_path / "nowhere.json")
