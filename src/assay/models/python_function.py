"""A Python function as a model: it gets a query and returns the answer.

    def answer(query: ChoiceQuery) -> Sequence[float]: ...     a score for each option, or the index of one
    def answer(query: TextQuery) -> str: ...                   what the model writes

The annotation of its parameter says which queries it answers; without one it gets both kinds. Returning `None` is a
refusal. A query may have a dialogue (`assay.asking.messages`), which the function has to read.
"""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, get_args, get_type_hints

from assay.asking.queries import Answer, ChoiceQuery, Query, Status, TextQuery
from assay.errors import ModelError, UsageError
from assay.models.base import ModelSpec

KIND = "python"
CERTAIN = 1000.0
"""The score of an option that a function chose, if the others have 0: its probability is 1."""
_ABILITIES = {ChoiceQuery: "choice", TextQuery: "text"}


@dataclass(frozen=True)
class PythonModel:
    """A function as an answering model; a function that is not async runs in a thread."""

    spec: ModelSpec
    function: Callable[[Any], Any]

    async def answer(self, query: Query) -> Answer:
        if inspect.iscoroutinefunction(self.function):
            value = await self.function(query)
        else:
            value = await asyncio.to_thread(self.function, query)
        match query, value:
            case _, None:
                return Answer(Status.REFUSED)
            case TextQuery(), str():
                return Answer(Status.OK, text=value)
            case ChoiceQuery(), int() if 0 <= value < len(query.options):
                return Answer(Status.OK, tuple(CERTAIN * (index == value) for index in range(len(query.options))))
            case ChoiceQuery(), _ if isinstance(value, Sequence) and not isinstance(value, str):
                return Answer(Status.OK, tuple(map(float, value)))
        problem = f"{self.spec.name} returned {str(value)[:60]!r} for a {type(query).__name__}."
        remedy = "Return a text for a TextQuery; for a ChoiceQuery a score for each option, or the index of one."
        raise ModelError(problem, remedy, code="bad-scores")


def python_model(function: Callable[[Any], Any]) -> PythonModel:
    """A function as a model.

    Its answers are not reused in another process, because the function may have changed: unless it has an attribute
    `version`, a text that its author changes when the answers change.
    """
    name = f"{KIND}:{getattr(function, '__qualname__', type(function).__name__)}"
    version = getattr(function, "version", None)
    identity = uuid.uuid4().hex if version is None else f"{name} {version}"
    digest = hashlib.sha256(f"{KIND} {identity}".encode()).hexdigest()
    return PythonModel(ModelSpec(name, KIND, "memory", digest, _abilities(function), "cpu", "none"), function)


def _abilities(function: Callable[[Any], Any]) -> frozenset[str]:
    called = function if inspect.isroutine(function) else type(function).__call__
    hints = [hint for name, hint in get_type_hints(called).items() if name != "return"]
    kinds = [kind for kind in (get_args(hints[0]) or (hints[0],)) if kind in _ABILITIES] if hints else [*_ABILITIES]
    if not kinds:
        problem = f"{function!r} takes {hints[0]}, expected ChoiceQuery or TextQuery (from assay.asking.queries)."
        remedy = "Annotate its parameter with the query that it answers, or omit the annotation."
        raise UsageError(problem, remedy, code="bad-model")
    return frozenset(_ABILITIES[kind] for kind in kinds)
