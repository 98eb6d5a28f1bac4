"""How a model is trained: settings as users write them (`--set key=value`), over a paper's, over the defaults.

Here is what every kind of training has, and the papers' presets; each kind adds its own, in its own file.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from assay.errors import UsageError
from assay.settings import read_settings, setting

if TYPE_CHECKING:
    from assay.lab.training.kind import Kind


def epochs(default: float) -> Any:
    return setting(default, "passes over the data", least=0, above=True, real=True, example=f"{default:g}")


def rate(default: float) -> Any:
    said = "the learning rate, which falls linearly to 0"
    return setting(default, said, least=0, most=1, above=True, real=True, example=f"{default:g}", value=f"{default:g}")


@dataclass(frozen=True)
class Settings:
    """What decides the trained weights, besides the base model, the data, the seed and the machine."""

    epochs: float | None = epochs(3.0)
    rate: float = rate(2e-5)
    batch: int = setting(16, "examples in a batch", least=1)
    accumulate: int = setting(1, "batches that make one step", least=1)
    warmup: float = setting(0.0, "steps, or a share of all below 1, until the rate is reached", least=0, real=True)
    weight_decay: float = setting(0.0, "AdamW's", least=0, real=True)
    max_steps: int | None = setting(None, "steps; without epochs they alone decide", least=1, value="N")
    head: str = setting(
        "auto",
        "keep the base's head, begin with a new one, or keep it if there is one",
        choices=("auto", "keep", "new"),
    )
    dropout: float | None = setting(None, "another rate than the base's, here alone", least=0, most=0.9, real=True)
    attention_dropout: float | None = setting(None, "the same, of attention", least=0, most=0.9, real=True)
    order: str = setting(
        "grouped", "grouped makes batches of similar lengths, random does not", choices=("grouped", "random")
    )
    save_steps: int = setting(0, "steps between checkpoints (0: ten in all, at least 100 steps apart)", least=0)
    keep_checkpoints: int = setting(0, "so many stay at the end", least=0)
    compile: str = setting("off", "whether torch compiles the model first", choices=("off", "on"))


S = TypeVar("S", bound=Settings)


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


def preset_of(kind: Kind[S], name: str | None) -> dict[str, Any]:
    """The settings of a preset, which has to be of this kind of training."""
    if name is None:
        return {}
    preset = presets().get(name)
    if preset is None:
        problem = f"there is no preset {name!r}; there are {', '.join(presets())}."
        raise UsageError(problem, "Leave --preset out.", code="bad-option", key="preset")
    if preset.kind != kind.name:
        problem = f"the preset {name} is for {preset.kind} training, not for {kind.name}."
        raise UsageError(problem, f"assay train {preset.kind} …", code="unsupported", key="preset")
    return dict(preset.settings)


def settings_of(kind: Kind[S], preset: str | None, given: Mapping[str, Any] | None) -> tuple[S, frozenset[str]]:
    """The settings of a training, and which of them were given."""
    written = {key: str(value) for key, value in (given or {}).items() if value is not None}
    paper = preset_of(kind, preset)
    if "max_steps" in written and "epochs" not in written and preset is None:
        paper["epochs"] = None  # the steps decide
    owner = f"{kind.name} training"
    return read_settings(kind.settings, written, owner, remedy="See `assay train --help`.", **paper), frozenset(written)
