"""Run folders can be opened, shown, compared, judged and scored again by whoever gets them, with the same numbers."""

from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import assay
from assay.cli import main
from assay.probes import probes as known
from assay.probes import tour_probes
from assay.runs.score import score
from golden_numbers import FOLDER, require_alike
from kept_runs import ASKED, RUNS

pytestmark = pytest.mark.slow


@pytest.fixture
def folder(kept_runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the folders, to write into, which is the working folder: scored files were named from there."""
    copy = shutil.copytree(kept_runs, tmp_path / "runs")
    monkeypatch.chdir(copy)
    return copy


PARTLY = {"tour": {"sodapop"}}
"""The two models wrote different distractors, so that they have only some words in common."""


def kept(run: Path) -> list[Any]:
    """The estimates in a findings.json, by nobody's reader."""
    estimates: list[Any] = json.loads((run / "findings.json").read_text(encoding="utf-8"))["estimates"]
    return estimates


def key_of(probe: str, estimate: Any) -> tuple[Any, ...]:
    return probe, estimate["metric"], *sorted(estimate["group"].items())


def found_in(folder: Path) -> dict[tuple[Any, ...], float | None]:
    """The values in a run folder, or in a folder of runs."""
    found = {}
    for path in folder.rglob("findings.json"):
        probe = json.loads(path.read_text(encoding="utf-8"))["probe"]
        found |= {key_of(probe, each): each["value"] for each in kept(path.parent)}
    return found


def test_there_is_a_run_of_every_probe_a_tour_and_scores_of_every_kind_of_predictions(kept_runs: Path) -> None:
    found = {path.parent.relative_to(kept_runs / "one").as_posix() for path in (kept_runs / "one").rglob("run.json")}
    assert found == {*RUNS}
    assert {Path(name).name for name in ASKED} == {*known()}
    assert {name for name in RUNS if name.startswith("tour/")} == {f"tour/{probe.name}" for probe in tour_probes()}
    assert found - {*ASKED} == {"scored-bbq", "scored-sodapop", "scored-unqover"}


@pytest.mark.parametrize("name", RUNS)
def test_they_are_opened(name: str, folder: Path) -> None:
    run = assay.open_run(folder / "one" / name)
    assert run.info.versions["assay"] == assay.__version__
    require_alike(name, kept(run.folder), [estimate.as_json() for estimate in run.findings.estimates])
    for title, table in run.findings.tables.items():
        with (run.folder / "tables" / f"{title}.csv").open(encoding="utf-8", newline="") as file:
            columns, *rows = csv.reader(file)
        assert list(table.columns) == columns
        assert [["" if cell is None else str(cell) for cell in row] for row in table.rows] == rows


@pytest.mark.parametrize("name", [*RUNS, "tour"])
def test_they_are_shown(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In every format, with their numbers."""
    place = folder / "one" / name
    estimates = [each for path in sorted(place.rglob("findings.json")) for each in kept(path.parent)]
    shown = {}
    for form in ("json", "csv", "md", "model-card", "html"):
        capsys.readouterr()
        assert main(["report", str(place), "--format", form]) == 0
        shown[form] = capsys.readouterr().out
    runs = json.loads(shown["json"])["runs"]
    require_alike(name, estimates, [each for run in runs for each in run["findings"]["estimates"]])
    values = [row["value"] for row in csv.DictReader(io.StringIO(shown["csv"]))]
    assert sorted(values) == sorted("" if each["value"] is None else str(each["value"]) for each in estimates)
    shown["html"] = (place / "report.html").read_text(encoding="utf-8")
    told = next(each for each in estimates if each["value"] is not None)
    for form in ("md", "model-card", "html"):
        assert f"{told['value']:.3f}" in shown[form], form


@pytest.mark.parametrize("name", ["tour", *(name for name in RUNS if not name.startswith("tour/"))])
def test_they_are_compared(name: str, folder: Path) -> None:
    """Where two runs have all items in common, a change is between the values that they found."""
    baseline, model = (found_in(folder / place / name) for place in ("one", "two"))
    compared = assay.compare([folder / "one" / name, folder / "two" / name])
    whole = {
        part.probe
        for part in compared.parts or [compared]
        if all(each.baseline == each.model == each.common for counts in part.counts.values() for each in counts)
    }
    assert whole == {part.probe for part in compared.parts or [compared]} - PARTLY.get(name, set())
    assert compared.differences
    for each in (difference.as_json() for difference in compared.differences):
        before, after, key = each["baseline_value"], each["model_value"], key_of(each["probe"], each["change"])
        if each["probe"] in whole:
            assert (before, after) == pytest.approx((baseline[key], model[key]), abs=1e-9), key
        change = None if None in (before, after) else pytest.approx(after - before, abs=1e-9)
        assert each["change"]["value"] == change, key


def test_they_are_judged(folder: Path) -> None:
    """By their own numbers, and by those of a baseline."""
    policy = (FOLDER / "policy.toml").read_text(encoding="utf-8")
    (folder / "policy.toml").write_text(policy.replace('"one"', '"one/tour"'), encoding="utf-8")
    judged = json.loads(assay.gate(folder / "two" / "tour", folder / "policy.toml").to_json())
    found = found_in(folder / "two" / "tour")
    for each in judged["verdicts"]:
        probe, _, metric = each["metric"].partition(".")
        value = found.get(key_of(probe, each | {"metric": metric}))
        assert each["value"] in (None, pytest.approx(value)) or "other model" in each["limit"], each
    assert {each["outcome"] for each in judged["verdicts"]} == {"pass", "fail", "skip"}


@pytest.mark.parametrize("name", ASKED)
def test_their_answers_are_scored_again(name: str, folder: Path) -> None:
    """With the same bytes. Whoever sends a run does not send its data, so those of bbq are named again."""
    again = score(
        Path(name).name, [folder / "one" / name], out=folder / "again", data=folder / "data" if name == "bbq" else None
    )
    for file in ("findings.json", *(f"tables/{table}.csv" for table in again.findings.tables)):
        assert (again.folder / file).read_bytes() == (folder / "one" / name / file).read_bytes(), file
