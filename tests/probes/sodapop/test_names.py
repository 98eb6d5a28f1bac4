"""Name groups: the paper's, and those of a file; which of them are compared."""

from __future__ import annotations

import gzip
import json

import pytest

from assay.errors import DataError, UsageError
from assay.probes.sodapop.names import NameGroup, NameGroups, frequencies, packaged_groups, read_groups
from raising import raises

FOUR = {
    "old_women": {"names": ["Ada", "Eva"], "age": "old", "gender": "f"},
    "young_men": {"names": ["Ben", "Max"], "age": "young", "gender": "m"},
    "young_women": {"names": ["Zoe", "Mia"], "age": "young", "gender": "f"},
    "old_men": {"names": ["Abe", "Leo", "Jon"], "age": "old", "gender": "m"},
}


def written(folder, content) -> NameGroups:
    path = folder / "groups.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return read_groups(path)


def called(pairs) -> list[str]:
    return [f"{a.name} {b.name}" for a, b in pairs]


# --- the paper's lists


def test_the_packaged_lists_are_the_papers():
    groups = packaged_groups()
    assert {group.name: len(group.names) for group in groups.groups} == {
        "EA_female": 25,
        "EA_male": 25,
        "AA_female": 25,
        "AA_male": 25,
        "AS_female": 27,
        "AS_male": 33,
        "HS_female": 30,
        "HS_male": 30,
    }
    assert len(set(groups.all_names())) == 220
    assert all(group.name == "{race}_{gender}".format(**group.attributes) for group in groups.groups)
    assert groups.of("Tenzin").name == "AS_female"
    assert groups.of("Bobbie-Sue").attributes == {"race": "EA", "gender": "female"}


def test_sixteen_pairs_differ_in_one_attribute():
    pairs = packaged_groups().pairs()
    assert [a.differs(b) for a, b in pairs].count(["gender"]) == 4
    assert [a.differs(b) for a, b in pairs].count(["race"]) == 12
    assert len(pairs) == 16
    assert {"EA_female AA_female", "EA_female EA_male"} < set(called(pairs))


def test_the_papers_groups_are_pooled_over_the_other_attribute():
    gender, *races = packaged_groups().pooled()
    assert (gender.attribute, gender.a, gender.b) == ("gender", "female", "male")
    assert called(gender.strata) == [f"{race}_female {race}_male" for race in ("EA", "AA", "AS", "HS")]
    assert [f"{each.a} {each.b}" for each in races] == ["EA AA", "EA AS", "EA HS", "AA AS", "AA HS", "AS HS"]
    assert called(races[4].strata) == ["AA_female HS_female", "AA_male HS_male"]


def test_the_packaged_lists_are_those_of_the_official_data(official_data):
    path = official_data / "sodapop" / "names.json"
    if not path.exists():
        pytest.skip("ASSAY_DATA has no list of SODAPOP's names")
    printed = json.loads(path.read_text(encoding="utf-8"))["groups"]
    assert {group.name: list(group.names) for group in packaged_groups().groups} == printed
    assert [group.name for group in packaged_groups().groups] == list(printed)


def test_frequencies_are_totals_over_both_sexes_and_rare_names_have_none():
    counts = frequencies()
    assert counts["Amanda"] == 789_367 + 2_136
    assert counts["Sue-Ellen"] == 462
    assert set(packaged_groups().all_names()) - set(counts) == {"Besty", "Bobbie-Sue", "Shavonn", "Everol"}
    assert set(counts) < set(packaged_groups().all_names())
    assert min(counts.values()) >= 200


def test_frequencies_are_the_national_files(official_data):
    path = official_data / "names" / "ssa_national_first_names_1880_2023_min200.csv.gz"
    if not path.exists():
        pytest.skip("ASSAY_DATA has no national names")
    totals: dict[str, int] = {}
    for line in gzip.decompress(path.read_bytes()).decode().splitlines()[1:]:
        name, _, count = line.split(",")
        totals[name] = totals.get(name, 0) + int(count)
    assert totals["Sueellen"] == frequencies()["Sue-Ellen"]
    assert {name: totals[name] for name in frequencies() if name != "Sue-Ellen"} == {
        name: count for name, count in frequencies().items() if name != "Sue-Ellen"
    }
    assert not {"Besty", "Bobbiesue", "Shavonn", "Everol"} & set(totals)


# --- a file of one's own


def test_groups_without_attributes_are_compared_each_with_each_and_never_pooled(tmp_path):
    groups = written(tmp_path, {"A": ["Ann", "Amy"], "B": ["Bob", "Ben"], "C": ["Cid", "Cal"]})
    assert groups.groups[0] == NameGroup("A", ("Ann", "Amy"), {})
    assert called(groups.pairs()) == ["A B", "A C", "B C"]
    assert groups.pooled() == []


def test_attributes_decide_what_is_compared_whatever_the_order_of_the_groups(tmp_path):
    groups = written(tmp_path, FOUR)
    assert called(groups.pairs()) == [
        "old_women young_women",
        "old_women old_men",
        "young_men young_women",
        "young_men old_men",
    ]
    age, gender = groups.pooled()
    assert (age.attribute, age.a, age.b) == ("age", "old", "young")
    assert called(age.strata) == ["old_women young_women", "old_men young_men"]
    assert (gender.attribute, gender.a, gender.b) == ("gender", "f", "m")
    assert called(gender.strata) == ["old_women old_men", "young_women young_men"]


def test_one_stratum_is_not_pooled_since_it_is_a_pair_of_groups_already(tmp_path):
    some = {name: FOUR[name] for name in ("old_women", "young_women", "young_men")}
    assert written(tmp_path, some).pooled() == []


def test_rows_are_places_among_all_names(tmp_path):
    groups = written(tmp_path, FOUR)
    last, first = groups.groups[3], groups.groups[0]
    assert groups.all_names() == ("Ada", "Eva", "Ben", "Max", "Zoe", "Mia", "Abe", "Leo", "Jon")
    assert groups.rows(last, first).tolist() == [6, 7, 8, 0, 1]
    assert [groups.all_names()[row] for row in groups.rows(last)] == list(last.names)
    assert groups.rows().tolist() == []


def test_the_first_names_of_every_group_are_taken(tmp_path):
    groups = written(tmp_path, FOUR)
    taken = groups.take(2)
    assert [group.names for group in taken.groups][3] == ("Abe", "Leo")
    assert taken.groups[3].attributes == groups.groups[3].attributes
    assert taken.take(9) == taken
    assert groups.take(None) == groups
    assert {len(group.names) for group in packaged_groups().take(25).groups} == {25}
    with raises("bad-option", UsageError, key="per_group"):
        groups.take(1)


def test_the_digest_names_groups_names_and_attributes(tmp_path):
    groups = written(tmp_path, FOUR)
    assert written(tmp_path, json.dumps(FOUR, indent=3)).digest == groups.digest
    assert groups.take(2).digest != groups.digest
    plain = {name: group["names"] for name, group in FOUR.items()}
    assert written(tmp_path, plain).digest != groups.digest


def test_a_name_of_no_group_is_refused():
    with raises("bad-option", UsageError, key="name"):
        packaged_groups().of("Rumpelstiltskin")


def test_toml_and_a_byte_order_mark_are_read_too(tmp_path):
    (tmp_path / "groups.toml").write_bytes(b'\xef\xbb\xbfA = ["Ann", "Amy"]\r\nB = ["Bob", "Ben"]\r\n')
    assert read_groups(tmp_path / "groups.toml").all_names() == ("Ann", "Amy", "Bob", "Ben")


@pytest.mark.parametrize(
    ("content", "code", "key"),
    [
        ("not JSON", "bad-json", None),
        ('["Ann", "Amy"]', "bad-json", None),
        ('{"A": ["Ann", "Amy"], "A": ["Bob", "Ben"]}', "duplicate", "A"),
        ({"A": [], "B": ["Bob", "Ben"]}, "bad-list", "A"),
        ({"A": ["Ann", "Amy"], "B": ["Bob"]}, "bad-list", "B"),
        ({"A": ["Ann", "Amy"], "B": ["Bob", "Ann"]}, "duplicate", "B"),
        ({"A": ["Ann", "Ann"], "B": ["Bob", "Ben"]}, "duplicate", "A"),
        ({"A": ["Ann", "Amy"]}, "bad-list", None),
        ({}, "bad-list", None),
        ({"A": ["Ann", ""], "B": ["Bob", "Ben"]}, "bad-list", "A"),
        ({"A": ["Ann", "  "], "B": ["Bob", "Ben"]}, "bad-list", "A"),
        ({"A": ["Ann", " Amy"], "B": ["Bob", "Ben"]}, "bad-list", "A"),
        ({"A": ["Ann", 7], "B": ["Bob", "Ben"]}, "bad-value", "A"),
        ({"A": "Ann", "B": ["Bob", "Ben"]}, "bad-value", "A"),
        ({"A": {"race": "X"}, "B": ["Bob", "Ben"]}, "bad-value", "A"),
        ({" ": ["Ann", "Amy"], "B": ["Bob", "Ben"]}, "unknown-key", " "),
        ({"A": {"names": ["Ann", "Amy"], "race": 3}, "B": ["Bob", "Ben"]}, "bad-value", "A.race"),
        (
            {"A": {"names": ["Ann", "Amy"], "race": "X"}, "B": ["Bob", "Ben"]},
            "bad-value",
            "B",
        ),
        (
            {"A": {"names": ["Ann", "Amy"], "race": "X"}, "B": {"names": ["Bob", "Ben"], "race": "X"}},
            "duplicate",
            "B",
        ),
        ({name: FOUR[name] for name in ("old_women", "young_men")}, "bad-value", None),
    ],
)
def test_what_is_wrong_with_a_file_is_said(tmp_path, content, code, key):
    with raises(code, DataError, file=tmp_path / "groups.json", key=key) as found:
        written(tmp_path, content)
    assert found.value.remedy


def test_files_that_cannot_be_read_are_named(tmp_path):
    with raises("missing-file", DataError, file=tmp_path / "none.json"):
        read_groups(tmp_path / "none.json")
    (tmp_path / "latin.json").write_bytes('{"A": ["Zoë", "Amy"]}'.encode("latin-1"))
    with raises("bad-json", DataError, file=tmp_path / "latin.json"):
        read_groups(tmp_path / "latin.json")
    (tmp_path / "groups.json.gz").write_bytes(b"no gzip")
    with raises("unreadable-file", DataError, file=tmp_path / "groups.json.gz"):
        read_groups(tmp_path / "groups.json.gz")
