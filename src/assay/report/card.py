"""A run's card in words, for every view that is not a page."""

from __future__ import annotations

from assay.blocks import Prose, Role, Section
from assay.examples import Asked, Option
from assay.probes import present
from assay.run import Run
from assay.text import Figure, Name, Text, listed
from assay.wording import clipped, interval, number

LONGEST = 240  # characters of a question


def card_section(run: Run, *, example: bool = True) -> Section:
    """A run's warning, its sentence, its number with the interval, and one example."""
    card = present(run).card
    said: list[Text] = [card.sentence]
    if (dot := card.number) is not None and dot.value is not None:
        known = [] if dot.low is None else [f"{run.level} {interval(dot.low, dot.high)}"]
        known += ["not distinguishable from chance"] if dot.hollow else []
        between = f" ({'; '.join(known)})" if known else ""
        said.append([card.label, ": ", Figure(f"{number(dot.value)}{between}")])
    fitting = (each for each in run.findings.examples if example and each.fits(card.examples))
    said += [["For example: ", in_words(each.asked[0])] for each in fitting][:1]
    warning = [Prose([card.warning], Role.WARNING)] if card.warning else []
    return Section([*warning, Prose(said)])


def in_words(asked: Asked) -> Text:
    """A question as it was put, and what the model chose or wrote.

    >>> from assay.text import plain
    >>> options = [Option("Ann", 0.7, chosen=True), Option("Bob", 0.3, right=True)]
    >>> plain(in_words(Asked("Ann met Bob.", "Who lied?", options)))
    '“Ann met Bob. Who lied?” The model chose “Ann” (0.700); the right answer is “Bob”.'
    """
    put = _quoted(" ".join(filter(None, [asked.text, asked.question])), LONGEST)
    chosen = [_scored(option) for option in asked.options if option.chosen]
    wrote = [_quoted(asked.answer)] if asked.answer is not None and not chosen else []
    if not chosen and not wrote:
        return put
    missed = [option for option in asked.options if option.right and not option.chosen]
    right: list[Text] = [["the right answer is ", _quoted(option.text)] for option in missed]
    return [put, f" The model {'chose' if chosen else 'wrote'} ", listed([*chosen, *wrote, *right], "; "), "."]


def _scored(option: Option) -> Text:
    score = "" if option.score is None else Figure(f" ({number(option.score)})")
    return [_quoted(option.text), score]


def _quoted(text: str, longest: int = 60) -> Text:
    return ["“", Name(clipped(text, longest)), "”"]
