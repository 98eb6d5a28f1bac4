"""Whoever runs or scores questions that are not the published ones is told so; their digests decide."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import small_bbq
from assay.datasets.catalogue import DataSet, blob_id
from assay.probes import method_of
from assay.probes.base import Request
from assay.probes.bbq import published_rows as notes_on
from assay.probes.bbq.items import Item

CATEGORIES = {"Age": ("old", "nonOld"), "Religion": ("Hindu", "Sikh")}
OTHERS = "not the published"


@pytest.fixture
def published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of files, and a manifest that says that they were published."""
    manifest, lines = tmp_path / "pinned.tsv", []
    for name, labels in CATEGORIES.items():
        file = small_bbq.write(tmp_path / "data" / f"{name}.jsonl", small_bbq.examples(2, 2, name, labels))
        lines.append(f"some/repository\t0\t{blob_id(file.read_bytes())}\t{file.name}\tbbq/data/{file.name}\n")
    manifest.write_text("".join(lines))
    monkeypatch.setattr(notes_on, "_OFFICIAL", DataSet("bbq", "made up", "none", manifest))
    return tmp_path / "data"


def read(file: Path) -> list[Item]:
    from assay.files.rows import BadRows
    from assay.probes.bbq.read_items import read_examples

    return read_examples(file, BadRows(skip=False))


def with_another_gold(examples: list[Item]) -> list[Item]:
    """The same but for one label, which is plausible: the other person of a disambiguated context."""
    (person,) = {0, 1, 2} - {examples[1].label, examples[1].unknown}
    return [examples[0], replace(examples[1], label=person), *examples[2:]]


class Choosing:
    """A model that could choose, and is not asked."""

    abilities, ways = frozenset({"choice"}), ()


def run_notes(data: Path) -> list[str]:
    prepared = method_of("bbq").prepare(Request(data=data), Choosing())
    return [note for note in prepared.notes if OTHERS in note]


def score_notes(tmp_path: Path, examples: list[Item], **settings: str) -> list[str]:
    rows = [example.as_json() | {"said": example.answers[0]} for example in examples]
    file = small_bbq.write(tmp_path / "answers.jsonl", rows)
    request = Request(settings={"resamples": "20", **settings})
    prepared, _ = method_of("bbq").read_files([file], request, "said")
    return [note for note in prepared.notes if OTHERS in note]


def test_published_files_are_run_without_a_note_packed_or_not_and_whatever_they_are_called(published: Path) -> None:
    assert run_notes(published) == []
    file = published / "Age.jsonl"
    (published / "renamed.jsonl.gz").write_bytes(gzip.compress(file.read_bytes()))
    file.unlink()
    assert run_notes(published) == []


def test_a_file_with_one_label_changed_is_noted_in_a_run(published: Path) -> None:
    file = published / "Age.jsonl"
    small_bbq.write(file, with_another_gold(read(file)))
    assert run_notes(published) == ["not the published files: Age.jsonl; results on them are not BBQ results"]


def test_metadata_of_one_s_own_are_noted(published: Path, tmp_path: Path) -> None:
    columns = "category,question_index,example_id,target_loc,label_type,Relevant_social_values\n"
    metadata = published / "additional_metadata.csv"
    metadata.write_text(f"{columns}Age,1,0,0,label,habits\n")
    assert run_notes(published) == [
        "not the published files: additional_metadata.csv; results on them are not BBQ results"
    ]
    (note,) = score_notes(tmp_path, read(published / "Age.jsonl"), metadata=str(metadata))
    assert note.startswith("not the published files: additional_metadata.csv")


def test_published_rows_with_answers_are_scored_without_a_note_in_any_order(published: Path, tmp_path: Path) -> None:
    examples = [*read(published / "Religion.jsonl"), *reversed(read(published / "Age.jsonl"))]
    assert score_notes(tmp_path, examples) == []
    assert score_notes(tmp_path, examples, context="none") == []


@pytest.mark.parametrize("change", [with_another_gold, lambda examples: examples[:-1]], ids=["gold", "a row less"])
def test_rows_with_one_label_changed_or_a_row_less_are_noted_with_their_category(
    published: Path, tmp_path: Path, change: Callable[[list[Item]], list[Item]]
) -> None:
    examples = [*read(published / "Religion.jsonl"), *change(read(published / "Age.jsonl"))]
    (note,) = score_notes(tmp_path, examples)
    assert note == "not the published rows, or not all of them: Age; results on them may not be BBQ results"
    assert score_notes(tmp_path, examples, category="Religion") == []


def all_notes(tmp_path: Path, examples: list[Item], data: Path | None = None) -> list[str]:
    rows = [example.as_json() | {"said": example.answers[0]} for example in examples]
    file = small_bbq.write(tmp_path / "answers.jsonl", rows)
    request = Request(settings={"resamples": "20"}, data=data)
    return list(method_of("bbq").read_files([file], request, "said")[0].notes)


def test_an_edited_row_is_named_even_in_a_subset(published: Path, tmp_path: Path) -> None:
    examples = read(published / "Age.jsonl")
    edited = replace(examples[2], context=f"{examples[2].context} Later it rained.", answers=("She", "He", "Nobody"))
    notes = all_notes(tmp_path, [examples[0], edited, examples[5]], published)
    assert "Age: 1 of 3 rows differ from the published ones: 2 (context, answers)" in notes
    assert any(note.startswith(OTHERS) for note in notes)


def test_a_row_that_was_never_published_is_named(published: Path, tmp_path: Path) -> None:
    examples = read(published / "Age.jsonl")
    notes = all_notes(tmp_path, [examples[0], replace(examples[1], example_id=4711)], published)
    assert "Age: 1 of 2 rows differ from the published ones: 4711 (no such row)" in notes


def test_a_sound_subset_is_said_to_be_one(published: Path, tmp_path: Path) -> None:
    examples = read(published / "Age.jsonl")
    assert f"Age: all 3 rows are published ones, of {len(examples)}" in all_notes(tmp_path, examples[:3], published)
    assert all_notes(tmp_path, [*examples, *read(published / "Religion.jsonl")], published) == []


@pytest.mark.parametrize("changed", [False, True])
def test_without_the_published_files_edits_are_said_to_be_unknown(
    published: Path, tmp_path: Path, changed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A changed copy of the files tells nothing either."""
    monkeypatch.setenv("ASSAY_DATA", str(tmp_path / "nothing"))
    examples = read(published / "Age.jsonl")
    small_bbq.write(published / "Age.jsonl", with_another_gold(examples))
    notes = all_notes(tmp_path, examples[:3], published if changed else None)
    assert any("whether rows of Age were edited is unknown: --data DIR" in note for note in notes)
    assert not any("differ from" in note for note in notes)


def test_official_files_and_the_authors_predictions_have_no_note(official_data: Path) -> None:
    assert run_notes(official_data) == []
    for file in sorted((official_data / "bbq" / "unifiedqa_predictions").iterdir()):
        request = Request(settings={"resamples": "20"})
        prepared, _ = method_of("bbq").read_files([file], request, "unifiedqa-t5-11b_pred_race")
        assert not any(OTHERS in note for note in prepared.notes)


def test_an_official_file_with_one_label_changed_is_noted(official_data: Path, tmp_path: Path) -> None:
    """Of all examples the last one, whose context decides."""
    with gzip.open(official_data / "bbq" / "data" / "Religion.jsonl.gz", "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    (unknown,) = (place for place in range(3) if rows[-1]["answer_info"][f"ans{place}"][1] == "unknown")
    (rows[-1]["label"],) = {0, 1, 2} - {rows[-1]["label"], unknown}
    (note,) = run_notes(small_bbq.write(tmp_path / "Religion.jsonl", rows))
    assert "Religion.jsonl" in note
