"""Letters that name an option: (b), B., option B."""

from __future__ import annotations

import re
from functools import lru_cache
from string import ascii_lowercase

from assay.probes.bbq.answers.naming import denied
from assay.probes.bbq.answers.words import A_LETTER, LETTERS


@lru_cache
def _letter_forms(options: int) -> re.Pattern[str]:
    """Letters that name an option: in brackets, alone, before punctuation, after "option", … The article is none."""
    letter = f"[{ascii_lowercase[:options]}{ascii_lowercase[:options].upper()}]"
    small = f"[{ascii_lowercase[:options]}]"
    large = f"[{ascii_lowercase[:options].upper()}]"
    article = r"(?!(?<=[AaI])\s+(?!(?:is|because|since)\b)\w)"  # before any other word, A and I are words
    loose = rf"{large}(?![\w'-]){article}"
    start = r"^[^\w\n]*"
    told = r"\b(?i:option|choice|letter|answer)(?i:\s+is|\s+would\s+be)?[\"'\s]*[:=]?[\"'\s(]*"
    return re.compile(
        rf"(?:(?P<bracket>[(\[{{<]\s*{letter})\s*[)\]}}>]|(?P<alone>{start}{letter})[^\w\n]*$"
        rf"|(?P<head>{start}{letter})(?=\)|[.:\]](?![^\s\"'(])|,\s|\s[-–—]\s)|(?P<first>{start}{loose})(?=\s)"
        rf"|(?P<told>{told}{loose})|(?P<small>{told}{small})(?=[\"']?(?:[).,:;]|\s*$)))[).:\]]*"
        rf"|(?P<chosen>\b(?i:choose|pick|select|think|believe|say|guess|go\s+with|going\s+with|it\s+is|it's)\s+[\"']?{loose})"
        rf"|(?P<pair>\b{large})(?=\s*(?:and|or|nor|&|/|,)\s*\(?{large}\b)"
        rf"|(?P<next>\b(?:and|or|nor)\s+{large}\b(?!['-]){article})",
        re.MULTILINE,
    )


def with_letters(text: str, options: int) -> str:
    """The text with characters of LETTERS in place of letters that name an option."""

    def stand_in(match: re.Match[str]) -> str:
        kept = match[match.lastgroup or 0]
        return f"{kept[:-1]} {LETTERS[ascii_lowercase.index(kept[-1].lower())]} "

    return _letter_forms(options).sub(stand_in, text)


def lettered_options(text: str) -> dict[int, int]:
    """The letters in a text of sentences: option -> where it stands first."""
    places: dict[int, int] = {}
    for match in A_LETTER.finditer(text):
        if not denied(text, match.start()):
            places.setdefault(LETTERS.index(match[0]), match.start())
    return places
