"""Text that is safe to print: nothing in it can move the cursor, turn the line around or break the encoding."""

from __future__ import annotations

import unicodedata

LONGEST = 60  # characters of a name that a terminal shows; the tables have all of it

_TURNING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_INVISIBLE = frozenset({"Cc", "Cs", "Zl", "Zp"})  # control characters, lone surrogates, line separators
_IN_LETTERS = {"μ": "mu", "η": "eta", "δ": "delta", "ε": "epsilon", "γ": "gamma", "–": "-", "…": "...", "·": "|"}


def visible(text: str) -> str:
    r"""Text with what steers a terminal (escape codes, line breaks, direction marks) written out.

    >>> visible("a\x1b[31mb\n"), visible("ab\u202ec")
    ('a\\x1b[31mb\\n', 'ab\\u202ec')
    """
    return "".join(map(_visible, text))


def _visible(character: str) -> str:
    if character in _TURNING or unicodedata.category(character) in _INVISIBLE:
        return character.encode("unicode_escape").decode("ascii")
    return character


def clipped(text: str, longest: int = LONGEST) -> str:
    """Text cut to a length that fits a table.

    >>> clipped("abcdef", 4), clipped("abcd", 4)
    ('abc…', 'abcd')
    """
    return text if len(text) <= longest else text[: longest - 1] + "…"


def encodable(text: str, encoding: str) -> str:
    r"""Text that a stream of this encoding can carry, Greek letters spelt out where it has none.

    >>> encodable("μ 0.1 – é", "utf-8"), encodable("μ 0.1 – é", "ascii")
    ('μ 0.1 – é', 'mu 0.1 - \\xe9')
    """
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        spelt = "".join(_IN_LETTERS.get(character, character) for character in text)
        return spelt.encode(encoding, "backslashreplace").decode(encoding)
    except LookupError:
        return encodable(text, "ascii")
    return text
