"""UnQover as a method: plans for each class and form, the model's scores in cells, then the paper's metrics."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

import numpy as np

from assay.asking.plan import Ask
from assay.asking.progress import Progress
from assay.asking.queries import MASK, Answers, SpanColumns
from assay.config.settings import GENERATE, SCORE, as_written, read_settings
from assay.errors import UsageError
from assay.files.atomic import open_atomically
from assay.probes.base import Method, Prepared, Request, Stage
from assay.probes.contrast import Contrast
from assay.probes.question_format import QuestionFormat, answer_mode_note
from assay.probes.unqover.analyse import ScoredCells, findings_of
from assay.probes.unqover.cells import CellLabels, Cells
from assay.probes.unqover.choose_examples import QuestionAsAsked
from assay.probes.unqover.compare_runs import TITLES, contrast, side_by_side
from assay.probes.unqover.diagnose import diagnosis_of
from assay.probes.unqover.forms import ROUNDED, ListedCells, ListedPlan, forms_of, listing_for
from assay.probes.unqover.grounds import Held, grounds_of
from assay.probes.unqover.lists import WordLists, read_lists, regions
from assay.probes.unqover.plan import PER_CELL, ClassForm, UnqoverPlan, contents_of, unusable
from assay.probes.unqover.present import present
from assay.probes.unqover.present_tables import across, of_study
from assay.probes.unqover.settings import (
    CLASSES,
    LLM_FORMS,
    MASKED,
    MASKS,
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
        is_quick = request.preset == "quick" and request.limit is None
        if is_quick:  # names and few attributes, each compared often enough to find something
            cls = settings.cls if "class" in request.settings else CLASSES[0]
            settings = replace(settings, cls=cls, attributes=settings.attributes or _quick_size(ask)[0])
        forms = forms_of(settings, ask)
        listing = listing_for(forms[0], settings, ask) if forms[0] in LLM_FORMS else None
        lists_by_part = {
            part: read_lists(
                part.cls, masked=part.form == MASKED, header=settings.header == "newsqa", folder=settings.word_lists
            )
            for part in _parts(forms, listing, settings, is_quick)
        }
        if settings.attributes is not None:
            notes.append(_attributes_note(settings.attributes, lists_by_part))
        plans: dict[ClassForm, AnyPlan] = {}
        for part, lists in lists_by_part.items():
            without = unusable(part, lists, ask, notes) if listing is None else ()
            form = part.form if listing is None else SPAN
            texts = _plan(form, part.cls, lists, settings, request, without)
            plan = texts if listing is None else ListedPlan(texts, forms[0], listing)
            plans[part] = _sized(plan, settings, request, ask)
        if request.limit is not None:
            plans = _limited(plans, request.limit, notes)
        recorded_settings = as_written(settings)
        if listing is not None and ask.ways:
            notes.append(answer_mode_note(listing.way, listing.samples))
            recorded_settings = {**recorded_settings, "answer": listing.way}
        return UnqoverPrepared(
            settings=recorded_settings,
            data={name: digest for lists in lists_by_part.values() for name, digest in lists.files.items()},
            stages=[Stage(part.label, len(plan)) for part, plan in plans.items()],
            notes=notes,
            seed=request.seed,
            plans=plans,
            chosen=settings,
            prompts={part.label: plan.prompt for part, plan in plans.items() if isinstance(plan, ListedPlan)},
            measured=listing is None,
        )

    def gather(self, prepared: UnqoverPrepared, ask: Ask) -> Data:
        return [
            _scored(part, plan, ask(plan, part.label))
            if isinstance(plan, UnqoverPlan)
            else _listed(part, ListedCells.of(plan, ask(plan, part.label)))
            for part, plan in prepared.plans.items()
        ]

    def findings(self, prepared: UnqoverPrepared, data: Data) -> Findings:
        findings = findings_of(data, prepared.chosen, prepared.seed)
        diagnosis = diagnosis_of(data, prepared.chosen)
        listing = next((plan.listing for plan in prepared.plans.values() if isinstance(plan, ListedPlan)), None)
        grounds = grounds_of(
            data,
            findings.estimates,
            diagnosis,
            prepared.chosen,
            held={part.label: Held.of(plan) for part, plan in prepared.plans.items()},
            tokens=listing.tokens if listing else 0,
            way=listing.way if listing else "",
        )
        return replace(findings, diagnosis=diagnosis, grounds=grounds)

    def read_files(self, files: Sequence[Path], request: Request, answers: str | None) -> tuple[UnqoverPrepared, Data]:
        from assay.probes.unqover.predictions import scored_files

        if answers is not None:
            problem = "UnQover's predictions files hold their scores at fixed places."
            raise UsageError(problem, "Leave --answers out.", code="bad-option", key="answers")
        settings = read_settings(UnqoverSettings, request.settings, self.probe.name, remedy=SCORE)
        if request.data is not None and (request.data / _LISTS).is_dir():
            settings = _with_lists(settings, request.data)
        scored, notes = scored_files(files, settings, "class" in request.settings, skip_bad=request.skip_bad)
        return UnqoverPrepared(as_written(settings), {}, (), notes, request.seed, {}, settings), scored

    def generation(self, request: Request) -> Any:
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


def _listed(part: ClassForm, answered: ListedCells) -> ScoredCells:
    """One class and form with what a language model answered."""
    plan, labels = answered.plan, labels_of(answered.plan)
    is_whole = len(answered.cells) == len(plan.table)
    return ScoredCells(
        part.cls,
        part.form,
        answered.cells,
        labels if is_whole else replace(labels, sampled=True),
        answered.wording,
        partial(contents_of, plan.of),
        samples=answered.samples,
        rounded=ROUNDED if answered.rounded else 0.0,
        notes=[*answered.notes(part.label)],
        lost=answered.lost,
        given=answered.given,
    )


def _parts(
    forms: Sequence[str], listing: QuestionFormat | None, settings: UnqoverSettings, is_quick: bool
) -> list[ClassForm]:
    """The classes and forms to ask about."""
    if listing is not None:
        return [ClassForm(cls, f"{forms[0]}, {listing.said}") for cls in settings.classes]
    parts = [ClassForm(cls, form) for form in forms for cls in settings.classes]
    if is_quick and settings.form == "auto" and len(forms) == 2:
        return [part for part in parts if part.form == SPAN or part.cls == "gender"]
    return parts


def _quick_size(ask: Ask) -> tuple[int, int]:
    """How many attributes, and cells of each."""
    return QUICK_OF_ENDPOINTS if ask.ways else (QUICK_ATTRIBUTES, QUICK_CELLS)


def _attributes_note(n_asked: int, lists_by_part: Mapping[ClassForm, WordLists]) -> str:
    """What a run with few attributes did not ask about, in one line."""
    counts = {part.cls: len(lists.attributes) for part, lists in lists_by_part.items()}
    asked = ", ".join(f"{min(n_asked, count)} of {count} attributes of {cls}" for cls, count in counts.items())
    left_out = ", ".join(cls for cls in CLASSES if cls not in counts)
    return f"asked about {asked}{f'; not about {left_out}' if left_out else ''}"


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
        n_cells = _quick_size(ask)[1] * min(settings.attributes or 0, len(plan.lists.attributes))
    else:
        n_cells = STANDARD_CELLS * PER_CELL // plan.per_cell
    return plan if n_cells >= len(plan.table) else plan.with_cells(n_cells)


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
        problem = f"{data} has no UnQover word lists (unqover/word_lists)."
        remedy = "Get them with `assay data fetch unqover`, or leave --data out: assay has lists of its own."
        raise UsageError(problem, remedy, code="missing-data", key="data")
    return replace(settings, word_lists=str(lists))


def _limited(plans: dict[ClassForm, AnyPlan], limit: int, notes: list[str]) -> dict[ClassForm, AnyPlan]:
    """The plans cut to about `limit` questions in all, divided evenly among the parts in whole cells."""
    (per_cell,) = {plan.per_cell for plan in plans.values()}
    cells_left = -(-limit // per_cell)
    limited = dict(plans)
    smallest_first = sorted(plans, key=lambda part: len(plans[part]))
    for i, part in enumerate(smallest_first):
        plan = plans[part]
        share = max(1, min(-(-cells_left // (len(plans) - i)), len(plan.table)))
        cells_left -= share
        limited[part] = plan if share == len(plan.table) else plan.with_cells(share)
        needed = min(len(plan.lists.attributes), plan.attributes or len(plan.lists.attributes))
        if share < needed:
            comparisons = plural(share, "comparison is", "comparisons are")
            notes.append(f"{part.label}: {comparisons} too few for all {needed} attributes; raise --limit.")
    return limited


# --- questions in the authors' JSON (see predictions.py), for their programs or any other


_SOME = 1000
"""Examples written between two signs of progress."""


@dataclass(frozen=True)
class UnqoverQuestionWriter:
    """A file of questions that somebody wants."""

    settings: UnqoverGenerateSettings

    counted: ClassVar[str] = "ordered pairs, two questions each"

    @property
    def label(self) -> str:
        return f"{self.settings.cls} ({self.settings.form})"

    def notes(self) -> list[str]:
        return []

    def write_to(self, out: Path, ask: Ask | None, meter: Progress) -> int:
        """Write the file, whole or not at all; returns how many examples it has."""
        if out.is_dir():
            remedy = "Name the file to write with --out."
            raise UsageError("this is a folder.", remedy, code="bad-option", file=out, key="out")
        plan = self.plan(ask)
        meter.start(self.label, len(plan))
        with open_atomically(out) as file:
            return self.write(file, plan, meter.advance)

    def plan(self, ask: Ask | None) -> UnqoverPlan:
        """All questions of the class; `ask` says which subjects are single tokens where no list does."""
        cls, form, folder = self.settings.cls, self.settings.form, self.settings.word_lists
        masked = MASKS[form] is not None
        family = form if masked and folder and ask is None else ""
        lists = read_lists(cls, masked=masked, header=form == "newsqa", family=family, folder=folder)
        plan = UnqoverPlan(
            cls,
            MASKED if masked else SPAN,
            lists.digest,
            folder,
            header=form == "newsqa",
            released=self.settings.compat == "released",
            family=family,
        )
        if not masked or family:
            return plan
        if ask is None:
            problem = f"the packaged lists do not say which subjects are one token of a {form} model."
            remedy = "Name the model with --model hf:…, or the authors' lists with --set word_lists=DIR."
            raise UsageError(problem, remedy, code="missing-setting", key="model")
        if MASKED not in ask.abilities:
            problem = "this model cannot fill masks."
            raise UsageError(problem, "Name a masked language model with --model.", code="missing-ability", key="model")
        return replace(plan, without=unusable(ClassForm(cls, MASKED), lists, ask, []))

    def write(self, file: BinaryIO, plan: UnqoverPlan, advance: Callable[[int], None]) -> int:
        """Write the plan's examples as one JSON object, an example a line; returns how many.

        An example has two questions; `advance` is told of questions.
        """
        count = 0
        for key, value in entries(plan, MASKS[self.settings.form]):
            line = f"{json.dumps(key, ensure_ascii=False)}: {json.dumps(value, ensure_ascii=False)}"
            file.write((("{\n" if count == 0 else ",\n") + line).encode())
            count += 1
            if count % _SOME == 0:
                advance(2 * _SOME)
        file.write(b"\n}\n")
        if count % _SOME:
            advance(2 * (count % _SOME))
        return count


def entries(plan: UnqoverPlan, mask: str | None) -> Iterator[tuple[str, dict[str, Any]]]:
    """All examples in the authors' order: every pair, then every pair reversed."""
    lists, table = plan.lists, plan.table
    per_pair = len(table.combinations)
    for swapped in (False, True):
        for pair, ends in enumerate(table.pairs.tolist()):
            columns = plan.columns(PER_CELL * pair * per_pair, PER_CELL * (pair + 1) * per_pair)
            wordings = columns.question if isinstance(columns, SpanColumns) else columns.sentence
            people = [lists.subjects[k] for k in (reversed(ends) if swapped else ends)]
            clusters, names = "|".join(person.cluster for person in people), "|".join(person.name for person in people)
            for index, (template, attribute) in enumerate(table.combinations.tolist()):
                slot, act = lists.templates[template].slot, lists.attributes[attribute]
                row = PER_CELL * index + 2 * swapped
                texts = (person.forms[slot] for person in people)
                answers = {f"ans{k}": {"text": text, "start": "", "end": ""} for k, text in enumerate(texts)}
                value: dict[str, Any] = {"context": columns.context[row]}
                for k in (0, 1):
                    value[f"q{k}"] = {"question": wordings[row + k].replace(MASK, mask or MASK), "pred": "", **answers}
                yield f"{clusters}|{names}|{template}|{act.cluster}|{act.text}|{act.text}", value
