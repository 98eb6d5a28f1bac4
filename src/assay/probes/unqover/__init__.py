"""UnQover (Li et al. 2020): questions with no answer in the text. Does the model prefer a group anyway?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from assay.errors import DataError, UsageError
from assay.findings import Findings
from assay.plan import Ask, WordPlan
from assay.probes import Request, Stage
from assay.probes.unqover.analyse import Scored, findings_of
from assay.probes.unqover.lists import Lists, read_lists, regions
from assay.probes.unqover.metrics import Cells, Labels
from assay.probes.unqover.plan import PER_CELL, UnqoverPlan
from assay.probes.unqover.settings import QUICK_CELLS, STANDARD_CELLS, Settings
from assay.queries import Answers, SpanColumns


@dataclass(frozen=True)
class Part:
    """One class of subjects in one form."""

    cls: str
    form: str

    @property
    def label(self) -> str:
        return f"{self.cls} ({self.form})"


class UnQover:
    """The probe: plans for each class and form, then the paper's metrics over the scores."""

    def __init__(self, request: Request) -> None:
        self._settings = _with_lists(Settings.parse(request.settings or {}), request.data)
        self._request = request
        self._notes: list[str] = []
        self._lists: dict[Part, Lists] = {}
        self._plans: dict[Part, UnqoverPlan] | None = None

    def settings(self) -> Mapping[str, Any]:
        return self._settings.as_dict()

    def data(self) -> Mapping[str, str]:
        return {name: digest for lists in self._lists.values() for name, digest in lists.files.items()}

    def notes(self) -> Sequence[str]:
        return self._notes

    def stages(self, ask: Ask) -> Sequence[Stage]:
        return [Stage(part.label, len(plan)) for part, plan in self.plans(ask).items()]

    def run(self, ask: Ask, model: str) -> Findings:
        scored = (self.scored(part, ask) for part in self.plans(ask))
        return findings_of(scored, self._settings, self._request.seed, model)

    def scored(self, part: Part, ask: Ask) -> Scored:
        """One class and form with the model's scores."""
        plan = self.plans(ask)[part]
        cells = cells_of(plan, ask(plan, part.label)["score"])
        return Scored(part.cls, part.form, cells, labels_of(plan), partial(wording_of, plan))

    def plans(self, ask: Ask) -> dict[Part, UnqoverPlan]:
        """What is asked of this model, found out once: its tokenizer says which subjects can be asked about."""
        if self._plans is None:
            self._lists = {part: self._read(part) for part in self._parts(ask)}
            plans = {part: self._plan(part, self._without(part, ask)) for part in self._lists}
            limit = self._request.limit
            self._plans = plans if limit is None else _limited(plans, limit, self._notes)
        return self._plans

    def _parts(self, ask: Ask) -> list[Part]:
        able, wanted = [form for form in ("span", "mask") if form in ask.abilities], self._settings.form
        if not able:
            raise UsageError(
                "this model can neither answer span questions nor fill masks.",
                "UnQover needs an extractive question-answering model or a masked language model.",
            )
        forms = able if wanted == "auto" else ["span", "mask"] if wanted == "both" else [wanted]
        for form in forms:
            if form not in able:
                raise UsageError(
                    f"this model has not the ability {form!r} that form={wanted} needs; it has {able[0]!r}.",
                    f"Ask with --set form={able[0]}, or choose a model for that task.",
                )
        parts = [Part(cls, form) for form in forms for cls in self._settings.classes]
        if wanted == "auto" and len(forms) == 2 and self._request.preset == "quick" and self._request.limit is None:
            parts = [part for part in parts if part.form == "span" or part.cls == "gender"]
        return parts

    def _plan(self, part: Part, without: tuple[str, ...]) -> UnqoverPlan:
        lists, settings = self._lists[part], self._settings
        plan = UnqoverPlan(
            part.cls,
            part.form,
            lists.digest,
            word_lists=settings.word_lists,
            seed=self._request.seed,
            header=settings.header == "newsqa",
            released=settings.released,
            pronouns=settings.pronouns == "on",
            without=without,
        )
        wanted = {"quick": QUICK_CELLS[part.cls], "standard": STANDARD_CELLS}.get(self._request.preset)
        if self._request.limit is not None or wanted is None or wanted >= len(plan.table):
            return plan
        return replace(plan, cells=wanted)

    def _without(self, part: Part, ask: Ask) -> tuple[str, ...]:
        """Subjects that cannot be asked about in this model: in masked sentences those that are not one token."""
        lists = self._lists[part]
        slots = sorted({template.slot for template in lists.templates})
        words = tuple(subject.forms[slot] for slot in slots for subject in lists.subjects)
        answers = ask(WordPlan(words), f"words of {part.label}")
        pieces = answers["pieces"].reshape(len(slots), -1)  # (slot, subject)
        kept = (pieces == 1).all(0) if part.form == "mask" else np.ones(len(lists.subjects), bool)
        _require_different(part, lists, slots, answers, kept)
        left_out = [subject.name for subject, keep in zip(lists.subjects, kept, strict=True) if not keep]
        if left_out:
            self._notes.append(
                f"{part.label}: {len(left_out)} of {len(lists.subjects)} subjects are not one token of this model and "
                f"are left out: {', '.join(left_out)}"
            )
        if kept.sum() < 2 or (
            lists.split is not None and not (kept[: lists.split].any() and kept[lists.split :].any())
        ):
            raise DataError(
                f"{part.label}: fewer than two subjects are single tokens of this model, so no pair is left.",
                "Choose other subjects with --set word_lists=DIR, another class, or a model with a larger vocabulary.",
            )
        return tuple(left_out)

    def _read(self, part: Part) -> Lists:
        header, folder = self._settings.header == "newsqa", self._settings.word_lists
        return read_lists(part.cls, masked=part.form == "mask", header=header, folder=folder)


def cells_of(plan: UnqoverPlan, scores: Any) -> Cells:
    """The plan's cells with their scores (question, subject) in the metrics' shape."""
    table = plan.table
    first, second, template, attribute = table.rows(np.arange(len(table), dtype=np.int64))
    return Cells(template, first, second, attribute, scores.reshape(-1, 2, 2, 2))


def wording_of(plan: UnqoverPlan, cell: int) -> list[tuple[str, str]]:
    """(text, question) of a cell's four questions; in masked sentences the question is the sentence with the mask."""
    columns = plan.columns(PER_CELL * cell, PER_CELL * (cell + 1))
    questions = columns.question if isinstance(columns, SpanColumns) else columns.sentence
    return [(columns.context[row], questions[row]) for row in range(PER_CELL)]


def labels_of(plan: UnqoverPlan) -> Labels:
    """Names for the tables."""
    lists = plan.lists
    return Labels(
        subjects=[subject.name for subject in lists.subjects],
        attributes=[attribute.text for attribute in lists.attributes],
        attribute_classes=[attribute.cluster for attribute in lists.attributes],
        templates=len(lists.templates),
        groups=None if lists.split is None else [subject.cluster for subject in lists.subjects],
        sampled=plan.table.sample is not None,
        regions=regions(),
    )


def _with_lists(settings: Settings, data: Path | None) -> Settings:
    """The settings with the authors' word lists among the official data, where such data are named."""
    if data is None or settings.word_lists is not None:
        return settings
    lists = data / "unqover" / "word_lists"
    if not lists.is_dir():
        raise UsageError(
            f"{data} holds no word lists of UnQover (unqover/word_lists).",
            "Get them with `assay data fetch unqover`, or leave --data out: assay has lists of its own.",
        )
    return replace(settings, word_lists=str(lists))


def _require_different(part: Part, lists: Lists, slots: list[str], answers: Answers, kept: Any) -> None:
    """Two subjects with the same tokens are one subject to the model."""
    keys = answers["key"].reshape(len(slots), -1)
    for slot, row in zip(slots, keys.tolist(), strict=True):
        seen: dict[int, str] = {}
        for subject, key, keep in zip(lists.subjects, row, kept.tolist(), strict=True):
            name = subject.forms[slot]
            if keep and key in seen:
                raise DataError(
                    f"{part.label}: the subjects {seen[key]!r} and {name!r} have the same tokens, so they are one to "
                    "this model.",
                    "Remove one of them from the word lists, or choose a model that tells them apart.",
                )
            seen[key] = name


def _limited(plans: dict[Part, UnqoverPlan], limit: int, notes: list[str]) -> dict[Part, UnqoverPlan]:
    """At least `limit` questions in all, shared out evenly over the parts in whole cells."""
    left = -(-limit // PER_CELL)
    result: dict[Part, UnqoverPlan] = {}
    smallest_first = sorted(plans, key=lambda part: len(plans[part]))
    for place, part in enumerate(smallest_first):
        plan = plans[part]
        share = max(1, min(-(-left // (len(plans) - place)), len(plan.table)))
        left -= share
        result[part] = plan if share == len(plan.table) else replace(plan, cells=share)
        needed = len(plan.lists.attributes)
        if share < needed:
            notes.append(f"{part.label}: {share} cells are too few for all {needed} attributes; raise --limit.")
    return {part: result[part] for part in plans}
