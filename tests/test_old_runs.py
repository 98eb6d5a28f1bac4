"""Run folders as 0.1.0 wrote them stay readable: opened, shown, compared, judged and scored again, the same numbers."""

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
from golden_numbers import FOLDER, Golden, require_alike

OLD = FOLDER / "runs_0_1_0"
RUNS = sorted(path.parent.relative_to(OLD / "one").as_posix() for path in (OLD / "one").rglob("run.json"))
ASKED = [name for name in RUNS if "scored" not in name]


@pytest.fixture
def old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the folders, to write into, which is the working folder: scored files were named from there."""
    folder = shutil.copytree(OLD, tmp_path / "runs")
    monkeypatch.chdir(folder)
    return folder


def kept(run: Path) -> list[Any]:
    """The estimates in a findings.json, by nobody's reader."""
    estimates: list[Any] = json.loads((run / "findings.json").read_text(encoding="utf-8"))["estimates"]
    return estimates


def test_there_is_a_run_of_every_probe_a_tour_and_scores_of_every_kind_of_predictions() -> None:
    probes = {json.loads((OLD / "one" / name / "run.json").read_text(encoding="utf-8"))["probe"] for name in ASKED}
    assert probes == {*known()}
    assert {name for name in RUNS if name.startswith("tour/")} == {f"tour/{probe.name}" for probe in tour_probes()}
    assert {*RUNS} - {*ASKED} == {"scored-bbq", "scored-sodapop", "scored-unqover"}


@pytest.mark.parametrize("name", RUNS)
def test_they_are_opened(name: str, old: Path) -> None:
    run = assay.open_run(old / "one" / name)
    assert run.info.versions["assay"] == "0.1.0"
    require_alike(name, kept(run.folder), [estimate.as_json() for estimate in run.findings.estimates])
    for title, table in run.findings.tables.items():
        with (run.folder / "tables" / f"{title}.csv").open(encoding="utf-8", newline="") as file:
            columns, *rows = csv.reader(file)
        assert list(table.columns) == columns
        assert [["" if cell is None else str(cell) for cell in row] for row in table.rows] == rows


@pytest.mark.parametrize("name", [*RUNS, "tour"])
def test_they_are_shown(name: str, old: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In every format, with their numbers."""
    folder = old / "one" / name
    estimates = [each for path in sorted(folder.rglob("findings.json")) for each in kept(path.parent)]
    shown = {}
    for form in ("json", "csv", "md", "model-card", "html"):
        capsys.readouterr()
        assert main(["report", str(folder), "--format", form]) == 0
        shown[form] = capsys.readouterr().out
    runs = json.loads(shown["json"])["runs"]
    require_alike(name, estimates, [each for run in runs for each in run["findings"]["estimates"]])
    values = [row["value"] for row in csv.DictReader(io.StringIO(shown["csv"]))]
    assert sorted(values) == sorted("" if each["value"] is None else str(each["value"]) for each in estimates)
    shown["html"] = (folder / "report.html").read_text(encoding="utf-8")
    told = next(each for each in estimates if each["value"] is not None)
    for form in ("md", "model-card", "html"):
        assert f"{told['value']:.3f}" in shown[form], form


@pytest.mark.parametrize("name", ["tour", *(name for name in RUNS if not name.startswith("tour/"))])
def test_they_are_compared(name: str, old: Path, golden: Golden) -> None:
    found = assay.compare([old / "one" / name, old / "two" / name])
    golden.records(f"compare_old_{name}.json", [each.as_json() for each in found.differences])


def test_they_are_judged(old: Path, golden: Golden) -> None:
    policy = (FOLDER / "policy.toml").read_text(encoding="utf-8")
    (old / "policy.toml").write_text(policy.replace('"one"', '"one/tour"'), encoding="utf-8")
    golden.verdicts("gate_old_tour.json", assay.gate(old / "two" / "tour", old / "policy.toml").to_json())


@pytest.mark.parametrize("name", [name for name in ASKED if name != "bbq"])
def test_their_answers_are_scored_again(name: str, old: Path) -> None:
    """Not those of bbq: whoever sends a run does not send its data.

    q is corrected over whole runs since; intervals and tests of UnQover, and intervals of sodapop-names and BBQ's
    method, are others. Notes have other words since, but stand beside the same numbers.
    """
    again = score(Path(name).name, [old / "one" / name], out=old / "again")
    columns = ["metric", "group", "value", "n"]
    columns += [] if name.endswith(("unqover", "sodapop-names")) else ["p", "floor", "note"]
    columns += ["low", "high"] if name.endswith("sodapop") else []
    before, now = (
        [{key: bool(each[key]) if key == "note" else each.get(key) for key in columns} for each in kept(own)]
        for own in (old / "one" / name, again.folder)
    )
    require_alike(name, before, [each for each in now if each["metric"] != "tied_rate"])  # which is new
    assert all(estimate.contained for estimate in again.findings.estimates)
