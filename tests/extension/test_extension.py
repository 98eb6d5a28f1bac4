"""Other people's probes and models: a tiny package is installed, and every command works with it.

docs/extending.md shows the package file by file, as it is here.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from assay.results.verdict import VerdictKind

pytestmark = pytest.mark.slow

PACKAGE = Path(__file__).parent / "assay-order"
SMALLEST = Path(__file__).parent / "assay_first.py"
DOCS = Path(__file__).parents[2] / "docs" / "extending.md"


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """The tests' own environment, and in it the package, installed as pip installs any."""
    place = tmp_path_factory.mktemp("installed")
    quietly = ["--quiet", "--disable-pip-version-check", "--no-deps", "--no-index", "--no-build-isolation"]
    done = subprocess.run(
        [sys.executable, "-m", "pip", "install", *quietly, "--target", str(place), str(PACKAGE)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    path = os.pathsep.join(filter(None, (str(place), os.environ.get("PYTHONPATH"))))
    return {**os.environ, "PYTHONPATH": path, "ASSAY_CACHE": str(tmp_path_factory.mktemp("cache"))}


@pytest.fixture(scope="module")
def runs(environment: Mapping[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of each of the package's two models, and one of the built-in model."""
    folder = tmp_path_factory.mktemp("runs")
    for name in ("always:first", "always:second", "builtin"):
        out = folder / name.rpartition(":")[2]
        assay(environment, folder, "run", "order", "--model", name, "--set", "resamples=50", "--out", str(out))
    return folder


def assay(environment: Mapping[str, str], folder: Path, *arguments: str, code: int = 0) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "assay", *arguments],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == code, done.stderr
    return done.stdout


def test_the_probe_and_the_kind_of_model_are_listed(environment: Mapping[str, str], tmp_path: Path) -> None:
    listed = assay(environment, tmp_path, "list")
    assert "order          who is meant, the first or the second? The text does not say." in listed
    assert "always         always:first or always:second" in listed
    shown = assay(environment, tmp_path, "run", "--help")
    assert "settings of order (--set key=value):\n  pairs=12   resamples=200" in shown


def test_a_run_has_the_numbers_and_says_what_they_mean(environment: Mapping[str, str], runs: Path) -> None:
    found = json.loads((runs / "first" / "findings.json").read_text(encoding="utf-8"))
    assert [(each["metric"], each["value"], each["n"]) for each in found["estimates"]] == [("first_share", 1.0, 24)]
    assert "share of first answers" in (runs / "first" / "report.html").read_text(encoding="utf-8")
    command = ("run", "order", "--model", "always:first", "--set", "resamples=50", "--out", "first")
    again = assay(environment, runs, *command)
    assert re.search(r"^share of first answers, .*: 1\.000 ", again, re.M)
    assert "every pair, and how often its first person was chosen (12 rows)" not in again
    again = assay(environment, runs, *command, "--verbose")
    assert "every pair, and how often its first person was chosen (12 rows)" in again


@pytest.mark.parametrize("form", ["html", "md", "json", "csv", "model-card"])
def test_every_format_of_the_report_knows_it(form: str, environment: Mapping[str, str], runs: Path) -> None:
    text = assay(environment, runs, "report", "builtin", "--format", form)
    if form == "html":
        text = (runs / "builtin" / "report.html").read_text(encoding="utf-8")
    assert "first_share" in text or "share of first answers" in text


def test_runs_are_compared_and_judged(environment: Mapping[str, str], runs: Path) -> None:
    compared = json.loads(assay(environment, runs, "compare", "first", "second", "--out", "page.html", "--json"))
    (change,) = compared["differences"]
    assert (change["change"]["value"], change["worse"]["value"], change["clear"]) == (-1.0, 0.0, True)
    assert "share of first answers" in (runs / "page.html").read_text(encoding="utf-8")
    policy = runs / "policy.toml"
    policy.write_text('[[limit]]\nmetric = "order.first_share"\nlower = 0.4\nupper = 0.6\n', encoding="utf-8")
    gate = ("gate", "first", "--policy", "policy.toml")
    judged = json.loads(assay(environment, runs, *gate, "--format", "json", code=1))
    assert [each["outcome"] for each in judged["verdicts"]] == ["fail"]
    policy.write_text('[[limit]]\nmetric = "order.frist_share"\nupper = 0.6\n', encoding="utf-8")
    assert "no metric" in assay(environment, runs, *gate, code=1)


def test_its_executor_computes_the_same(environment: Mapping[str, str], runs: Path, tmp_path: Path) -> None:
    model = ("--model", "builtin", "--set", "resamples=50")
    where = ("--executor", "backwards", "--resume", "never", "--out", "run")
    assay(environment, tmp_path, "run", "order", *model, *where)
    assert (tmp_path / "run" / "findings.json").read_bytes() == (runs / "builtin" / "findings.json").read_bytes()
    said = ("run", "order", *model, "--executor", "backward")
    done = subprocess.run(
        [sys.executable, "-m", "assay", *said],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert 'work:DIR or backwards; did you mean "backwards"?' in " ".join(done.stderr.split())


def test_somebody_elses_answers_are_scored(environment: Mapping[str, str], tmp_path: Path) -> None:
    rows = [{"pair": [f"a{k}", f"b{k}"], "first": 0.5} for k in range(6)]
    (tmp_path / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    scored = json.loads(assay(environment, tmp_path, "score", "order", "answers.jsonl", "--json"))
    assert [each["value"] for each in scored["estimates"]] == [0.5]


def test_the_documentation_shows_the_package_as_it_is() -> None:
    blocks = dict(re.findall(r'```\w+ title="([^"]+)"\n(.*?)```', DOCS.read_text(encoding="utf-8"), flags=re.DOTALL))
    files = {
        path.relative_to(PACKAGE).as_posix(): path for path in PACKAGE.rglob("*") if path.suffix in (".py", ".toml")
    }
    files[SMALLEST.name] = SMALLEST
    assert {name: path.read_text(encoding="utf-8") for name, path in files.items()} == blocks


def test_a_probe_of_40_lines_runs_to_findings_a_verdict_and_a_page(tmp_path: Path) -> None:
    assert len(SMALLEST.read_text(encoding="utf-8").splitlines()) <= 40
    shutil.copy(SMALLEST, tmp_path)
    described = tmp_path / "assay_first-1.dist-info"
    described.mkdir()
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: assay-first\nVersion: 1\n", encoding="utf-8")
    (described / "entry_points.txt").write_text("[assay.probes]\nfirst = assay_first:PROBE\n", encoding="utf-8")
    path = os.pathsep.join(filter(None, (str(tmp_path), os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, "PYTHONPATH": path, "ASSAY_CACHE": str(tmp_path / "cache")}
    printed = assay(environment, tmp_path, "run", "first", "--model", "builtin", "--out", "run")
    assert "share of first answers" in printed
    findings = json.loads((tmp_path / "run" / "findings.json").read_text(encoding="utf-8"))
    (share,) = findings["estimates"]
    assert (share["metric"], share["n"], 0 <= share["low"] <= share["value"] <= share["high"] <= 1) == (
        "first_share",
        30,
        True,
    )
    assert findings["verdict"]["says"] in {kind.value for kind in VerdictKind} - {VerdictKind.UNUSABLE.value}
    assert [family["of"] for family in findings["verdict"]["families"]] == ["first_share"]
    assert findings["verdict"]["why"][1:] in " ".join(printed.split())
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert "share of first answers" in page
    assert "The authors of assay-first" in page
    again = assay(environment, tmp_path, "score", "first", "run", "--json")
    assert json.loads(again)["estimates"] == findings["estimates"]
