"""Reading BBQ's files: what they hold, and what is said about rows that cannot be used."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

import small_bbq
from assay.errors import DataError, UsageError
from assay.files.opening import digest_of_file
from assay.files.rows import BadRows
from assay.probes.bbq.items import Item
from assay.probes.bbq.read_items import data_files, read_examples
from raising import raises

EXAMPLES = small_bbq.examples(templates=2, quartets=2)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    file = small_bbq.write(tmp_path / "Age.jsonl", EXAMPLES)
    assert read_examples(file, BadRows(skip=False)) == EXAMPLES


def test_packed_files_are_the_same_files(tmp_path: Path) -> None:
    plain = small_bbq.write(tmp_path / "Age.jsonl", EXAMPLES)
    packed = tmp_path / "packed" / "Age.jsonl.gz"
    packed.parent.mkdir()
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert read_examples(packed, BadRows(skip=False)) == EXAMPLES
    assert digest_of_file(packed) == digest_of_file(plain)


@pytest.mark.parametrize("written", [json.dumps, str], ids=["as JSON", "as Python writes it"])
def test_csv_rows_are_read_too(tmp_path: Path, written: Any) -> None:
    file = tmp_path / "rows.csv"
    with file.open("w", newline="") as out:
        rows = [
            {key: written(value) if isinstance(value, dict) else value for key, value in example.as_json().items()}
            for example in EXAMPLES
        ]
        writer = csv.DictWriter(out, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    assert read_examples(file, BadRows(skip=False)) == EXAMPLES


@pytest.mark.parametrize("inside", ["bbq/data", "data", "."])
def test_files_are_found_in_the_usual_places(tmp_path: Path, inside: str) -> None:
    for name in ("Religion", "Age"):
        small_bbq.write(tmp_path / inside / f"{name}.jsonl", EXAMPLES)
    assert [path.name for path in data_files(tmp_path)] == ["Age.jsonl", "Religion.jsonl"]


def test_a_folder_without_files_says_how_to_get_them(tmp_path: Path) -> None:
    with raises("missing-data", UsageError, file=tmp_path):
        data_files(tmp_path)


def row(**changes: Any) -> dict[str, Any]:
    """A good row with some fields changed; None removes one."""
    changed = EXAMPLES[0].as_json() | changes
    return {key: value for key, value in changed.items() if value is not None}


BAD: dict[str, tuple[dict[str, Any], str, str]] = {
    "label out of range": (row(label=3), "bad-label", "label"),
    "label below the range": (row(label=-1), "bad-label", "label"),
    "label below the range, as text": (row(label="-1"), "bad-label", "label"),
    "gold of an ambiguous context is a person": (row(label=0), "bad-label", "label"),
    "gold of a disambiguated context is UNKNOWN": (EXAMPLES[1].as_json() | {"label": 2}, "bad-label", "label"),
    "label missing": (row(label=None), "missing-key", "label"),
    "label is text": (row(label="first"), "bad-label", "label"),
    "polarity": (row(question_polarity="negative"), "bad-value", "question_polarity"),
    "condition": (row(context_condition="clear"), "bad-value", "context_condition"),
    "no unknown option": (row(answer_info={f"ans{k}": ["x", "old"] for k in range(3)}), "bad-value", "answer_info"),
    "info incomplete": (row(answer_info={"ans0": ["x", "old"]}), "bad-value", "answer_info"),
    "no groups": (row(additional_metadata={"version": "a"}), "bad-value", "additional_metadata"),
    "context is a number": (row(context=7), "bad-value", "context"),
    "option missing": (row(ans2=None), "missing-key", "ans2"),
}


@pytest.mark.parametrize("what", BAD)
def test_a_bad_row_is_named_with_file_and_line(tmp_path: Path, what: str) -> None:
    bad, code, key = BAD[what]
    file = small_bbq.write(tmp_path / "Age.jsonl", [EXAMPLES[0], bad, EXAMPLES[1]])
    with raises(code, DataError, file=file, line=2, key=key) as caught:
        read_examples(file, BadRows(skip=False))
    assert caught.value.remedy


@pytest.mark.parametrize("line", ["{", "[1]", '"text"', "nothing"])
def test_a_line_that_is_no_object_is_named(tmp_path: Path, line: str) -> None:
    file = tmp_path / "Age.jsonl"
    file.write_text(f"{EXAMPLES[0].to_line()}\n{line}\n")
    with raises("bad-json", DataError, file=file, line=2):
        read_examples(file, BadRows(skip=False))


def test_skipping_bad_rows_tells_how_many_and_which(tmp_path: Path) -> None:
    rows: list[Item | dict[str, Any]] = [EXAMPLES[0], row(label=9), EXAMPLES[1], row(context=None)]
    bad = BadRows(skip=True)
    assert read_examples(small_bbq.write(tmp_path / "Age.jsonl", rows), bad) == EXAMPLES[:2]
    notes = bad.notes("data")
    assert "2 rows left out" in notes[0]
    assert ["line 2" in notes[1], "line 4" in notes[2]] == [True, True]


def test_a_gold_that_contradicts_the_fact_is_read_as_published(tmp_path: Path) -> None:
    """Whom a fact names cannot be told from the fields: such labels are among the known defects of official files."""
    other = EXAMPLES[1].as_json() | {"label": 1 - EXAMPLES[1].label}
    (example,) = read_examples(small_bbq.write(tmp_path / "Age.jsonl", [other]), BadRows(skip=False))
    assert example.label == 1 - EXAMPLES[1].label


def test_blank_labels_are_tolerated(tmp_path: Path) -> None:
    blank = row(answer_info={**EXAMPLES[0].as_json()["answer_info"], "ans0": ["", ""]})
    (example,) = read_examples(small_bbq.write(tmp_path / "Age.jsonl", [blank]), BadRows(skip=False))
    assert example.info[0] == ("", "")


def test_a_damaged_archive_is_named(tmp_path: Path) -> None:
    file = tmp_path / "Age.jsonl.gz"
    file.write_bytes(gzip.compress("".join(e.to_line() + "\n" for e in EXAMPLES).encode())[:-20])
    with raises("unreadable-file", DataError, file=file):
        read_examples(file, BadRows(skip=False))


def test_official_files_are_read_and_written_back(official_data: Path) -> None:
    for file in data_files(official_data):
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            original = [line.rstrip("\n") for line in lines]
        assert [example.to_line() for example in read_examples(file, BadRows(skip=False))] == original
