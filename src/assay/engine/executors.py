"""Executors by their names (`--executor`): assay's own, and those of other packages (entry points `assay.executors`).

The module of an executor has FORMS, how it is named (`ray`, `ray:ADDRESS`), and `new(request) -> Executor`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module, metadata
from typing import TYPE_CHECKING, Any

from assay.errors import UsageError, suggest
from assay.models.base import AnyModel, ModelSpec

if TYPE_CHECKING:
    from assay.engine.executor import Executor

GROUP = "assay.executors"
LOCAL = "local"
OWN = {LOCAL: "assay.engine.executor", "ray": "assay.engine.ray_executor", "work": "assay.engine.shared_folder"}


@dataclass(frozen=True)
class ExecutorRequest:
    """What an executor is made from.

    `load` loads a model in this process; `load_elsewhere` finds it on another machine first, and refuses other weights.
    `address` follows the name. `workers`, `gpus` (of each worker) and `key_env` (a variable that no worker may see) are
    the command's options.
    """

    load: Callable[[ModelSpec], AnyModel]
    load_elsewhere: Callable[[ModelSpec], AnyModel]
    workers: int | None = None
    gpus: float | None = None
    key_env: str = ""
    address: str = ""

    def require_no_workers(self) -> None:
        """For executors that start no workers: refuse the options about these."""
        for option, value in (("workers", self.workers), ("gpus-per-worker", self.gpus)):
            if value is not None:
                problem = f"--{option} needs --executor ray."
                raise UsageError(problem, "--executor ray", code="bad-option", key=option)


@cache
def executors() -> Mapping[str, str]:
    """The module of every executor by its name; assay's own come first. Nothing is imported."""
    others = {entry.name: entry.value for entry in metadata.entry_points(group=GROUP) if entry.name not in OWN}
    return {**OWN, **others}


def executor_named(name: str, request: ExecutorRequest) -> Executor:
    """The executor that `--executor` names: NAME, or NAME:ADDRESS."""
    kind, _, address = name.partition(":")
    if kind not in executors() or not _fits(name, _module(kind).FORMS):
        forms = [form for own_kind in executors() for form in _module(own_kind).FORMS]
        close = "." if kind in executors() else suggest(kind, executors())
        problem = f"unknown executor {name!r}; expected {', '.join(forms[:-1])} or {forms[-1]}{close}"
        raise UsageError(problem, f"--executor {LOCAL}", code="bad-option", key="executor")
    executor: Executor = _module(kind).new(replace(request, address=address))
    return executor


def _fits(name: str, forms: tuple[str, ...]) -> bool:
    kind, colon, address = name.partition(":")
    return any(bool(address) if ":" in form else not colon for form in forms) and name != f"{kind}:"


def _module(kind: str) -> Any:
    try:
        return import_module(executors()[kind])
    except Exception as error:  # whatever a package of somebody else raises
        problem = f"the executor {kind!r} cannot be imported from {executors()[kind]} ({error})."
        raise UsageError(problem, "Fix or uninstall its package.", code="cannot-load", key=kind) from error
