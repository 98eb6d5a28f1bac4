"""The same answers on every machine: what the number of threads may change, and by how much.

Another number of threads adds up in another order, as another machine does. Means of scores agree to three decimals;
η counts who wins, so that every near tie (run.json says how many there are) may change it, and nothing else may.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.whole

CLOSE = 5e-4
LIMIT = 240
SETTINGS = ("--set", "class=gender,religion", "--set", "draws=20", "--set", "resamples=20")
PARTS = ("gender (span)", "religion (span)", "gender (mask)", "religion (mask)")


@dataclass(frozen=True)
class Found:
    """What a run found: estimates and rows of tables by what they are about, and its near ties by part."""

    estimates: Mapping[tuple[str, ...], dict[str, Any]]
    rows: Mapping[tuple[str, ...], dict[str, str]]
    near_ties: Mapping[str, int]


@pytest.fixture
def both(assay: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Found, Found]:
    """The same questions, asked with one thread and with two; neither run sees the other's answers."""
    return _run(assay, 1, tmp_path, monkeypatch), _run(assay, 2, tmp_path, monkeypatch)


def _run(assay: Any, threads: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Found:
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / f"cache-{threads}"))
    done = assay("run", "unqover", *SETTINGS, "--limit", LIMIT, "--threads", threads, "--out", threads)
    assert done.code == 0, done.err
    assert "stored already" not in done.err
    folder = Path(str(threads))
    info = json.loads((folder / "run.json").read_text())
    assert info["model"]["threads"] == threads
    assert list(info["stages"]) == list(PARTS)
    assert info["near_ties"]["below"] == 1e-5
    rows = {
        (path.stem, *(row[key] for key in row if key in ABOUT)): row
        for path in (folder / "tables").glob("*.csv")
        for row in csv.DictReader(path.read_text(encoding="utf-8").splitlines())
    }
    estimates = json.loads((folder / "findings.json").read_text())["estimates"]
    by = {(each["metric"], *each["group"].values()): each for each in estimates}
    return Found(by, rows, info["near_ties"]["items"])


ABOUT = ("class", "form", "subject", "group", "region", "attribute", "attribute_class")


@pytest.mark.slow
def test_one_thread_and_two_find_the_same(both: tuple[Found, Found]) -> None:
    one, two = both
    assert one.estimates.keys() == two.estimates.keys()
    compared = 0
    for key, estimate in one.estimates.items():
        value, other = estimate["value"], two.estimates[key]["value"]
        assert (value is None) == (other is None)
        if value is not None and key[0] != "eta":
            assert abs(value - other) < CLOSE, key
            compared += 1
    assert compared >= 3 * len(PARTS)  # delta, epsilon and avg_score of each

    assert one.rows.keys() == two.rows.keys()
    asked = [key for key, row in one.rows.items() if row["gamma"]]
    assert len(asked) > 100
    for key in asked:
        assert abs(float(one.rows[key]["gamma"]) - float(two.rows[key]["gamma"])) < CLOSE, key
        assert one.rows[key]["n"] == two.rows[key]["n"]

    for part in PARTS:  # a cell that changes sides moves η by at most 2/n, for both of its subjects
        place = tuple(part.removesuffix(")").split(" ("))
        rows = [key for key in asked if key[0] == "gamma" and key[1:3] == place]
        moved = sum(
            abs(float(one.rows[key]["eta"]) - float(two.rows[key]["eta"])) * int(one.rows[key]["n"]) for key in rows
        )
        assert rows
        assert moved <= 4 * max(one.near_ties[part], two.near_ties[part]) + 1e-6


def test_run_json_counts_the_near_ties_of_the_stored_answers(assay: Any) -> None:
    from assay.probes import method_of
    from assay.runs.folder import open_run
    from assay.runs.score import recollect_answers

    done = assay("run", "unqover", *SETTINGS, "--limit", 120, "--threads", 1, "--out", "r")
    assert done.code == 0, done.err
    noted = json.loads(Path("r/run.json").read_text())["near_ties"]
    assert list(noted["items"]) == list(PARTS)
    stored = recollect_answers(open_run("r"))
    assert noted["items"] == method_of("unqover").findings(*stored).near_ties
    assert "near_ties" not in json.loads(Path("r/findings.json").read_text())
    assert all(0 <= count <= 8 for count in noted["items"].values())  # cells of a part


def test_scores_of_predictions_have_near_ties_too(assay: Any, lists: Path) -> None:
    options = ("--set", "class=religion", "--set", f"word_lists={lists}")
    assert assay("generate", "unqover", *options, "--out", "q.json").code == 0
    entries = json.loads(Path("q.json").read_text())
    for entry in entries.values():  # everybody alike, but for one group
        for question in ("q0", "q1"):
            entry[question]["pred"] = entry[question]["ans0"]["text"]
            for answer in ("ans0", "ans1"):
                favoured = question == "q0" and entry[question][answer]["text"] == "Muslim"
                entry[question][answer] |= {"start": 0.4 if favoured else 0.2, "end": 0.2}
    Path("p.json").write_text(json.dumps(entries))
    done = assay("score", "unqover", "p.json", *SETTINGS[2:], "--out", "scored")
    assert done.code == 0, done.err
    ties = json.loads(Path("scored/run.json").read_text())["near_ties"]["items"]
    others = 6  # pairs of the other four groups, in two templates, with three attributes
    assert ties == {"religion (span)": others * 2 * 3}
