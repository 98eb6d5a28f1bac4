"""The starter policy, which `assay gate --init` writes."""

from __future__ import annotations

import os
from pathlib import Path

from assay.errors import UsageError
from assay.files.atomic import write_atomically

STARTER = Path(__file__).parents[1] / "data" / "gate" / "policy.toml"


def write_starter(path: str | Path) -> Path:
    """Write the starter policy to a new file; an existing one is never overwritten."""
    path = Path(path)
    if os.path.lexists(path):
        remedy = "Name a new file: assay gate --init FILE."
        raise UsageError("this already exists.", remedy, code="not-new", file=path, key="init")
    write_atomically(path, STARTER.read_bytes())
    return path
