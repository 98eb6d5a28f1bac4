"""Questions with listed options, for a local language model or an endpoint."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.answers import REFUSED, TIED, UNPARSED, parse_answer
from assay.asking.messages import (
    ANSWER_MODES,
    FIELD_MODES,
    PromptRecord,
    letters_for,
    user_message,
    with_lettered_options,
    without_options,
)
from assay.asking.plan import Ask, digest_of
from assay.asking.queries import (
    Answers,
    ChoiceColumns,
    ChoiceQuery,
    ListedColumns,
    ListedQuery,
    QueryColumns,
    SampleColumns,
    SampleQuery,
    Scoring,
    Status,
    TextColumns,
    TextQuery,
)
from assay.errors import UsageError
from assay.probes.diagnose import lost_by_status

TOKENS = 512
"""New tokens of an endpoint's written answer; a model may explain itself or reason first."""

TOKENS_HERE = {True: 32, False: 64}
"""New tokens of a local model, by whether options are listed."""

WRITTEN = ("samples", "text")
"""The ways in which an endpoint writes its answer."""

ABILITIES = frozenset({"choice", "listed", "text"})
"""A model needs one of these."""


class ListedQuestion(NamedTuple):
    """A question with its options in the order shown; the context may be empty."""

    context: str
    question: str
    options: tuple[str, ...]


def answer_mode_for(mode_wanted: str, ask: Ask) -> str:
    """How an endpoint is asked: in the best way, or in the one that the setting `answer` names."""
    way = ask.ways[0] if mode_wanted == "auto" else mode_wanted
    if way not in ask.ways:
        problem = f"this endpoint does not support answer={way}; it supports {', '.join(ask.ways)}."
        remedy = "`assay doctor --model api:NAME@URL` shows why."
        raise UsageError(problem, remedy, code="missing-ability", key="answer")
    return way


def answer_mode_note(way: str, samples: int) -> str:
    """A note on how an endpoint's answers were obtained."""
    times = f", {samples} to each question" if way == "samples" else ""
    return f"answers from an endpoint (answer={way}): {ANSWER_MODES[way]}{times}"


def ability_of(way: str) -> str:
    """The ability that a way needs; without a way, a local model scores letters."""
    return {"": "choice", "samples": "sample", "text": "text"}.get(way, "listed")


@dataclass(frozen=True)
class QuestionFormat:
    """How questions with listed options are asked and their answers read, in assay's own words.

    `way` is an endpoint's (`Ask.ways`); empty for a local model, which scores the letters. `samples` are drawn if the
    way is "samples"; `tokens` limits written answers. With `listed` off, a model that writes does not see the options;
    they are only used to read its answers.
    """

    way: str = ""
    samples: int = 1
    tokens: int = TOKENS
    chat: bool = True
    listed: bool = True

    @property
    def ability(self) -> str:
        return ability_of(self.way)

    @property
    def said(self) -> str:
        """The way in one word."""
        return self.way or "letters"

    @property
    def content(self) -> list[Any]:
        """Everything that determines the answers, for digests."""
        n_samples = self.samples if self.ability == "sample" else 1
        return [self.way, n_samples, self.tokens, self.chat, *([] if self.listed else ["not listed"])]

    def query(self, question: ListedQuestion) -> ChoiceQuery | TextQuery:
        if self.ability == "listed":
            return ListedQuery(*question)  # the endpoint's dialect lists the options
        return self.worded(question)

    def worded(self, question: ListedQuestion) -> ChoiceQuery | TextQuery:
        """A question in words, even if an endpoint's dialect lists the options."""
        text, options = question.question, question.options
        words = with_lettered_options(text, options) if self.listed else without_options(text)
        if self.ability in ("choice", "listed"):
            return ChoiceQuery(question.context, words, letters_for(options))
        prompt = user_message(question.context, words)
        return (
            SampleQuery(prompt, self.tokens, None, self.samples)
            if self.ability == "sample"
            else TextQuery(prompt, self.tokens)
        )

    def columns(self, questions: Sequence[ListedQuestion]) -> QueryColumns:
        return columns_of([self.query(each) for each in questions], self.ability, self.way, chat=self.chat)

    def told(self, question: ListedQuestion) -> str:
        """A question for people to read: in words, or by field if the endpoint takes fields."""
        return readable_fields(question) if self.way in FIELD_MODES else self.worded(question).prompt

    def prompt(self, question: ListedQuestion, form: str) -> PromptRecord:
        """How questions are asked, for run.json: one of them, and the digest of the words around all."""
        slots = tuple(f"{{{position}}}" for position in range(len(question.options)))
        around = self.told(ListedQuestion("{context}", "{question}", slots))
        plain = self.told(question) if self.way in FIELD_MODES else self.worded(question).plain
        return PromptRecord(form, self.told(question), plain, digest_of([form, around]))

    def shares(self, answers: Answers, options: Callable[[int], Sequence[str]]) -> NDArray[np.float64]:
        """The probability of every option (row, option); a row sums to 1, or to less if an answer names no option.

        `options` are those of a row, as shown. With samples it is the share that names the option; with one text 1 or
        0. A refusal is 0 for all. NaN if there is no answer, or if the options have too little of the probability.
        """
        if self.ability in ("choice", "listed"):
            shares = softmax(answers["score"].astype(np.float64))
        else:
            texts = answers["text"].reshape(len(answers), -1)  # (row, sample)
            read = partial(parse_answer, letters=self.listed)
            shares = named_shares(texts, lambda row, text: read(text, options(row)), len(options(0)))
        shares[np.isin(answers.status, (Status.REFUSED, Status.FILTERED))] = 0.0
        shares[np.isin(answers.status, (Status.FAILED, Status.EMPTY, Status.UNCLEAR))] = np.nan
        return shares

    @property
    def times(self) -> int:
        """How many answers there are to each question."""
        return self.samples if self.ability == "sample" else 1

    def lost(
        self, answers: Answers, shares: NDArray[np.float64], options: Callable[[int], Sequence[str]]
    ) -> Counter[str]:
        """How many answers name no option, by why (`assay.probes.diagnose.LOST`); `shares` as `shares` returns them."""
        named = np.clip(np.nan_to_num(shares.sum(axis=1)), 0.0, 1.0)
        unnamed = np.rint(self.times * (1.0 - named)).astype(np.int64)  # (row,)
        lost = Counter(lost_by_status(unnamed, answers.status))
        if "text" in answers.arrays:
            texts = answers["text"].reshape(len(answers), -1)  # (row, sample)
            for row in np.flatnonzero((unnamed > 0) & (answers.status == Status.OK)).tolist():
                readings = [
                    parse_answer(bytes(text).decode(), options(row), letters=self.listed) for text in texts[row]
                ]
                lost["refused"] += readings.count(REFUSED)
                lost["not understood"] -= readings.count(REFUSED)
        return +lost


def question_format_for(
    answer: str, samples: int, ask: Ask, *, chat: bool = True, tokens: int | None = None, listed: bool = True
) -> QuestionFormat:
    """How this model is asked; the settings `answer` and `samples` are for endpoints.

    A local model that only writes is asked for the letter. If options are not `listed`, the model must write.
    """
    if not listed and "text" not in ask.abilities:
        problem = "questions without listed options need a model that writes its answers."
        raise UsageError(problem, "List the options, or choose a model that writes.", code="missing-ability")
    if ask.ways:
        way = answer_mode_for("text" if answer == "auto" and not listed else answer, ask)
        if not listed and way not in WRITTEN:
            problem = f"answer={way} is for listed options."
            raise UsageError(problem, f"--set answer={'|'.join(WRITTEN)}", code="unsupported", key="answer")
        return QuestionFormat(way, samples, tokens or TOKENS, chat, listed)
    if answer != "auto":
        raise UsageError(f"answer={answer} is for endpoints.", "Leave it out.", code="unsupported", key="answer")
    if "text" not in ask.abilities:
        problem = "questions with listed options need a language model."
        raise UsageError(problem, "Choose a causal model or an endpoint.", code="missing-ability")
    scored = listed and "choice" in ask.abilities
    return QuestionFormat("" if scored else "text", 1, tokens or TOKENS_HERE[listed], chat, listed)


def readable_fields(question: ListedQuestion) -> str:
    """A question that is asked in fields, for people to read.

    >>> print(readable_fields(ListedQuestion("", "Who slept?", ("Ann", "Bo"))))
    [question]
    Who slept?
    [options]
    Ann
    Bo
    """
    parts = ("context", question.context), ("question", question.question), ("options", "\n".join(question.options))
    return "\n".join(f"[{name}]\n{text}" for name, text in parts if text)


def softmax(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Probabilities (row, option) from their logarithms, or from logits; a row without scores stays NaN."""
    above = scores - scores.max(axis=1, keepdims=True)
    weights = np.exp(above)
    shares: NDArray[np.float64] = weights / weights.sum(axis=1, keepdims=True)
    return shares


def count_named(
    texts: NDArray[Any], read: Callable[[int, str], int], options: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The option that each sample (row, sample) names, and how many samples name each option (row, option)."""
    named = np.array([[read(row, bytes(each).decode()) for each in texts[row]] for row in range(len(texts))])
    named = named.reshape(texts.shape).astype(np.int64)
    return named, (named[..., None] == np.arange(options)).sum(axis=1)


def named_shares(texts: NDArray[Any], read: Callable[[int, str], int], options: int) -> NDArray[np.float64]:
    shares: NDArray[np.float64] = count_named(texts, read, options)[1] / texts.shape[1]
    return shares


def most_named(named: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The option that most of a row's samples name.

    TIED if several are named most often. If none is named: REFUSED if an answer is a refusal, else UNPARSED.
    """
    most = counts.max(axis=1)
    sharing = (counts == most[:, None]).sum(axis=1)
    refused = (named == REFUSED).any(axis=1)
    rules = [(most == 0) & refused, most == 0, sharing > 1]
    return np.select(rules, [REFUSED, UNPARSED, TIED], counts.argmax(axis=1)).astype(np.int64)


_COLUMNS: Mapping[str, Callable[[Sequence[Any], Scoring], QueryColumns]] = {
    "choice": ChoiceColumns.of,
    "listed": ListedColumns.of,
    "text": TextColumns.of,
    "sample": SampleColumns.of,
}


def columns_of(queries: Sequence[Any], ability: str, way: str, *, chat: bool) -> QueryColumns:
    """Queries of one ability as columns; the way matters for listed options only."""
    return _COLUMNS[ability](queries, Scoring(chat=chat, answer=way if ability == "listed" else ""))


# --- scores of a causal model: sums over tokens, or means, since options differ in length


def option_scores(answers: Answers, likelihood: str, options: Callable[[int], Sequence[str]]) -> NDArray[np.float64]:
    """The options' scores (row, option), normalised by the setting `likelihood`; NaN in rows that are unclear.

    `options` returns the texts that a row has scores for. "sum" takes the scores of any model as they are.
    """
    scores: NDArray[np.float64] = answers["score"].astype(np.float64)
    scores[answers.status == Status.UNCLEAR] = np.nan
    if likelihood == "sum":
        return scores
    if "tokens" not in answers.arrays:
        problem = f"likelihood={likelihood} is for causal language models; this model gives no likelihoods."
        remedy = "Leave it out, or use --set likelihood=sum."
        raise UsageError(problem, remedy, code="unsupported", key="likelihood")
    lengths: Any = answers["tokens"]
    if likelihood == "byte":
        lengths = [[len(option.encode()) for option in options(row)] for row in range(len(answers))]
    normalised: NDArray[np.float64] = scores / np.array(lengths)
    return normalised
