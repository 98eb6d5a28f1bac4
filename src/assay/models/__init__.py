"""Models: one file for each kind. No probe is named here.

A kind of model is a module with HELP, `find(name, rest, options) -> ModelSpec` and `load(spec)`, which gives a
`Model`, an `AnsweringModel` or an `EndpointModel`. Those that come with assay are named in OWN; other packages register
theirs as entry points of the group `assay.models`: the name of the kind, and the module. A model's name is KIND:REST,
or KIND alone if the module has BARE = True.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

from assay.errors import ModelError, UsageError
from assay.models.base import AnyModel, ModelSpec, Options

OWN = {"builtin": "assay.models.builtin", "hf": "assay.models.hf", "api": "assay.models.api"}
GROUP = "assay.models"

_EXAMPLE = (
    "For example --model builtin, hf:./folder for a local folder, hf:ORG/NAME@REVISION for a model from the hub, or "
    "api:NAME@https://HOST/v1 for an endpoint."
)


@cache
def kinds() -> Mapping[str, str]:
    """The module of every kind of model, by the kind's name; assay's own come first. Nothing is imported."""
    others = {entry.name: entry.value for entry in metadata.entry_points(group=GROUP) if entry.name not in OWN}
    return {**OWN, **others}


def kind_named(kind: str) -> Any:
    """The module of a kind, with HELP, `find` and `load`; raises a UsageError if it cannot be imported."""
    try:
        return import_module(kinds()[kind])
    except Exception as error:  # whatever a package of somebody else raises
        problem = f"the model kind {kind!r} cannot be imported from {kinds()[kind]} ({error})."
        raise UsageError(problem, "Fix or uninstall its package.", code="cannot-load", key=kind) from error


def is_bare(kind: str) -> bool:
    """Whether a kind has only one model, whose name is the kind's."""
    return kind in kinds() and bool(getattr(kind_named(kind), "BARE", False))


def is_name(name: str) -> bool:
    """Whether a text has the form of a model's name: KIND:REST, or a bare kind."""
    kind, colon, rest = name.partition(":")
    return kind in kinds() and (not colon if is_bare(kind) else bool(rest))


def find_model(name: str, options: Options | None = None) -> ModelSpec:
    """Find a model by its name and digest its weights, without loading it."""
    if not is_name(name):
        raise UsageError(f"unknown model name {name!r}; expected {known_names()}.", _EXAMPLE, code="unknown-model")
    kind, _, rest = name.partition(":")
    spec: ModelSpec = kind_named(kind).find(name, rest, options or Options())
    return spec


def find_second(name: str, options: Options | None = None) -> ModelSpec:
    """Find another model of a run. `--device` and `--dtype` are the audited model's: the built-in one has its own."""
    options = options or Options()
    return find_model(name, replace(options, device="auto", dtype="auto") if is_bare(name) else options)


def known_names() -> str:
    """The forms of model names, for messages, except those of packages that cannot be imported."""
    names = []
    for kind in kinds():
        with suppress(UsageError):
            names.append(kind if is_bare(kind) else f"{kind}:…")
    return ", ".join(names)


def load(spec: ModelSpec) -> AnyModel:
    """Load a model that `find_model` found."""
    model: AnyModel = kind_named(spec.kind).load(spec)
    return model


def load_elsewhere(spec: ModelSpec) -> AnyModel:
    """Load a model that was found on another machine: find it here, and refuse it if its digest differs.

    A folder must be at the same path; a model from the hub is found by its commit.
    """
    rest = spec.name.partition(":")[2]
    if spec.revision:
        rest = f"{rest.partition('@')[0]}@{spec.revision}"
    elif rest and Path(spec.place).is_absolute():
        rest = spec.place
    options = Options(spec.device, spec.dtype, spec.trust_remote_code, spec.allow_pickle, spec.threads or None)
    local_spec: ModelSpec = kind_named(spec.kind).find(spec.name, rest, options)
    if local_spec.digest != spec.digest:
        problem = f"{spec.name} differs from the model that this run began with."
        remedy = "Put the same files on every machine, and install the same version of assay."
        raise ModelError(problem, remedy, code="damaged-model", file=local_spec.place)
    return load(replace(spec, place=local_spec.place))


def load_model(name: str, **options: Any) -> AnyModel:
    """Find and load a model: `load_model("hf:./folder", device="cpu")`."""
    return load(find_model(name, Options(**options)))
