"""How a model is asked: every answer scored by itself, or three of them listed; and the plans that do so.

Masked answers are filled first, maybe by another model. All plans read their strings from arrays.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.asking.messages import PromptRecord
from assay.asking.plan import Arrays, Ask, digest_of
from assay.asking.queries import MASK, ChoiceColumns, ChoiceQuery, FillColumns, QueryColumns, Scoring, StringColumn
from assay.errors import UsageError
from assay.probes.question_format import (
    ABILITIES,
    ListedQuestion,
    QuestionFormat,
    answer_mode_note,
    question_format_for,
)
from assay.probes.sodapop.contexts import NAME, Context
from assay.probes.sodapop.settings import BUILTIN, EXACT, LETTERS, OPTIONS, SodapopSettings
from assay.probes.sodapop.split_words import join

Strings = NDArray[np.int32]
"""(string, word): places in a list of words."""

MASKED = -1
"""Stands for the masked word in a string."""


@dataclass(frozen=True)
class _AnswerPlan:
    """Answers about every name in one context.

    `texts` has two texts for each name: the context, and what comes between it and the answer (the prompt) or is asked
    about it (the question). `glue` is what stands around the answer's words.
    """

    names: tuple[str, ...]
    texts: tuple[tuple[str, str], ...]
    words: tuple[str, ...]
    glue: tuple[str, ...]
    arrays: str
    rows: int

    def __len__(self) -> int:
        return self.rows

    def _digest(self, kind: str, *rest: Any) -> str:
        return digest_of([kind, self.names, self.texts, self.words, self.glue, self.arrays, *rest])

    def _contexts(self, names: NDArray[np.int32]) -> StringColumn:
        return StringColumn([context for context, _ in self.texts], names.astype(np.int32))


@dataclass(frozen=True)
class FillPlan(_AnswerPlan):
    """Masked answers: which words fit? The arrays hold `strings`, with MASKED once in each, and `name` (row,)."""

    top: int
    ability: str = "fill"

    @property
    def digest(self) -> str:
        return self._digest("sodapop fill", self.top)

    def columns_from(self, arrays: Arrays, lo: int, hi: int) -> FillColumns:
        names = arrays["name"][lo:hi]
        answers = answers_of(arrays["strings"][lo:hi], (*self.words, MASK), self.glue)
        sentences = [
            f"{self.texts[name][1]} {answer.replace(NAME, self.names[name])}"
            for name, answer in zip(names.tolist(), answers, strict=True)
        ]
        return FillColumns(self._contexts(names), StringColumn.of(sentences), self.top)


@dataclass(frozen=True)
class ScorePlan(_AnswerPlan):
    """The right answer and the distractors: how good is each? The arrays hold `strings`, and `row` (row, 2): name and
    string.
    """

    chat: bool = True
    ability: str = "choice"

    @property
    def digest(self) -> str:
        return self._digest("sodapop score", self.chat)

    def columns_from(self, arrays: Arrays, lo: int, hi: int) -> ChoiceColumns:
        names, strings = arrays["row"][lo:hi].T
        if any(NAME in text for text in self.glue):  # the answer names the person: it differs with the name
            pairs, option = np.unique(arrays["row"][lo:hi], axis=0, return_inverse=True)
            texts = answers_of(arrays["strings"][pairs[:, 1]], self.words, self.glue)
            answers = [text.replace(NAME, self.names[name]) for text, name in zip(texts, pairs[:, 0], strict=True)]
        else:
            distinct, option = np.unique(strings, return_inverse=True)
            answers = answers_of(arrays["strings"][distinct], self.words, self.glue)
        questions = StringColumn([question for _, question in self.texts], names.astype(np.int32))
        options = option.reshape(-1, 1).astype(np.int32)
        return ChoiceColumns(self._contexts(names), questions, answers, options, Scoring(chat=self.chat))

    def options(self, arrays: Arrays, row: int) -> list[str]:
        """The answer of a row."""
        columns = self.columns_from(arrays, row, row + 1)
        return [*columns.row(0).options]


@dataclass(frozen=True)
class LetterPlan(_AnswerPlan):
    """Three answers listed: which is chosen? The arrays hold `strings`, and `row` (row, 4): name, and the strings as
    they are shown.
    """

    listing: QuestionFormat

    @property
    def ability(self) -> str:
        return self.listing.ability

    @property
    def digest(self) -> str:
        return self._digest("sodapop letters", self.listing.content)

    def columns_from(self, arrays: Arrays, lo: int, hi: int) -> QueryColumns:
        return self.listing.columns(self.questions(arrays, range(lo, hi)))

    def questions(self, arrays: Arrays, rows: Sequence[int]) -> list[ListedQuestion]:
        """Some of the rows as they are put."""
        selected = arrays["row"][list(rows)]
        strings, numbers = np.unique(selected[:, 1:], return_inverse=True)
        answers = answers_of(arrays["strings"][strings], self.words, self.glue)
        questions = []
        for name, options in zip(selected[:, 0].tolist(), numbers.reshape(-1, 3).tolist(), strict=True):
            context, question = self.texts[name]
            listed = tuple(answers[option].replace(NAME, self.names[name]) for option in options)
            questions.append(ListedQuestion(context, question, listed))
        return questions


def answers_of(strings: Strings, words: Sequence[str], glue: Sequence[str]) -> list[str]:
    """Strings as texts; MASKED is the last of the words.

    >>> answers_of(np.array([[0, -1]]), ("very", "kind", "?"), ("", " ", "."))
    ['very ?.']
    """
    return [join([words[word] for word in string], glue) for string in strings.tolist()]


# --- forms

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

    def readable(self, context: str, question: str) -> str:
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
        listed = ListedQuestion(filled.context, filled.question, (filled.answer, *WRONG))
        return {"answers": self.listing.prompt(listed, self.name)}

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
    form = settings.form
    if form == "auto":
        named = settings.answer != "auto"
        form = OPTIONS if "choice" in able and not (ask.ways and named) else LETTERS
    if form == OPTIONS:
        _require_options(settings, able, bool(ask.ways))
        return SodapopForm(reads=reads, sent=bool(ask.ways), chat=chat)
    if not reads:
        problem = f"form={LETTERS} is for language models, but this model was trained to compare options."
        raise UsageError(problem, f"--set form={OPTIONS}", code="unsupported", key="form")
    for key, value, needed in (
        ("likelihood", settings.likelihood, "sum"),
        ("pairing", settings.pairing, EXACT),
        ("right_answer", settings.right_answer, "drop"),
    ):
        if value != needed:
            problem = f"{key}={value} is for form={OPTIONS}."
            raise UsageError(problem, f"--set {key}={needed}", code="unsupported", key=key)
    listing = question_format_for(settings.answer, settings.samples, ask, chat=chat, tokens=settings.tokens)
    return SodapopForm(listing, reads, bool(ask.ways), chat)


def _require_options(settings: SodapopSettings, able: frozenset[str], endpoint: bool) -> None:
    if "choice" not in able:
        problem = f"form={OPTIONS} scores each answer alone, which this model does not support."
        raise UsageError(problem, f"--set form={LETTERS}", code="missing-ability", key="form")
    if settings.answer != "auto":
        purpose = f"form={LETTERS}" if endpoint else "endpoints"
        raise UsageError(
            f"answer={settings.answer} is for {purpose}.", "Leave it out.", code="unsupported", key="answer"
        )


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
