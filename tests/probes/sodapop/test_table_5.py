"""The script that counts SODAPOP's Table 5 as the paper does, on words that are made up."""

from __future__ import annotations

import csv
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from assay.probes.sodapop.analyse import WORDS
from assay.probes.sodapop.traits import packaged_lexicon

SCRIPT = Path(__file__).parents[3] / "docs" / "studies" / "sodapop_table_5.py"
COLUMNS = ("group_a", "group_b", "word", "rd", "p")


def write(path: Path, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([columns, *rows])
    return path


@pytest.fixture
def runs(tmp_path: Path) -> list[str]:
    rows = {
        "one": [
            ("A", "B", "Brutal", 0.3, 0.01),
            ("A", "B", "tender", -0.2, 0.049),
            ("A", "B", "meek", 0.4, 0.05),  # not below 0.05
            ("A", "C", "rude", 0.4, 0.001),  # another pair
            ("A", "B", "broke", "", ""),  # undefined
        ],
        "two": [
            ("B", "A", "brutal", -0.1, 0.02),  # again of A: counts once
            ("B", "A", "kind", 0.2, 0.0),
            ("B", "A", "tender", -0.2, 0.03),  # of A, in this context
        ],
    }
    return [
        str(write(tmp_path / name / "tables" / "words.csv", COLUMNS, of_run).parent.parent)
        for name, of_run in rows.items()
    ]


def printed(
    runs: Sequence[str],
    annotations: Path,
    people: Sequence[Path],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    groups: tuple[str, str] = ("A", "B"),
) -> dict[str, list[str]]:
    arguments = [SCRIPT, *groups, *runs, "--annotations", annotations, *(["--people", *people] if people else [])]
    monkeypatch.setattr(sys, "argv", [*map(str, arguments)])
    runpy.run_path(str(SCRIPT), run_name="__main__")
    lines = capsys.readouterr().out.splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| ")]
    return {name: cells for name, *cells in rows}


def test_words_are_counted_over_runs_and_annotators(
    tmp_path: Path, runs: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """threatening-benevolent: of A brutal (−3) and tender (+1), of B tender (+1) and kind (+2): −2 − 3 = −5."""
    readings = [(name, "brutal", "threatening-benevolent", "threatening") for name in ("anna", "ben", "carla")]
    readings += [("anna", "tender", "threatening-benevolent", "benevolent")]
    readings += [(name, "kind", "threatening-benevolent", "benevolent") for name in ("anna", "ben")]
    readings += [(name, "kind", "cold-warm", "warm") for name in ("anna", "ben", "carla", "dora")]
    readings += [("anna", "tender", "cold-warm", "warm")]  # of both groups: cancels
    readings += [("anna", "tender", "egoistic-altruistic", "altruistic"), ("anna", "meek", "poor-wealthy", "poor")]
    readings += [("anna", "brutal", "threatening-benevolent", "threatening")]  # the same reading twice
    annotations = write(tmp_path / "words.csv", ("annotator", "word", "trait", "pole"), readings)
    scores = [
        ("threatening-benevolent", "A", "B", 30, 50),  # 20 apart
        ("cold-warm", "B", "A", 60, 70),  # 10 apart, and A has more
        ("poor-wealthy", "A", "B", 50, 59.5),
        ("egoistic-altruistic", "A", "C", 0, 100),  # about others
    ]
    people = write(tmp_path / "raters.csv", ("trait", "group_a", "group_b", "score_a", "score_b"), scores)
    table = printed(runs, annotations, [people], monkeypatch, capsys)
    assert [*table][1:] == [*packaged_lexicon().traits]
    assert table["threatening-benevolent"] == ["≺‡", "**≺†**"]
    assert table["cold-warm"] == ["≺", "≻∗"]  # 4 is less than 5
    assert table["egoistic-altruistic"] == ["=", ""]
    assert table["poor-wealthy"] == ["N/A", "≺"]
    turned = printed(runs, annotations, [people], monkeypatch, capsys, ("B", "A"))
    assert turned["threatening-benevolent"] == ["≻‡", "**≻†**"]
    assert turned["cold-warm"] == ["≻", "≺∗"]


def test_a_reading_of_no_trait_of_the_paper_is_refused(
    tmp_path: Path, runs: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = [("anna", "kind", "cold-warm", "hot")]
    annotations = write(tmp_path / "words.csv", ("annotator", "word", "trait", "pole"), wrong)
    with pytest.raises(SystemExit, match="'cold-warm' with the pole 'hot'"):
        printed(runs, annotations, [], monkeypatch, capsys)


def test_a_runs_table_of_words_has_the_columns_that_are_read() -> None:
    assert set(COLUMNS) <= set(WORDS)
