"""How items are asked: the form of the questions, an endpoint's question format, and asking in two steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.asking.messages import ANSWER_MODES, FIELD_MODES, PromptRecord, readable_prompt
from assay.asking.plan import Ask
from assay.asking.queries import Answers, Status
from assay.errors import UsageError
from assay.languages import ENGLISH
from assay.probes.base import Stage
from assay.probes.bbq.items import OPTIONS as N_OPTIONS
from assay.probes.bbq.plan import AnsweringPlan, BBQPlan, WritingPlan
from assay.probes.bbq.prompt_sources import prompt_setting, require_slots
from assay.probes.bbq.prompts import OWN, PromptWording, prompt_record
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
from assay.probes.question_format import TOKENS, QuestionFormat, question_format_for


def choose_form(
    settings: BBQSettings, wording: PromptWording, abilities: frozenset[str], answer_modes: Sequence[str] = ()
) -> str:
    """The form; raises UsageError if form, wording and model do not go together.

    `answer_modes` are the ways to ask an endpoint for letters.
    """
    able, is_endpoint = abilities & {"choice", "listed", "text"}, bool(answer_modes)
    if not able:
        problem = "this model can neither choose between options nor write an answer."
        remedy = "BBQ needs a multiple-choice model, a text-to-text model or a causal language model."
        raise UsageError(problem, remedy, code="missing-ability")
    texts = ("variant", wording.variant), (prompt_setting(wording), wording.template), ("system", wording.system)
    brought = [name for name, text in (*texts, ("shots", wording.shots)) if text]
    form = settings.form if settings.form != "auto" else _form_for(wording, able, is_endpoint)
    if form != LETTERS or not is_endpoint:
        _require_able(form, able, is_endpoint)
    if wording.two_steps and is_endpoint and "text" not in able:
        problem = f"with variant={wording.variant} the model writes first, and this endpoint does not write text."
        remedy = "--set variant=baseline|q|q+if"
        raise UsageError(problem, remedy, code="missing-ability", key="variant")
    if brought and not able & {"text", "listed"}:
        problem = f"{brought[0]} is for language models; this model was trained to compare the options themselves."
        raise UsageError(problem, f"Leave out {' and '.join(brought)}.", code="unsupported", key=brought[0])
    _require_together(settings, wording, form, brought)
    return form


def _require_able(form: str, able: frozenset[str], is_endpoint: bool) -> None:
    if ("choice" if form in CHOICE_FORMS else "text") not in able:
        needs, forms = ("scores options", TEXT_FORMS) if form in CHOICE_FORMS else ("writes text", CHOICE_FORMS)
        problem = f"form={form} requires a model that {needs}; this one does not."
        remedy = f"--set form={LETTERS if is_endpoint else '|'.join(forms)}"
        raise UsageError(problem, remedy, code="missing-ability", key="form")
    if form == LETTERS and "text" not in able:
        problem = f"form={form} is for language models; this model was trained to compare the options themselves."
        raise UsageError(problem, "--set form=options", code="unsupported", key="form")


def _form_for(wording: PromptWording, able: frozenset[str], is_endpoint: bool) -> str:
    """The form for a model: letters if options are listed and the model scores, else options, or written answers.

    An endpoint is asked for letters, unless a prompt lists no options.
    """
    if is_endpoint:
        return FREE if wording.template and not wording.lists_options else LETTERS
    if wording.lists_options:
        return LETTERS if "choice" in able else WRITTEN
    if "choice" in able:
        return OPTIONS
    return FREE if wording.template else WRITTEN if wording != OWN else RACE


def _require_together(settings: BBQSettings, wording: PromptWording, form: str, brought: Sequence[str]) -> None:
    if wording.language != ENGLISH and (wording.variant or form in (RACE, ARC)):
        key, value = ("variant", wording.variant) if wording.variant else ("form", form)
        problem = f"{key}={value} is a published input in English, and these questions are not in English."
        remedy = "Leave it out." if wording.variant else f"--set form={WRITTEN}|{FREE}"
        raise UsageError(problem, remedy, code="unsupported", key=key)
    if wording.variant and wording.template:
        problem = "variant and prompt exclude each other: each has all words of the question."
        raise UsageError(problem, "Leave one of them out.", code="bad-setting", key="prompt")
    if wording.variant and form not in LISTED_FORMS:
        problem = f"variant={wording.variant} lists the options, and form={form} does not."
        remedy = f"--set form={'|'.join(LISTED_FORMS)}"
        if form not in UNLISTED_FORMS:
            problem = f"variant={wording.variant} and form={form} each have their own words."
        raise UsageError(problem, remedy, code="bad-setting", key="variant")
    if brought and form not in (*LISTED_FORMS, *UNLISTED_FORMS):
        problem = f"form={form} is the paper's exact input; it does not take {' and '.join(brought)}."
        raise UsageError(problem, f"--set form={WRITTEN}|{FREE}", code="bad-setting", key=brought[0])
    if wording.lists_singly and form not in LISTED_FORMS:
        problem = f"prompts={settings.prompts} lists the options, and form={form} does not."
        raise UsageError(problem, f"--set form={'|'.join(LISTED_FORMS)}", code="bad-setting", key="prompts")
    if wording.template and not wording.lists_singly:
        require_slots(wording.template, form, settings.prompt)


def choose_question_format(settings: BBQSettings, form: str, wording: PromptWording, ask: Ask) -> QuestionFormat:
    """How a model is asked in a form; `answer` and `samples` are for letters at an endpoint, elsewhere an error.

    Without a limit of its own (0 tokens), a local model writes as many tokens as the form needs.
    """
    chat = settings.chat == "auto"
    if not ask.ways or form != LETTERS:
        if settings.answer != "auto" and not (ask.ways and settings.answer == "text"):
            purpose = "is for form=letters" if ask.ways else "is for endpoints"
            problem = f"answer={settings.answer} {purpose}."
            raise UsageError(problem, "Leave it out.", code="unsupported", key="answer")
        return QuestionFormat(tokens=settings.tokens or (TOKENS if ask.ways else 0), chat=chat)
    question_format = question_format_for(settings.answer, settings.samples, ask, chat=chat, tokens=settings.tokens)
    if not wording.ordinary and question_format.way in FIELD_MODES:
        problem = (
            f"answer={question_format.way} has fields for context, question and options only, not for other words."
        )
        worded = sorted(set(ask.ways) - FIELD_MODES, key=list(ANSWER_MODES).index)
        mode = "letters" if "letters" in worded else next(iter(worded), "")
        remedy = f"--set answer={mode}" if mode else "Leave out variant, prompt, system and shots."
        raise UsageError(problem, remedy, code="unsupported", key="answer")
    return question_format


# --- in one step or two: the second step's questions contain what the model wrote in the first


WROTE = "(what the model wrote)"
"""The placeholder for it in the second step's prompt in run.json."""


def stages_of(plans: Mapping[str, BBQPlan]) -> list[Stage]:
    """The parts of a run: a step each."""
    return [
        Stage(f"{label}{step}", len(plan))
        for label, plan in plans.items()
        for step in ((FIRST, "") if plan.wording.two_steps else ("",))
    ]


def prompt_records(plans: Mapping[str, BBQPlan]) -> dict[str, PromptRecord]:
    """The first question of every part of a run, as it is asked."""
    records: dict[str, PromptRecord] = {}
    for label, plan in plans.items():
        content, wrote = plan.wording.content(plan.form), None
        if plan.wording.two_steps:
            records[f"{label}{FIRST}"] = prompt_record(WritingPlan(plan).query(0), WRITTEN, content)
            wrote = WROTE
        records[label] = prompt_record(plan.readable_query(0, wrote), plan.form, content)
    return records


def ask_in_steps(plan: BBQPlan, ask: Ask, label: str) -> tuple[Answers, NDArray[np.bytes_] | None]:
    """The answers to all rows of a plan, and what the model wrote before them (row,), if it is asked in two steps.

    Without a text of the first step, the answer to the second is missing.
    """
    if not plan.wording.two_steps:
        return ask(plan, label), None
    first = ask(WritingPlan(plan), f"{label}{FIRST}")
    refused = np.isin(first.status, (Status.REFUSED, Status.FILTERED))
    wrote = np.where(refused, b"", first["text"])
    rows = np.flatnonzero(np.char.str_len(wrote) > 0)
    status = np.where(refused, Status.REFUSED, Status.FAILED).astype(np.uint8)
    if not len(rows):
        return Answers(status, _no_answers(plan)), wrote
    second = ask(AnsweringPlan(plan, ask.keep({"row": rows, "text": wrote[rows]}), len(rows)), label)
    status[rows] = second.status
    arrays = {name: _spread(values, rows, len(plan)) for name, values in second.arrays.items()}
    return Answers(status, arrays), wrote


def prompt_as_asked(plan: BBQPlan, wrote: NDArray[np.bytes_] | None, row: int) -> str:
    """The question of a row for people to read, after what the model wrote in the first step, if anything."""
    text = None if wrote is None else bytes(wrote[row]).decode()
    query = plan.wording.first(plan.question(row)) if text == "" else plan.readable_query(row, text)
    return readable_prompt(query.prompt, query.dialogue)


def _no_answers(plan: BBQPlan) -> dict[str, NDArray[Any]]:
    if plan.ability in ("choice", "listed"):
        return {"score": np.full((len(plan), N_OPTIONS), np.nan, np.float32)}
    return {"text": np.zeros((len(plan), plan.format.samples) if plan.ability == "sample" else len(plan), "S1")}


def _spread(values: NDArray[Any], rows: NDArray[np.int64], size: int) -> NDArray[Any]:
    """Answers to some rows among all: the others are NaN, 1 (a number of tokens) or empty."""
    empty = np.nan if values.dtype.kind == "f" else 1 if values.dtype.kind in "iu" else b""
    spread = np.full((size, *values.shape[1:]), empty, values.dtype)
    spread[rows] = values
    return spread
