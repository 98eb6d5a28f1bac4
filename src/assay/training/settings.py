"""How a model is trained: settings as users write them (`--set key=value`), and presets with the papers' own.

Where a paper prints no number, the preset says where its number comes from.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, get_args

from assay.errors import UsageError

Kind = Literal["span", "choice", "mask"]
KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True)
class Settings:
    """What decides the trained weights, besides the base model, the data, the seed and the machine.

    epochs: passes over the data; None with max_steps alone, which then decides.
    rate: the learning rate, reached after `warmup` (steps, or a share of all below 1) and then falling linearly to 0.
    batch: examples in a batch; `accumulate` batches make one step.
    length: the most tokens of a sequence (choice), or of a block (mask).
    window, stride (span): tokens of a window, and by how many tokens the next one begins later.
    windows (span): "all", where those without the answer are to point at the first token, or "answer": only windows
    that hold it.
    blocks (mask): "joined" fills blocks with one text behind the other, "apart" begins a block with every text.
    masking (mask): the share of tokens to predict.
    head: "keep" the base's head for this task, begin with a "new" one, or "auto": keep it if there is one.
    dropout, attention_dropout: other rates than the base's, for this training alone.
    order: "grouped" makes batches of similar lengths, "random" does not.
    save_steps: steps between checkpoints (0: ten in all, at least 100 steps apart).
    keep_checkpoints: so many stay at the end.
    compile: whether torch compiles the model first.
    """

    epochs: float | None
    rate: float
    batch: int
    accumulate: int = 1
    length: int = 512
    window: int = 384
    stride: int = 128
    windows: Literal["all", "answer"] = "all"
    blocks: Literal["joined", "apart"] = "joined"
    masking: float = 0.15
    warmup: float = 0.0
    weight_decay: float = 0.0
    max_steps: int | None = None
    head: Literal["auto", "keep", "new"] = "auto"
    dropout: float | None = None
    attention_dropout: float | None = None
    order: Literal["grouped", "random"] = "grouped"
    save_steps: int = 0
    keep_checkpoints: int = 0
    compile: Literal["off", "on"] = "off"

    def of(self, kind: Kind) -> dict[str, Any]:
        """The settings that this kind of training has, by name."""
        return {each.name: getattr(self, each.name) for each in fields(self) if each.name in known(kind)}


_OF_KIND: dict[str, tuple[Kind, ...]] = {
    "length": ("choice", "mask"),
    "window": ("span",),
    "stride": ("span",),
    "windows": ("span",),
    "blocks": ("mask",),
    "masking": ("mask",),
}


@dataclass(frozen=True)
class _Number:
    """What a number must be: of this type, at least `least` (or above it), at most `most`."""

    of: type[int] | type[float]
    least: float
    most: float = math.inf
    above: bool = False

    def read(self, text: str) -> float | int | None:
        try:
            value = self.of(text)
        except ValueError:
            return None
        inside = self.least <= value <= self.most and math.isfinite(value) and not (self.above and value == self.least)
        return value if inside else None

    def __str__(self) -> str:
        what = "a whole number" if self.of is int else "a number"
        if self.most < math.inf:
            return f"{what} from {self.least:g} to {self.most:g}"
        return f"{what} {'above' if self.above else 'from'} {self.least:g}"


_NUMBERS = {
    "epochs": _Number(float, 0, above=True),
    "rate": _Number(float, 0, 1, above=True),
    "batch": _Number(int, 1),
    "accumulate": _Number(int, 1),
    "length": _Number(int, 8),
    "window": _Number(int, 16),
    "stride": _Number(int, 1),
    "masking": _Number(float, 0, 0.9, above=True),
    "warmup": _Number(float, 0),
    "weight_decay": _Number(float, 0),
    "max_steps": _Number(int, 1),
    "dropout": _Number(float, 0, 0.9),
    "attention_dropout": _Number(float, 0, 0.9),
    "save_steps": _Number(int, 0),
    "keep_checkpoints": _Number(int, 0),
}
_CHOICES: dict[str, tuple[str, ...]] = {
    "windows": ("all", "answer"),
    "blocks": ("joined", "apart"),
    "head": ("auto", "keep", "new"),
    "order": ("grouped", "random"),
    "compile": ("off", "on"),
}

_DEFAULTS: dict[Kind, dict[str, Any]] = {
    "span": {"epochs": 2.0, "rate": 3e-5, "batch": 16},
    "choice": {"epochs": 3.0, "rate": 2e-5, "batch": 16},
    "mask": {"epochs": 1.0, "rate": 5e-5, "batch": 32},
}


@dataclass(frozen=True)
class Preset:
    """A paper's settings for one kind of training, and where they are printed."""

    kind: Kind
    settings: Mapping[str, Any]
    source: str


PRESETS = {
    "unqover": Preset(
        "span",
        {"epochs": 2.0, "rate": 3e-5, "batch": 20, "window": 384, "stride": 128, "windows": "answer"},
        "Li et al. (2020), appendix A.1: a window of 384 tokens that contains the answer, otherwise standard settings; "
        "rate, epochs, batch and stride are those of the command in the README of the released program",
    ),
    "bbq": Preset(
        "choice",
        {"epochs": 3.0, "rate": 1e-5, "batch": 16, "length": 512},
        "Parrish et al. (2022), section 4: RACE, 3 epochs, learning rate 1e-5, batch 16; the length is not printed",
    ),
    "sodapop": Preset(
        "choice",
        {"epochs": 2.0, "rate": 2e-5, "batch": 3, "length": 128},
        "An et al. (2023), section 4: Social IQa, 2 epochs, learning rate 2e-5, batch 3; the length is that of the "
        "released program",
    ),
}


def known(kind: Kind) -> list[str]:
    """The names of the settings that this kind of training has."""
    return sorted(each.name for each in fields(Settings) if kind in _OF_KIND.get(each.name, KINDS))


def read(kind: Kind, preset: str | None, given: Mapping[str, Any] | None) -> tuple[Settings, frozenset[str]]:
    """The settings of a training: what was given, over the preset's, over the defaults; and which were given.

    >>> read("choice", "sodapop", {"epochs": "1"})[0].of("choice")["batch"]
    3
    """
    values = dict(_DEFAULTS[kind])
    if preset is not None:
        values |= _preset(kind, preset).settings
    names = {key: _value(kind, key, str(text)) for key, text in (given or {}).items() if text is not None}
    if "max_steps" in names and "epochs" not in names and preset is None:
        values["epochs"] = None  # the steps decide
    return Settings(**(values | names)), frozenset(names)


def _preset(kind: Kind, name: str) -> Preset:
    preset = PRESETS.get(name)
    if preset is None:
        raise UsageError(f"there is no preset {name!r}; there are {', '.join(PRESETS)}.", "Leave --preset out.")
    if preset.kind != kind:
        raise UsageError(
            f"the preset {name} is for {preset.kind} training, not for {kind}.", f"assay train {preset.kind} …"
        )
    return preset


def _value(kind: Kind, key: str, text: str) -> Any:
    if key not in known(kind):
        raise UsageError(
            f"{kind} training has no setting {key!r}; it has {', '.join(known(kind))}.", "See `assay train --help`."
        )
    if key in _CHOICES:
        if text not in _CHOICES[key]:
            raise UsageError(f"{key} is {text!r}, expected one of {', '.join(_CHOICES[key])}.", f"--set {key}=…")
        return text
    value = _NUMBERS[key].read(text)
    if value is None:
        raise UsageError(f"{key} is {text!r}, expected {_NUMBERS[key]}.", f"--set {key}=…")
    return value
