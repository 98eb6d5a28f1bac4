"""`make test-fast` leaves out whole kinds of tests, by markers that they have from what they use."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from selection import OF_FIXTURES

ROOT = Path(__file__).parents[1]
FAST = re.search(r"^FAST = (not \((.+)\))$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)


def test_it_leaves_out_every_marker_but_long() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    registered = {line.partition(":")[0] for line in settings["tool"]["pytest"]["ini_options"]["markers"]}
    assert FAST
    assert {*FAST[2].split(" or ")} == registered - {"long"}


def test_whatever_uses_a_browser_a_server_or_a_cluster_has_its_marker(request: pytest.FixtureRequest) -> None:
    """Of all tests that were collected with this one."""
    for item in request.session.items:
        needed = {OF_FIXTURES[name] for name in OF_FIXTURES.keys() & {*getattr(item, "fixturenames", ())}}
        assert needed <= {marker.name for marker in item.iter_markers()}, item.nodeid


@pytest.mark.slow
def test_no_test_in_a_browser_is_selected() -> None:
    assert FAST
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--collect-only", "-q", "-m", FAST[1]]
    done = subprocess.run([*command, "tests/browser"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == pytest.ExitCode.NO_TESTS_COLLECTED, done.stdout
    assert re.search(r"no tests collected \(\d+ deselected\)", done.stdout)
