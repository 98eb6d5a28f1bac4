"""The form of questions for a model, and how a language model is asked: as set, or what the model supports."""

from __future__ import annotations

from assay.errors import UsageError
from assay.plan import Ask
from assay.probes.listed import Listing, listing_of
from assay.probes.unqover.settings import CHOICE, FORMS, FREE, LLM_FORMS, Settings


def forms_of(settings: Settings, ask: Ask) -> list[str]:
    """The forms to ask in: those for language models, or the others."""
    marks, wanted = [form for form in FORMS if form in ask.abilities], settings.form
    able = [*marks, *(LLM_FORMS if ask.ways or "text" in ask.abilities else ())]
    if not able:
        raise UsageError(
            "this model can neither answer span questions nor fill masks, and it reads no options.",
            "UnQover needs an extractive question-answering model, a masked language model or a language model that "
            "answers in words.",
            code="missing-ability",
        )
    forms = {"auto": marks or [CHOICE], "both": [*FORMS]}.get(wanted, [wanted])
    for form in forms:
        if form not in able:
            needs = (
                "a language model, which reads options"
                if form in LLM_FORMS
                else {"span": "an extractive QA model", "mask": "a masked language model"}[form]
            )
            raise UsageError(
                f"form={wanted} needs {needs}; this model supports form={'|'.join(able)}.",
                f"Use --set form={able[0]}, or choose a model for that task.",
                code="missing-ability",
                key="form",
            )
    if forms[0] not in LLM_FORMS and settings.answer != "auto":
        problem = f"answer={settings.answer} is for language models behind endpoints."
        raise UsageError(problem, "Leave it out.", code="unsupported", key="answer")
    return forms


def listing_for(form: str, settings: Settings, ask: Ask) -> Listing:
    """How a language model is asked.

    Ten answers to one question cost as much as ten more comparisons and are worth less. So a model without
    probabilities is asked once, unless samples are set.
    """
    for key, given, default in (("compat", settings.compat, "paper"), ("header", settings.header, "none")):
        if given != default:
            problem = f"{key}={given} is for span questions and masked sentences, not for form={form}."
            raise UsageError(problem, "Leave it out.", code="unsupported", key=key)
    wanted = settings.answer
    if wanted == "auto" and ask.ways[:1] == ("samples",) and "text" in ask.ways:
        wanted = "text"
    chat, listed = settings.chat == "auto", form != FREE
    return listing_of(wanted, settings.samples, ask, chat=chat, tokens=settings.tokens, listed=listed)
