"""The full gender set fits into the memory of a small laptop."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.long]

SCRIPT = Path(__file__).parents[1] / "bench" / "memory.py"


def test_all_gender_questions_are_planned_blocked_and_analysed_within_400_mb() -> None:
    done = subprocess.run([sys.executable, SCRIPT, "--json"], capture_output=True, text=True, check=True, timeout=600)
    numbers = json.loads(done.stdout)
    assert numbers["questions"] == 5_488_000
    assert numbers["rows_of_gamma"] == 140 * 70
    assert numbers["peak_bytes"] < 400_000_000
