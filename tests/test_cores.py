"""Processes of tests share the cores: see `pytest_configure` of tests/conftest.py."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = "import os, posix; print(len(os.sched_getaffinity(0)), sorted(posix.sched_getaffinity(0)))"


@pytest.mark.parametrize("several", [True, False])
def test_what_one_of_several_processes_starts_counts_one_core_and_may_use_all(several: bool) -> None:
    posix = pytest.importorskip("posix")
    if not hasattr(posix, "sched_getaffinity"):
        pytest.skip("this system has no CPU affinity")
    own = {name: value for name, value in os.environ.items() if name != "PYTEST_XDIST_WORKER"}
    own |= {"PYTHONPATH": str(Path(__file__).parent / "beginning")} | (
        {"PYTEST_XDIST_WORKER": "gw0"} if several else {}
    )
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=own, capture_output=True, text=True, check=True)
    usable = sorted(posix.sched_getaffinity(0))
    assert done.stdout.strip() == f"{1 if several else len(usable)} {usable}"
