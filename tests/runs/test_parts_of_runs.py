"""A run folder whose parts belong to different runs is refused by whatever reads it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from bounded import Said, saying
from kept_runs import without_digests

CONSUMERS = {
    "report": ("report", "one"),
    "report --format json": ("report", "one", "--format", "json"),
    "report on a folder": ("report", "."),
    "export": ("export", "one", "--out", "sent"),
    "compare": ("compare", "two", "one"),
    "compare, as the baseline": ("compare", "one", "two"),
    "gate": ("gate", "one", "--policy", "policy.toml"),
    "score": ("score", "bbq-starter", "one", "--out", "again"),
}
PARTS = ("findings.json", "run.json", "tables/by_label.csv")


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Said:
    return saying(capsys)


@pytest.fixture
def runs(kept_runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("one", "two"):
        shutil.copytree(kept_runs / name / "tour" / "bbq-starter", tmp_path / name)
    policy = '[[limit]]\nmetric = "*.accuracy"\nlower = 0\nno_interval = "value"\n'
    (tmp_path / "policy.toml").write_text(policy, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("consumer", CONSUMERS)
def test_parts_of_different_runs_are_refused(consumer: str, part: str, runs: Path, said: Said) -> None:
    shutil.copy(runs / "two" / part, runs / "one" / part)
    code, words = said(*CONSUMERS[consumer])
    assert code == 3
    assert "its digest differs from that in run.json" in words
    assert "Repeat the run's command" in words


@pytest.mark.parametrize("consumer", CONSUMERS)
def test_parts_of_one_run_are_read(consumer: str, runs: Path, said: Said) -> None:
    code, words = said(*CONSUMERS[consumer])
    assert code == 0, words


def test_a_run_json_without_digests_cannot_tell(runs: Path, said: Said) -> None:
    shutil.copy(runs / "two" / "findings.json", without_digests(runs / "one"))
    assert said("report", "one")[0] == 0
