"""Assigns each item to a part of the data by its own words or key, so it is always in the same part."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Sequence

PARTS = ("train", "validation", "test")

_NAME = re.compile(r"\b[A-Z][a-z]+\b")
_COMMON = 60  # contexts with a phrase; with more of them it says nothing about the event


def part_of(key: str, validation: float, test: float) -> str:
    """The part of a key, given the shares of two parts: always the same, whatever else there is."""
    share = int.from_bytes(hashlib.sha256(key.encode()).digest()[:4], "big") / 2**32
    return "test" if share < test else "validation" if share < test + validation else "train"


def nameless(text: str) -> str:
    """A text without its names, and without other capitalised words.

    >>> nameless("Odell thanked Tamsin.")
    'X thanked X.'
    """
    return _NAME.sub("X", text)


def apart(contexts: Sequence[str], share: float) -> set[int]:
    """The places of contexts for validation: those of a share that tell of nothing that the others tell of.

    Social IQa has several contexts for one event, all in the same part; so a context that was picked at random is much
    easier than one of the dev part. Here contexts that share four words in a row, names aside, stay together, unless
    more than 60 contexts have these words.
    """
    phrases = [_phrases(context) for context in contexts]
    common = Counter(phrase for some in phrases for phrase in some)
    phrases = [{phrase for phrase in some if common[phrase] <= _COMMON} for some in phrases]
    picked = {place for place, context in enumerate(contexts) if part_of(context, share, 0) == "validation"}
    while True:
        told = {phrase for place, some in enumerate(phrases) if place not in picked for phrase in some}
        shared = {place for place in picked if phrases[place] & told}
        if not shared:
            return picked
        picked -= shared


def _phrases(context: str) -> set[tuple[str, ...]]:
    words = re.findall(r"[a-z']+", nameless(context).lower())
    return set(zip(*(words[place:] for place in range(4)), strict=False))  # the shortest, the last, ends it
