"""A run's block sizes are in its run.json: a resumed run and a scored one take them from there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from assay.engine import choose_block_size
from assay.engine.ask import Resume
from assay.engine.executor import EngineSettings
from assay.errors import UsageError
from assay.models.base import Options
from assay.results.run import Run
from assay.runs.audit import audit
from assay.runs.score import score
from raising import raises

pytestmark = pytest.mark.slow


FEW = {"category": "Age", "resamples": "20"}


def asked(out: Path, **more: Any) -> Run:
    return audit("builtin", "bbq-starter", limit=40, settings=FEW, out=out, options=Options(threads=1), **more)


def info_of(out: Path) -> Any:
    return json.loads((out / "run.json").read_text(encoding="utf-8"))


def widths(out: Path) -> set[int]:
    """How many questions the blocks have, but the last ones of a plan."""
    entries = json.loads((out / "blocks.json").read_text(encoding="utf-8"))
    return {hi - lo for entry in entries for lo, hi, _ in entry["blocks"][:-1]}


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def blocks(cache: Path) -> dict[str, int]:
    return {str(path): path.stat().st_mtime_ns for path in cache.rglob("*.block")}


def test_the_stored_size_is_used_again(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As when another version of assay began the run: finished or not, nothing is asked twice."""
    out = tmp_path / "r"
    first = asked(out)
    assert widths(out) == {*info_of(out)["block_sizes"].values()} == {32}
    before = blocks(cache)
    monkeypatch.setattr(choose_block_size, "WORK", {"cpu": 1e15})
    (out / "findings.json").unlink()
    assert asked(out).findings.to_json() == first.findings.to_json()
    assert blocks(cache) == before
    assert score("bbq-starter", [out], out=tmp_path / "again").findings.estimates == first.findings.estimates
    asked(out, resume=Resume.NEVER)
    assert {*info_of(out)["block_sizes"].values()} == {choose_block_size.MOST}


def test_a_run_of_an_earlier_assay_keeps_its_4096(tmp_path: Path, cache: Path) -> None:
    out = tmp_path / "r"
    asked(out, engine=EngineSettings(block_size=4096))
    info = info_of(out)
    assert info["engine"] == {"block_size": 4096, "token_budget": 4096}
    del info["block_sizes"], info["model"]["parameters"]  # as it was written then
    (out / "run.json").write_text(json.dumps(info), encoding="utf-8")
    before = blocks(cache)
    asked(out)
    assert blocks(cache) == before
    assert info_of(out)["engine"] == info["engine"]


def test_another_size_is_another_run(tmp_path: Path, cache: Path) -> None:
    out = tmp_path / "r"
    asked(out)
    with raises("other-run", UsageError, key="engine"):
        asked(out, engine=EngineSettings(block_size=64))
