"""Texts as words."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from assay.languages import LETTERS, Language, without_accents

_APOSTROPHES = str.maketrans(dict.fromkeys("’‘ʼ`´′", "'"))
NO_LETTERS = str.maketrans(dict.fromkeys(LETTERS, " "))
A_LETTER = re.compile(f"[{LETTERS}]")
INITIAL = re.compile(r"\b(?:[B-Z]\b|A\.)")


def _folded(text: str, language: Language) -> str:
    """Lower case, plain apostrophes, no accents where the language can do without them."""
    text = with_plain_apostrophes(text)
    if language.characters is not None:
        text = language.plain(text)
    elif not text.isascii() and not unicodedata.is_normalized("NFKD", text):
        text = without_accents(text)
    return text.casefold()


def with_plain_apostrophes(text: str) -> str:
    return text.replace("`", "'") if text.isascii() else text.translate(_APOSTROPHES)


def words_of(text: str, language: Language) -> str:
    """The words of a text, separated by spaces. Hyphens and apostrophes inside words are part of them."""
    return " ".join(language.reading.word.findall(_folded(text, language)))


@lru_cache(64)  # several rules look at the same text
def sentences_of(text: str, language: Language) -> str:
    """The words and letters of a text, with " . " where a sentence or a line ends."""
    reading = language.reading
    pieces = reading.pieces.findall(_folded(text, language))
    text = " ".join("." if piece in ".!?;\n" else piece for piece in pieces)
    return reading.titles.sub(r"\1", text) if reading.titles and "." in text else text


def hinted(text: str, language: Language) -> bool:
    """Whether the text may say “cannot be determined” or refuse: most texts have no word of these phrases."""
    hints = language.reading.hints
    return hints is None or "n't" in text or not hints.isdisjoint(text.split())
