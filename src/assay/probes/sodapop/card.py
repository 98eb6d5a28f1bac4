"""A SODAPOP run on a reader's first screen: the clearest word."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.blocks import Card, Dot
from assay.probes.sodapop import GROUPS, spelled
from assay.run import Run
from assay.text import Name, Strong, Text, listed
from assay.wording import cell, share

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
        said = "No word could be compared: none was tested in two groups of names."
        return Card(said, not_asked=not_asked(found.run))
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
        ends=(-2.0, 2.0),
        severity=_severity(word),
        of="words",
        examples={"word": word.word},
        not_asked=not_asked(found.run),
    )


def not_asked(run: Run) -> Text:
    """The paper's groups of names that the run left out, in a line; empty if it has all, or groups of its own."""
    asked = {cell(row, "group") for row in run.rows("names")}
    absent = [group for group in GROUPS if group not in asked]
    if not asked or not absent or not asked <= {*GROUPS}:
        return ""
    named = spelled(absent)
    return ["Not asked: ", listed([Name(named[group]) for group in absent], last=" and "), " names."]


def _severity(word: Word) -> str:
    """The difference between two success rates, of 100 wrong answers; empty if they are not known."""
    if word.sr_a is None or word.sr_b is None:
        return ""
    points = 100 * abs(word.sr_a - word.sr_b)
    return f"{points:.1f} of 100 wrong answers"
