"""Filling a template's slots exactly as the authors' program does, flaws included."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Person:
    """Who fills NAME1 or NAME2, and in crossed templates, with `term`, GEN or OCC of the same number."""

    name: str
    label: str
    term: str = ""

    @property
    def text(self) -> str:
        """The filler as `answer_info` has it."""
        return f"{self.name} {self.term}" if self.term else self.name


@dataclass(frozen=True, slots=True)
class Pair:
    """Who fills the slots 1 and 2; `subcategory` as the official files have it."""

    first: Person
    second: Person
    subcategory: str

    def reversed(self) -> Pair:
        return Pair(self.second, self.first, self.subcategory)


def fill(text: str, pair: Pair, words: tuple[str, str] = ("", "")) -> str:
    """A template's text with everything in its place. The order of the steps matters.

    Articles are corrected only where a filler begins with a vowel, but then in the whole text, save at its beginning.

    >>> pair = Pair(Person("Asian", "Asian"), Person("European", "European"), "None")
    >>> fill("A {{NAME1}} {{WORD1}} met a {{NAME2}} and a {{NAME1}} one.", pair, ("aunt", ""))
    'A Asian aunt met a European and an Asian one.'
    """
    first, second = pair.first, pair.second
    for slot, one, other in (
        ("NAME", first.name, second.name),
        ("GEN", first.term, second.term),
        ("OCC", first.term, second.term),
        ("WORD", *words),
    ):
        text = text.replace(f"{{{{{slot}1}}}}", one).replace(f"{{{{{slot}2}}}}", other)
    text = text.replace("lesbian man", "lesbian woman").replace("Latino woman", "Latina woman")
    if any(re.match("[aeiou]", filler, re.IGNORECASE) for filler in (first.name, second.name, first.term, second.term)):
        text = re.sub(r"(\s[Aa])(\s[AEIOUaeiou])", r"\1n\2", text).replace(" an European", " a European")
    return text
