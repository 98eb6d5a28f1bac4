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
    rates: Text = [
        *("Wrong answers with “", Strong(Name(word.word)), f"” were chosen {share(word.sr_a)} of the time for ", Name(a)),
        *(f" names, {share(word.sr_b)} for ", Name(b), " names."),
    ]
    if not found.clear:
        rates = ["No word fools the model more often for one group of names, as far as chance allows to tell. The clearest: ", *rates]
    return Card(
        rates,
        label=["Relative difference of “", Name(word.word), "”"],
        number=Dot(word.rd, word.low, word.high, hollow=not found.clear),
        sides=(f"{b} names", f"{a} names"),
        examples={"word": word.word},
    )
