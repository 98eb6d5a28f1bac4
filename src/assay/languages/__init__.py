"""Languages, one file each: the words around a question, and how answers in it are read.

`language("es")` loads the pack in `es.py`. `packs.py` makes a pack from lists of words; `docs/languages.md` shows how
to write one.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from string import ascii_lowercase

from assay.errors import UsageError

ENGLISH = "en"
CODES = (ENGLISH, *sorted({file.name for file in iter_modules([str(Path(__file__).parent)])} - {ENGLISH, "packs"}))
"""The languages that have a pack: a file in this folder."""

LETTERS = "".join(chr(0xE000 + index) for index in range(len(ascii_lowercase)))
"""Private-use characters that replace letters naming an option, so words and letters can be found in one text."""
WORD = r"[^\W_]+(?:['-][^\W_]+)*"


@dataclass(frozen=True, eq=False)
class QuestionWording:
    """The words around a question."""

    question: str  # before it: "Question:"
    answer: str  # before its answer: "Answer:"
    one_letter: str  # the instruction if options are listed under A, B and C
    one_sentence: str  # the instruction if they are not listed

    def asked(self, question: str) -> str:
        """The question after its word; no blank after a full-width colon."""
        return f"{self.question}{'' if self.question.endswith('：') else ' '}{question}"


@dataclass(frozen=True, eq=False)
class LetterPatterns:
    """How an answer gives an option's letter; parts of patterns for text with its case and punctuation."""

    prefix: str  # "option", "the answer is", …, up to the letter
    chosen: str  # "I choose", …, up to the letter
    linked: str  # "and", "or"
    next: str  # the same, before a letter
    follow: str  # words that may follow the letter A, which is else taken for an article
    after: str = ""  # what follows a letter that is chosen: "is the right one"
    attached: str = ""  # what may be joined to a letter ("B입니다")
    before: str = ""  # what must not come before a bracket
    start: str = r"\b"  # the edges of a letter
    end: str = r"\b"


@dataclass(frozen=True, eq=False)
class AnswerPatterns:
    """Patterns that read an answer.

    `final`, `question`, `letters`, `correction`, `supposition`, `possibility` and `asked` are for text with its
    punctuation, the others for `sentences`: folded words with " . " at the end of sentences.
    """

    final: re.Pattern[str]  # what comes before the final answer
    final_hints: tuple[str, ...]  # each match of `final` has one of these, in lower case
    heading: re.Pattern[str]  # "the answer is" at the start of an answer
    question: re.Pattern[str]  # the start of another question
    letters: LetterPatterns
    unknown: re.Pattern[str]  # says “cannot be determined”
    unknown_for_sure: re.Pattern[str]  # the same, and never a refusal
    refusal: re.Pattern[str]
    opens: re.Pattern[str]  # begins what is not known: "whether", "who"
    turns: re.Pattern[str]  # ends it: "but"
    reason: re.Pattern[str]  # the end of a clause
    alternative: re.Pattern[str]  # "or", "and" before another option
    denial: re.Pattern[str]  # "not" directly before an option
    denial_after: re.Pattern[str] | None  # or directly after it
    doubt: re.Pattern[str]  # the same from further away: "I don't think it was"
    doubt_hints: frozenset[str]  # each match of `doubt` has one of these words, or "n't"
    grammar: re.Pattern[str]  # words that belong to no option
    article: re.Pattern[str]
    articles: tuple[str, ...]
    ending: re.Pattern[str]  # what may follow an option's last word, up to the blank
    correction: re.Pattern[str]  # takes back what comes before: "no, wait"; group `weak` if it may only add to it
    supposition: re.Pattern[str]  # what is only considered, up to "but" or the end of the sentence: "tempting to say …"
    possibility: re.Pattern[str]  # the same for "it could be …"
    asked: re.Pattern[str]  # a question sentence
    yes: re.Pattern[str]  # an answer to it
    lead: re.Pattern[str]  # one of the words before an option that is the answer: "it", "was"
    commitment: re.Pattern[str]  # "most likely", "I'd say"
    concession: re.Pattern[str]  # begins what does not matter in the end: "although"
    owner: re.Pattern[str]  # after an option that is not meant itself: "'s wife"
    relative: re.Pattern[str]  # whom someone may have: "wife"
    of_at_end: re.Pattern[str]  # between a relative and an option that is not meant itself: "of the"
    of: re.Pattern[str]  # between an option that is meant and another one that is not: "of the"
    possessed: re.Pattern[str]  # between an option that is not meant and another one that is: "'s"
    inner: str = ""  # what may be added to its other words
    titles: re.Pattern[str] | None = None  # "Mrs." is not the end of a sentence
    hints: frozenset[str] | None = None  # each match of `unknown` and `refusal` has one of these words, or "n't"
    unknown_at_end: bool = False  # what is not known comes before the words that say so
    aside_hints: frozenset[str] | None = (
        None  # each match of `correction`, `supposition`, `possibility` has one of these
    )
    no: str = "no"  # or this, before punctuation
    in_words: bool = True  # blanks separate words
    part: bool = False  # an option that has a phrase of `unknown` in it is UNKNOWN; else it must be one
    word: re.Pattern[str] = field(default_factory=lambda: re.compile(WORD))
    pieces: re.Pattern[str] = field(
        default_factory=lambda: re.compile(rf"""{WORD}|[{LETTERS}]|[.!?;](?=["')\]]{{0,3}}(?:\s|$))|\n""")
    )


@dataclass(frozen=True, eq=False)
class Language:
    """A language: how to ask in it, and how to read its answers.

    `characters` are replaced in answers before anything else, `accents` are kept or removed. `checked_by_speaker` says
    that someone who speaks the language has read the pack.
    """

    code: str
    name: str
    asking: QuestionWording
    reading: AnswerPatterns
    characters: Mapping[int, str] | None = None
    accents: bool = False
    checked_by_speaker: bool = False

    def plain(self, text: str) -> str:
        """An answer with plain punctuation and without accents. English answers stay as they are."""
        if self.characters is None:
            return text
        text = text.translate(self.characters)
        return text if text.isascii() else without_accents(text, keep=self.accents)


def without_accents(text: str, *, keep: bool = False) -> str:
    """Full-width forms as plain ones, and letters without accents unless they are to be kept.

    >>> without_accents("Ｂ: opción"), without_accents("Ｂ: opción", keep=True)
    ('B: opcion', 'B: opción')
    """
    if keep:
        return unicodedata.normalize("NFKC", text)
    letters = unicodedata.normalize("NFKD", text)
    return "".join(letter for letter in letters if not unicodedata.combining(letter))


@cache
def language(code: str) -> Language:
    """The pack of a language, one of CODES."""
    if code not in CODES:
        remedy = f"There are packs for {', '.join(CODES)}; docs/languages.md shows how to write another."
        raise UsageError(f"there is no language pack {code!r}.", remedy, code="bad-setting", key="language")
    pack: Language = import_module(f"{__name__}.{code}").LANGUAGE
    return pack


def language_name(code: str) -> str:
    """The name of a language in English, or its code if it has no pack."""
    return language(code).name if code in CODES else code
