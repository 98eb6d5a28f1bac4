"""The papers' settings of training (data/training/presets.toml)."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Preset:
    """A paper's settings for one kind of training, and where they are printed."""

    kind: str
    settings: Mapping[str, Any]
    source: str


@cache
def presets() -> Mapping[str, Preset]:
    """The presets by their names."""
    file = Path(__file__).parents[2] / "data" / "training" / "presets.toml"
    return {name: Preset(**entry) for name, entry in tomllib.loads(file.read_text(encoding="utf-8")).items()}
