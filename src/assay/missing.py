"""What is missing from a folder of runs, such as a tour, and why: probes that failed or that a model cannot answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from assay.files.atomic import write_atomically

FILE = "missing.json"


def write_missing(folder: Path, missing: Mapping[str, str]) -> None:
    """Note which probes are missing, each with the reason; where none is, an earlier note is removed."""
    if missing:
        write_atomically(folder / FILE, (json.dumps(dict(missing), indent=1, ensure_ascii=False) + "\n").encode())
    else:
        (folder / FILE).unlink(missing_ok=True)


def read_missing(folder: Path) -> dict[str, str]:
    """Which probes are missing, and why; none where there is no readable note."""
    try:
        content = json.loads((folder / FILE).read_text(encoding="utf-8"))
        return {str(probe): str(why) for probe, why in content.items()}
    except (OSError, ValueError, AttributeError):
        return {}
