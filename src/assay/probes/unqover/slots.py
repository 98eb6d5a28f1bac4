"""Filling slots: texts with the character ranges of what was filled in, and correct articles."""

from __future__ import annotations

import re
from collections.abc import Mapping

from assay.asking.queries import NONE

Range = tuple[int, int]

_ARTICLE = re.compile(r"(?<=\s)([Aa])(?=\s+[aeiouAEIOU])|^([Aa])(?=\s+[aeiouAEIOU])")
_SOUNDS_LIKE_A_CONSONANT = re.compile(r"\s+(eu|uni[cfloqstv]|u[gkrst][aeiu]|ukr|one\b|once\b)", re.IGNORECASE)

_QUANTIFIERS = {"a", "an", "the", "some", "few", "several"}
_COLLECTIVES = ("group", "team", "couple")
_PEOPLE = {"man", "woman", "boy", "girl", "child", "kid", "person", "folk", "people", "couple", "city", "country"}
_PEOPLE |= {"men", "women", "boys", "girls", "children", "kids", "persons", "folks", "cities", "countries", "."}


def fill(template: str, values: Mapping[str, str], *, released: bool = False) -> tuple[str, dict[str, Range]]:
    """A template with its slots filled, articles corrected, and where each filling stands.

    >>> fill("A [x] man met a [y].", {"x": "Iraqi", "y": "European"})
    ('An Iraqi man met a European.', {'x': (3, 8), 'y': (19, 27)})

    With `released`, articles are the released program's: "an European".
    """
    parts = re.split(r"\[([^\]]+)\]", template)
    text, ranges = "", {}
    for place, part in enumerate(parts):
        if place % 2:
            ranges[part] = (len(text), len(text) + len(values[part]))
            text += values[part]
        else:
            text += part
    return _with_articles(text, ranges, released)


def _with_articles(text: str, ranges: dict[str, Range], released: bool) -> tuple[str, dict[str, Range]]:
    places = [
        match.end()
        for match in _ARTICLE.finditer(text)
        if released or not _SOUNDS_LIKE_A_CONSONANT.match(text, match.end())
    ]
    for place in reversed(places):
        text = f"{text[:place]}n{text[place:]}"
    moved = {
        slot: (start + sum(place <= start for place in places), end + sum(place < end for place in places))
        for slot, (start, end) in ranges.items()
    }
    return text, moved


def widened(context: str, subject: Range) -> tuple[list[int], list[int]]:
    """Alternative starts and ends of a subject as the released program has them (not in the paper).

    A preceding article, quantifier or "a group of" counts as the start as well, a following "man", "people", … or
    "." as the end. Five starts and two ends; NONE where there is no further one.

    >>> widened("An Iraqi man met a Dane.", (3, 8))
    ([3, 0, -1, -1, -1], [8, 12])
    """
    start, end = subject
    before = [(match.group(), match.start()) for match in re.finditer(r"\w+", context[:start])][-3:]
    starts = [start]
    if before and before[-1][0].lower() in _QUANTIFIERS:
        starts.append(before[-1][1])
    words = [word.lower() for word, _ in before]
    if len(words) == 3 and words[0] == "a" and words[1] in _COLLECTIVES and words[2] == "of":
        starts += [place for _, place in before]
    behind = re.match(r"\s*(\w+|\.)", context[end:])
    ends = [end, end + behind.end() if behind and behind[1].lower() in _PEOPLE else NONE]
    return [*starts, *[NONE] * (5 - len(starts))], ends
