"""findings.json and its tables are a contract: the same findings are the same bytes, and they are read as written."""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.errors import DataError
from assay.results.findings import LARGEST, Cell, Estimate, Findings, Table, read_findings, read_table
from raising import raises

GROUP = {"class": "gender", "form": "span"}
FOUND = Findings(
    "unqover",
    "hf:./größe",
    [
        Estimate("mu", GROUP, 0.25, 0.1, 0.4, n=1840, p=0.001, q=0.004, floor=0.02),
        Estimate("eta", GROUP, None, note="every answer was the same"),
    ],
    {"gamma": Table(["subject", "gamma", "n"], [["Anne-Marie", 0.1, 3], ['O"Neil, José\n', None, 4]])},
)


def write(folder: Path, findings: Findings = FOUND) -> None:
    (folder / "tables").mkdir(exist_ok=True)
    (folder / "findings.json").write_text(findings.to_json(), encoding="utf-8")
    for name, table in findings.tables.items():
        (folder / "tables" / f"{name}.csv").write_bytes(table.to_csv().encode())


# --- estimates


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("name", ["value", "low", "high", "p", "q", "floor"])
def test_an_estimate_is_a_number_or_nothing(name: str, number: float) -> None:
    numbers: dict[str, Any] = {"value": 0.5, name: number}
    with pytest.raises(ValueError, match=f"{name} is"):
        Estimate("mu", GROUP, **numbers)


def test_an_undefined_estimate_says_why() -> None:
    with pytest.raises(ValueError, match="undefined without a note"):
        Estimate("mu", GROUP, None)
    assert Estimate("mu", GROUP, None, note="nothing was asked").as_json()["value"] is None


# --- numbers


def test_numbers_are_written_without_the_rounding_errors_of_their_last_bits(tmp_path: Path) -> None:
    difference, tiny, share = 0.31 - 0.32, 0.1 + 0.2 - 0.3, 2 / 3
    assert (repr(difference), repr(tiny)) == ("-0.010000000000000009", "5.551115123125783e-17")
    estimate = Estimate("accuracy_cost", {}, difference, -tiny, share, p=3e-14 / 7, q=1 / 3, floor=tiny)
    table = Table(["rd", "p", "n", "word"], [[difference, 3e-14 / 7, 3, "a"], [-tiny, None, 10**15, "0.31000000001"]])
    write(tmp_path, Findings("bbq", "builtin", [estimate], {"words": table}))
    told = json.loads((tmp_path / "findings.json").read_text())["estimates"][0]
    assert [told[name] for name in ("value", "high", "q", "floor")] == [-0.01, 0.666666666667, 0.333333333333, 0.0]
    assert math.copysign(1.0, told["low"]) == 1.0
    assert told["p"] == 4.28571428571e-15, "a small p is not 0"
    lines = (tmp_path / "tables" / "words.csv").read_text().splitlines()
    assert lines[1:] == ["-0.01,4.28571428571e-15,3,a", "0.0,,1000000000000000,0.31000000001"]


@given(st.floats(-1.0, 1.0), st.floats(0.0, 1.0))
def test_tidy_findings_differ_from_what_was_found_by_less_than_anybody_measures(value: float, p: float) -> None:
    found = Findings("bbq", "m", [Estimate("x", {}, value, p=p)]).estimates[0]
    assert found.value is not None
    assert abs(found.value - value) <= 5.01e-13
    assert found.p == pytest.approx(p, rel=1e-11, abs=1e-300)
    assert found.tidied() == found


# --- the file


def test_the_file_has_what_the_contract_says() -> None:
    content = json.loads(FOUND.to_json())
    assert {*content} == {"schema", "probe", "model", "verdict", "diagnosis", "estimates", "tables"}
    assert (content["schema"], content["probe"], content["model"]) == (3, "unqover", "hf:./größe")
    assert content["tables"] == {"gamma": "tables/gamma.csv"}
    assert content["estimates"][0] == {
        "metric": "mu",
        "group": GROUP,
        "value": 0.25,
        "corrected": None,
        "low": 0.1,
        "high": 0.4,
        "interval_of": "value",
        "level": 0.95,
        "n": 1840,
        "p": 0.001,
        "q": 0.004,
        "claimed": None,
        "floor": 0.02,
        "note": None,
    }
    assert content["estimates"][1]["value"] is None
    assert content["estimates"][1]["note"] == "every answer was the same"


def test_the_same_findings_are_the_same_bytes_and_text_stays_readable() -> None:
    digest = "40f8aacaea166d90975a6f3ccc60c0b3536b00f7d53c26a5d3313b49eb21e1ee"
    assert hashlib.sha256(FOUND.to_json().encode()).hexdigest() == digest, "another program may have stored this file"
    assert "größe" in FOUND.to_json()
    assert FOUND.to_json().endswith("}\n")


def test_findings_are_read_as_they_were_written(tmp_path: Path) -> None:
    write(tmp_path)
    found = read_findings(tmp_path)
    assert (found.probe, found.model) == (FOUND.probe, FOUND.model)
    assert list(found.estimates) == list(FOUND.estimates)
    assert found.to_json() == FOUND.to_json()
    assert [list(row) for row in found.tables["gamma"].rows] == [list(row) for row in FOUND.tables["gamma"].rows]


def test_an_interval_belongs_to_the_corrected_value_where_there_is_one(tmp_path: Path) -> None:
    corrected = Estimate("mu", GROUP, 0.34, 0.0, 0.2, n=10, corrected=0.1)
    assert (corrected.interval_of, corrected.contained) == ("corrected", True)
    assert not Estimate("mu", GROUP, 0.34, 0.0, 0.2).contained
    assert Estimate("mu", GROUP, 0.34).contained
    write(tmp_path, Findings("unqover", "m", [corrected]))
    told = json.loads((tmp_path / "findings.json").read_text())["estimates"][0]
    assert (told["value"], told["corrected"], told["interval_of"]) == (0.34, 0.1, "corrected")
    assert read_findings(tmp_path).estimates == [corrected]


def test_findings_that_are_not_there_are_a_data_error(tmp_path: Path) -> None:
    with raises("unfinished-run", DataError, file=tmp_path / "findings.json", exit_code=3):
        read_findings(tmp_path)
    write(tmp_path)
    (tmp_path / "tables" / "gamma.csv").unlink()
    with raises("unfinished-run", DataError, file=tmp_path / "tables" / "gamma.csv"):
        read_findings(tmp_path)


@pytest.mark.parametrize(
    "change",
    [
        {"schema": "3"},
        {"estimates": [{**FOUND.estimates[0].as_json(), "interval_of": "corrected"}]},
        {"estimates": [{"metric": "mu"}]},
        {"estimates": [{**FOUND.estimates[0].as_json(), "value": None}]},
        {"estimates": [{**FOUND.estimates[0].as_json(), "value": "0.25"}]},
        {"estimates": [{**FOUND.estimates[0].as_json(), "mood": "good"}]},
        {"tables": ["gamma"]},
    ],
    ids=[
        "another schema",
        "an interval of nothing",
        "half an estimate",
        "no reason",
        "text for a number",
        "unknown field",
        "no table names",
    ],
)
def test_a_file_that_breaks_the_contract_is_a_data_error(change: dict[str, Any], tmp_path: Path) -> None:
    write(tmp_path)
    content = json.loads(FOUND.to_json()) | change
    (tmp_path / "findings.json").write_text(json.dumps(content))
    with raises("bad-findings", DataError, file=tmp_path / "findings.json"):
        read_findings(tmp_path)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", "\x00", "7"])
def test_a_file_that_is_something_else_is_a_data_error(text: str, tmp_path: Path) -> None:
    (tmp_path / "findings.json").write_text(text)
    with raises("bad-findings", DataError, file=tmp_path / "findings.json"):
        read_findings(tmp_path)


# --- tables

NAMES = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=6).map(lambda text: f"x{text}")
NUMBERS = st.floats(-LARGEST, LARGEST)


@st.composite
def tables(draw: st.DrawFn) -> Table:
    kinds = draw(st.lists(st.sampled_from([NAMES, NUMBERS, st.integers()]), min_size=1, max_size=4))
    columns = [f"column {place}" for place in range(len(kinds))]
    row = st.tuples(*[st.none() | kind for kind in kinds])
    return Table(columns, draw(st.lists(row, max_size=6)))


@settings(deadline=None)
@given(tables())
def test_a_table_is_read_as_it_was_written(tmp_path_factory: pytest.TempPathFactory, table: Table) -> None:
    path = tmp_path_factory.getbasetemp() / "table.csv"
    path.write_bytes(table.to_csv().encode())
    again = read_table(path)
    assert list(again.columns) == list(table.columns)
    assert [list(row) for row in again.rows] == [list(row) for row in table.rows]


def test_awkward_texts_survive(tmp_path: Path) -> None:
    rows: list[list[Cell]] = [['a "quoted", name'], ["two\nlines"], ["two\r\nlines"], [" blanks "], ["日本"], ["1 2"]]
    (tmp_path / "t.csv").write_bytes(Table(["text"], rows).to_csv().encode())
    assert [list(row) for row in read_table(tmp_path / "t.csv").rows] == rows


def test_records_name_their_cells() -> None:
    assert next(iter(FOUND.tables["gamma"].records())) == {"subject": "Anne-Marie", "gamma": 0.1, "n": 3}


def test_a_line_with_too_few_cells_is_named(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n1,2\n3\n")
    with raises("bad-findings", DataError, file=tmp_path / "t.csv", line=3):
        read_table(tmp_path / "t.csv")


def test_an_empty_table_file_is_a_data_error(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("")
    with raises("bad-findings", DataError, file=tmp_path / "t.csv", line=None):
        read_table(tmp_path / "t.csv")


@pytest.mark.parametrize("content", [{"metric": "mu"}, {"metric": "mu", "group": {}, "value": 1.0, "lowx": 0.5}])
def test_an_estimate_with_other_keys_is_a_value_error(content: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="not an estimate"):
        Estimate.from_json(content)
