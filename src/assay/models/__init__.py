"""Who answers: one file for each kind of model. No probe is named here.

A kind of model is a module with HELP, `find(name, rest, options) -> ModelSpec` and `load(spec)`, which gives a
`Model` or an `AnsweringModel`. Those that come with
assay are named in OWN; other packages register theirs as entry points of the group `assay.models`: the name of the
kind, and the module. A model's name is KIND:REST, or KIND alone where the module has BARE = True.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module, metadata
from typing import Any

from assay.errors import UsageError
from assay.models.base import AnyModel, ModelSpec, Options

OWN = {"builtin": "assay.models.builtin", "hf": "assay.models.hf"}
GROUP = "assay.models"

_EXAMPLE = "For example --model builtin, hf:./folder for a local folder, or hf:ORG/NAME@REVISION for one of the hub."


@cache
def kinds() -> Mapping[str, Any]:
    """Every kind of model by its name: a module with HELP, `find` and `load`. assay's own come first."""
    others = {entry.name: entry.value for entry in metadata.entry_points(group=GROUP) if entry.name not in OWN}
    return {kind: import_module(home) for kind, home in {**OWN, **others}.items()}


def bare_kinds() -> frozenset[str]:
    """Kinds with one model only: the kind is its whole name."""
    return frozenset(kind for kind, module in kinds().items() if getattr(module, "BARE", False))


def is_name(name: str) -> bool:
    """Whether something is built like a model's name: KIND:REST, or a bare kind."""
    kind, colon, rest = name.partition(":")
    return kind in kinds() and (not colon if kind in bare_kinds() else bool(rest))


def find_model(name: str, options: Options | None = None) -> ModelSpec:
    """Find a model by its name and digest its weights, without loading it."""
    if not is_name(name):
        raise UsageError(f"unknown model name {name!r}; expected {known_names()}.", _EXAMPLE, code="unknown-model")
    kind, _, rest = name.partition(":")
    spec: ModelSpec = kinds()[kind].find(name, rest, options or Options())
    return spec


def known_names() -> str:
    """How models are named, for messages."""
    return ", ".join(kind if kind in bare_kinds() else f"{kind}:…" for kind in kinds())


def load(spec: ModelSpec) -> AnyModel:
    """Load a model that was found."""
    model: AnyModel = kinds()[spec.kind].load(spec)
    return model


def load_model(name: str, **options: Any) -> AnyModel:
    """Find and load a model: `load_model("hf:./folder", device="cpu")`."""
    return load(find_model(name, Options(**options)))
