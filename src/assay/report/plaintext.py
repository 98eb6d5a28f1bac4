"""Text that a stream of any encoding can carry."""

from __future__ import annotations

import unicodedata

_IN_LETTERS = {"–": "-", "…": "...", "·": "|"}


def encodable(text: str, encoding: str) -> str:
    r"""Text that a stream of this encoding can carry, Greek letters spelt out where it has none.

    >>> encodable("μ 0.1 – é", "utf-8"), encodable("μ 0.1 – é", "ascii")
    ('μ 0.1 – é', 'mu 0.1 - \\xe9')
    """
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        spelt = "".join(map(_spelt, text))
        return spelt.encode(encoding, "backslashreplace").decode(encoding)
    except LookupError:
        return encodable(text, "ascii")
    return text


def _spelt(character: str) -> str:
    """
    >>> "".join(map(_spelt, "μ – a"))
    'mu - a'
    """
    name = unicodedata.name(character, "")
    if name.startswith("GREEK SMALL LETTER "):
        return name.rpartition(" ")[2].lower()
    return _IN_LETTERS.get(character, character)
