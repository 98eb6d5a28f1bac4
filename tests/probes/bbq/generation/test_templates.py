"""What is wrong with templates, vocabularies or settings is said with its place and a remedy."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assay.errors import DataError, UsageError
from assay.probes.bbq.generation import Generation
from small_templates import (
    ETHNICITIES,
    GENDERED,
    NAMED,
    NOBODY,
    PLAIN,
    WORDS,
    fillers,
    generated,
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


def complaint(folder: Path, category: str, *rows: dict[str, str]) -> str:
    """What is said about templates that cannot be used: file and line, and a remedy."""
    write_sheet(folder / f"{category}.csv", list(rows))
    with pytest.raises(DataError) as caught:
        list(Generation.parse({"templates": str(folder)}).examples())
    assert caught.value.remedy
    return caught.value.problem


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"Names": "x, y"}, "Names is 'x, y', expected two lists"),
        ({"Names": "NAME1: [x] NAME2: [y]"}, "expected two lists"),
        ({"Names": "NAME1: [x, ]; NAME2: [y]"}, "expected two lists"),
        ({"Names": "NAME2: [y]"}, "expected two lists"),
        ({"Names": "NAME1: [x, y]; NAME2: [z, y]"}, "'y' in both lists"),
        ({"Lexical_diversity": "WORDS: [x]"}, "Lexical_diversity is 'WORDS: [x]', expected two lists"),
        ({"Known_stereotyped_groups": "old"}, "Known_stereotyped_groups is 'old', expected a list"),
        ({"Known_stereotyped_groups": "[1]"}, "expected a list of texts"),
        ({"Question_non_negative": "Who is {{NAME3}}?"}, "Question_non_negative has the slot '{{NAME3}}'"),
        ({"Disambiguating_Context": "It was {[NAME1}}."}, "Disambiguating_Context has the slot '{[NAME1}}'"),
        ({"Ambiguous_Context": "NAME1 sat."}, "Ambiguous_Context has the slot 'NAME1'"),
        ({"Ambiguous_Context": "A {{WORD1}} sat."}, "slot '{{WORD1}}'"),
        ({"Ambiguous_Context": "A {{GEN1}} sat."}, "slot '{{GEN1}}'"),
        ({"Answer_negative": "The other"}, "the answers are 'The other' and"),
        ({"Answer_negative": "{{NAME1}} or {{NAME2}}"}, "the answers are"),
        ({"Answer_negative": "{{NAME1}}"}, "the answers are"),
        ({"Q_id": ""}, "Q_id is empty"),
    ],
)
def test_what_is_wrong_with_a_template_is_said_with_file_and_line(
    folder: Path, change: dict[str, str], said: str
) -> None:
    good = NOBODY | {"Ambiguous_Context": "Two\nlines with {{NAME1}}."}
    problem = complaint(folder, "Age", good, NOBODY | {"Ambiguous_Context": ""}, NOBODY | change)
    assert said in problem
    assert problem.startswith(f"{folder / 'Age.csv'}, line 5: ")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"Known_stereotyped_var2": "X"}, "Known_stereotyped_var2 is 'X', expected one of M, F, lowSES, highSES"),
        ({"Names": ""}, "needs words for both genders"),
        ({"Names": '["man"]'}, "expected two terms"),
        ({"Names": '["man", []]'}, "expected two terms"),
        ({"Names": "man, woman"}, "expected a list"),
        ({"Var2_info": '["M", "M"]'}, "expected F and M"),
        ({"Proper_nouns_only": "TRUE"}, "slot '{{GEN1}}'"),
        ({"Known_stereotyped_race": '["Elf"]'}, "a word for a stereotyped group (Elf)"),
        ({"Proper_nouns_only": "TRUE", "Stated_gender_info": "women"}, "Stated_gender_info is 'women'"),
    ],
)
def test_what_is_wrong_with_a_crossed_template_is_said(folder: Path, change: dict[str, str], said: str) -> None:
    problem = complaint(folder, "Race_x_gender", GENDERED | change)
    assert said in problem
    assert "line 2: " in problem


@pytest.mark.parametrize(
    ("category", "row", "file", "what"),
    [
        ("Trades", PLAIN, "vocabulary.csv", ""),
        ("Age", NAMED, "vocabulary_proper_names.csv", ""),
        ("Race_ethnicity", NAMED, "vocabulary_proper_names.csv", ""),
        ("Race_x_gender", GENDERED, "vocabulary.csv", ""),
        ("Elves", PLAIN, "vocabulary.csv", "two words whose Category is Elves"),
        ("Gender_identity", PLAIN | {"Subcategory": "teen"}, "vocabulary.csv", "whose SubCat is teen"),
        ("Religion", PLAIN, "vocabulary.csv", "a word for a stereotyped group (baker)"),
        ("Religion", PLAIN | {"Known_stereotyped_groups": json.dumps(WORDS["Religion"])}, "vocabulary.csv", "another"),
        ("Race_ethnicity", NAMED, "vocabulary_proper_names.csv", "First_last first, ethnicity baker"),
        (
            "Race_ethnicity",
            NAMED | {"Known_stereotyped_groups": json.dumps(ETHNICITIES)},
            "vocabulary_proper_names.csv",
            "ethnicity not Arab or Asian",
        ),
    ],
)
def test_what_the_vocabulary_lacks_is_said_with_the_template(
    folder: Path, category: str, row: dict[str, str], file: str, what: str
) -> None:
    if not what:
        (folder / file).unlink()
    problem = complaint(folder, category, row)
    assert problem.startswith(f"{folder / category}.csv, line 2: this template needs ")
    assert what in problem
    assert file in problem


def test_templates_that_name_their_people_need_no_vocabulary(tmp_path: Path) -> None:
    assert fillers(generated(tmp_path, "Age", NOBODY)) == [("x", "y")]


@pytest.mark.parametrize("column", [key for key in PLAIN if key != "Known_stereotyped_groups"])
def test_a_missing_column_is_named(folder: Path, column: str) -> None:
    problem = complaint(folder, "Age", {key: text for key, text in NOBODY.items() if key != column})
    assert problem.startswith(f"{folder / 'Age.csv'}, line 1: there is no column {column!r}")


def test_groups_may_be_missing_only_where_race_and_value_are_there(folder: Path) -> None:
    problem = complaint(folder, "Age", {key: text for key, text in NOBODY.items() if "groups" not in key})
    assert "no column 'Known_stereotyped_groups'" in problem


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "Age.csv: the file is empty"),
        (b"Q_id,Ambiguous_Context\n1,x\n", "line 1: there is no column"),
        (",".join([*NOBODY, "Q_id"]).encode(), "line 1: two columns are called 'Q_id'"),
        (b'Q_id,"Amb\n', "line 1: this is no CSV"),
        (b"Q_id,x\n\xff,1\n", "line 2: this line is not UTF-8"),
    ],
)
def test_what_is_no_table_is_refused(folder: Path, content: bytes, said: str) -> None:
    (folder / "Age.csv").write_bytes(content)
    with pytest.raises(DataError) as caught:
        Generation.parse({"templates": str(folder)}).count()
    assert said in caught.value.problem


def test_rows_of_another_length_are_refused(folder: Path) -> None:
    write_sheet(folder / "Age.csv", [NOBODY, NOBODY])
    with (folder / "Age.csv").open("a", encoding="utf-8") as file:
        file.write("\r\n3,too short\r\n")
    with pytest.raises(DataError, match=r"Age\.csv, line 5: this row has 2 cells, expected 9"):
        Generation.parse({"templates": str(folder)}).count()


def test_a_table_of_empty_rows_is_refused(folder: Path) -> None:
    assert "no template in this file" in complaint(folder, "Age", NOBODY | {"Ambiguous_Context": ""})


@pytest.mark.parametrize(
    ("file", "row", "said"),
    [
        ("vocabulary_proper_names.csv", {"First_last": "middle"}, "First_last is 'middle'"),
        ("vocabulary_proper_names.csv", {"gender": "X"}, "gender is 'X'"),
        ("vocabulary_proper_names.csv", {"ethnicity": ""}, "ethnicity is empty"),
        ("vocabulary_proper_names.csv", {"Name": " "}, "Name is empty"),
        ("vocabulary.csv", {"Name": ""}, "Name is empty"),
    ],
)
def test_what_is_wrong_with_a_vocabulary_is_said(folder: Path, file: str, row: dict[str, str], said: str) -> None:
    good = {"Category": "Age", "Name": "Ann", "First_last": "first", "gender": "F", "ethnicity": "White"}
    write_sheet(folder / file, [good, good | row])
    write_sheet(folder / "Age.csv", [NOBODY])
    with pytest.raises(DataError, match=f"{file}, line 3: {said}"):
        Generation.parse({"templates": str(folder)})


@pytest.mark.parametrize("names", [[], ["vocabulary.csv"], ["new_templates - Filler_items.csv"], [".Age.csv"]])
def test_a_folder_without_templates_is_refused(tmp_path: Path, names: list[str]) -> None:
    for name in names:
        write_sheet(tmp_path / name, [PLAIN])
    with pytest.raises(DataError, match="no templates in this folder"):
        Generation.parse({"templates": str(tmp_path)})


def test_a_folder_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no folder"):
        Generation.parse({"templates": str(tmp_path / "absent")})


def test_two_files_of_a_category_are_refused(tmp_path: Path) -> None:
    for name in ("Age.csv", "new_templates - Age.csv"):
        write_sheet(tmp_path / name, [NOBODY])
    with pytest.raises(DataError, match="two files for the category Age"):
        Generation.parse({"templates": str(tmp_path)})


@pytest.mark.parametrize(
    ("settings", "seed", "said"),
    [
        ({}, 0, "where are the templates"),
        ({"templates": ".", "clss": "x"}, 0, "no setting 'clss'"),
        ({"templates": "here", "category": "Age,Elves"}, 0, "no templates of the category 'Elves'; it has Age"),
        ({"templates": "here", "category": ""}, 0, "no templates of the category ''"),
        ({"templates": "here"}, -1, "--seed is -1"),
    ],
)
def test_wrong_settings_are_refused(tmp_path: Path, settings: dict[str, str], seed: int, said: str) -> None:
    write_sheet(tmp_path / "Age.csv", [NOBODY])
    given = {key: str(tmp_path) if value == "here" else value for key, value in settings.items()}
    with pytest.raises(UsageError) as caught:
        Generation.parse(given, seed)
    assert said in caught.value.problem
    assert caught.value.remedy


def test_only_the_categories_asked_for_are_generated(folder: Path) -> None:
    for category in ("Age", "Height", "Sleep"):
        write_sheet(folder / f"{category}.csv", [NOBODY])
    wanted = Generation.parse({"templates": str(folder), "category": "Sleep, Age"})
    assert wanted.files() == ["Age.jsonl", "Sleep.jsonl"]
    assert [example.category for example in wanted.examples()] == ["Age"] * 4 + ["Sleep"] * 4
