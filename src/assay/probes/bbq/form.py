"""The form of the questions: the one that was requested, or the one that suits the model and the words."""

from __future__ import annotations

from collections.abc import Sequence

from assay.errors import UsageError
from assay.languages import ENGLISH
from assay.probes.bbq.own_words import prompt_setting, require_slots
from assay.probes.bbq.prompts import OWN, Words
from assay.probes.bbq.settings import (
    ARC,
    CHOICE_FORMS,
    FREE,
    LETTERS,
    LISTED_FORMS,
    OPTIONS,
    RACE,
    TEXT_FORMS,
    UNLISTED_FORMS,
    WRITTEN,
    Settings,
)


def form_of(settings: Settings, words: Words, abilities: frozenset[str], ways: Sequence[str] = ()) -> str:
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


def _brought(words: Words) -> Sequence[tuple[str, object]]:
    return (prompt_setting(words), words.template), ("system", words.system), ("shots", words.shots)


def _suiting(words: Words, able: frozenset[str], endpoint: bool) -> str:
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


def _require_together(settings: Settings, words: Words, form: str, brought: Sequence[str]) -> None:
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
