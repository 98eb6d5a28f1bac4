"""The folder of things that assay reuses: the answers of models, and what is known about endpoints."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """`ASSAY_CACHE`, or the user's cache folder."""
    chosen = os.environ.get("ASSAY_CACHE")
    return Path(chosen) if chosen else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "assay"
