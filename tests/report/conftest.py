"""Run folders to report on: small plausible ones, and whatever a test wants to write."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

import made_runs
from assay.results.findings import Findings

WriteRun = Callable[..., Path]


@pytest.fixture
def write_run(tmp_path: Path) -> WriteRun:
    """Writes findings and, if given, run.json into a folder as a run does."""

    def write(findings: Findings, run: object = None, name: str = "run") -> Path:
        return made_runs.write_run(tmp_path / name, findings, run)

    return write


@pytest.fixture
def findings() -> Findings:
    """A sampled run: single names asked too rarely, so that gender is reported for pooled names."""
    return made_runs.unqover()


@pytest.fixture
def bbq() -> Findings:
    """A BBQ run with all its tables."""
    return made_runs.bbq()


@pytest.fixture
def sodapop() -> Findings:
    """A SODAPOP run: "harsh" and "kind" differ between groups, clear of chance; "let" hardly ever wins."""
    return made_runs.sodapop()


@pytest.fixture
def run() -> Mapping[str, Any]:
    """A complete run.json."""
    return made_runs.RUN
