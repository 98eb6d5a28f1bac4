"""Name groups from statistics: the paper's proportions, and the tables that they come from."""

from __future__ import annotations

import csv
import gzip
import json
from collections import Counter, defaultdict

import pytest

from assay.errors import DataError, UsageError
from assay.probes.sodapop.name_builder import (
    APPENDIX_A,
    SECTION_2,
    NameCount,
    NameRules,
    as_json,
    build_from_files,
    build_groups,
    read_counts,
)
from assay.probes.sodapop.names import packaged_groups, read_groups
from raising import raises

NEW_YORK = "Child's First Name,Gender,Ethnicity,Year of Birth,Count,Rank"
TZIOUMIS = "firstname,obs,pctwhite,pctblack,pctapi,pcthispanic,pctaian,pct2prace"
NATIONAL = "name,sex,count"
PLAIN = "name,race,gender,count"


def table(folder, name: str, *lines: str):
    path = folder / name
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def people(**counts: str) -> list[NameCount]:
    """Rows like Ann="AA female 90, EA female 10"."""
    cells = [(name, cell.split()) for name, row in counts.items() for cell in row.split(", ")]
    return [NameCount(name, race, gender, int(count)) for name, (race, gender, count) in cells]


def names(groups) -> dict[str, list[str]]:
    return {name: group["names"] for name, group in groups.items()}


# --- Eq. 6 and 7


def test_a_name_belongs_where_its_bearers_do():
    rows = people(
        Ann="AA female 90, EA female 10",  # 0.9 of one race: just enough
        Amy="AA female 89, EA female 11",  # not enough
        Ada="AA female 90, AA male 10",  # 0.9 of one gender: just enough
        Alex="AA female 60, AA male 40",  # for neither gender
        Eve="EA female 95, HS female 5",
        Eva="EA female 50, EA male 1",
    )
    assert names(build_groups(rows, NameRules(0.9, min_count=0))) == {
        "AA_female": ["Ada", "Ann"],
        "EA_female": ["Eve", "Eva"],
    }


def test_every_race_can_have_its_threshold_and_the_others_only_count_in_the_denominator():
    rows = people(
        Li="AS female 70, EA female 30",
        Mei="AS female 69, EA female 31",
        Lin="AS female 75, AIAN female 25",
        Sue="EA female 70, AS female 30",
        Kai="AIAN female 100",
        Kim="AIAN female 100",
    )
    assert names(build_groups(rows, NameRules({"AS": 0.7}, min_count=0))) == {"AS_female": ["Li", "Lin"]}
    assert "AIAN_female" in build_groups(rows, NameRules(0.7, min_count=0))


def test_names_are_ordered_by_count_then_alphabet_and_the_first_are_taken():
    rows = people(
        Bea="EA female 300", Ann="EA female 300", Cat="EA female 900", Dot="EA female 199", Flo="EA female 200"
    )
    assert names(build_groups(rows)) == {"EA_female": ["Cat", "Ann", "Bea", "Flo"]}
    assert names(build_groups(rows, NameRules(0.9, per_group=2))) == {"EA_female": ["Cat", "Ann"]}


def test_a_group_of_one_name_is_left_out():
    rows = people(Ann="EA female 300", Bea="EA female 300", Bob="EA male 300")
    assert list(build_groups(rows)) == ["EA_female"]


def test_race_and_gender_may_come_from_different_sources_and_both_are_needed():
    races = [NameCount(name, "HS", None, 300) for name in ("Ana", "Eva", "Rio")]
    genders = [NameCount(name, None, "female", 5) for name in ("Ana", "Eva", "Zoe")]
    assert names(build_groups([*races, *genders])) == {"HS_female": ["Ana", "Eva"]}


def test_a_name_nobody_bears_is_passed_over():
    rows = people(Ann="EA female 3", Amy="EA female 2", Nil="EA female 0")
    assert names(build_groups(rows, NameRules(0.9, min_count=0))) == {"EA_female": ["Ann", "Amy"]}


@pytest.mark.parametrize(
    ("settings", "key"),
    [
        ({"race_threshold": 0.5}, "race_threshold"),
        ({"race_threshold": {"AS": 0.7, "EA": 1.1}}, "race_threshold"),
        ({"race_threshold": 0.9, "gender_threshold": 0.2}, "gender_threshold"),
        ({"race_threshold": float("nan")}, "race_threshold"),
        ({"race_threshold": 0.9, "min_count": -1}, "min_count"),
        ({"race_threshold": 0.9, "per_group": 1}, "per_group"),
    ],
)
def test_rules_that_make_no_sense_are_refused(settings, key):
    with raises("bad-setting", UsageError, key=key):
        NameRules(**settings)


def test_the_result_is_a_file_of_groups(tmp_path):
    rows = people(Ann="EA female 300", Bea="EA female 300", Bob="EA male 300", Ben="EA male 400")
    groups = read_groups(table(tmp_path, "groups.json", as_json(build_groups(rows))))
    assert [(group.name, group.names) for group in groups.groups] == [
        ("EA_female", ("Ann", "Bea")),
        ("EA_male", ("Ben", "Bob")),
    ]
    assert groups.groups[0].attributes == {"race": "EA", "gender": "female"}


# --- tables


def test_new_yorks_table_repeats_rows_and_cuts_ethnicities_off(tmp_path):
    path = table(
        tmp_path,
        "nyc.csv",
        NEW_YORK,
        "MEI-LIN,FEMALE,ASIAN AND PACIFIC ISLANDER,2011,20,3",
        "MEI-LIN,FEMALE,ASIAN AND PACIFIC ISLANDER,2011,20,3",
        "Mei-Lin,FEMALE,ASIAN AND PACI,2011,20,3",
        "MEI-LIN,FEMALE,ASIAN AND PACI,2012,20,3",
        "AMAR'E,MALE,WHITE NON HISP,2012,11,9",
        "AMAR'E,MALE,BLACK NON HISPANIC,2012,12,9",
        "AMAR'E,MALE,HISPANIC,2012,13,9",
    )
    assert read_counts(path) == [
        NameCount("Mei-Lin", "AS", "female", 20),
        NameCount("Mei-Lin", "AS", "female", 20),
        NameCount("Amar'e", "EA", "male", 11),
        NameCount("Amar'e", "AA", "male", 12),
        NameCount("Amar'e", "HS", "male", 13),
    ]


def test_tzioumis_percentages_become_the_counts_they_were_made_of(tmp_path):
    others = "ALL OTHER FIRST NAMES,1000,10,20,30,40,0,0"
    path = table(tmp_path, "t.csv", TZIOUMIS, "ZELDA,37,54.054,2.703,24.324,18.919,0,0", others)
    found = {row.race: row.count for row in read_counts(path)}
    assert found == {"EA": 20, "AA": 1, "AS": 9, "HS": 7, "AIAN": 0, "several": 0}
    assert {(row.name, row.gender) for row in read_counts(path)} == {("Zelda", None)}


def test_tables_are_told_apart_by_their_first_lines_and_added_up(tmp_path):
    groups = build_from_files(
        [
            table(
                tmp_path, "a.csv", TZIOUMIS, "ANA,300,0,0,0,100,0,0", "EVA,150,0,0,0,100,0,0", "LEO,500,10,0,0,90,0,0"
            ),
            table(tmp_path, "b.csv", NATIONAL, "Ana,F,500", "Eva,F,50", "Eva,M,5", "Leo,M,50", "Luis,F,3"),
            table(tmp_path, "c.csv", PLAIN, "Eva,HS,Female,70", "LUIS,HS,m,200", "Eva,EA,female,10"),
        ]
    )
    assert names(groups) == {"HS_female": ["Ana", "Eva"], "HS_male": ["Leo", "Luis"]}


def test_packed_tables_are_read(tmp_path):
    path = tmp_path / "c.csv.gz"
    path.write_bytes(gzip.compress(f"\ufeff{PLAIN}\r\nEva,HS,F,70\r\n".encode()))
    assert read_counts(path) == [NameCount("Eva", "HS", "female", 70)]


@pytest.mark.parametrize(
    ("lines", "code", "line", "key"),
    [
        (["SURNAME,RANK", "SMITH,1"], "missing-key", None, None),
        ([PLAIN], "empty-file", None, None),
        ([PLAIN, "Eva,HS,F,many"], "bad-value", 2, "count"),
        ([PLAIN, "Eva,HS,F,1.5"], "bad-value", 2, "count"),
        ([PLAIN, "Eva,HS,F,-3"], "bad-value", 2, "count"),
        ([PLAIN, "Eva,HS,F,inf"], "bad-value", 2, "count"),
        ([PLAIN, "Eva,HS,F,3", ",HS,F,3"], "bad-value", 3, "name"),
        ([PLAIN, "Eva,HS,woman,3"], "bad-value", 2, "gender"),
        ([PLAIN, "Eva,HS,F"], "bad-csv", 2, None),
        ([NATIONAL, "Eva,X,3"], "bad-value", 2, "sex"),
        ([NEW_YORK, "EVA,FEMALE,MARTIAN,2011,3,1"], "bad-value", 2, "Ethnicity"),
        ([TZIOUMIS, "EVA,100,0,0,0,101,0,0"], "bad-value", 2, "pcthispanic"),
    ],
)
def test_what_is_wrong_with_a_table_is_said(tmp_path, lines, code, line, key):
    with raises(code, DataError, file=tmp_path / "t.csv", line=line, key=key) as found:
        read_counts(table(tmp_path, "t.csv", *lines))
    assert found.value.remedy


def test_tables_that_do_not_make_groups_are_refused(tmp_path):
    races = table(tmp_path, "a.csv", TZIOUMIS, "ANA,300,0,0,0,100,0,0")
    genders = table(tmp_path, "b.csv", NATIONAL, "Ana,F,500")
    with raises("missing-key", DataError, key="gender"):
        build_from_files([races])
    with raises("missing-key", DataError, key="race"):
        build_from_files([genders])
    with raises("bad-list", DataError, key="tables"):
        build_from_files([races, genders])
    with raises("missing-setting", UsageError, key="tables"):
        build_from_files([])
    with raises("bad-csv", DataError, file=tmp_path / "names.txt"):
        build_from_files([table(tmp_path, "names.txt", PLAIN, "Eva,HS,F,70")])


# --- the tables that the paper and others use


@pytest.fixture(scope="module")
def tables(official_data):
    folder = official_data / "names"
    files = ("nyc_popular_baby_names", "tzioumis2018_first_names", "ssa_national_first_names_1880_2023_min200")
    paths = [folder / f"{name}.csv.gz" for name in files]
    if not all(path.exists() for path in paths):
        pytest.skip("ASSAY_DATA has no tables of names")
    return paths


def counted(tables) -> tuple[dict[str, Counter[str]], dict[str, Counter[str]]]:
    """Bearers by race and by gender, counted once more and without the package's code."""
    races: dict[str, Counter[str]] = defaultdict(Counter)
    genders: dict[str, Counter[str]] = defaultdict(Counter)
    texts = (gzip.decompress(path.read_bytes()).decode("utf-8-sig") for path in tables)
    new_york, tzioumis, national = ([*csv.reader(text.splitlines())][1:] for text in texts)
    for _, gender, ethnicity, name, count, _ in {(y, g, e[:8], n.lower(), c, r) for y, g, e, n, c, r in new_york}:
        race = {"H": "HS", "W": "EA", "B": "AA", "A": "AS"}[ethnicity[0]]
        races[name][race] += int(count)
        genders[name][gender.lower()] += int(count)
    for name, bearers, *shares in tzioumis:
        for race, share in zip(("HS", "EA", "AA", "AS", "other", "other"), shares, strict=True):
            races[name.lower()][race] += round(int(bearers) * float(share) / 100)
    for name, sex, count in national:
        genders[name.lower()]["female" if sex == "F" else "male"] += int(count)
    return races, genders


def test_all_eight_groups_come_from_the_tables_and_every_name_keeps_the_thresholds(tables, tmp_path):
    groups = build_from_files(tables)
    assert list(groups) == [f"{race}_{gender}" for race in ("EA", "AA", "HS", "AS") for gender in ("female", "male")]
    races, genders = counted(tables)
    shares = {"EA": 0.9, "AA": 0.9, "HS": 0.8, "AS": 0.7}
    chosen = set()
    for group in groups.values():
        assert len(group["names"]) >= 2
        for name in map(str.lower, group["names"]):
            assert races[name].total() >= 200
            assert races[name][group["race"]] / races[name].total() >= shares[group["race"]]
            assert genders[name][group["gender"]] / genders[name].total() >= 0.9
            chosen.add(name)
    for name in races.keys() - chosen - {"all other first names"}:  # and no name that keeps them is left out
        enough = races[name].total() >= 200 and genders[name].total() > 0
        indicative = any(races[name][race] >= share * races[name].total() for race, share in shares.items())
        assert not (enough and indicative and max(genders[name].values()) >= 0.9 * genders[name].total()), name
    path = table(tmp_path, "groups.json", as_json(groups))
    assert len(read_groups(path).pairs()) == 16
    assert SECTION_2.race_threshold == shares


def test_the_papers_asian_and_hispanic_names_come_out_of_new_yorks_table(tables):
    """All 120 but Tenzin, which is about as often a boy's name as a girl's (the paper: 0.4871)."""
    groups = build_from_files(tables[:1], APPENDIX_A)
    assert list(groups) == ["AS_female", "AS_male", "HS_female", "HS_male"]
    printed = {group.name: set(group.names) for group in packaged_groups().groups}
    found = {name: printed[name] & set(group["names"]) for name, group in groups.items()}
    assert {name: len(each) for name, each in found.items()} == {
        "AS_female": 26,
        "AS_male": 33,
        "HS_female": 30,
        "HS_male": 30,
    }
    assert printed["AS_female"] - found["AS_female"] == {"Tenzin"}


def test_tables_of_other_things_are_refused(tables):
    surnames = tables[0].with_name("census2010_top1000_surnames.csv.gz")
    if not surnames.exists():
        pytest.skip("ASSAY_DATA has no surnames")
    with raises("missing-key", DataError, file=surnames):
        build_from_files([*tables, surnames])


def test_json_keeps_letters_of_all_languages():
    assert "Zoë" in as_json({"A": {"names": ["Zoë", "Amy"]}})
    assert json.loads(as_json({"A": {"names": ["Zoë", "Amy"]}})) == {"A": {"names": ["Zoë", "Amy"]}}
