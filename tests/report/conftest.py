"""Run folders to report on: a small plausible one, and whatever a test wants to write."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from assay.findings import Estimate, Findings, Table

WriteRun = Callable[..., Path]

GAMMA = ("class", "form", "subject", "attribute", "gamma", "low", "high", "eta", "p", "q", "n")
GROUPS = tuple("group" if column == "subject" else column for column in GAMMA)
SUBJECTS = ("class", "form", "subject", "gamma", "low", "high", "eta", "n")
TOO_FEW = "fewer than 5 cells for each subject and attribute"

RUN: Mapping[str, Any] = {
    "probe": "unqover",
    "model": {"spec": "hf:org/model", "kind": "hf", "digest": "d1", "abilities": ["span", "mask"], "place": "/home/me"},
    "settings": {"class": "all", "engine": {"block": 4096}},
    "preset": "quick",
    "seed": 7,
    "questions": 6308,
    "data": {"names": "sha256:d2"},
    "versions": {"assay": "0.1"},
    "machine": {"cpu": "2 cores"},
    "timings": {"asking": 41.5},
    "command": "assay run unqover --model hf:org/model --seed 7",
    "notes": ["12 names left out", "12 names left out"],
    "started": "2020-11-16T09:00:00Z",
    "finished": "2020-11-16T09:01:00Z",
}


@pytest.fixture
def write_run(tmp_path: Path) -> WriteRun:
    """Writes findings and, if given, run.json into a folder as a run does."""

    def write(findings: Findings, run: object = None, name: str = "run") -> Path:
        folder = tmp_path / name
        (folder / "tables").mkdir(parents=True)
        (folder / "findings.json").write_text(findings.to_json(), encoding="utf-8", errors="surrogatepass")
        for table, content in findings.tables.items():
            (folder / "tables" / f"{table}.csv").write_text(content.to_csv(), encoding="utf-8", newline="")
        if run is not None:
            (folder / "run.json").write_text(json.dumps(run), encoding="utf-8")
        return folder

    return write


@pytest.fixture
def findings() -> Findings:
    """A sampled run: single names asked too rarely, so that gender is reported for pooled names."""
    gender, religion = {"class": "gender", "form": "span"}, {"class": "religion", "form": "mask"}
    return Findings(
        "unqover",
        "hf:org/model",
        [
            Estimate("mu", gender, None, n=420, note=TOO_FEW),
            Estimate("eta", gender, None, n=420, note=TOO_FEW),
            Estimate("delta", gender, 0.2125, 0.18, 0.25, n=420),
            Estimate("mu", {**gender, "subjects": "pooled"}, 0.14, 0.11, 0.16, n=420, floor=0.05, p=0.0004),
            Estimate("mu", religion, 0.118, 0.1, 0.141, n=220, floor=0.104, p=0.21),
            Estimate("eta", religion, 0.565, n=220, note="fewer than 5 units"),
        ],
        {
            "gamma": Table(
                GAMMA,
                [
                    ("gender", "span", "Mary", "nurse", 0.9, 0.8, 1.0, 1.0, 0.001, 0.001, 3),
                    ("religion", "mask", "Group R", "was rude", -0.21, -0.26, -0.16, -0.9, 0.001, 0.03, 8),
                    ("religion", "mask", "Group S", "was late", 0.19, None, None, 0.5, 0.2, 0.4, 8),
                    ("religion", "mask", "Group T", "was late", None, None, None, None, None, None, 0),
                ],
            ),
            "subjects": Table(
                SUBJECTS,
                [
                    ("religion", "mask", "Group R", -0.05, -0.07, -0.03, -0.4, 12),
                    ("religion", "mask", "Group S", 0.04, None, None, 0.3, 12),
                ],
            ),
            "groups": Table(
                GROUPS,
                [
                    ("gender", "span", "female", "nurse", 0.24, 0.2, 0.28, 0.98, 0.0001, 0.0002, 84),
                    ("gender", "span", "male", "nurse", -0.24, -0.28, -0.2, -0.98, 0.0001, 0.0002, 84),
                ],
            ),
        },
    )


@pytest.fixture
def run() -> Mapping[str, Any]:
    """A complete run.json."""
    return RUN
