"""The content of a cell, by which the same cells are found in files made elsewhere."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from assay.asking.queries import MASK
from assay.probes.unqover.plan import UnqoverPlan
from assay.probes.unqover.slots import fill

Content = tuple[str, str, str]
"""What a template asks about an attribute: context, question and negated question, with [subj1] and [subj2]."""
Contents = Mapping[tuple[int, int], Content]  # by (template, attribute)

_MASKS = re.compile(rf"\[mask\]|<mask>|{MASK}", re.IGNORECASE)


def content(context: str, asked: str, negated: str) -> Content:
    """Texts without what does not matter: case, blanks, the mask's spelling, and "an" for "a", which a subject decides.

    >>> content("An [subj1:dem] man met a  [subj2:dem] man.", "Who left?", "Who stayed?")[0]
    'a [subj1] man met a [subj2] man.'
    """
    context = re.sub(r"\[(subj[12]):dem\]", r"[\1]", context)
    texts = (re.sub(r"\ban\b", "a", _MASKS.sub("[mask]", text).lower()) for text in (context, asked, negated))
    first, second, third = (" ".join(text.split()) for text in texts)
    return first, second, third


def contents_of(plan: UnqoverPlan) -> Contents:
    """What every (template, attribute) of a plan says."""
    lists = plan.lists
    said = {}
    for t, a in plan.table.combinations.tolist():
        template, attribute = lists.templates[t], lists.attributes[a]
        heads = template.head, f"{template.head}:neg"
        questions = [
            fill(text, {head: attribute.forms[head], "mask": MASK})[0]
            for text, head in zip((template.asked, template.negated), heads, strict=True)
        ]
        said[t, a] = content(f"{lists.header} {template.context}", *questions)
    return said


def with_slots(context: str, people: Sequence[str]) -> str:
    """A context with [subj1] and [subj2] where its people stand.

    >>> with_slots("An African-American guest sat by an African guest.", ["African-American", "African"])
    'An [subj1] guest sat by an [subj2] guest.'
    """
    slots = {person.lower(): f"[subj{place}]" for place, person in enumerate(people, 1)}
    longest_first = "|".join(re.escape(person) for person in sorted(people, key=len, reverse=True))
    return re.sub(
        rf"(?<!\w)({longest_first})(?!\w)", lambda found: slots[found[0].lower()], context, flags=re.IGNORECASE
    )
