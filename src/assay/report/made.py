"""How a run was made, as every view tells it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from typing import Any

from assay.models.base import ModelSpec
from assay.probes import probes
from assay.run import Kind, Run, RunInfo
from assay.wording import plural


def in_order(runs: Iterable[Run]) -> list[Run]:
    """Runs in the order of the list of probes; those of one probe stay in theirs."""
    places = {name: place for place, name in enumerate(probes())}
    return sorted(runs, key=lambda run: (places.get(run.probe, len(places)), run.probe))


def asked(run: Run) -> str:
    """How many questions were asked; empty where that is not recorded."""
    if run.questions is None:
        return ""
    return f"{'at most ' if run.at_most else ''}{plural(run.questions, 'question')}"


def facts(run: Run, *keys: str) -> list[tuple[str, str]]:
    """What run.json says under these keys, where it says something; a limit takes the place of a preset."""
    said = {key: getattr(run.info, key) for key in keys if key != "preset" or run.info.limit is None}
    return [(key, text(value)) for key, value in said.items() if value not in (None, "")]


def known(info: RunInfo) -> dict[str, Any]:
    """What run.json says; not what it leaves open."""
    model = _known_model(info.model)
    if info.kind is Kind.PREDICTIONS:
        model["kind"] = str(info.kind)
    others = {name: _known_model(other) for name, other in info.others.items()}
    every = {**asdict(info), "model": model, "others": others}
    return {key: value for key, value in every.items() if value not in (None, "", {}, (), [])}


def _known_model(spec: ModelSpec) -> dict[str, Any]:
    """What is known of a model: of one that was not found, no more than was written down."""
    unknown = ModelSpec("").as_json()
    return {
        key: value
        for key, value in spec.as_json().items()
        if value not in (None, "", []) and (spec.kind or value != unknown[key])
    }


def text(value: object) -> str:
    """A JSON value as a person would write it; text stays as it is.

    >>> text("a"), text(True), text(0.5), text(None), text(["a", 2])
    ('a', 'yes', '0.5', 'none', 'a, 2')
    """
    match value:
        case str():
            return value
        case bool():
            return "yes" if value else "no"
        case None:
            return "none"
        case list() | tuple():
            return ", ".join(text(item) for item in value)
        case dict():
            return "; ".join(f"{name}: {said}" for name, said in flat(value))
    return str(value)


def flat(value: object, name: str = "") -> Iterator[tuple[str, str]]:
    """A JSON object as (name, text), the names of inner objects joined by dots.

    >>> list(flat({"a": {"b": 1}, "c": "x"}))
    [('a.b', '1'), ('c', 'x')]
    """
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from flat(inner, f"{name}.{key}" if name else str(key))
    elif value not in ({}, []) or name:
        yield name, text(value)
