"""`assay data` for BBQ's relatives: what is fetched, what users bring, and what the check finds in the files."""

from __future__ import annotations

from pathlib import Path

import pytest

import small_editions as small
from assay.asking.progress import SilentProgress
from assay.cli.data import check_lines, fetch_lines, list_lines
from assay.datasets.catalogue import pinned_files
from assay.errors import DataError, UsageError
from assay.files.rows import BadRows
from assay.probes import data_sets
from assay.probes.bbq.defects import edition_content_lines, published_counts
from assay.probes.bbq.editions import NAMES, ORIGINAL, load_edition
from assay.probes.bbq.items import DISAMBIGUATED, NEGATIVE
from assay.probes.bbq.source import dataset_of_rows, of_edition
from raising import raises

BROUGHT = [name for name, known in data_sets().items() if known.pinned is None]


def checked(place: Path, name: str) -> str:
    return "\n".join(edition_content_lines(place, name))


@pytest.mark.parametrize("name", [name for name in NAMES if name != ORIGINAL])
def test_every_edition_has_a_data_set(name: str) -> None:
    assert (load_edition(name).data_set or name) in data_sets()


@pytest.mark.parametrize("name", BROUGHT)
def test_what_users_bring_is_not_fetched_and_the_error_says_where_it_is_and_where_it_goes(
    name: str, tmp_path: Path
) -> None:
    with raises("missing-data", UsageError, key=name) as fetched:
        list(fetch_lines(tmp_path, name, SilentProgress()))
    with raises("missing-data", UsageError, key=name) as looked:
        list(check_lines(tmp_path, name))
    assert str(fetched.value) == str(looked.value)
    assert "https://github.com/" in str(fetched.value)
    assert str(tmp_path / name) in fetched.value.remedy
    assert not (tmp_path / name).exists()


def test_the_list_says_which_files_users_bring(tmp_path: Path) -> None:
    small.WRITERS["jbbq"](tmp_path / "jbbq")
    lines = {line.split()[0]: line for line in list_lines(tmp_path)}
    assert "bring your own" in lines["mbbq"]
    assert "1 of your own" in lines["jbbq"]
    assert "not fetched" in lines["kobbq"]


def test_the_check_counts_rows_by_category_and_compares_them(tmp_path: Path) -> None:
    small.WRITERS["kobbq"](tmp_path / "kobbq")
    told = checked(tmp_path, "kobbq")
    assert "KoBBQ: 16 rows in 1 file" in told
    assert "age: 16 rows, 8 of them ambiguous (published: 168, 84 of them ambiguous)" in told
    assert "not here: race_ethnicity_nationality, ses, " in told
    assert "“cannot be determined” is the last option of every row" in told
    assert "not tested" not in told


def test_the_check_calls_rows_what_their_set_calls_them(tmp_path: Path) -> None:
    made = small.kobbq()
    made[8] |= {name: made[0][name] for name in ("context", "question")}
    small.write_table(tmp_path / "KoBBQ_test_samples.tsv", made)
    told = checked(tmp_path, "kobbq")
    assert "duplicate: 1 rows" in told
    assert "  age template 002: age-002a-003-amb-bsd" in told


def test_the_check_names_rows_that_cannot_be_read_and_incomplete_quartets(tmp_path: Path) -> None:
    made = small.kobbq()
    made[3]["choices"] = "[]"
    small.write_table(tmp_path / "KoBBQ_test_samples.tsv", made)
    told = checked(tmp_path, "kobbq")
    assert "KoBBQ, all files: 1 rows left out" in told
    assert 'line 5: "choices" is "[]"' in told
    assert "3 rows belong to no whole quartet" in told


def test_the_check_lists_blank_labels_and_says_what_was_read_from_documentation(tmp_path: Path) -> None:
    small.WRITERS["basqbbq"](tmp_path)
    told = checked(tmp_path, "basqbbq")
    assert "blank label: 4 rows" in told
    assert "  Lanbide template 2: 4 to 7" in told
    assert "was not tested on these files" in told


def test_the_check_finds_rows_without_a_target_and_rows_with_one_number(tmp_path: Path) -> None:
    made = small.jbbq()
    for row in made:
        row["additional_metadata"]["stereotyped_groups"] = []
    small.write_jsonl(tmp_path / "Age.jsonl", made)
    small.write_jsonl(tmp_path / "Age_more.jsonl", small.jbbq())
    told = checked(tmp_path, "jbbq")
    assert "no single target: 4 rows" in told
    assert "same number: 8 rows" in told


def test_a_set_s_published_counts_are_of_its_own_categories() -> None:
    for name in NAMES:
        if name != ORIGINAL and load_edition(name).categories:
            assert {*published_counts(name)} <= {*load_edition(name).categories, "all"}, name


def test_missing_files_of_a_pinned_set_are_an_error_after_the_lines(tmp_path: Path) -> None:
    small.WRITERS["kobbq"](tmp_path / "bbq_family" / "kobbq")
    lines = []
    with raises("missing-data", DataError) as error:
        for line in check_lines(tmp_path, "kobbq"):
            lines.append(line)
    assert "KoBBQ: 16 rows" in "".join(lines)
    assert str(tmp_path / "bbq_family" / "kobbq") in error.value.problem


@pytest.mark.parametrize(
    ("name", "change", "left"),
    [("kobbq", {}, 16), ("kobbq", {"context": "005호 방에 노인과 학생이 있다.", "question": "누가 졌나?"}, 15)],
)
def test_defects_drop_leaves_out_what_the_check_lists_as_wrong(
    name: str, change: dict[str, str], left: int, tmp_path: Path
) -> None:
    made = small.kobbq()
    made[0] |= change
    made[8] |= change
    small.write_table(tmp_path / "KoBBQ_test_samples.tsv", made)
    kept, dropped = (
        of_edition(tmp_path, name, "ko", (), defects, skip_bad=False).read() for defects in ("keep", "drop")
    )
    assert (len(kept), len(dropped)) == (16, left)
    assert any("1 with duplicate" in note for note in dropped.notes) == (left < 16)


@pytest.mark.parametrize(("name", "found"), [("mbbq", True), ("mbbq_control", True), ("jbbq", False)])
def test_bbq_s_wrong_golds_are_looked_for_only_in_its_own_templates(name: str, found: bool, tmp_path: Path) -> None:
    made = [row | {"question_index": "6"} for row in small.like_bbq("Physical_appearance", 0, "obese", "nonObese")]
    for row in made:
        row["additional_metadata"] |= {"version": "b"}
    file = {"mbbq": "{}_en.jsonl", "mbbq_control": "{}_control_en.jsonl", "jbbq": "{}.jsonl"}[name]
    small.write_jsonl(tmp_path / file.format("Physical_appearance"), made)
    language = load_edition(name).languages[0]
    assert ("wrong gold: 2 rows" in checked(tmp_path, load_edition(name).data_set or name)) == found
    dropped = of_edition(tmp_path, name, language, (), "drop", skip_bad=False).read()
    assert len(dropped) == (2 if found else 4)


def test_the_check_lists_people_who_are_exchanged_in_answer_info(tmp_path: Path) -> None:
    rows = small.esbbq()
    for row in rows[4:8]:
        row["answer_info.ans0"], row["answer_info.ans1"] = row["answer_info.ans1"], row["answer_info.ans0"]
    small.write_table(tmp_path / "esbbq" / "Age.full.csv", rows)
    told = checked(tmp_path, "esbbq")
    assert "exchanged people: 4 rows" in told
    assert "  Age template 1: 4 to 7" in told


@pytest.mark.parametrize("name", [name for name in NAMES if name != ORIGINAL])
def test_no_edition_has_exchanged_people_where_the_options_are_those_of_its_rows(name: str, tmp_path: Path) -> None:
    small.WRITERS[name](tmp_path)
    assert "exchanged people" not in checked(tmp_path, load_edition(name).data_set or name)


def test_the_check_lists_gg_bbq_s_rows_as_ranges(tmp_path: Path) -> None:
    rows = small.ggbbq("ambiguous_context")
    small.write_jsonl(
        tmp_path / "bbq_de_amb_test.jsonl", [*rows, *({**row, "index": row["index"] + 6} for row in rows)]
    )
    small.write_table(tmp_path / "templates_subset-1.csv", small.ggbbq_templates())
    told = checked(tmp_path, "ggbbq")
    assert "duplicate: 6 rows" in told
    assert "ambig 6 to 9" in told
    assert "ambig 7" not in told


# --- the pinned files


@pytest.mark.parametrize("name", ["esbbq", "cabbq"])
def test_a_file_of_every_category_is_pinned(name: str) -> None:
    pinned = {file.path for file in pinned_files(data_sets()[name])}
    assert pinned == {f"{name}/{category}.full.csv" for category in load_edition(name).categories}


def test_both_subsets_of_gg_bbq_are_pinned_where_they_are_read(tmp_path: Path) -> None:
    """Rows of the second subset are the published ones, too."""
    paths = [tmp_path / file.path for file in pinned_files(data_sets()["ggbbq"])]
    for path in paths:
        path.parent.mkdir(exist_ok=True)
        path.touch()
    assert sorted(load_edition("ggbbq").find(tmp_path, "de")) == sorted(paths)
    assert {path.name for path in paths} >= {f"bbq_de_proper_names_{kind}_test.jsonl" for kind in ("amb", "disamb")}


@pytest.mark.parametrize(("name", "rows"), [("esbbq", "27,320"), ("cabbq", "27,344"), ("ggbbq", "11,868")])
def test_the_published_counts_of_a_set_s_files_add_up(name: str, rows: str) -> None:
    assert f"{sum(total for total, _ in published_counts(name).values()):,}" == rows
    assert f"{rows} questions" in data_sets()[name].what


# --- the published files


def test_four_published_rows_of_esbbq_have_exchanged_people(official_data: Path) -> None:
    if not data_sets()["esbbq"].folder(official_data).is_dir():
        pytest.skip("needs the published files of esbbq")
    told = checked(official_data, "esbbq")
    assert "exchanged people: 4 rows" in told
    assert "  PhysicalAppearance template 10: 1090 to 1091, 1098 to 1099" in told


def test_the_targets_of_esbbq_agree_with_its_question_types_but_in_four_rows(
    official_data: Path,
) -> None:
    """In these four, the type contradicts the fact, and the label does not."""
    if not data_sets()["esbbq"].folder(official_data).is_dir():
        pytest.skip("needs the published files of esbbq")
    edition = load_edition("esbbq")
    rows = [row for file in edition.find(official_data, "es") for row in edition.read(file, BadRows(skip=False))]
    dataset = dataset_of_rows(edition, rows)
    differing = [
        (example.category, row.id)
        for row, example, target in zip(rows, dataset.examples, dataset.target.tolist(), strict=True)
        if example.condition == DISAMBIGUATED
        and (row.row["question_type"] == "pro-stereo") != ((example.label == target) == (example.polarity == NEGATIVE))
    ]
    assert differing == [("PhysicalAppearance", number) for number in ("1061", "1077", "1091", "1099")]


def test_twelve_published_rows_of_cabbq_have_exchanged_people(official_data: Path) -> None:
    if not data_sets()["cabbq"].folder(official_data).is_dir():
        pytest.skip("needs the published files of cabbq")
    told = checked(official_data, "cabbq")
    assert "exchanged people: 12 rows" in told
    assert "  PhysicalAppearance template 10: 1090 to 1091, 1098 to 1099" in told
    assert "PhysicalAppearance: 3,552 rows" in told


@pytest.mark.parametrize("name", ["mbbq", "kobbq", "ggbbq"])
def test_no_published_row_of_other_sets_has_exchanged_people(official_data: Path, name: str) -> None:
    if not data_sets()[name].folder(official_data).is_dir():
        pytest.skip(f"needs the published files of {name}")
    assert "exchanged people" not in checked(official_data, name)


@pytest.mark.parametrize("name", ["kobbq", "ggbbq"])
def test_the_published_files_have_the_published_counts(official_data: Path, name: str) -> None:
    if not data_sets()[name].folder(official_data).is_dir():
        pytest.skip(f"needs the published files of {name}")
    told = checked(official_data, name)
    assert "(published: " not in told
    assert "rows left out" not in told
    assert "no single target" not in told


def test_mbbq_inherits_the_wrong_golds_of_bbq(official_data: Path) -> None:
    if not data_sets()["mbbq"].folder(official_data).is_dir():
        pytest.skip("needs the files of MBBQ")
    told = checked(official_data, "mbbq")
    sets = told.count(" rows in 6 files")
    assert sets >= 5
    assert told.count("wrong gold: 62 rows") == sets
    assert "(published: " not in told
