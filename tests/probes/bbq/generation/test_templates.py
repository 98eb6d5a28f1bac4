"""What is wrong with templates, vocabularies or settings is said with its place and a remedy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from assay.errors import DataError, UsageError
from assay.probes import method_of
from assay.probes.base import Request
from raising import raises
from small_templates import (
    ETHNICITIES,
    GENDERED,
    NAMED,
    NOBODY,
    PLAIN,
    WORDS,
    fillers,
    generated,
    generation,
    write_names,
    write_sheet,
    write_vocabulary,
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with both vocabularies and no templates yet."""
    write_vocabulary(tmp_path)
    write_names(tmp_path)
    return tmp_path


def refuse(folder: Path, category: str, *rows: dict[str, str], code: str, **at: Any) -> str:
    """Templates that cannot be used are refused with this code, the file, this line and key, and a remedy."""
    file = folder / f"{category}.csv"
    write_sheet(file, list(rows))
    with raises(code, DataError, file=file, **at) as caught:
        list(generation(folder).examples())
    assert caught.value.remedy
    return caught.value.problem


@pytest.mark.parametrize(
    ("change", "code", "key"),
    [
        ({"Names": "x, y"}, "bad-value", "Names"),
        ({"Names": "NAME1: [x] NAME2: [y]"}, "bad-value", "Names"),
        ({"Names": "NAME1: [x, ]; NAME2: [y]"}, "bad-value", "Names"),
        ({"Names": "NAME2: [y]"}, "bad-value", "Names"),
        ({"Names": "NAME1: [x, y]; NAME2: [z, y]"}, "duplicate", "Names"),
        ({"Lexical_diversity": "WORDS: [x]"}, "bad-value", "Lexical_diversity"),
        ({"Known_stereotyped_groups": "old"}, "bad-value", "Known_stereotyped_groups"),
        ({"Known_stereotyped_groups": "[1]"}, "bad-value", "Known_stereotyped_groups"),
        ({"Question_non_negative": "Who is {{NAME3}}?"}, "bad-text", "Question_non_negative"),
        ({"Disambiguating_Context": "It was {[NAME1}}."}, "bad-text", "Disambiguating_Context"),
        ({"Ambiguous_Context": "NAME1 sat."}, "bad-text", "Ambiguous_Context"),
        ({"Ambiguous_Context": "A {{WORD1}} sat."}, "bad-text", "Ambiguous_Context"),
        ({"Ambiguous_Context": "A {{GEN1}} sat."}, "bad-text", "Ambiguous_Context"),
        ({"Answer_negative": "The other"}, "bad-text", None),
        ({"Answer_negative": "{{NAME1}} or {{NAME2}}"}, "bad-text", None),
        ({"Answer_negative": "{{NAME1}}"}, "bad-text", None),
        ({"Q_id": ""}, "bad-value", "Q_id"),
    ],
)
def test_what_is_wrong_with_a_template_is_said_with_file_and_line(
    folder: Path, change: dict[str, str], code: str, key: str | None
) -> None:
    good = NOBODY | {"Ambiguous_Context": "Two\nlines with {{NAME1}}."}
    refuse(folder, "Age", good, NOBODY | {"Ambiguous_Context": ""}, NOBODY | change, code=code, line=5, key=key)


@pytest.mark.parametrize(
    ("change", "code", "key"),
    [
        ({"Known_stereotyped_var2": "X"}, "bad-value", "Known_stereotyped_var2"),
        ({"Names": ""}, "bad-value", "Names"),
        ({"Names": '["man"]'}, "bad-value", "Names"),
        ({"Names": '["man", []]'}, "bad-value", "Names"),
        ({"Names": "man, woman"}, "bad-value", "Names"),
        ({"Var2_info": '["M", "M"]'}, "bad-value", "Var2_info"),
        ({"Proper_nouns_only": "TRUE"}, "bad-text", "Ambiguous_Context"),
        ({"Known_stereotyped_race": '["Elf"]'}, "bad-list", "Name"),
        ({"Proper_nouns_only": "TRUE", "Stated_gender_info": "women"}, "bad-value", "Stated_gender_info"),
    ],
)
def test_what_is_wrong_with_a_crossed_template_is_said(
    folder: Path, change: dict[str, str], code: str, key: str
) -> None:
    refuse(folder, "Race_x_gender", GENDERED | change, code=code, line=2, key=key)


@pytest.mark.parametrize(
    ("category", "row", "file", "key"),
    [
        ("Trades", PLAIN, "vocabulary.csv", None),
        ("Age", NAMED, "vocabulary_proper_names.csv", None),
        ("Race_ethnicity", NAMED, "vocabulary_proper_names.csv", None),
        ("Race_x_gender", GENDERED, "vocabulary.csv", None),
        ("Elves", PLAIN, "vocabulary.csv", "Category"),
        ("Gender_identity", PLAIN | {"Subcategory": "teen"}, "vocabulary.csv", "SubCat"),
        ("Religion", PLAIN, "vocabulary.csv", "Name"),
        ("Religion", PLAIN | {"Known_stereotyped_groups": json.dumps(WORDS["Religion"])}, "vocabulary.csv", "Name"),
        ("Race_ethnicity", NAMED, "vocabulary_proper_names.csv", "ethnicity"),
        (
            "Race_ethnicity",
            NAMED | {"Known_stereotyped_groups": json.dumps(ETHNICITIES)},
            "vocabulary_proper_names.csv",
            "ethnicity",
        ),
    ],
)
def test_what_the_vocabulary_lacks_is_said_with_the_template(
    folder: Path, category: str, row: dict[str, str], file: str, key: str | None
) -> None:
    if key is None:
        (folder / file).unlink()
    code = "missing-file" if key is None else "bad-list"
    assert file in refuse(folder, category, row, code=code, line=2, key=key)


def test_templates_that_name_their_people_need_no_vocabulary(tmp_path: Path) -> None:
    assert fillers(generated(tmp_path, "Age", NOBODY)) == [("x", "y")]


@pytest.mark.parametrize("column", [key for key in PLAIN if key != "Known_stereotyped_groups"])
def test_a_missing_column_is_named(folder: Path, column: str) -> None:
    row = {key: text for key, text in NOBODY.items() if key != column}
    refuse(folder, "Age", row, code="missing-key", line=1, key=column)


def test_groups_may_be_missing_only_where_race_and_value_are_there(folder: Path) -> None:
    row = {key: text for key, text in NOBODY.items() if "groups" not in key}
    refuse(folder, "Age", row, code="missing-key", line=1, key="Known_stereotyped_groups")


@pytest.mark.parametrize(
    ("content", "code", "at"),
    [
        (b"", "empty-file", {"line": None}),
        (b"Q_id,Ambiguous_Context\n1,x\n", "missing-key", {"line": 1, "key": "Disambiguating_Context"}),
        (",".join([*NOBODY, "Q_id"]).encode(), "duplicate", {"line": 1, "key": "Q_id"}),
        (b'Q_id,"Amb\n', "bad-csv", {"line": 1}),
        (b"Q_id,x\n\xff,1\n", "unreadable-file", {"line": 2}),
    ],
)
def test_what_is_no_table_is_refused(folder: Path, content: bytes, code: str, at: dict[str, Any]) -> None:
    file = folder / "Age.csv"
    file.write_bytes(content)
    with raises(code, DataError, file=file, **at):
        generation(folder).count()


def test_rows_of_another_length_are_refused(folder: Path) -> None:
    write_sheet(folder / "Age.csv", [NOBODY, NOBODY])
    with (folder / "Age.csv").open("a", encoding="utf-8") as file:
        file.write("\r\n3,too short\r\n")
    with raises("bad-csv", DataError, file=folder / "Age.csv", line=5):
        generation(folder).count()


def test_a_table_of_empty_rows_is_refused(folder: Path) -> None:
    refuse(folder, "Age", NOBODY | {"Ambiguous_Context": ""}, code="empty-file", line=None)


@pytest.mark.parametrize(
    ("file", "column", "cell"),
    [
        ("vocabulary_proper_names.csv", "First_last", "middle"),
        ("vocabulary_proper_names.csv", "gender", "X"),
        ("vocabulary_proper_names.csv", "ethnicity", ""),
        ("vocabulary_proper_names.csv", "Name", " "),
        ("vocabulary.csv", "Name", ""),
    ],
)
def test_what_is_wrong_with_a_vocabulary_is_said(folder: Path, file: str, column: str, cell: str) -> None:
    good = {"Category": "Age", "Name": "Ann", "First_last": "first", "gender": "F", "ethnicity": "White"}
    write_sheet(folder / file, [good, good | {column: cell}])
    write_sheet(folder / "Age.csv", [NOBODY])
    with raises("bad-value", DataError, file=folder / file, line=3, key=column):
        generation(folder)


@pytest.mark.parametrize("names", [[], ["vocabulary.csv"], ["new_templates - Filler_items.csv"], [".Age.csv"]])
def test_a_folder_without_templates_is_refused(tmp_path: Path, names: list[str]) -> None:
    for name in names:
        write_sheet(tmp_path / name, [PLAIN])
    with raises("empty-file", DataError, file=tmp_path):
        generation(tmp_path)


def test_a_folder_that_is_none_is_refused(tmp_path: Path) -> None:
    with raises("missing-file", DataError, file=tmp_path / "absent"):
        generation(tmp_path / "absent")


def test_two_files_of_a_category_are_refused(tmp_path: Path) -> None:
    for name in ("Age.csv", "new_templates - Age.csv"):
        write_sheet(tmp_path / name, [NOBODY])
    with raises("duplicate", DataError, file=tmp_path):
        generation(tmp_path)


@pytest.mark.parametrize(
    ("settings", "seed", "code", "key"),
    [
        ({}, 0, "missing-setting", "templates"),
        ({"templates": ".", "clss": "x"}, 0, "unknown-setting", "clss"),
        ({"templates": "here", "category": "Age,Elves"}, 0, "bad-setting", "category"),
        ({"templates": "here", "category": ""}, 0, "bad-setting", "category"),
        ({"templates": "here"}, -1, "bad-option", "seed"),
    ],
)
def test_wrong_settings_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: dict[str, str], seed: int, code: str, key: str
) -> None:
    monkeypatch.setenv("ASSAY_DATA", str(tmp_path))  # without the authors' templates
    write_sheet(tmp_path / "Age.csv", [NOBODY])
    given = {key: str(tmp_path) if value == "here" else value for key, value in settings.items()}
    with raises(code, UsageError, key=key) as caught:
        method_of("bbq").generation(Request(seed=seed, settings=given))
    assert caught.value.remedy


def test_only_the_categories_asked_for_are_generated(folder: Path) -> None:
    for category in ("Age", "Height", "Sleep"):
        write_sheet(folder / f"{category}.csv", [NOBODY])
    wanted = generation(folder, "Sleep, Age")
    assert wanted.files() == ["Age.jsonl", "Sleep.jsonl"]
    assert [example.category for example in wanted.examples()] == ["Age"] * 4 + ["Sleep"] * 4
