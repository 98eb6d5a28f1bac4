"""The files of BBQ's relatives: every row is read as published, or named as bad."""

from __future__ import annotations

import gzip
import lzma
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import small_editions as small
from assay.asking.queries import NONE
from assay.errors import DataError, UsageError
from assay.files.rows import BadRows
from assay.probes.bbq.editions import NAMES, ORIGINAL, EditionRow, load_edition
from assay.probes.bbq.items import AMBIGUOUS, DISAMBIGUATED, NEGATIVE, QUARTET
from raising import raises


def rows(name: str, place: Path, bad: BadRows | None = None) -> list[EditionRow]:
    own = load_edition(name)
    return [row for file in own.find(place, own.languages[0]) for row in own.read(file, bad or BadRows(skip=False))]


def person(row: EditionRow, place: int) -> str:
    return row.example.info[place][1]


def gold_agrees(row: EditionRow) -> bool:
    """Whether the right answer agrees with the stereotype."""
    return (row.example.label == row.target) == (row.example.polarity == NEGATIVE)


# --- all of them

WITH_TARGETS = [name for name in NAMES if name != ORIGINAL and "bias_score" not in load_edition(name).without]


def folder_of(name: str) -> str:
    return load_edition(name).data_set or name


@pytest.mark.parametrize("name", WITH_TARGETS)
def test_rows_come_in_whole_quartets_with_one_target_and_template(name: str, tmp_path: Path) -> None:
    small.WRITERS[name](tmp_path / name)
    read = rows(name, tmp_path)
    quartets: dict[tuple[str, int], list[EditionRow]] = {}
    for row in read:
        quartets.setdefault((row.example.category, row.example.example_id // 4), []).append(row)
    assert len(quartets) == len(read) // 4 > 0
    for own in quartets.values():
        assert sorted((row.example.polarity, row.example.condition) for row in own) == sorted(QUARTET)
        assert len({row.example.question_index for row in own}) == 1
        assert len({row.example.info[row.target] for row in own}) == 1
        assert all(row.target not in (NONE, row.example.unknown) for row in own)
        assert len({gold_agrees(row) for row in own if row.example.condition == DISAMBIGUATED}) == 1
        assert {row.example.label == row.example.unknown for row in own if row.example.condition == AMBIGUOUS} == {True}


@pytest.mark.parametrize("name", small.WRITERS)
@pytest.mark.parametrize("folder", ["{}", "bbq_family/{}", "."])
@pytest.mark.parametrize("ending", ["", ".gz", ".xz"])
def test_files_are_found_where_they_are_put_plain_or_compressed(
    name: str, folder: str, ending: str, tmp_path: Path
) -> None:
    place = tmp_path / folder.format(folder_of(name))
    small.WRITERS[name](place)
    expected = rows(name, place)
    pack = {"": bytes, ".gz": gzip.compress, ".xz": lzma.compress}[ending]
    for file in [path for path in place.iterdir() if path.is_file()]:
        content = file.read_bytes()
        file.unlink()
        file.with_name(file.name + ending).write_bytes(pack(content))
    assert [row.example for row in rows(name, tmp_path)] == [row.example for row in expected]


@pytest.mark.parametrize("name", small.WRITERS)
def test_where_there_are_no_files_none_are_found(name: str, tmp_path: Path) -> None:
    assert load_edition(name).find(tmp_path, load_edition(name).languages[0]) == []


def test_the_line_and_the_whole_row_are_kept_for_answers(tmp_path: Path) -> None:
    small.WRITERS["kobbq"](tmp_path)
    read = rows("kobbq", tmp_path)
    assert [row.line for row in read] == list(range(2, 18))
    assert [dict(row.row) for row in read] == small.kobbq()


# --- KoBBQ


def write_kobbq(folder: Path, **changes: Any) -> Path:
    """KoBBQ's rows, the last one changed."""
    made = small.kobbq()
    made[-1] |= changes
    return small.write_table(folder / "KoBBQ_test_samples.tsv", made)


def test_kobbq_says_nearly_everything_in_its_ids(tmp_path: Path) -> None:
    write_kobbq(tmp_path)
    first, last = rows("kobbq", tmp_path)[0], rows("kobbq", tmp_path)[-1]
    assert (first.example.category, first.example.question_index, first.example.version) == ("age", "001", "a")
    assert first.id == "age-001a-003-amb-bsd"
    assert (last.id, last.example.polarity, last.example.condition) == ("age-002b-003-dis-cnt", "nonneg", "disambig")
    assert last.example.info[2] == ("알 수 없음", "unknown")


def test_kobbq_s_target_is_the_stereotyped_person_in_both_polarities(tmp_path: Path) -> None:
    """Its biased_answer is the other person where the question is counter-biased."""
    write_kobbq(tmp_path)
    read = rows("kobbq", tmp_path)
    assert {person(row, row.target) for row in read} == {"노인"}
    assert {
        gold_agrees(row) for row in read if row.example.version == "b" and row.example.condition == DISAMBIGUATED
    } == {True}
    assert {
        gold_agrees(row) for row in read if row.example.version == "a" and row.example.condition == DISAMBIGUATED
    } == {False}


@pytest.mark.parametrize(
    ("field", "value", "code"),
    [
        ("sample_id", "age-001a-amb-bsd", "bad-value"),
        ("sample_id", f"age-{'1' * 5001}a-002-amb-bsd", "bad-value"),
        ("choices", "['노인', '학생']", "bad-value"),
        ("choices", "['노인', '노인', '알 수 없음']", "bad-value"),
        ("choices", "['노인', 3, '알 수 없음']", "bad-value"),
        ("choices", "__import__('os').getcwd()", "bad-value"),
        ("choices", "[" * 9999, "bad-value"),
        ("biased_answer", "알 수 없음", "bad-value"),
        ("answer", "아무도", "bad-value"),
        ("answer", "알 수 없음", "bad-label"),
        ("context", "", "bad-value"),
    ],
)
def test_a_row_of_kobbq_that_cannot_be_used_is_named(field: str, value: str, code: str, tmp_path: Path) -> None:
    path = write_kobbq(tmp_path, **{field: value})
    with raises(code, DataError, file=path, line=17, key=field):
        rows("kobbq", tmp_path)
    bad = BadRows(skip=True)
    assert (len(rows("kobbq", tmp_path, bad)), len(bad.problems)) == (15, 1)


def test_a_file_without_rows_or_columns_is_an_error(tmp_path: Path) -> None:
    path = small.write_table(tmp_path / "KoBBQ_test_samples.tsv", [{"sample_id": "age-001a-003-amb-bsd"}])
    with raises("missing-key", DataError, file=path, line=2, key="choices"):
        rows("kobbq", tmp_path)
    with raises("empty-file", DataError, file=path):
        rows("kobbq", tmp_path, BadRows(skip=True))


def test_kobbq_s_test_set_is_read_unless_all_samples_are_named(tmp_path: Path) -> None:
    write_kobbq(tmp_path)
    everything = small.write_table(tmp_path / "KoBBQ_all_samples.tsv", small.kobbq()[:8])
    assert len(rows("kobbq", tmp_path)) == 16
    assert len(rows("kobbq", everything)) == 8
    (tmp_path / "KoBBQ_test_samples.tsv").unlink()
    assert len(rows("kobbq", tmp_path)) == 8


# --- GG-BBQ


def test_gg_bbq_s_template_is_the_one_that_the_context_was_made_from(tmp_path: Path) -> None:
    small.WRITERS["ggbbq"](tmp_path)
    read = rows("ggbbq", tmp_path)
    assert Counter(row.example.question_index for row in read) == {"7": 8, "9": 4}
    assert {row.id for row in read} >= {"ambig 0", "disambig 5"}
    assert {row.stereotype for row in read if row.example.example_id < 4} == {"noise"}


def test_gg_bbq_calls_trans_people_non_binary_in_its_labels(tmp_path: Path) -> None:
    small.WRITERS["ggbbq"](tmp_path)
    targets = Counter((row.example.groups[-1], person(row, row.target)) for row in rows("ggbbq", tmp_path))
    assert targets == {("F", "F"): 8, ("trans", "non_binary"): 4}


def test_gg_bbq_without_a_single_target_has_none(tmp_path: Path) -> None:
    small.WRITERS["ggbbq"](tmp_path)
    made = small.ggbbq("ambiguous_context")
    made[0]["known_stereotyped_groups"] = '["F", "M"]'
    small.write_jsonl(tmp_path / "bbq_de_amb_test.jsonl", made)
    assert [row.target for row in rows("ggbbq", tmp_path)][:2] == [NONE, 0]


def test_gg_bbq_s_templates_are_among_its_files_since_samples_depend_on_them(tmp_path: Path) -> None:
    small.WRITERS["ggbbq"](tmp_path)
    names = [file.name for file in load_edition("ggbbq").find(tmp_path, "de")]
    assert names == ["templates_subset-1.csv", "bbq_de_amb_test.jsonl", "bbq_de_disamb_test.jsonl"]


def test_gg_bbq_without_its_templates_says_how_to_get_them(tmp_path: Path) -> None:
    small.WRITERS["ggbbq"](tmp_path)
    (tmp_path / "templates_subset-1.csv").unlink()
    with raises("missing-data", UsageError) as error:
        rows("ggbbq", tmp_path)
    assert "templates/subset-1.csv from github.com/shalakasatheesh/GG-BBQ" in error.value.remedy
    small.write_table(tmp_path / "templates_subset-1.csv", [{"question_index": "1", "context": "Hallo"}])
    with raises("missing-key", DataError, key="ambiguous_context"):
        rows("ggbbq", tmp_path)


def test_both_subsets_of_a_checkout_of_gg_bbq_are_read(tmp_path: Path) -> None:
    for subset, names in ((1, ""), (2, "proper_names_")):
        for kind, condition in (("amb", "ambiguous_context"), ("disamb", "disambiguous_context")):
            file = tmp_path / "data" / f"subset-{subset}" / f"bbq_de_{names}{kind}_test.jsonl"
            small.write_jsonl(file, small.ggbbq(condition))
        small.write_table(tmp_path / "templates" / f"subset-{subset}.csv", small.ggbbq_templates())
    read = rows("ggbbq", tmp_path)
    assert Counter(row.example.category for row in read) == {"Gender_identity": 12, "Gender_identity (names)": 12}
    assert len({(row.example.category, row.example.example_id) for row in read}) == 24


@pytest.mark.parametrize(
    ("field", "value", "code"),
    [
        ("context", "Im Wald warten zwei Leute.", "bad-value"),
        ("choice_info", "{0: ['die Bäckerin', 'F']}", "bad-value"),
        ("choice_info", "{0: ['a', 'F'], 1: ['b', 'M'], 2: ['c', 'none']}", "bad-value"),
        ("choice_info", "[1, 2, 3]", "bad-value"),
        ("choice_info", "{0: open('x')}", "bad-value"),
        ("known_stereotyped_groups", "F", "bad-value"),
        ("known_stereotyped_groups", '{"F": 1}', "bad-value"),
        ("label", 3, "bad-label"),
        ("label", 0, "bad-label"),
        ("index", True, "bad-value"),
        ("index", "9" * 5001, "bad-value"),
        ("index", 10**20, "bad-value"),
        ("question_type", "neg", "bad-value"),
        ("context_type", "unclear", "bad-value"),
    ],
)
def test_a_row_of_gg_bbq_that_cannot_be_used_is_named(field: str, value: Any, code: str, tmp_path: Path) -> None:
    small.WRITERS["ggbbq"](tmp_path)
    made = small.ggbbq("ambiguous_context")
    made[1][field] = value
    path = small.write_jsonl(tmp_path / "bbq_de_amb_test.jsonl", made)
    with raises(code, DataError, file=path, line=2, key=field):
        rows("ggbbq", tmp_path)


# --- BasqBBQ and JBBQ


def test_a_label_of_basq_bbq_that_is_nan_is_blank(tmp_path: Path) -> None:
    small.WRITERS["basqbbq"](tmp_path)
    read = rows("basqbbq", tmp_path)
    assert [person(row, 2) for row in read] == ["arotz"] * 4 + [""] * 4
    assert [row.target for row in read] == [0] * 8


def test_a_person_of_basq_bbq_without_a_label_is_the_target_if_the_filler_is_a_group(
    tmp_path: Path,
) -> None:
    made = small.basqbbq()[4:]
    for row in made:
        row["additional_metadata"]["stereotyped_groups"] = ["b", "c"]
    small.write_jsonl(tmp_path / "Lanbide.jsonl", made)
    assert [row.target for row in rows("basqbbq", tmp_path)] == [2] * 4


def test_a_category_of_basq_bbq_that_is_there_whole_is_not_read_in_halves_too(tmp_path: Path) -> None:
    folder, made = tmp_path / "data" / "BasqBBQ", small.basqbbq()
    for half in (AMBIGUOUS, DISAMBIGUATED):
        own = [row for row in made if row["context_condition"] == half]
        small.write_jsonl(folder / f"Lanbide_{half}.jsonl", own)
        small.write_jsonl(folder / f"Adin_{half}.jsonl", [row | {"category": "Adin"} for row in own])
    small.write_jsonl(folder / "Lanbide.jsonl", made)
    assert Counter(row.example.category for row in rows("basqbbq", tmp_path)) == {"Lanbide": 8, "Adin": 8}


def test_jbbq_has_bbq_s_fields_and_targets(tmp_path: Path) -> None:
    small.WRITERS["jbbq"](tmp_path)
    assert {person(row, row.target) for row in rows("jbbq", tmp_path)} == {"old"}
    made = small.jbbq()
    del made[1]["answer_info"]
    path = small.write_jsonl(tmp_path / "Age.jsonl", made)
    with raises("missing-key", DataError, file=path, line=2, key="answer_info"):
        rows("jbbq", tmp_path)


# --- BharatBBQ


def test_bharat_bbq_counts_options_from_one_and_has_one_target_in_both_polarities(
    tmp_path: Path,
) -> None:
    small.WRITERS["bharatbbq"](tmp_path)
    read = rows("bharatbbq", tmp_path)
    assert [row.target for row in read[:4]] == [2, 2, 0, 0]
    assert [row.example.label for row in read[:4]] == [1, 2, 2, 1]
    assert {person(row, row.target) for row in read} == {"The cook"}
    assert {gold_agrees(row) for row in read if row.example.condition == DISAMBIGUATED} == {True}
    assert [row.id for row in read[:2]] == ["Caste 1", "Caste 2"]
    assert [row.example.subcategory for row in read[3:5]] == ["None", "names"]


def test_bharat_bbq_s_unknown_is_what_is_right_in_the_ambiguous_twin_or_a_known_phrase(tmp_path: Path) -> None:
    small.WRITERS["bharatbbq"](tmp_path)
    assert [row.example.unknown for row in rows("bharatbbq", tmp_path)][:4] == [1, 1, 2, 2]
    alone = [row for row in small.bharatbbq() if row["Context_type"] == "disamb"]
    small.write_table(tmp_path / "Caste_examples.csv", alone)
    bad = BadRows(skip=True)
    assert [row.example.unknown for row in rows("bharatbbq", tmp_path, bad)] == [2, 2], "“unknown” is known"
    assert len(bad.problems) == 2, "“no telling” is not"


def test_bharat_bbq_s_columns_may_have_the_names_that_its_program_reads(tmp_path: Path) -> None:
    small.WRITERS["bharatbbq"](tmp_path)
    expected = rows("bharatbbq", tmp_path)
    renamed = [
        {("Context_Condition" if name == "Context_type" else name): value for name, value in row.items()}
        | {"Question_polarity": "Neg" if row["Question_polarity"] == "neg" else "NonNeg"}
        for row in small.bharatbbq()
    ]
    small.write_table(tmp_path / "Caste_examples.csv", renamed)
    assert [row.example for row in rows("bharatbbq", tmp_path)] == [row.example for row in expected]


@pytest.mark.parametrize(
    ("field", "value", "code", "key"),
    [
        ("Label", 0, "bad-value", "label"),
        ("Label", 2, "bad-value", "target"),
        ("Target", 4, "bad-value", "target"),
        ("Target", 2, "bad-value", "target"),
        ("id", 0, "bad-value", "id"),
        ("id", 2, "bad-value", "id"),
        ("Question_polarity", "negative", "bad-value", "question_polarity"),
    ],
)
def test_a_row_of_bharat_bbq_that_cannot_be_used_is_named(
    field: str, value: int, code: str, key: str, tmp_path: Path
) -> None:
    made = small.bharatbbq()[:1]
    made[0] |= {"Label": 2, "Target": 3} | {field: value}
    if (field, value) == ("Label", 2):
        made[0]["Target"] = 2
    path = small.write_table(tmp_path / "Caste_examples.csv", made)
    with raises(code, DataError, file=path, line=2, key=key):
        rows("bharatbbq", tmp_path)


def test_a_disambiguated_row_of_bharat_bbq_whose_gold_is_unknown_is_named(tmp_path: Path) -> None:
    made = small.bharatbbq()
    made[1]["Label"] = made[0]["Label"]
    path = small.write_table(tmp_path / "Caste_examples.csv", made)
    with raises("bad-label", DataError, file=path, line=3, key="label"):
        rows("bharatbbq", tmp_path)


# --- the published files


@pytest.fixture
def family(official_data: Path) -> Path:
    if not (official_data / "bbq_family").is_dir():
        pytest.skip("needs the published files of BBQ's relatives: bbq_family/ in ASSAY_DATA")
    return official_data


def test_every_row_of_kobbq_s_test_set_has_its_target(family: Path) -> None:
    read = rows("kobbq", family)
    assert len(read) == 2280
    assert Counter(row.target for row in read) == {0: 1140, 1: 1140}
    assert {row.example.unknown for row in read} == {2}
    assert Counter(Counter((r.example.category, r.example.example_id // 4) for r in read).values()) == {4: 570}
    assert len({(row.example.category, row.example.question_index) for row in read}) == 269
    biased = {row.example.version: gold_agrees(row) for row in read if row.example.condition == DISAMBIGUATED}
    assert biased == {"a": False, "b": True, "c": False, "d": True}, "as its evaluation program reads the letters"


def test_every_row_of_gg_bbq_s_subset_1_has_its_target_and_template(family: Path) -> None:
    read = rows("ggbbq", family)
    assert Counter(row.example.condition for row in read) == {AMBIGUOUS: 484, DISAMBIGUATED: 484}
    assert all(row.target in (0, 1) for row in read)
    assert {row.example.unknown for row in read} == {2}
    assert sum("trans" in row.example.groups for row in read if row.example.condition == AMBIGUOUS) == 220
    assert Counter(Counter(r.example.example_id // 4 for r in read).values()) == {4: 242}
    assert len({row.example.question_index for row in read}) == 21
