"""Numbers that are published do not change unless somebody means it: those of tests/golden (its README.md)."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

import assay
import small_lists
import stand_in
from assay.probes import probes, tour_probes
from assay.report import terminal_bottom_line, terminal_summary
from assay.results.findings import Estimate, Table
from assay.runs.folder import open_bare
from assay.runs.question_files import generate
from golden_numbers import FOLDER, Golden, on_any_machine, read_packed, read_records, unpacked

pytestmark = pytest.mark.slow

FEW = {"resamples": "200"}
SEVEN = "Age,Disability_status,Gender_identity,Nationality,Physical_appearance,Religion,Sexual_orientation"
RUNS: Mapping[str, tuple[str, dict[str, Any]]] = {
    "unqover": ("unqover", {"limit": 480, "settings": FEW | {"draws": "200", "form": "both"}}),
    "unqover_lists": ("unqover", {"preset": "paper", "settings": FEW | {"draws": "200", "form": "both"}}),
    "unqover_released": ("unqover", {"limit": 240, "settings": FEW | {"draws": "200", "compat": "released"}}),
    "unqover_choice": (
        "unqover",
        {"limit": 640, "settings": FEW | {"draws": "200", "form": "choice", "class": "gender", "attributes": "6"}},
    ),
    "bbq": ("bbq", {"limit": 240, "settings": FEW | {"category": "Age,Religion,Race_x_gender"}}),
    "bbq_official": ("bbq", {"limit": 400, "settings": FEW | {"category": SEVEN}}),
    "bbq-starter": ("bbq-starter", {"limit": 440, "settings": FEW}),
    "bbq_written": (
        "bbq-starter",
        {
            "limit": 80,
            "settings": FEW | {"form": "race", "orders": "all", "context": "both", "category": "Age,Race_x_gender"},
        },
    ),
    "sodapop": ("sodapop", {"settings": FEW | {"permutations": "2000"}}),
    "sodapop_per_name": (
        "sodapop",
        {"limit": 480, "settings": FEW | {"permutations": "2000", "distractors": "per_name", "pairing": "sampled"}},
    ),
    "sodapop-names": ("sodapop-names", {"limit": 200, "settings": {"splits": "20"}}),
}
"""By the name of its file: a small run of a probe on a stand-in model."""
OFFICIAL = "bbq_official"


@pytest.fixture(autouse=True)
def _stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in.install(monkeypatch)


def asked(name: str, folder: Path, request: pytest.FixtureRequest) -> dict[str, Any]:
    """The arguments of a run, with the data that it needs."""
    _, arguments = RUNS[name]
    if name == "unqover_lists":
        settings = arguments["settings"] | {"word_lists": str(small_lists.write(folder / "lists"))}
        return arguments | {"settings": settings}
    if name == "bbq":  # the official format, our own texts
        generate("bbq-starter", folder / "data")
        return arguments | {"data": folder / "data"}
    if name == OFFICIAL:
        return arguments | {"data": request.getfixturevalue("official_data")}
    return arguments


def test_every_probe_has_a_run_here() -> None:
    assert {probe for probe, _ in RUNS.values()} == {*probes()}


@pytest.mark.parametrize("name", RUNS)
def test_the_numbers_of_a_stand_in_model(
    name: str, golden: Golden, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Of one run its estimates and tables, then how another model differs from it, then what a policy says of both."""
    probe, arguments = RUNS[name][0], asked(name, tmp_path, request)
    one, other = (
        assay.audit(f"stand-in:{seed}", probe, out=tmp_path / seed / probe, **arguments) for seed in ("one", "two")
    )
    found = assay.compare([one.folder, other.folder])
    require_contained([*one.findings.estimates, *(each.change for each in found.differences)], one.findings.tables)
    golden.run(f"stand_in/{name}", one.folder, hide_texts=name == OFFICIAL)
    compared = json.loads(found.to_json())
    golden.records(f"compare_{name}.json", compared["differences"], about={"items": compared["items"]})
    (tmp_path / "policy.toml").write_bytes((FOLDER / "policy.toml").read_bytes())
    golden.verdicts(f"gate_{name}.json", assay.gate(tmp_path / "two", tmp_path / "policy.toml").to_json())


@pytest.mark.parametrize("probe", ["sodapop-names", "bbq"])
def test_the_numbers_of_the_built_in_model(
    probe: str, golden: Golden, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """At the quick preset. Those of the tour are compared where it runs, in tests/end_to_end/test_tour.py."""
    own = {"data": request.getfixturevalue("official_data"), "settings": {"category": SEVEN}} if probe == "bbq" else {}
    run = assay.audit("builtin", probe, out=tmp_path / "run", **own)
    golden.run(f"builtin/{probe}", run.folder, on_any_machine(run.folder), hide_texts=probe == "bbq")


def require_contained(estimates: Sequence[Estimate], tables: Mapping[str, Table]) -> None:
    """Every interval contains the number that it belongs to, and none has one end alone."""
    assert [each for each in estimates if not each.contained or (each.low is None) != (each.high is None)] == []
    for name, table in tables.items():
        if "low" in table.columns:
            value = table.columns[list(table.columns).index("low") - 1]
            for row in table.records():
                assert (row["low"] is None) == (row["high"] is None), (name, row)
                low, number, high = (np.nan if row[key] is None else float(row[key]) for key in ("low", value, "high"))
                assert row["low"] is None or low - 1e-9 <= number <= high + 1e-9, (name, row)


# --- README.md

README = (FOLDER.parents[1] / "README.md").read_text(encoding="utf-8")
NUMERALS = ("eight", "seven", "six", "five", "four", "three", "two", "one", "no")[::-1]


def test_the_readme_prints_what_the_tour_finds(tmp_path: Path) -> None:
    """Line by line, in the tour's order, but for how long it took and where the page is."""
    screen = io.StringIO()
    tour = [probe.name for probe in tour_probes()]
    for probe in tour:
        run = open_bare(unpacked(f"builtin/{probe}", tmp_path / probe))
        terminal_summary(run, Console(file=screen, width=80), brief=True)
    runs = [open_bare(tmp_path / probe) for probe in tour]
    terminal_bottom_line(runs, Console(file=screen, width=80))
    printed = iter([line.rstrip() for line in screen.getvalue().splitlines()])
    block = next(block for block in README.split("```") if block.strip().startswith(tour[0]))
    said = [line.rstrip() for line in block.strip().splitlines()]
    shown = [line for line in said if line not in ("", "…") and not re.match(r"Time \(|Report: |Larger sample: ", line)]
    assert len([line for line in shown if re.search(r"\d\.\d", line)]) >= 8
    for line in shown:
        assert line in printed, f"README.md says what the tour does not print, or not there: {line}"


def test_the_readme_counts_what_the_tour_finds() -> None:
    about, _ = read_records(FOLDER / "builtin" / "unqover.json")
    spans = sum(count for stage, count in about["stages"].items() if "span" in stage)
    assert f"about {round(spans, -2):,} questions" in README
    about, _ = read_records(FOLDER / "builtin" / "bbq-starter.json")
    assert about["questions"] % (int(found(r"(\d+) templates of our own")) * 4) == 0
    words = {row["word"] for row in clear("sodapop") if "word" in row}
    assert found(r"In SODAPOP,\s+(\w+) words mislead") == NUMERALS[len(words)]
    pooled = [row for row in clear("unqover") if row.get("form") == "span" and "group" in row and "attribute" in row]
    favoured = [row["group"] for row in pooled if float(row["gamma"]) > 0]
    large = sum(float(row["gamma"]) >= 0.05 for row in pooled)
    assert found(r"associates (\w+) of eight occupations more with men's names") == NUMERALS[favoured.count("male")]
    assert found(r"men's names, (\w+) of them by 0.05 or more") == NUMERALS[large]
    assert "female" not in favoured
    about, estimates = read_records(FOLDER / "builtin" / "bbq-starter.json")
    assert "at the level of guessing" in about["verdict"]["why"]
    everywhere = {"category": "all", "context": "disambig"}
    (right,) = (each for each in estimates if (each["metric"], each["group"]) == ("accuracy", everywhere))
    low, high = (f"{100 * right[end]:.1f}" for end in ("low", "high"))
    assert found(r"it is right in ([\d.]+)% of the cases") == f"{100 * right['value']:.1f}"
    assert f"(95% interval {low} to {high};" in README


def found(pattern: str) -> str:
    match = re.search(pattern, README)
    assert match, f"README.md no longer says {pattern}"
    return match[1]


def clear(probe: str) -> list[Any]:
    """What the built-in model's run has clear of chance: estimates and rows of tables."""
    tables = [read_packed(path) for path in (FOLDER / "builtin" / probe).glob("*.csv.gz")]
    rows = [dict(zip(table[0], row, strict=True)) for table in tables for row in table[1:]]
    _, estimates = read_records(FOLDER / "builtin" / f"{probe}.json")
    return [each for each in [*estimates, *rows] if str(each.get("claimed")) in ("True", "1")]
