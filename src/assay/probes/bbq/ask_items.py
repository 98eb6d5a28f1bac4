"""How items are asked: the form of the questions, of an endpoint several answers to each, and asking in two steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.asking.messages import PromptRecord
from assay.asking.option_prompts import ANSWER_MODES, FIELD_MODES
from assay.asking.plan import Ask
from assay.asking.queries import Answers, ChoiceQuery, Status, TextQuery
from assay.errors import UsageError
from assay.languages import ENGLISH
from assay.probes.base import Stage
from assay.probes.bbq import settings as forms
from assay.probes.bbq.items import OPTIONS as N_OPTIONS
from assay.probes.bbq.plan import AnsweringPlan, BBQPlan, WritingPlan
from assay.probes.bbq.prompt_sources import prompt_setting, require_slots
from assay.probes.bbq.prompts import OWN, PromptWording, prompt_of
from assay.probes.bbq.settings import (
    ARC,
    CHOICE_FORMS,
    FIRST,
    FREE,
    LETTERS,
    LISTED_FORMS,
    OPTIONS,
    RACE,
    TEXT_FORMS,
    UNLISTED_FORMS,
    WRITTEN,
    BBQSettings,
)
from assay.probes.question_format import TOKENS, answer_mode_for, count_named, most_named


def choose_form(
    settings: BBQSettings, words: PromptWording, abilities: frozenset[str], ways: Sequence[str] = ()
) -> str:
    """The form; raises UsageError if form, words and model do not go together.

    `ways` are the ways to ask an endpoint for letters.
    """
    able = abilities & {"choice", "listed", "text"}
    if not able:
        problem = "this model can neither choose between options nor write an answer."
        remedy = "BBQ needs a multiple-choice model, a text-to-text model or a causal language model."
        raise UsageError(problem, remedy, code="missing-ability")
    brought = [name for name, text in (("variant", words.variant), *_brought(words)) if text]
    form = settings.form if settings.form != "auto" else _suiting(words, able, bool(ways))
    if form != LETTERS or not ways:
        _require_able(form, able, bool(ways))
    if words.two_steps and ways and "text" not in able:
        problem = f"with variant={words.variant} the model writes first, and this endpoint does not write text."
        remedy = "--set variant=baseline|q|q+if"
        raise UsageError(problem, remedy, code="missing-ability", key="variant")
    if brought and not able & {"text", "listed"}:
        problem = f"{brought[0]} is for language models; this model was trained to compare the options themselves."
        raise UsageError(problem, f"Leave out {_listed(brought)}.", code="unsupported", key=brought[0])
    _require_together(settings, words, form, brought)
    return form


def _require_able(form: str, able: frozenset[str], endpoint: bool) -> None:
    needed, others = ("choice", TEXT_FORMS) if form in CHOICE_FORMS else ("text", CHOICE_FORMS)
    if needed not in able:
        needs = {"choice": "scores options", "text": "writes text"}[needed]
        problem = f"form={form} requires a model that {needs}; this one does not."
        other = LETTERS if endpoint else "|".join(others)
        raise UsageError(problem, f"--set form={other}", code="missing-ability", key="form")
    if form == LETTERS and "text" not in able:
        problem = f"form={form} is for language models; this model was trained to compare the options themselves."
        raise UsageError(problem, "--set form=options", code="unsupported", key="form")


def _brought(words: PromptWording) -> Sequence[tuple[str, object]]:
    return (prompt_setting(words), words.template), ("system", words.system), ("shots", words.shots)


def _suiting(words: PromptWording, able: frozenset[str], endpoint: bool) -> str:
    """The form for a model: letters if options are listed and the model scores, else options, or written answers.

    An endpoint is asked for letters, unless a prompt lists no options.
    """
    if endpoint:
        return FREE if words.template and not words.lists_options else LETTERS
    scored = "choice" in able
    if words.lists_options:
        return LETTERS if scored else WRITTEN
    if scored:
        return OPTIONS
    return FREE if words.template else WRITTEN if words != OWN else RACE


def _require_together(settings: BBQSettings, words: PromptWording, form: str, brought: Sequence[str]) -> None:
    if words.language != ENGLISH and (words.variant or form in (RACE, ARC)):
        key, value = ("variant", words.variant) if words.variant else ("form", form)
        problem = f"{key}={value} is a published input in English, and these questions are not in English."
        remedy = "Leave it out." if words.variant else f"--set form={WRITTEN}|{FREE}"
        raise UsageError(problem, remedy, code="unsupported", key=key)
    if words.variant and words.template:
        problem = "variant and prompt exclude each other: each has all words of the question."
        raise UsageError(problem, "Leave one of them out.", code="bad-setting", key="prompt")
    if words.variant and form not in LISTED_FORMS:
        problem = f"variant={words.variant} lists the options, and form={form} does not."
        remedy = f"--set form={'|'.join(LISTED_FORMS)}"
        if form not in UNLISTED_FORMS:
            problem = f"variant={words.variant} and form={form} each have their own words."
        raise UsageError(problem, remedy, code="bad-setting", key="variant")
    if brought and form not in (*LISTED_FORMS, *UNLISTED_FORMS):
        problem = f"form={form} is the paper's exact input; it does not take {_listed(brought)}."
        raise UsageError(problem, f"--set form={WRITTEN}|{FREE}", code="bad-setting", key=brought[0])
    if words.lists_singly and form not in LISTED_FORMS:
        problem = f"prompts={settings.prompts} lists the options, and form={form} does not."
        raise UsageError(problem, f"--set form={'|'.join(LISTED_FORMS)}", code="bad-setting", key="prompts")
    if words.template and not words.lists_singly:
        require_slots(words.template, form, settings.prompt)


def _listed(names: Sequence[str]) -> str:
    return " and ".join(names)


# --- on an endpoint: how it is asked, and how several answers to one question are combined


SHARES = "share of the answers that name the option"


def endpoint_arguments(settings: BBQSettings, form: str, words: PromptWording, ask: Ask) -> dict[str, Any]:
    """How an endpoint is asked, as arguments of a plan; for other models such settings are an error."""
    tokens = settings.tokens or (TOKENS if ask.ways else 0)
    if not ask.ways or form != forms.LETTERS:
        if settings.answer != "auto" and not (ask.ways and settings.answer == "text"):
            why = "is for form=letters" if ask.ways else "is for endpoints"
            raise UsageError(f"answer={settings.answer} {why}.", "Leave it out.", code="unsupported", key="answer")
        return {"tokens": tokens}
    way = answer_mode_for(settings.answer, ask)
    if not words.ordinary and way in FIELD_MODES:
        problem = f"answer={way} has fields for context, question and options only, not for other words."
        others = sorted(set(ask.ways) - FIELD_MODES, key=list(ANSWER_MODES).index)
        other = "letters" if "letters" in others else next(iter(others), "")
        remedy = f"--set answer={other}" if other else "Leave out variant, prompt, system and shots."
        raise UsageError(problem, remedy, code="unsupported", key="answer")
    return {"answer": way, "samples": settings.samples, "tokens": tokens}


def vote(
    plan: BBQPlan, answers: Answers, parsing: str, read: Callable[[BBQPlan, int, str, str], int]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The share of a question's answers that name each option (row, option), and the option that most of them name.

    TIED if several are named most often. If none is named: REFUSED if an answer is a refusal, else UNPARSED.
    """
    named, counts = count_named(answers["text"], lambda row, text: read(plan, row, text, parsing), N_OPTIONS)
    return counts / named.shape[1], most_named(named, counts)


# --- in one step or two: the second step's questions contain what the model wrote in the first


WROTE = "(what the model wrote)"
"""The placeholder for it in the second step's prompt in run.json."""


@dataclass(frozen=True)
class SteppedAnswers:
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


def prompt_records(plans: Mapping[str, BBQPlan]) -> dict[str, PromptRecord]:
    """The first question of every part of a run, as it is asked."""
    told: dict[str, PromptRecord] = {}
    for label, plan in plans.items():
        words = plan.words.content(plan.form)
        if plan.words.two_steps:
            told[f"{label}{FIRST}"] = prompt_of(WritingPlan(plan).query(0), WRITTEN, words)
        told[label] = prompt_of(plan.told(0, WROTE if plan.words.two_steps else None), plan.form, words)
    return told


def ask_in_steps(plan: BBQPlan, ask: Ask, label: str) -> SteppedAnswers:
    """All answers; for a plan in two steps those of the second step, where some rows may be missing."""
    if not plan.words.two_steps:
        return SteppedAnswers(plan, ask(plan, label))
    first = ask(WritingPlan(plan), f"{label}{FIRST}")
    refused = np.isin(first.status, (Status.REFUSED, Status.FILTERED))
    text = np.where(refused, b"", first["text"])
    rows = np.flatnonzero(np.char.str_len(text) > 0)
    status = np.where(refused, Status.REFUSED, Status.FAILED).astype(np.uint8)
    if not len(rows):
        return SteppedAnswers(plan, Answers(status, _missing(plan)), text)
    arrays = ask.keep({"row": rows, "text": text[rows]})
    second = ask(AnsweringPlan(plan, arrays, len(rows)), label)
    status[rows] = second.status
    every = {name: _spread(own, rows, len(plan)) for name, own in second.arrays.items()}
    return SteppedAnswers(plan, Answers(status, every), text)


def _missing(plan: BBQPlan) -> dict[str, NDArray[Any]]:
    if plan.ability in ("choice", "listed"):
        return {"score": np.full((len(plan), N_OPTIONS), np.nan, np.float32)}
    return {"text": np.zeros((len(plan), plan.samples) if plan.ability == "sample" else len(plan), "S1")}


def _spread(values: NDArray[Any], rows: NDArray[np.int64], size: int) -> NDArray[Any]:
    """Answers to some rows among all: the others are NaN, 1 (a number of tokens) or empty."""
    empty = np.nan if values.dtype.kind == "f" else 1 if values.dtype.kind in "iu" else b""
    every = np.full((size, *values.shape[1:]), empty, values.dtype)
    every[rows] = values
    return every
