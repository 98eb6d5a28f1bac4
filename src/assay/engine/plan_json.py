"""Plans as plain data, to send them to other programs: JSON values that name classes and their fields; never pickles.

Only classes of assay, and of packages that register probes or kinds of models, are made from such data, and only
dataclasses and named tuples among them.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from functools import cache
from importlib import import_module, metadata
from typing import Any

from assay.asking.plan import AnyPlan
from assay.errors import DataError, UsageError

_KIND, _FIELDS = "is", "fields"
_GROUPS = ("assay.probes", "assay.models")  # of entry points
_SAME_VERSION = "Install the same version of assay, and of packages that extend it, everywhere."


def to_data(plan: AnyPlan) -> Any:
    """A plan as a JSON value from which `of_data` makes an equal one."""
    data = _encoded(plan)
    if of_data(data, plan.digest) != plan:
        raise _unsendable(type(plan).__name__)
    return data


def of_data(data: Any, digest: str) -> AnyPlan:
    """The plan that `to_data` described; raises a DataError if its digest differs, as with another version of assay."""
    try:
        plan: AnyPlan = _decoded(data)
        found_digest = getattr(plan, "digest", None)
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError) as error:
        problem = f"the questions cannot be made from what was sent ({error})."
        raise DataError(problem, _SAME_VERSION, code="bad-value", key="plan") from None
    if found_digest != digest:
        remedy = "Use the same version of assay, and the same data, everywhere."
        raise DataError("the questions differ from those that were sent.", remedy, code="changed-file", key="plan")
    return plan


def _encoded(value: Any) -> Any:
    if value is None or type(value) in (bool, int, float, str):
        return value
    if type(value) is tuple:
        return [_encoded(part) for part in value]
    kind = type(value)
    if not _is_record(kind) or _class_named(_name(kind)) is not kind:
        raise _unsendable(kind.__name__)
    return {_KIND: _name(kind), _FIELDS: {name: _encoded(getattr(value, name)) for name in _field_names(kind)}}


def _decoded(data: Any) -> Any:
    if isinstance(data, list):
        return tuple(_decoded(part) for part in data)
    if not isinstance(data, dict):
        return data
    kind = _class_named(str(data.get(_KIND)))
    values = data.get(_FIELDS)
    if kind is None or not isinstance(values, dict) or set(values) != set(_field_names(kind)):
        raise DataError(f"{data.get(_KIND)!r} is not known here.", _SAME_VERSION, code="bad-value", key="plan")
    return kind(**{name: _decoded(value) for name, value in values.items()})


def _name(kind: type) -> str:
    return f"{kind.__module__}:{kind.__qualname__}"


def _class_named(name: str) -> Any:
    """The class of this name, or None if it is missing or must not be made from data."""
    module, _, qualified = name.partition(":")
    if module.partition(".")[0] not in _packages():
        return None
    try:
        kind = getattr(import_module(module), qualified, None)
    except ImportError:
        return None
    return kind if isinstance(kind, type) and _is_record(kind) and _name(kind) == name else None


@cache
def _packages() -> frozenset[str]:
    others = [entry for group in _GROUPS for entry in metadata.entry_points(group=group)]
    return frozenset({"assay", *(entry.module.partition(".")[0] for entry in others)})


def _is_record(kind: type) -> bool:
    return is_dataclass(kind) or (issubclass(kind, tuple) and hasattr(kind, "_fields"))


def _field_names(kind: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind) if field.init) if is_dataclass(kind) else tuple(kind._fields)


def _unsendable(kind: str) -> UsageError:
    problem = f"{kind} cannot be sent to workers as plain data."
    remedy = "Compute here with --executor local. A plan's fields must be numbers, texts, tuples and dataclasses."
    return UsageError(problem, remedy, code="unsupported", key="plan")
