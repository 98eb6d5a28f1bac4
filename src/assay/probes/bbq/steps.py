"""Asking in one step or two; the second step's questions contain what the model wrote in the first.

A question that a model refuses in the first step counts as refused; one to which it writes nothing has no answer.
Neither is asked again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.dialogue import Prompt
from assay.plan import Ask
from assay.probes.base import Stage
from assay.probes.bbq.examples import OPTIONS
from assay.probes.bbq.plan import AnsweringPlan, BBQPlan, WritingPlan
from assay.probes.bbq.prompts import prompt_of
from assay.probes.bbq.settings import FIRST, WRITTEN
from assay.queries import Answers, ChoiceQuery, Status, TextQuery

WROTE = "(what the model wrote)"
"""The placeholder for it in the second step's prompt in run.json."""


@dataclass(frozen=True)
class InSteps:
    """The answers to all rows of a plan, and what the model wrote before them (row,), if anything."""

    plan: BBQPlan
    answers: Answers
    wrote: NDArray[np.bytes_] | None = None

    def told(self, row: int) -> ChoiceQuery | TextQuery:
        """The question as it was asked, for people to read."""
        wrote = None if self.wrote is None else bytes(self.wrote[row]).decode()
        return self.plan.words.first(self.plan.asked(row)) if wrote == "" else self.plan.told(row, wrote)


def stages_of(plans: Mapping[str, BBQPlan]) -> list[Stage]:
    """The parts of a run: a step each."""
    return [
        Stage(f"{label}{step}", len(plan))
        for label, plan in plans.items()
        for step in ((FIRST, "") if plan.words.two_steps else ("",))
    ]


def prompts_of(plans: Mapping[str, BBQPlan]) -> dict[str, Prompt]:
    """The first question of every part of a run, as it is asked."""
    told: dict[str, Prompt] = {}
    for label, plan in plans.items():
        words = plan.words.content(plan.form)
        if plan.words.two_steps:
            told[f"{label}{FIRST}"] = prompt_of(WritingPlan(plan).query(0), WRITTEN, words)
        told[label] = prompt_of(plan.told(0, WROTE if plan.words.two_steps else None), plan.form, words)
    return told


def asked_in_steps(plan: BBQPlan, ask: Ask, label: str) -> InSteps:
    """All answers; for a plan in two steps those of the second step, where some rows may be missing."""
    if not plan.words.two_steps:
        return InSteps(plan, ask(plan, label))
    first = ask(WritingPlan(plan), f"{label}{FIRST}")
    refused = np.isin(first.status, (Status.REFUSED, Status.FILTERED))
    text = np.where(refused, b"", first["text"])
    rows = np.flatnonzero(np.char.str_len(text) > 0)
    status = np.where(refused, Status.REFUSED, Status.FAILED).astype(np.uint8)
    if not len(rows):
        return InSteps(plan, Answers(status, _missing(plan)), text)
    arrays = ask.keep({"row": rows, "text": text[rows]})
    second = ask(AnsweringPlan(plan, arrays, len(rows)), label)
    status[rows] = second.status
    every = {name: _spread(own, rows, len(plan)) for name, own in second.arrays.items()}
    return InSteps(plan, Answers(status, every), text)


def _missing(plan: BBQPlan) -> dict[str, NDArray[Any]]:
    if plan.ability in ("choice", "listed"):
        return {"score": np.full((len(plan), OPTIONS), np.nan, np.float32)}
    return {"text": np.zeros((len(plan), plan.samples) if plan.ability == "sample" else len(plan), "S1")}


def _spread(values: NDArray[Any], rows: NDArray[np.int64], size: int) -> NDArray[Any]:
    """Answers to some rows among all: the others are NaN, 1 (a number of tokens) or empty."""
    empty = np.nan if values.dtype.kind == "f" else 1 if values.dtype.kind in "iu" else b""
    every = np.full((size, *values.shape[1:]), empty, values.dtype)
    every[rows] = values
    return every
