"""BBQ on an endpoint: how it is asked, and how several answers to one question are combined."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.errors import UsageError
from assay.plan import Ask
from assay.probes.bbq import settings as forms
from assay.probes.bbq.examples import OPTIONS
from assay.probes.bbq.plan import BBQPlan
from assay.probes.bbq.prompts import Words
from assay.probes.bbq.settings import Settings
from assay.probes.listed import TOKENS, named_counts, named_most, way_of
from assay.prompts import OF_FIELDS, WAYS
from assay.queries import Answers

SHARES = "share of the answers that name the option"


def asked(settings: Settings, form: str, words: Words, ask: Ask) -> dict[str, Any]:
    """How an endpoint is asked, as arguments of a plan; for other models such settings are an error."""
    tokens = settings.tokens or (TOKENS if ask.ways else 0)
    if not ask.ways or form != forms.LETTERS:
        if settings.answer != "auto" and not (ask.ways and settings.answer == "text"):
            why = "is for form=letters" if ask.ways else "is for endpoints"
            raise UsageError(f"answer={settings.answer} {why}.", "Leave it out.", code="unsupported", key="answer")
        return {"tokens": tokens}
    way = way_of(settings.answer, ask)
    if not words.ordinary and way in OF_FIELDS:
        problem = f"answer={way} has fields for context, question and options only, not for other words."
        others = sorted(set(ask.ways) - OF_FIELDS, key=list(WAYS).index)
        other = "letters" if "letters" in others else next(iter(others), "")
        remedy = f"--set answer={other}" if other else "Leave out variant, prompt, system and shots."
        raise UsageError(problem, remedy, code="unsupported", key="answer")
    return {"answer": way, "samples": settings.samples, "tokens": tokens}


def drawn(
    plan: BBQPlan, answers: Answers, parsing: str, read: Callable[[BBQPlan, int, str, str], int]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The share of a question's answers that name each option (row, option), and the option that most of them name.

    TIED if several are named most often. If none is named: REFUSED if an answer is a refusal, else UNPARSED.
    """
    named, counts = named_counts(answers["text"], lambda row, text: read(plan, row, text, parsing), OPTIONS)
    return counts / named.shape[1], named_most(named, counts)
