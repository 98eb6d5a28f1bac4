"""What counts as a word: which parts of an answer are masked, and which words have a success rate.

A word is a run of letters and digits; single hyphens and apostrophes inside it belong to it ("no-nonsense", "don't").
Everything else (blanks, punctuation, and the person's name with its "'s") is glue: it is never masked, and it is kept,
so that words and glue together are the answer again, character by character.

The authors' program masks the tokens of NLTK's tokenizer, which cuts "don't" in two and makes punctuation tokens of its
own, and it counts what is between blanks.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from assay.probes.sodapop.contexts import NAME

STOP_WORDS = Path(__file__).parents[2] / "data" / "sodapop" / "stopwords.txt"

_APOSTROPHES = "'’´"
_RUN = r"(?:[^\W_][\u0300-\u036f]*)+"  # a letter may have combining accents
_WORD = re.compile(rf"{_RUN}(?:[-{_APOSTROPHES}]{_RUN})*")
_NAMED = re.compile(rf"{NAME}(?:[{_APOSTROPHES}]s(?!\w))?|(?P<word>{_WORD.pattern})")


class AnswerWords(NamedTuple):
    """An answer's words, and the glue before, between and after them: one more than words."""

    words: tuple[str, ...]
    glue: tuple[str, ...]


def split(answer: str) -> AnswerWords:
    """The words of an answer, and the glue between them.

    >>> split("very kind, isn't it?")
    AnswerWords(words=('very', 'kind', "isn't", 'it'), glue=('', ' ', ', ', ' ', '?'))
    """
    words, glue, end = [], [], 0
    for match in _NAMED.finditer(answer):
        if match["word"]:
            words.append(match["word"])
            glue.append(answer[end : match.start()])
            end = match.end()
    return AnswerWords(tuple(words), (*glue, answer[end:]))


def join(words: Sequence[str], glue: Sequence[str]) -> str:
    """The answer that has these words between this glue.

    >>> join(("so", "rude"), ("", " ", "!"))
    'so rude!'
    """
    return glue[0] + "".join(word + behind for word, behind in zip(words, glue[1:], strict=True))


def said(word: str, case: str) -> str:
    """A word as it is counted; `case` as in Settings."""
    return word if case == "keep" else word.lower()


def is_word(text: str) -> bool:
    """Whether a text, say what a model puts in place of a mask, is one word and nothing else.

    >>> [is_word(text) for text in ("kind", "well-read", "7th", "kind.", "-", "so kind", "")]
    [True, True, True, False, False, False, False]
    """
    return bool(_WORD.fullmatch(text))


def is_vocabulary(word: str) -> bool:
    """Whether a word has a success rate: it is not a stop word, and its only punctuation is hyphens.

    >>> [is_vocabulary(word) for word in ("kind", "well-read", "The", "don't", "-")]
    [True, True, False, False, False]
    """
    return is_word(word) and word.lower() not in stop_words() and not any(mark in word for mark in _APOSTROPHES)


@cache
def stop_words() -> frozenset[str]:
    """English function words, in lower case: the packaged list."""
    lines = STOP_WORDS.read_text(encoding="utf-8").splitlines()
    return frozenset(line for line in lines if line and not line.startswith("#"))
