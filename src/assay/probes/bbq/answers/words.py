"""Texts as words: what is compared when an answer is read."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from string import ascii_lowercase

REFUSED, UNPARSED = -1, -2

_APOSTROPHES = str.maketrans(dict.fromkeys("’‘ʼ`´′", "'"))
LETTERS = "".join(chr(0xE000 + place) for place in range(len(ascii_lowercase)))
"""Characters for private use: they stand for letters that name an option, so that words and letters are found in one
text and can be seen to stand side by side."""
NO_LETTERS = str.maketrans(dict.fromkeys(LETTERS, " "))
_WORD = r"[^\W_]+(?:['-][^\W_]+)*"
_WORDS = re.compile(_WORD)
A_LETTER = re.compile(f"[{LETTERS}]")
_PIECES = re.compile(rf"""{_WORD}|[{LETTERS}]|[.!?;](?=["')\]]{{0,3}}(?:\s|$))|\n""")
_TITLES = re.compile(r"\b(mrs?|ms|dr|st|prof|jr|sr) \.")
INITIAL = re.compile(r"\b(?:[B-Z]\b|A\.)")
ARTICLE = re.compile(r"(?:the|an?) (?=.)")


def _folded(text: str) -> str:
    """Lower case, plain apostrophes, no accents."""
    text = with_plain_apostrophes(text)
    if not text.isascii() and not unicodedata.is_normalized("NFKD", text):
        text = unicodedata.normalize("NFKD", text)
        text = "".join(character for character in text if not unicodedata.combining(character))
    return text.casefold()


def with_plain_apostrophes(text: str) -> str:
    return text.replace("`", "'") if text.isascii() else text.translate(_APOSTROPHES)


def words_of(text: str) -> str:
    """The words of a text, a blank between them. Hyphens and apostrophes inside words are part of them."""
    return " ".join(_WORDS.findall(_folded(text)))


@lru_cache(64)  # several rules look at the same text
def sentences_of(text: str) -> str:
    """The words and letters of a text, with " . " where a sentence or a line ends."""
    text = " ".join("." if piece in ".!?;\n" else piece for piece in _PIECES.findall(_folded(text)))
    return _TITLES.sub(r"\1", text) if "." in text else text
