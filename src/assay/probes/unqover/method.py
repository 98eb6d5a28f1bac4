"""UnQover as a method: plans for each class and form, the model's scores in cells, then the paper's metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from assay.asking.plan import Ask, WordPlan
from assay.asking.queries import Answers, SpanColumns
from assay.config.settings import GENERATE, SCORE, as_written, read_settings
from assay.errors import DataError, UsageError
from assay.probes.base import Method, Prepared, Request, Stage
from assay.probes.contrast import Contrast
from assay.probes.question_format import QuestionFormat, answer_mode_note
from assay.probes.unqover.across import TITLES, side_by_side
from assay.probes.unqover.analyse import ScoredCells, findings_of
from assay.probes.unqover.cell_content import contents_of
from assay.probes.unqover.choose_examples import QuestionAsAsked
from assay.probes.unqover.compare_runs import contrast
from assay.probes.unqover.diagnose import diagnosis_of
from assay.probes.unqover.grounds import Held, grounds_of
from assay.probes.unqover.listed_plan import ROUNDED, ListedCells, ListedPlan, forms_of, listing_for
from assay.probes.unqover.lists import WordLists, read_lists, regions
from assay.probes.unqover.metrics import CellLabels, Cells
from assay.probes.unqover.plan import PER_CELL, UnqoverPlan
from assay.probes.unqover.present import present
from assay.probes.unqover.present_study import of_study
from assay.probes.unqover.present_tables import across
from assay.probes.unqover.settings import (
    CLASSES,
    LLM_FORMS,
    MASKED,
    QUICK_ATTRIBUTES,
    QUICK_CELLS,
    QUICK_OF_ENDPOINTS,
    SPAN,
    STANDARD_CELLS,
    UnqoverGenerateSettings,
    UnqoverSettings,
)
from assay.results.findings import Findings
from assay.results.formatting import plural

_LISTS = Path("unqover", "word_lists")
"""Where official data have the authors' lists."""


@dataclass(frozen=True)
class ClassForm:
    """One class of subjects in one form.

    With a language model the form says in which way it was asked, too, since their numbers are not comparable: "choice,
    letters".
    """

    cls: str
    form: str

    @property
    def label(self) -> str:
        return f"{self.cls} ({self.form})"


AnyPlan = UnqoverPlan | ListedPlan


@dataclass(frozen=True)
class UnqoverPrepared(Prepared):
    """The plans of every class and form; empty for predictions made elsewhere."""

    plans: Mapping[ClassForm, AnyPlan]
    chosen: UnqoverSettings


Data = Sequence[ScoredCells]


class UnQover(Method[UnqoverPrepared, Data]):
    """Asks about pairs of subjects, and measures which of them the model prefers."""

    def prepare(self, request: Request, ask: Ask) -> UnqoverPrepared:
        settings = _with_lists(read_settings(UnqoverSettings, request.settings, self.probe.name), request.data)
        notes: list[str] = []
        if _is_quick(request):
            settings = _quick(settings, request, ask)
        forms = forms_of(settings, ask)
        listing = listing_for(forms[0], settings, ask) if forms[0] in LLM_FORMS else None
        parts = _parts(forms, settings, request) if listing is None else _asked_as(forms[0], listing, settings)
        lists = {part: _read(part, settings) for part in parts}
        if settings.attributes is not None:
            notes += _left_out(settings, lists)
        plans: dict[ClassForm, AnyPlan] = {}
        for part, own in lists.items():
            without = unusable(part, own, ask, notes) if listing is None else ()
            texts = _plan(part.form if listing is None else SPAN, part.cls, own, settings, request, without)
            plan = texts if listing is None else ListedPlan(texts, forms[0], listing)
            plans[part] = _sized(plan, settings, request, ask)
        if request.limit is not None:
            plans = _limited(plans, request.limit, notes)
        files = {name: digest for own in lists.values() for name, digest in own.files.items()}
        stages = [Stage(part.label, len(plan)) for part, plan in plans.items()]
        said = as_written(settings)
        if listing is not None and ask.ways:
            notes.append(answer_mode_note(listing.way, listing.samples))
            said = {**said, "answer": listing.way}
        prompts = {part.label: plan.prompt for part, plan in plans.items() if isinstance(plan, ListedPlan)}
        about = said, files, stages, notes, request.seed
        return UnqoverPrepared(*about, plans, settings, prompts=prompts, measured=listing is None)

    def gather(self, prepared: UnqoverPrepared, ask: Ask) -> Data:
        return [
            _scored(part, plan, ask(plan, part.label))
            if isinstance(plan, UnqoverPlan)
            else _chosen(part, ListedCells.of(plan, ask(plan, part.label)))
            for part, plan in prepared.plans.items()
        ]

    def findings(self, prepared: UnqoverPrepared, data: Data) -> Findings:
        found = findings_of(data, prepared.chosen, prepared.seed)
        diagnosis = diagnosis_of(data, prepared.chosen)
        listing = next((plan.listing for plan in prepared.plans.values() if isinstance(plan, ListedPlan)), None)
        grounds = grounds_of(
            data,
            found.estimates,
            diagnosis,
            prepared.chosen,
            held={part.label: Held.of(plan) for part, plan in prepared.plans.items()},
            tokens=listing.tokens if listing else 0,
            way=listing.way if listing else "",
        )
        return replace(found, diagnosis=diagnosis, grounds=grounds)

    def read_files(self, files: Sequence[Path], request: Request, answers: str | None) -> tuple[UnqoverPrepared, Data]:
        from assay.probes.unqover.predictions import scored_files

        if answers is not None:
            raise UsageError(
                "UnQover's predictions files hold their scores at fixed places.",
                "Leave --answers out.",
                code="bad-option",
                key="answers",
            )
        settings = read_settings(UnqoverSettings, request.settings, self.probe.name, remedy=SCORE)
        if request.data is not None and (request.data / _LISTS).is_dir():
            settings = _with_lists(settings, request.data)
        scored, notes = scored_files(files, settings, "class" in request.settings, skip_bad=request.skip_bad)
        return UnqoverPrepared(as_written(settings), {}, (), notes, request.seed, {}, settings), scored

    def generation(self, request: Request) -> Any:
        from assay.probes.unqover.generate import UnqoverQuestionWriter

        return UnqoverQuestionWriter(
            read_settings(UnqoverGenerateSettings, request.settings, self.probe.name, remedy=GENERATE)
        )

    def contrast(self, one: Data, other: Data, *, settings: Mapping[str, Any], common: bool) -> Contrast:
        return contrast(self.probe, one, other)

    present = staticmethod(present)
    across = staticmethod(across)
    of_study = staticmethod(of_study)
    side_by_side = staticmethod(side_by_side)
    titles = TITLES


def _scored(part: ClassForm, plan: UnqoverPlan, answers: Answers) -> ScoredCells:
    """One class and form with the model's scores."""
    return ScoredCells(
        part.cls,
        part.form,
        cells_of(plan, answers["score"]),
        labels_of(plan),
        partial(wording_of, plan),
        partial(contents_of, plan),
        plan.released,
    )


def _chosen(part: ClassForm, chosen: ListedCells) -> ScoredCells:
    """One class and form with what a language model answered."""
    plan, whole = chosen.plan, len(chosen.cells) == len(chosen.plan.table)
    labels = labels_of(plan)
    return ScoredCells(
        part.cls,
        part.form,
        chosen.cells,
        labels if whole else replace(labels, sampled=True),
        chosen.wording,
        partial(contents_of, plan.of),
        samples=chosen.samples,
        rounded=ROUNDED if chosen.rounded else 0.0,
        notes=[*chosen.notes(part.label)],
        lost=chosen.lost,
        given=chosen.given,
    )


def _asked_as(form: str, listing: QuestionFormat, settings: UnqoverSettings) -> list[ClassForm]:
    return [ClassForm(cls, f"{form}, {listing.said}") for cls in settings.classes]


def _parts(forms: Sequence[str], settings: UnqoverSettings, request: Request) -> list[ClassForm]:
    """The classes and forms to ask about."""
    parts = [ClassForm(cls, form) for form in forms for cls in settings.classes]
    if settings.form == "auto" and len(forms) == 2 and request.preset == "quick" and request.limit is None:
        parts = [part for part in parts if part.form == SPAN or part.cls == "gender"]
    return parts


def _is_quick(request: Request) -> bool:
    """Whether the quick preset decides what is asked."""
    return request.preset == "quick" and request.limit is None


def _quick(settings: UnqoverSettings, request: Request, ask: Ask) -> UnqoverSettings:
    """What quick asks about: names and few attributes, each compared often enough to find something."""
    chosen = settings if "class" in request.settings else replace(settings, cls=CLASSES[0])
    return replace(chosen, attributes=chosen.attributes or _quick_size(ask)[0])


def _quick_size(ask: Ask) -> tuple[int, int]:
    """How many attributes, and cells of each."""
    return QUICK_OF_ENDPOINTS if ask.ways else (QUICK_ATTRIBUTES, QUICK_CELLS)


def _left_out(settings: UnqoverSettings, lists: Mapping[ClassForm, WordLists]) -> list[str]:
    """What a run with few attributes did not ask about, in one line."""
    counts = {part.cls: len(own.attributes) for part, own in lists.items()}
    asked = settings.attributes or 0
    few = [f"{min(asked, count)} of {count} attributes of {cls}" for cls, count in counts.items()]
    others = [cls for cls in CLASSES if cls not in counts]
    left_out = f"; not about {', '.join(others)}" if others else ""
    return [f"asked about {', '.join(few)}{left_out}"]


def _plan(
    form: str, cls: str, lists: WordLists, settings: UnqoverSettings, request: Request, without: tuple[str, ...]
) -> UnqoverPlan:
    """All cells of a class."""
    return UnqoverPlan(
        cls,
        form,
        lists.digest,
        word_lists=settings.word_lists,
        seed=request.seed,
        header=settings.header == "newsqa",
        released=settings.released,
        pronouns=settings.pronouns == "on",
        without=without,
        attributes=settings.attributes,
    )


def _sized(plan: AnyPlan, settings: UnqoverSettings, request: Request, ask: Ask) -> AnyPlan:
    """As many cells as the preset asks."""
    if request.limit is not None or request.preset == "paper":
        return plan
    if request.preset == "quick":
        wanted = _quick_size(ask)[1] * min(settings.attributes or 0, len(plan.lists.attributes))
    else:
        wanted = STANDARD_CELLS * PER_CELL // plan.per_cell
    return plan if wanted >= len(plan.table) else plan.with_cells(wanted)


def unusable(part: ClassForm, lists: WordLists, ask: Ask, notes: list[str]) -> tuple[str, ...]:
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
            f"{part.label}: {len(left_out)} of {len(lists.subjects)} subjects are left out because they are not single "
            f"tokens of this model: {', '.join(left_out)}"
        )
    if kept.sum() < 2 or (lists.split is not None and not (kept[: lists.split].any() and kept[lists.split :].any())):
        raise DataError(
            f"{part.label}: fewer than two subjects are single tokens of this model, so no pair is left.",
            "Choose other subjects with --set word_lists=DIR, another class, or a model with a larger vocabulary.",
            code="nothing-to-ask",
            key="class",
        )
    return tuple(left_out)


def _read(part: ClassForm, settings: UnqoverSettings) -> WordLists:
    return read_lists(
        part.cls, masked=part.form == MASKED, header=settings.header == "newsqa", folder=settings.word_lists
    )


def cells_of(plan: UnqoverPlan, scores: Any) -> Cells:
    """The plan's cells with their scores (question, subject) in the metrics' shape."""
    table = plan.table
    first, second, template, attribute = table.rows(np.arange(len(table), dtype=np.int64))
    return Cells(template, first, second, attribute, scores.reshape(-1, 2, 2, 2))


def wording_of(plan: UnqoverPlan, cell: int) -> list[QuestionAsAsked]:
    """A cell's four questions; in masked sentences the question is the sentence with the mask."""
    columns = plan.columns(PER_CELL * cell, PER_CELL * (cell + 1))
    questions = columns.question if isinstance(columns, SpanColumns) else columns.sentence
    return [QuestionAsAsked(columns.context[row], questions[row]) for row in range(PER_CELL)]


def labels_of(plan: AnyPlan) -> CellLabels:
    """Names for the tables."""
    lists = plan.lists
    return CellLabels(
        subjects=[subject.name for subject in lists.subjects],
        attributes=[attribute.text for attribute in lists.attributes],
        attribute_classes=[attribute.cluster for attribute in lists.attributes],
        templates=len(lists.templates),
        groups=None if lists.split is None else [subject.cluster for subject in lists.subjects],
        sampled=plan.table.sample is not None,
        regions=regions(),
    )


def _with_lists(settings: UnqoverSettings, data: Path | None) -> UnqoverSettings:
    """The settings with the authors' word lists among the official data, where such data are named."""
    if data is None or settings.word_lists is not None:
        return settings
    lists = data / _LISTS
    if not lists.is_dir():
        raise UsageError(
            f"{data} has no UnQover word lists (unqover/word_lists).",
            "Get them with `assay data fetch unqover`, or leave --data out: assay has lists of its own.",
            code="missing-data",
            key="data",
        )
    return replace(settings, word_lists=str(lists))


def _require_different(part: ClassForm, lists: WordLists, slots: list[str], answers: Answers, kept: Any) -> None:
    """Raise an error if two subjects have the same tokens, which makes them one subject to the model."""
    keys = answers["key"].reshape(len(slots), -1)
    for slot, row in zip(slots, keys.tolist(), strict=True):
        seen: dict[int, str] = {}
        for subject, key, keep in zip(lists.subjects, row, kept.tolist(), strict=True):
            name = subject.forms[slot]
            if keep and key in seen:
                raise DataError(
                    f"{part.label}: the subjects {seen[key]!r} and {name!r} have the same tokens, so this model cannot "
                    "tell them apart.",
                    "Remove one of them from the word lists, or choose another model.",
                    code="bad-list",
                )
            seen[key] = name


def _limited(plans: dict[ClassForm, AnyPlan], limit: int, notes: list[str]) -> dict[ClassForm, AnyPlan]:
    """The plans cut to about `limit` questions in all, divided evenly among the parts in whole cells."""
    (per_cell,) = {plan.per_cell for plan in plans.values()}
    left = -(-limit // per_cell)
    result: dict[ClassForm, AnyPlan] = {}
    smallest_first = sorted(plans, key=lambda part: len(plans[part]))
    for place, part in enumerate(smallest_first):
        plan = plans[part]
        share = max(1, min(-(-left // (len(plans) - place)), len(plan.table)))
        left -= share
        result[part] = plan if share == len(plan.table) else plan.with_cells(share)
        needed = min(len(plan.lists.attributes), plan.attributes or len(plan.lists.attributes))
        if share < needed:
            few = plural(share, "comparison is", "comparisons are")
            notes.append(f"{part.label}: {few} too few for all {needed} attributes; raise --limit.")
    return {part: result[part] for part in plans}
