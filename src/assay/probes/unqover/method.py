"""UnQover as a method: plans for each class and form, the model's scores in cells, then the paper's metrics."""

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
from assay.probes.base import Method, Prepared, Request, Stage
from assay.probes.contrast import Contrast
from assay.probes.unqover.across import TITLES, side_by_side
from assay.probes.unqover.analyse import Scored, findings_of
from assay.probes.unqover.contents import contents_of
from assay.probes.unqover.diagnose import diagnosis_of
from assay.probes.unqover.lists import Lists, read_lists, regions
from assay.probes.unqover.metrics import Cells, Labels
from assay.probes.unqover.paired import contrast
from assay.probes.unqover.plan import PER_CELL, UnqoverPlan
from assay.probes.unqover.present import present
from assay.probes.unqover.present_study import of_study
from assay.probes.unqover.present_tables import across
from assay.probes.unqover.settings import (
    CLASSES,
    FORMS,
    MASKED,
    QUICK_0_1,
    QUICK_ATTRIBUTES,
    QUICK_CELLS,
    SPAN,
    STANDARD_CELLS,
    GenerateSettings,
    Settings,
)
from assay.queries import Answers, SpanColumns
from assay.settings import GENERATE, SCORE, as_written, read_settings


@dataclass(frozen=True)
class Part:
    """One class of subjects in one form."""

    cls: str
    form: str

    @property
    def label(self) -> str:
        return f"{self.cls} ({self.form})"


@dataclass(frozen=True)
class UnqoverPrepared(Prepared):
    """The plans of every class and form; none where somebody else asked."""

    plans: Mapping[Part, UnqoverPlan]
    chosen: Settings


Data = Sequence[Scored]


class UnQover(Method[UnqoverPrepared, Data]):
    """Asks about pairs of subjects, and measures which of them the model prefers."""

    def prepare(self, request: Request, ask: Ask) -> UnqoverPrepared:
        settings = _with_lists(read_settings(Settings, request.settings, self.probe.name), request.data)
        notes: list[str] = []
        if _is_quick(request):
            settings = _quick(settings, request)
        lists = {part: _read(part, settings) for part in _parts(settings, request, ask)}
        if settings.attributes is not None:
            notes += _left_out(settings, lists)
        plans = {part: _plan(part, own, settings, request, ask, notes) for part, own in lists.items()}
        if request.limit is not None:
            plans = _limited(plans, request.limit, notes)
        files = {name: digest for own in lists.values() for name, digest in own.files.items()}
        stages = [Stage(part.label, len(plan)) for part, plan in plans.items()]
        return UnqoverPrepared(as_written(settings), files, stages, notes, request.seed, plans, settings)

    def gather(self, prepared: UnqoverPrepared, ask: Ask) -> Data:
        return [_scored(part, plan, ask(plan, part.label)) for part, plan in prepared.plans.items()]

    def findings(self, prepared: UnqoverPrepared, data: Data) -> Findings:
        found = findings_of(data, prepared.chosen, prepared.seed)
        return replace(found, diagnosis=diagnosis_of(data, prepared.chosen))

    def read_files(self, files: Sequence[Path], request: Request, answers: str | None) -> tuple[UnqoverPrepared, Data]:
        from assay.probes.unqover.score_files import scored_files

        if answers is not None:
            raise UsageError(
                "UnQover's predictions files hold their scores at fixed places.",
                "Leave --answers out.",
                code="bad-option",
                key="answers",
            )
        settings = read_settings(Settings, request.settings, self.probe.name, remedy=SCORE)
        scored, notes = scored_files(files, settings, "class" in request.settings, skip_bad=request.skip_bad)
        return UnqoverPrepared(as_written(settings), {}, (), notes, request.seed, {}, settings), scored

    def generation(self, request: Request) -> Any:
        from assay.probes.unqover.generate import Generation

        return Generation(read_settings(GenerateSettings, request.settings, self.probe.name, remedy=GENERATE))

    def contrast(self, one: Data, other: Data, *, settings: Mapping[str, Any], common: bool) -> Contrast:
        return contrast(self.probe, one, other)

    present = staticmethod(present)
    across = staticmethod(across)
    of_study = staticmethod(of_study)
    side_by_side = staticmethod(side_by_side)
    titles = TITLES


def _scored(part: Part, plan: UnqoverPlan, answers: Answers) -> Scored:
    """One class and form with the model's scores."""
    return Scored(
        part.cls,
        part.form,
        cells_of(plan, answers["score"]),
        labels_of(plan),
        partial(wording_of, plan),
        partial(contents_of, plan),
        plan.released,
    )


def _parts(settings: Settings, request: Request, ask: Ask) -> list[Part]:
    """The classes and forms to ask about."""
    able, wanted = [form for form in FORMS if form in ask.abilities], settings.form
    if not able:
        raise UsageError(
            "this model can neither answer span questions nor fill masks.",
            "UnQover needs an extractive question-answering model or a masked language model.",
            code="missing-ability",
        )
    forms = able if wanted == "auto" else list(FORMS) if wanted == "both" else [wanted]
    for form in forms:
        if form not in able:
            raise UsageError(
                f"this model has not the ability {form!r} that form={wanted} needs; it has {able[0]!r}.",
                f"Ask with --set form={able[0]}, or choose a model for that task.",
                code="missing-ability",
                key="form",
            )
    parts = [Part(cls, form) for form in forms for cls in settings.classes]
    if wanted == "auto" and len(forms) == 2 and request.preset == "quick" and request.limit is None:
        parts = [part for part in parts if part.form == SPAN or part.cls == "gender"]
    return parts


def _is_quick(request: Request) -> bool:
    """Whether the quick preset decides what is asked; in a run of assay 0.1.0 it asked about all attributes."""
    old = request.again and "attributes" not in request.settings
    return request.preset == "quick" and request.limit is None and not old


def _quick(settings: Settings, request: Request) -> Settings:
    """What quick asks about: names, and few attributes, so that each is compared often enough to find something."""
    chosen = settings if "class" in request.settings else replace(settings, cls=CLASSES[0])
    return replace(chosen, attributes=chosen.attributes or QUICK_ATTRIBUTES)


def _left_out(settings: Settings, lists: Mapping[Part, Lists]) -> list[str]:
    """What a run with few attributes did not ask about, in one line."""
    counts = {part.cls: len(own.attributes) for part, own in lists.items()}
    asked = settings.attributes or 0
    few = [f"{min(asked, count)} of {count} attributes of {cls}" for cls, count in counts.items()]
    others = [cls for cls in CLASSES if cls not in counts]
    left_out = f"; not about {', '.join(others)}" if others else ""
    return [f"asked about {', '.join(few)}{left_out}"]


def _plan(part: Part, lists: Lists, settings: Settings, request: Request, ask: Ask, notes: list[str]) -> UnqoverPlan:
    plan = UnqoverPlan(
        part.cls,
        part.form,
        lists.digest,
        word_lists=settings.word_lists,
        seed=request.seed,
        header=settings.header == "newsqa",
        released=settings.released,
        pronouns=settings.pronouns == "on",
        without=unusable(part, lists, ask, notes),
        attributes=settings.attributes,
    )
    wanted = {"standard": STANDARD_CELLS}.get(request.preset)
    if request.preset == "quick":
        asked = min(settings.attributes or 0, len(lists.attributes))
        wanted = QUICK_CELLS * asked if asked else QUICK_0_1[part.cls]
    if request.limit is not None or wanted is None or wanted >= len(plan.table):
        return plan
    return replace(plan, cells=wanted)


def unusable(part: Part, lists: Lists, ask: Ask, notes: list[str]) -> tuple[str, ...]:
    """Subjects that cannot be asked about in this model: in masked sentences those that are not one token."""
    slots = sorted({template.slot for template in lists.templates})
    words = tuple(subject.forms[slot] for slot in slots for subject in lists.subjects)
    answers = ask(WordPlan(words), f"words of {part.label}")
    pieces = answers["pieces"].reshape(len(slots), -1)  # (slot, subject)
    kept = (pieces == 1).all(0) if part.form == MASKED else np.ones(len(lists.subjects), bool)
    _require_different(part, lists, slots, answers, kept)
    left_out = [subject.name for subject, keep in zip(lists.subjects, kept, strict=True) if not keep]
    if left_out:
        notes.append(
            f"{part.label}: {len(left_out)} of {len(lists.subjects)} subjects are not one token of this model and "
            f"are left out: {', '.join(left_out)}"
        )
    if kept.sum() < 2 or (lists.split is not None and not (kept[: lists.split].any() and kept[lists.split :].any())):
        raise DataError(
            f"{part.label}: fewer than two subjects are single tokens of this model, so no pair is left.",
            "Choose other subjects with --set word_lists=DIR, another class, or a model with a larger vocabulary.",
            code="nothing-to-ask",
            key="class",
        )
    return tuple(left_out)


def _read(part: Part, settings: Settings) -> Lists:
    return read_lists(
        part.cls, masked=part.form == MASKED, header=settings.header == "newsqa", folder=settings.word_lists
    )


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
            code="missing-data",
            key="data",
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
                    code="bad-list",
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
        needed = min(len(plan.lists.attributes), plan.attributes or len(plan.lists.attributes))
        if share < needed:
            notes.append(f"{part.label}: {share} cells are too few for all {needed} attributes; raise --limit.")
    return {part: result[part] for part in plans}
