"""Which kinds of tests there are, for what selects some of them; and which files are searched for examples."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

OF_FIXTURES = {"browser": "browser", "llama": "server", "cluster": "ray", "site": "slow"}
"""Markers of whatever uses a fixture."""

Collectors = list[pytest.Collector]


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path) -> Generator[None, Collectors, Collectors]:
    """Leave out files without examples: each would be imported and searched, in every process."""
    found = yield
    if not found or ">>>" in file_path.read_text(encoding="utf-8"):
        return found
    return [collector for collector in found if type(collector) is pytest.Module]
