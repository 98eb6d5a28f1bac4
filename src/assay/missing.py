"""The probes that are missing from a tour, and why: they failed, or the model cannot answer them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from assay.files.atomic import write_atomically
from assay.files.decoding import json_value
from assay.files.opening import read_whole

FILE = "missing.json"


def write_missing(folder: Path, missing: Mapping[str, str]) -> None:
    """Write which probes are missing, each with the reason; if none is, remove an earlier file."""
    if missing:
        write_atomically(folder / FILE, (json.dumps(dict(missing), indent=1, ensure_ascii=False) + "\n").encode())
    else:
        (folder / FILE).unlink(missing_ok=True)


def read_missing(folder: Path) -> dict[str, str]:
    """The missing probes with the reasons; empty if there is no readable file."""
    try:
        content = json_value(read_whole(folder / FILE))
        return {str(probe): str(why) for probe, why in content.items()}
    except (OSError, ValueError, AttributeError):
        return {}
