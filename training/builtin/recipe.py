"""The numbers of the recipe."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from data import EXTRA


@dataclass(frozen=True)
class Recipe:
    """Everything that decides the weights, except the data and the machine's arithmetic."""

    seed: int = 0

    read_steps: int = 11000
    read_prose_rows: int = 256  # windows of prose in a step
    read_rate: float = 5e-4
    read_dropout: float = 0.0

    teachers: int = 4
    teach_span_rows: int = 128
    teach_span_steps: int = 1800
    teach_span_rate: float = 4e-4
    teach_choice_rows: int = 64
    teach_choice_steps: int = 2000
    teach_choice_rate: float = 1.5e-4

    learn_steps: int = 11500
    learn_prose_rows: int = 96
    learn_span_rows: int = 64
    learn_choice_rows: int = 32
    learn_choice_others: int = 4  # options of other questions, in addition to a question's own
    learn_choice_weight: float = 2.0  # of that loss, while teachers are taught as well
    learn_rate: float = 2e-4
    trust: float = 0.8  # weight of the teachers' judgement; the rest is the truth's

    short_rows: int = 128  # short sentences in a step of reading or learning
    dropout: float = 0.1

    def changed(self, changes: Sequence[str]) -> Recipe:
        """The recipe with other settings, each written as name=value; a ValueError says what is wrong with one.

        >>> Recipe().changed(["teachers=2", "trust=0.5"]).trust
        0.5
        """
        new: dict[str, Any] = dict(self._change(change) for change in changes)
        return replace(self, **new)

    def until(self, stage: str) -> dict[str, int | float]:
        """The settings that decide what a stage makes: its own and those of the stages before it.

        >>> "learn_rate" in Recipe().until("teach"), "learn_rate" in Recipe().until("learn")
        (False, True)
        """
        return {name: value for name, value in asdict(self).items() if name.startswith(_DECIDE[stage])}

    def _change(self, change: str) -> tuple[str, int | float]:
        name, equals, text = change.partition("=")
        if not equals:
            raise ValueError(f"{change!r} is no setting; expected name=value, for example teachers=2")
        known = asdict(self)
        if name not in known:
            raise ValueError(f"the recipe has no {name!r}; it has {', '.join(known)}")
        kind = type(known[name])
        low, high = _RANGES.get(name, (1 if kind is int else 0, math.inf))
        wanted = f"{'a whole number' if kind is int else 'a number'} of at least {low}"
        wanted += f" and at most {high}" if high < math.inf else ""
        try:
            value: int | float = kind(text)
        except ValueError:
            raise ValueError(f"{name} is {text!r}, expected {wanted}") from None
        if not (low <= value <= high and math.isfinite(value)):
            raise ValueError(f"{name} is {text}, expected {wanted}")
        return name, value


_READ = ("seed", "read_", "short_rows")
_TEACH = (*_READ, "teach", "dropout", "learn_choice_weight")
_DECIDE = {"read": _READ, "teach": _TEACH, "learn": ("",)}  # how the names of settings begin

_RANGES: dict[str, tuple[int, float]] = {  # of settings that are not just positive
    "seed": (0, 2**32 - 1),
    "read_dropout": (0, 1),
    "learn_choice_others": (0, EXTRA),
    "trust": (0, 1),
    "dropout": (0, 1),
}
