"""`make soak` tries everything, whatever fails, and its table and exit code say what was found."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import soak

pytestmark = pytest.mark.slow

TESTS = """
import os
import pytest

LONG = int(os.environ["ASSAY_SOAK_SMALL"])

@pytest.mark.parametrize("name", ["one", "two", "skipped"])
def test_counted(name, record_property):
    if name == "skipped":
        pytest.skip("not here")
    record_property("tried", LONG)

@pytest.mark.parametrize("number", [1, 2])
def test_wrong(number, record_property):
    record_property("findings", number)
    assert LONG == 0

def test_dead():
    os._exit(3)
"""


def soaked(part: soak.Part, folder: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, list[str], str]:
    """The exit code, the rows of the table without their seconds, and what was written to standard error."""
    (folder / "tests").mkdir()
    (folder / "tests" / "test_small.py").write_text(TESTS, encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]", encoding="utf-8")
    code = soak.soak([part], 2, folder)
    said = capsys.readouterr()
    return code, re.findall(r"^\| (.*) \| [\d,]+ \|$", said.out, re.MULTILINE), said.err


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(soak, "LOGS", tmp_path / "logs")
    monkeypatch.delenv("ASSAY_SOAK_SMALL", raising=False)
    monkeypatch.setenv("ASSAY_SOAK_SEED", "0")
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # pytest starts in half of the time


def test_findings_and_deaths_do_not_stop_the_rest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    part = soak.Part("faults", "small", "ASSAY_SOAK_SMALL", 25)
    code, rows, complaint = soaked(part, tmp_path, capsys)
    assert code == 1
    assert rows == [
        "faults | small: counted | 50 | 0",
        "faults | small: wrong | 2 | 3",
        "faults | small: dead | 0 | 1",
        "faults | all | 52 | 4",
    ]
    assert "Nothing was tried of: faults, small: dead." in complaint


def test_parameters_are_rows_of_their_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    part = soak.Part("inputs", "small", "ASSAY_SOAK_SMALL", 100, "one or two", "parameters")
    assert soaked(part, tmp_path, capsys) == (
        0,
        ["inputs | small: one | 50 | 0", "inputs | small: two | 50 | 0", "inputs | all | 100 | 0"],
        "",
    )


def test_seeds_share_the_work(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    part = soak.Part("kills", "small", "ASSAY_SOAK_SMALL", 100, "one", "seeds")
    assert soaked(part, tmp_path, capsys) == (0, ["kills | small | 100 | 0", "kills | all | 100 | 0"], "")


def test_a_part_without_tests_is_not_taken_for_a_good_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, rows, complaint = soaked(soak.Part("kills", "none", "ASSAY_SOAK_NONE", "all"), tmp_path, capsys)
    assert (code, rows[0]) == (1, "kills | none | 0 | 0")
    assert "Nothing was tried of: kills, none." in complaint


def test_every_variable_that_makes_tests_long_belongs_to_a_part() -> None:
    files = [path for path in (soak.ROOT / "tests").rglob("test_*.py") if path.name != Path(__file__).name]
    read = {name for path in files for name in re.findall(r"\bASSAY_SOAK_[A-Z_]+", path.read_text(encoding="utf-8"))}
    set_by_jobs = {"ASSAY_SOAK_SEED", "ASSAY_SOAK_COMMANDS", "ASSAY_SOAK_SHARE"}
    assert read <= {part.variable for part in soak.PARTS} | set_by_jobs
    assert len(read) > 4
