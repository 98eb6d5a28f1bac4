"""Slots of templates: filling them, finding them in texts again, and what a text says whoever fills them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from assay.asking.queries import MASK, NONE

Range = tuple[int, int]
Content = tuple[str, str, str]
"""What a template asks about an attribute: context, question and negated question, with [subj1] and [subj2]."""
Contents = Mapping[tuple[int, int], Content]  # by (template, attribute)

_MASKS = re.compile(rf"\[mask\]|<mask>|{MASK}", re.IGNORECASE)
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
    for i, part in enumerate(parts):
        if i % 2:
            ranges[part] = (len(text), len(text) + len(values[part]))
        text += values[part] if i % 2 else part
    article_ends = [
        match.end()
        for match in _ARTICLE.finditer(text)
        if released or not _SOUNDS_LIKE_A_CONSONANT.match(text, match.end())
    ]
    for article_end in reversed(article_ends):
        text = f"{text[:article_end]}n{text[article_end:]}"
    for slot, (start, end) in ranges.items():
        ranges[slot] = start + sum(i <= start for i in article_ends), end + sum(i < end for i in article_ends)
    return text, ranges


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
        starts += [word_start for _, word_start in before]
    behind = re.match(r"\s*(\w+|\.)", context[end:])
    ends = [end, end + behind.end() if behind and behind[1].lower() in _PEOPLE else NONE]
    return [*starts, *[NONE] * (5 - len(starts))], ends


def content(context: str, question: str, negated_question: str) -> Content:
    """Texts without what does not matter: case, blanks, the mask's spelling, and "an" for "a", which a subject decides.

    >>> content("An [subj1:dem] man met a  [subj2:dem] man.", "Who left?", "Who stayed?")[0]
    'a [subj1] man met a [subj2] man.'
    """
    context = re.sub(r"\[(subj[12]):dem\]", r"[\1]", context)
    texts = (
        re.sub(r"\ban\b", "a", _MASKS.sub("[mask]", text).lower()) for text in (context, question, negated_question)
    )
    first, second, third = (" ".join(text.split()) for text in texts)
    return first, second, third


def with_slots(context: str, people: Sequence[str]) -> str:
    """A context with [subj1] and [subj2] where its people stand.

    >>> with_slots("An African-American guest sat by an African guest.", ["African-American", "African"])
    'An [subj1] guest sat by an [subj2] guest.'
    """
    slots = {person.lower(): f"[subj{number}]" for number, person in enumerate(people, 1)}
    longest_first = "|".join(re.escape(person) for person in sorted(people, key=len, reverse=True))
    people_in_text = re.compile(rf"(?<!\w)({longest_first})(?!\w)", re.IGNORECASE)
    return people_in_text.sub(lambda match: slots[match[0].lower()], context)
