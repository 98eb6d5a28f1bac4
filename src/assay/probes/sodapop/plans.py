"""What is asked: masked answers to be filled, then every answer to be scored. Both read their strings from arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.asking.plan import Arrays, digest_of
from assay.asking.queries import MASK, ChoiceColumns, FillColumns, QueryColumns, Scoring, StringColumn
from assay.probes.question_format import ListedQuestion, QuestionFormat
from assay.probes.sodapop.contexts import NAME
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
            asked, option = np.unique(strings, return_inverse=True)
            answers = answers_of(arrays["strings"][asked], self.words, self.glue)
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
        asked = arrays["row"][list(rows)]
        strings, at = np.unique(asked[:, 1:], return_inverse=True)
        answers = answers_of(arrays["strings"][strings], self.words, self.glue)
        found = []
        for name, shown in zip(asked[:, 0].tolist(), at.reshape(-1, 3).tolist(), strict=True):
            (context, question), own = self.texts[name], self.names[name]
            found.append(ListedQuestion(context, question, tuple(answers[place].replace(NAME, own) for place in shown)))
        return found


def answers_of(strings: Strings, words: Sequence[str], glue: Sequence[str]) -> list[str]:
    """Strings as texts; MASKED is the last of the words.

    >>> answers_of(np.array([[0, -1]]), ("very", "kind", "?"), ("", " ", "."))
    ['very ?.']
    """
    return [join([words[word] for word in string], glue) for string in strings.tolist()]
