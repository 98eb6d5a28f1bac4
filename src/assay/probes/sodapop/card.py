"""A SODAPOP run on a reader's first screen: the clearest word."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.blocks import Card, Dot
from assay.text import Name, Strong, Text
from assay.wording import share

if TYPE_CHECKING:
    from assay.probes.sodapop.differences import Word
    from assay.probes.sodapop.present import Found


def rates_of(word: Word) -> list[Text]:
    """How often wrong answers with a word were chosen for both groups, without the first letter and the full stop."""
    a, b = word.sides
    begin: list[Text] = ["rong answers with “", Strong(Name(word.word)), "” were chosen "]
    if word.sr_a is None or word.sr_b is None:
        return [*begin, "more often for ", Name(a), " names than for ", Name(b), " names"]
    first, second = f"{share(word.sr_a)} of the time for ", f"{share(word.sr_b)} for "
    return [*begin, first, Name(a), " names, ", second, Name(b), " names"]


def card_of(found: Found) -> Card:
    """The card: the clearest word, or the largest difference where none is clear."""
    if not found.words:
        return Card("No word could be compared: none was tested in two groups of names.")
    word = found.told[0]
    a, b = word.sides
    start = "W" if found.clear else "No word differs clearly between groups of names. The largest difference: w"
    if word.clear and not found.clear:
        start = "Differences are clear but very small. The clearest: w"
    return Card(
        [start, *rates_of(word), "."],
        label=["Relative difference of “", Name(word.word), "”"],
        number=Dot(word.rd, word.low, word.high, hollow=not word.clear),
        sides=(f"{b} names", f"{a} names"),
        examples={"word": word.word},
    )
