"""The wording of questions with listed options, the same for every kind of model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import ascii_uppercase

from assay.languages import ENGLISH, language

ANSWER_MODES: Mapping[str, str] = {
    "decisions": "the probabilities that the endpoint gives for each option (/decisions)",
    "systemone": "the probabilities that the endpoint gives for each option (/systemone)",
    "structured": "the log probabilities of the letters, where the model can write nothing else",
    "letters": "the log probabilities of the letters among the first token's likeliest alternatives",
    "samples": "how often each option is named in several answers, drawn at temperature 1",
    "text": "the option that the written answer names",
}
"""The ways to get probabilities of listed options from an endpoint, the best first, and what they are."""

FIELD_MODES = frozenset({"decisions", "systemone"})
"""The ways that have separate fields for context, question and options, and accept no other text."""


def letters_for(options: Sequence[str]) -> tuple[str, ...]:
    """The letter under which each option is listed.

    >>> letters_for(["the nurse", "the pilot"])
    ('A', 'B')
    """
    return tuple(ascii_uppercase[: len(options)])


def with_lettered_options(question: str, options: Sequence[str]) -> str:
    """A question, its options listed under letters, and the instruction to answer with a letter.

    >>> print(with_lettered_options("Who slept?", ["Ann", "Bo", "Not known"]))
    Who slept?
    A. Ann
    B. Bo
    C. Not known
    Answer with one letter: A, B or C.
    """
    letters = letters_for(options)
    listed = "\n".join(f"{letter}. {option}" for letter, option in zip(letters, options, strict=True))
    return f"{question}\n{listed}\nAnswer with one letter: {', '.join(letters[:-1])} or {letters[-1]}."


def without_options(question: str, spoken: str = ENGLISH) -> str:
    """A question without listed options, and the instruction how to answer, in the words of a language.

    >>> print(without_options("Who slept?"))
    Question: Who slept?
    Answer in one short sentence.
    Answer:
    """
    words = language(spoken).asking
    return f"{words.asked(question)}\n{words.one_sentence}\n{words.answer}"
