"""Who answers: one file for each kind of model. No probe is named here.

A kind of model is a module with `find(name, rest, options) -> ModelSpec` and `load(spec) -> Model`. To add one, write
the module and name it in KINDS. A model's name is KIND:REST, or KIND alone for the kinds in BARE.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from assay.errors import UsageError
from assay.models.base import Model, ModelSpec, Options

KINDS = {
    "builtin": (
        "assay.models.builtin",
        "builtin: the small model that comes with assay; needs no torch and no network",
    ),
    "hf": ("assay.models.hf", "hf:ORG/NAME[@REVISION] or hf:./folder: any model that transformers loads"),
}
BARE = {"builtin"}
"""Kinds with one model only: the kind is its whole name."""

_EXAMPLE = "For example --model builtin, hf:./folder for a local folder, or hf:ORG/NAME@REVISION for one of the hub."


def find_model(name: str, options: Options | None = None) -> ModelSpec:
    """Find a model by its name and digest its weights, without loading it."""
    kind, colon, rest = name.partition(":")
    complete = not colon if kind in BARE else bool(rest)
    if kind not in KINDS or not complete:
        known = ", ".join(kind if kind in BARE else f"{kind}:…" for kind in KINDS)
        raise UsageError(f"unknown model name {name!r}; expected {known}.", _EXAMPLE)
    spec: ModelSpec = _module(kind).find(name, rest, options or Options())
    return spec


def load(spec: ModelSpec) -> Model:
    """Load a model that was found."""
    model: Model = _module(spec.kind).load(spec)
    return model


def load_model(name: str, **options: Any) -> Model:
    """Find and load a model: `load_model("hf:./folder", device="cpu")`."""
    return load(find_model(name, Options(**options)))


def _module(kind: str) -> Any:
    return import_module(KINDS[kind][0])
