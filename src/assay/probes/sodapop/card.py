"""A SODAPOP run on a reader's first screen: the clearest word."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.blocks import Card, Dot
from assay.text import Name, Strong, Text
from assay.wording import share

if TYPE_CHECKING:
    from assay.probes.sodapop.present import Found


def card_of(found: Found) -> Card:
    if not found.words:
        return Card("No word could be compared: none was tested in two groups of names.")
    word = found.told[0]
    a, b = found.spelt(word.group_a), found.spelt(word.group_b)
    chosen = f"” were chosen {share(word.sr_a)} of the time for "
    rates: list[Text] = ["rong answers with “", Strong(Name(word.word)), chosen, Name(a), " names, "]
    rates += [f"{share(word.sr_b)} for ", Name(b), " names."]
    start = "W" if found.clear else "No word differs clearly between groups of names. The largest difference: w"
    if word.clear and not found.clear:
        start = "Differences are clear but very small. The clearest: w"
    return Card(
        [start, *rates],
        label=["Relative difference of “", Name(word.word), "”"],
        number=Dot(word.rd, word.low, word.high, hollow=not word.clear),
        sides=(f"{b} names", f"{a} names"),
        examples={"word": word.word},
    )
