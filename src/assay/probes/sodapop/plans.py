"""What is asked: masked answers to be filled, then every answer to be scored. Both read their strings from arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assay.plan import Arrays, digest_of
from assay.probes.sodapop.contexts import NAME
from assay.probes.sodapop.strings import Strings
from assay.queries import MASK, ChoiceColumns, FillColumns, Texts

MASKED = -1
"""Stands for the masked word in a string."""


@dataclass(frozen=True)
class FillPlan:
    """Masked answers about every name in one context: which words fit?

    The arrays hold `strings` (row, word), with MASKED once in each, and `name` (row,). `texts` has for each name the
    context and what comes between it and the answer (the prompt); `glue` is what stands around the answer's words.
    """

    names: tuple[str, ...]
    texts: tuple[tuple[str, str], ...]
    words: tuple[str, ...]
    glue: tuple[str, ...]
    arrays: str
    rows: int
    top: int
    ability: str = "fill"

    @property
    def digest(self) -> str:
        return digest_of(["sodapop fill", self.names, self.texts, self.words, self.glue, self.arrays, self.top])

    def __len__(self) -> int:
        return self.rows

    def columns_from(self, arrays: Arrays, lo: int, hi: int) -> FillColumns:
        names = arrays["name"][lo:hi]
        answers = answers_of(arrays["strings"][lo:hi], (*self.words, MASK), self.glue)
        sentences = [
            f"{self.texts[name][1]} {answer.replace(NAME, self.names[name])}"
            for name, answer in zip(names.tolist(), answers, strict=True)
        ]
        contexts = Texts([context for context, _ in self.texts], names.astype(np.int32))
        return FillColumns(contexts, Texts.of(sentences), self.top)


@dataclass(frozen=True)
class ScorePlan:
    """Every answer about every name in one context, the right one and the distractors: how good is it?

    The arrays hold `strings` (string, word) and `row` (row, 2): name and string. `texts` has for each name the context
    and the question.
    """

    names: tuple[str, ...]
    texts: tuple[tuple[str, str], ...]
    words: tuple[str, ...]
    glue: tuple[str, ...]
    arrays: str
    rows: int
    ability: str = "choice"

    @property
    def digest(self) -> str:
        return digest_of(["sodapop score", self.names, self.texts, self.words, self.glue, self.arrays])

    def __len__(self) -> int:
        return self.rows

    def columns_from(self, arrays: Arrays, lo: int, hi: int) -> ChoiceColumns:
        names, strings = arrays["row"][lo:hi].T
        if any(NAME in text for text in self.glue):  # the answer names the person: it differs with the name
            pairs, option = np.unique(arrays["row"][lo:hi], axis=0, return_inverse=True)
            texts = answers_of(arrays["strings"][pairs[:, 1]], self.words, self.glue)
            answers = [text.replace(NAME, self.names[name]) for text, name in zip(texts, pairs[:, 0], strict=True)]
        else:
            asked, option = np.unique(strings, return_inverse=True)
            answers = answers_of(arrays["strings"][asked], self.words, self.glue)
        return ChoiceColumns(
            Texts([context for context, _ in self.texts], names.astype(np.int32)),
            Texts([question for _, question in self.texts], names.astype(np.int32)),
            answers,
            option.reshape(-1, 1).astype(np.int32),
        )


def answers_of(strings: Strings, words: Sequence[str], glue: Sequence[str]) -> list[str]:
    """Strings as texts; MASKED is the last of the words.

    >>> answers_of(np.array([[0, -1]]), ("very", "kind", "?"), ("", " ", "."))
    ['very ?.']
    """
    return [
        glue[0] + "".join(words[word] + behind for word, behind in zip(string, glue[1:], strict=True))
        for string in strings.tolist()
    ]
