"""How a model is asked: every answer scored by itself, or three of them listed; and who writes the wrong ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from assay.asking.messages import PromptRecord
from assay.asking.plan import Ask, digest_of
from assay.asking.queries import ChoiceQuery
from assay.errors import UsageError
from assay.probes.question_format import (
    ABILITIES,
    ListedQuestion,
    QuestionFormat,
    answer_mode_note,
    question_format_for,
)
from assay.probes.sodapop.contexts import Context
from assay.probes.sodapop.settings import BUILTIN, EXACT, LETTERS, OPTIONS, SodapopSettings

WRONG = "(a wrong answer)", "(another wrong answer)"
"""Stand for them in the prompt of run.json, which is made before they are written."""


@dataclass(frozen=True)
class SodapopForm:
    """`listing` is how three answers are listed; None where every answer is scored by itself.

    `reads` says that the model reads a prompt, `sent` that questions are requests to an endpoint.
    """

    listing: QuestionFormat | None = None
    reads: bool = False
    sent: bool = False
    chat: bool = True

    @property
    def name(self) -> str:
        return OPTIONS if self.listing is None else LETTERS

    @property
    def sparing(self) -> bool:
        """Whether a run asks few questions: each costs more, or says less."""
        return self.sent or self.listing is not None

    def questions(self, distractors: int) -> int:
        """How many are asked about a name in a context: each answer, or two distractors at a time in two orders."""
        return distractors + (1 if self.listing is None else distractors % 2)

    def distractors(self, questions: int) -> int:
        """How many can be had for so many questions; two at least."""
        return max(2, questions - (1 if self.listing is None else questions % 2))

    def told(self, context: str, question: str) -> str:
        """A question for people to read whose answers are scored by themselves; empty where no prompt is read."""
        return ChoiceQuery(context, question, ()).prompt if self.reads else ""

    def prompts(self, contexts: Sequence[Context], name: str) -> dict[str, PromptRecord]:
        """How the answers are asked for, by the first question."""
        if not self.reads or not contexts:
            return {}
        filled = contexts[0].filled(name)
        if self.listing is None:
            query = ChoiceQuery(filled.context, filled.question, ())
            return {"answers": PromptRecord(self.name, query.prompt, query.plain, digest_of([self.name]))}
        asked = ListedQuestion(filled.context, filled.question, (filled.answer, *WRONG))
        return {"answers": self.listing.prompt(asked, self.name)}

    def notes(self) -> Iterator[str]:
        """What a reader must know about how the answers were made."""
        if self.listing is not None:
            yield "form=letters: three answers are listed, each question in two orders"
            if self.sent:
                yield answer_mode_note(self.listing.way, self.listing.samples)
        elif self.sent:
            yield "endpoint answers (form=options): the log probability of each answer's tokens after the prompt"


SCORED = SodapopForm()
"""Every answer is scored alone, by a model that was trained for it."""


def form_of(settings: SodapopSettings, ask: Ask) -> SodapopForm:
    """How this model is asked; UsageError for settings that do not fit the model or each other."""
    able = ask.abilities & ABILITIES
    reads, chat = bool(able & {"listed", "text"}), settings.chat == "auto"
    if not able:
        remedy = "SODAPOP needs a multiple-choice model, a language model or an endpoint."
        raise UsageError("this model cannot choose among options.", remedy, code="missing-ability")
    wanted = settings.form
    if wanted == "auto":
        named = settings.answer != "auto"
        wanted = OPTIONS if "choice" in able and not (ask.ways and named) else LETTERS
    if wanted == OPTIONS:
        _require_options(settings, able, bool(ask.ways))
        return SodapopForm(reads=reads, sent=bool(ask.ways), chat=chat)
    if not reads:
        problem = f"form={LETTERS} is for language models, but this model was trained to compare options."
        raise UsageError(problem, f"--set form={OPTIONS}", code="unsupported", key="form")
    for key, given, needed in (
        ("likelihood", settings.likelihood, "sum"),
        ("pairing", settings.pairing, EXACT),
        ("right_answer", settings.right_answer, "drop"),
    ):
        if given != needed:
            problem = f"{key}={given} is for form={OPTIONS}."
            raise UsageError(problem, f"--set {key}={needed}", code="unsupported", key=key)
    listing = question_format_for(settings.answer, settings.samples, ask, chat=chat, tokens=settings.tokens)
    return SodapopForm(listing, reads, bool(ask.ways), chat)


def _require_options(settings: SodapopSettings, able: frozenset[str], endpoint: bool) -> None:
    if "choice" not in able:
        problem = f"form={OPTIONS} scores each answer alone, which this model does not support."
        raise UsageError(problem, f"--set form={LETTERS}", code="missing-ability", key="form")
    if settings.answer != "auto":
        why = f"form={LETTERS}" if endpoint else "endpoints"
        raise UsageError(f"answer={settings.answer} is for {why}.", "Leave it out.", code="unsupported", key="answer")


def filler_named(settings: SodapopSettings, ask: Ask) -> str | None:
    """The model that fills masks; None is the audited one."""
    return settings.fill_model or (None if "fill" in ask.abilities else BUILTIN)


def filler_of(settings: SodapopSettings, ask: Ask) -> Ask:
    """The model that fills masks."""
    named = filler_named(settings, ask)
    filler = ask.of(named) if named else ask
    if "fill" not in filler.abilities:
        remedy = f"Name a masked language model for that: --set fill_model={BUILTIN}, or hf:./folder."
        raise UsageError(f"{named} cannot fill masks.", remedy, code="missing-ability", key="fill_model")
    return filler
