"""UnQover's questions for language models: the same cells and texts, with options to choose from or without.

A cell is asked in both orders of the subjects in the text, both orders of the subjects among the options, and as asked
and negated: eight questions, in which no place goes with a subject. UNKNOWN's place is drawn for each cell and is the
same in all of its questions. Where no options are listed, four questions are left.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from assay.asking.messages import FIELD_MODES, PromptRecord
from assay.asking.plan import Ask, digest_of
from assay.asking.queries import Answers, QueryColumns, SpanColumns, Status
from assay.errors import UsageError
from assay.probes.question_format import ListedQuestion, QuestionFormat, question_format_for
from assay.probes.unqover.cells import Cells, ListedShares
from assay.probes.unqover.choose_examples import QuestionAsAsked
from assay.probes.unqover.lists import WordLists
from assay.probes.unqover.plan import PER_CELL, CellTable, UnqoverPlan
from assay.probes.unqover.settings import CHOICE, FORCED, FORMS, FREE, LLM_FORMS, UNKNOWN, UnqoverSettings
from assay.results.formatting import plural

VERSION = 1
"""Raise it when the same recipe gives different questions than before."""

ROUNDED = 0.01
"""Some services round probabilities to two decimals."""

_PAIRS = np.array([[0, 1], [1, 0]])  # (option order, place): which subject stands there
_BOTH = np.array([[[2, 0, 1], [0, 2, 1], [0, 1, 2]], [[2, 1, 0], [1, 2, 0], [1, 0, 2]]])
"""(option order, UNKNOWN's place, place): which option stands there; 2 is UNKNOWN."""

_NEEDS = {"span": "an extractive QA model", "mask": "a masked language model"}
_NO_ANSWER = {
    Status.FAILED: "failed",
    Status.EMPTY: "empty",
    Status.UNCLEAR: "answered with none of the options",
}


@dataclass(frozen=True)
class ListedPlan:
    """The cells of `of`, whose texts and questions these are, in one of the forms for language models."""

    of: UnqoverPlan
    form: str
    listing: QuestionFormat

    @property
    def ability(self) -> str:
        return self.listing.ability

    @property
    def digest(self) -> str:
        unknown = UNKNOWN if self.form == CHOICE else ""
        content = [self.of.digest, self.form, unknown, *self.listing.content]
        return digest_of({"plan": "unqover, options", "version": VERSION, "content": content})

    @property
    def table(self) -> CellTable:
        return self.of.table

    @property
    def lists(self) -> WordLists:
        return self.of.lists

    @property
    def attributes(self) -> int | None:
        return self.of.attributes

    @property
    def orders(self) -> int:
        """Orders of the subjects among the options."""
        return 1 if self.form == FREE else 2

    @property
    def per_cell(self) -> int:
        return PER_CELL * self.orders

    def with_cells(self, cells: int) -> ListedPlan:
        return replace(self, of=self.of.with_cells(cells))

    def __len__(self) -> int:
        return self.per_cell * len(self.table)

    def columns(self, lo: int, hi: int) -> QueryColumns:
        return self.listing.columns(self.asked(lo, hi))

    def asked(self, lo: int, hi: int) -> list[ListedQuestion]:
        """Questions lo to hi with their options as they are shown, or as answers are read for them."""
        row = np.arange(lo, hi, dtype=np.int64)
        cell, rest = np.divmod(row, self.per_cell)
        order, polarity = rest // (2 * self.orders), rest % 2
        start = lo // self.per_cell
        texts = self.of.columns(PER_CELL * start, PER_CELL * (-(-hi // self.per_cell)))
        assert isinstance(texts, SpanColumns)  # the plan's form
        text_rows = PER_CELL * (cell - start) + 2 * order + polarity
        questions = []
        for text_row, options in zip(text_rows.tolist(), self.shown(row).tolist(), strict=True):
            query = texts.row(text_row)
            people = [query.context[start:end] for start, end in query.subjects]  # in the words that the text has
            names = [*people, UNKNOWN]
            questions.append(ListedQuestion(query.context, query.question, tuple(names[k] for k in options)))
        return questions

    def shown(self, row: NDArray[np.int64]) -> NDArray[np.int64]:
        """Which option (0 and 1: the subjects, 2: UNKNOWN) stands at each place of these questions (row, place)."""
        if self.form == FREE:
            return np.broadcast_to(np.arange(3), (len(row), 3))
        swapped = (row // 2) % 2
        if self.form == FORCED:
            return _PAIRS[swapped]
        return _BOTH[swapped, unknown_place(self.table, row // self.per_cell, self.of.seed)]

    @property
    def prompt(self) -> PromptRecord:
        """How the first question is put."""
        (first,) = self.asked(0, 1)
        return self.listing.prompt(first, self.form)


def unknown_place(table: CellTable, cells: NDArray[np.int64], seed: int) -> NDArray[np.int64]:
    """Where UNKNOWN stands among the options of cells: first, in the middle or last, drawn by the seed for each.

    What is drawn depends on what the cell is about, not on which others are asked: so a larger sample asks what a
    smaller one asked in the same words.
    """
    mixed = np.full(len(cells), seed % 2**63, np.uint64)
    for column in table.rows(cells):
        mixed = (mixed ^ (column.astype(np.uint64) + np.uint64(0x9E3779B9))) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    return (mixed * np.uint64(0xBF58476D1CE4E5B9) >> np.uint64(40)).astype(np.int64) % 3


@dataclass(frozen=True)
class ListedCells:
    """What a language model answered: cells whose every question has an answer, and which of the plan's they are."""

    plan: ListedPlan
    answers: Answers
    cells: Cells
    kept_cells: NDArray[np.int64]
    rounded: bool  # probabilities are multiples of 0.01
    unread: int  # questions to which answers were written that name none of the options, or several
    lost: Mapping[str, int]  # answers that name no option, by why (`assay.probes.diagnose.LOST`)

    @staticmethod
    def of(plan: ListedPlan, answers: Answers) -> ListedCells:
        rows = np.arange(len(plan), dtype=np.int64)
        option_at = plan.shown(rows)
        questions = plan.asked(0, len(plan)) if plan.ability in ("text", "sample") else []
        names = [question.options for question in questions] or [("",) * option_at.shape[1]]
        by_place = plan.listing.shares(answers, names.__getitem__)  # (row, place)
        answered = np.isin(answers.status, (Status.OK, Status.TRUNCATED))
        unread = int((answered & (by_place.sum(axis=1) == 0)).sum())
        shares = np.empty_like(by_place)
        np.put_along_axis(shares, option_at, by_place, axis=1)  # (row, option)
        shares = shares.reshape(-1, 2, plan.orders, 2, option_at.shape[1]).astype(np.float32)
        kept_cells = np.flatnonzero(np.isfinite(shares).all(axis=(1, 2, 3, 4)))
        # (cell, option order, option)
        positions = option_at.reshape(*shares.shape)[:, 0, :, 0][kept_cells].argsort(axis=-1)
        places = None if plan.form == FREE else positions.astype(np.int8)
        first, second, template, attribute = plan.table.rows(kept_cells)
        scores = shares[kept_cells, ..., :2].mean(axis=2)
        cells = Cells(template, first, second, attribute, scores, ListedShares(shares[kept_cells], places))
        lost = plan.listing.lost(answers, by_place, names.__getitem__)
        return ListedCells(plan, answers, cells, kept_cells, _are_rounded(plan, answers), unread, lost)

    @property
    def given(self) -> int:
        """How many answers were asked for."""
        return len(self.answers) * self.plan.listing.times

    @property
    def samples(self) -> int:
        """Answers drawn to each question; 0 where none are drawn."""
        return self.plan.listing.times if self.plan.ability == "sample" else 0

    def wording(self, cell: int) -> list[QuestionAsAsked]:
        """A cell's questions as they were put, with what was written."""
        lo = self.plan.per_cell * int(self.kept_cells[cell])
        hi = lo + self.plan.per_cell
        option_at = self.plan.shown(np.arange(lo, hi, dtype=np.int64)).tolist()
        questions = self.plan.asked(lo, hi)
        prompts = [self.plan.listing.told(question) for question in questions]
        return [
            QuestionAsAsked(question.context, question.question, options, prompt, self._written(row))
            for row, question, options, prompt in zip(range(lo, hi), questions, option_at, prompts, strict=True)
        ]

    def _written(self, row: int) -> str | None:
        if "text" not in self.answers.arrays:
            return None
        return bytes(self.answers["text"].reshape(len(self.answers), -1)[row, 0]).decode()

    def notes(self, label: str) -> Iterator[str]:
        """What a reader must know about the answers."""
        counts = Counter(self.answers.status.tolist())
        refused = counts[Status.REFUSED] + counts[Status.FILTERED]
        if refused:
            questions = plural(refused, "question was", "questions were")
            yield f"{label}: {questions} refused or filtered; such an answer names no one"
        if self.unread:
            none = "names" if self.unread == 1 else "name"
            yield f"{label}: {plural(self.unread, 'written answer')} {none} none of the options, or several"
        n_cells, n_kept = len(self.plan.table), len(self.kept_cells)
        if n_kept < n_cells:
            reasons = ", ".join(f"{counts[kind]:,} {reason}" for kind, reason in _NO_ANSWER.items() if counts[kind])
            left_out = f"{n_cells - n_kept:,} of {n_cells:,} comparisons are left out"
            yield f"{label}: {left_out} because a question has no answer ({reasons})"


def _are_rounded(plan: ListedPlan, answers: Answers) -> bool:
    """Whether a service rounds its probabilities: all are multiples of 0.01, and some lie between 0 and 1."""
    if plan.listing.way not in FIELD_MODES:
        return False
    hundredths = np.exp(answers["score"][np.isfinite(answers["score"]).any(axis=1)].astype(np.float64)) / ROUNDED
    between = (hundredths > 0.5) & (hundredths < 1 / ROUNDED - 0.5)
    return bool(between.any() and (np.abs(hundredths - np.round(hundredths)) < 1e-3).all())


# --- which form: as set, or what the model supports


def forms_of(settings: UnqoverSettings, ask: Ask) -> list[str]:
    """The forms to ask in: those for language models, or the others."""
    marks, form_setting = [form for form in FORMS if form in ask.abilities], settings.form
    supported = [*marks, *(LLM_FORMS if ask.ways or "text" in ask.abilities else ())]
    if not supported:
        raise UsageError(
            "this model can neither answer span questions nor fill masks, and it reads no options.",
            "UnQover needs an extractive question-answering model, a masked language model or a language model that "
            "answers in words.",
            code="missing-ability",
        )
    forms = {"auto": marks or [CHOICE], "both": [*FORMS]}.get(form_setting, [form_setting])
    for form in forms:
        if form not in supported:
            needs = _NEEDS.get(form, "a language model, which reads options")
            problem = f"form={form_setting} needs {needs}; this model supports form={'|'.join(supported)}."
            remedy = f"Use --set form={supported[0]}, or choose a model for that task."
            raise UsageError(problem, remedy, code="missing-ability", key="form")
    if forms[0] not in LLM_FORMS and settings.answer != "auto":
        problem = f"answer={settings.answer} is for language models behind endpoints."
        raise UsageError(problem, "Leave it out.", code="unsupported", key="answer")
    return forms


def listing_for(form: str, settings: UnqoverSettings, ask: Ask) -> QuestionFormat:
    """How a language model is asked.

    Ten answers to one question cost as much as ten more comparisons and are worth less. So a model without
    probabilities is asked once, unless samples are set.
    """
    for key, value, default in (("compat", settings.compat, "paper"), ("header", settings.header, "none")):
        if value != default:
            problem = f"{key}={value} is for span questions and masked sentences, not for form={form}."
            raise UsageError(problem, "Leave it out.", code="unsupported", key=key)
    answer_mode = settings.answer
    if answer_mode == "auto" and ask.ways[:1] == ("samples",) and "text" in ask.ways:
        answer_mode = "text"
    chat, listed = settings.chat == "auto", form != FREE
    return question_format_for(answer_mode, settings.samples, ask, chat=chat, tokens=settings.tokens, listed=listed)
