"""Texts without he and she: they, them, their, theirs and themself stand in their place.

is, was, has and does agree with it; other verbs stay ("they goes"), and so does a verb in front ("is they"). Nothing
here knows whom a pronoun is about: other people lose theirs as well. "her" is read by the word behind it: it is "them"
in "told her that" and "their" in "her book", but "took her home" becomes "took their home".
"""

from __future__ import annotations

import re
from functools import partial

_PLURAL = {"is": "are", "was": "were", "has": "have", "does": "do"}

# Behind "her" where it is an object; in front of any other word it is taken for a possessive.
_BEHIND_OBJECT = """
    a about after again all also an and any around as at away be because before but by do down everything feel find for
    from get go he her his how if in into it know not of off on or out over she so some something that the their there
    they through to too understand until up very was well what when where whether which while who why with without
"""

_CHANGES = [
    (re.compile(rf"(?<![\w-])(?:{pattern})(?!-?\w)", re.IGNORECASE), plain)
    for pattern, plain in (
        (r"s?he['’]s(?= (?:been|got|had|never)\b)", "they've"),
        (r"s?he['’]s", "they're"),
        *((rf"s?he {verb}n['’]t", f"they {plural}n't") for verb, plural in _PLURAL.items()),
        *((rf"s?he {verb}", f"they {plural}") for verb, plural in _PLURAL.items()),
        ("s?he", "they"),
        ("him", "them"),
        (r"hers|her['’]s|his(?=\s*(?:[.,;:!?]|$))", "theirs"),
        (rf"her(?=\s+(?!(?:{'|'.join(_BEHIND_OBJECT.split())})(?!-?\w))\w)", "their"),
        ("her", "them"),
        ("his", "their"),
        ("himself|herself", "themself"),
    )
]


def neutral_text(text: str) -> str:
    """A text with they in place of he and she, in all their forms; capitals stay.

    >>> neutral_text("She was late, so he lent her his car and told her to keep it to herself.")
    'They were late, so they lent them their car and told them to keep it to themself.'
    """
    for pattern, plain in _CHANGES:
        text = pattern.sub(partial(_with_capitals, plain), text)
    return text


def _with_capitals(plain: str, old: re.Match[str]) -> str:
    if old[0].isupper():
        return plain.upper()
    return plain[0].upper() + plain[1:] if old[0][0].isupper() else plain
