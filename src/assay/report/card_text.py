"""A run on the first screen: what every view shows of its card."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from assay.presentation.elements import DotCell, Paragraphs, Presentation, Section, SummaryCard, TextRole
from assay.presentation.rich_text import NumberText, Text, Verbatim, join_texts
from assay.probes import present
from assay.results.examples import AskedQuestion, Example, Option
from assay.results.formatting import clipped, format_count, format_interval, format_number
from assay.results.run import Run

LONGEST = 240  # characters of a question


def shown_card(run: Run, shown: Presentation) -> SummaryCard:
    """The probe's card; of answers that cannot be used, which say nothing about bias, no sentence and no number."""
    card = shown.card
    return replace(card, sentence="", number=None) if run.findings.unusable else card


def card_section(run: Run, *, example: bool = True) -> Section:
    """A run's warning, its sentence, its number with the interval, one example, and what was not asked."""
    card = shown_card(run, present(run))
    said: list[Text] = [card.sentence] if card.sentence else []
    if (dot := card.number) is not None and dot.value is not None:
        known = [] if dot.low is None else [f"{run.level} {format_interval(dot.low, dot.high)}"]
        known += [unclear(run, card, dot)] if dot.hollow else []
        between = f" ({'; '.join(known)})" if known else ""
        much = f", {card.severity}" if card.severity else ""
        said.append([card.label, ": ", NumberText(f"{format_number(dot.value)}{much}{between}")])
    shown = example_of(card, run.findings.examples) if example else None
    said += [["For example: ", in_words(shown.asked[0])]] if shown else []
    said += [card.not_asked] if card.not_asked else []
    warning = [Paragraphs([card.warning], TextRole.WARNING)] if card.warning else []
    return Section([*warning, Paragraphs(said)])


def example_of(card: SummaryCard, examples: Sequence[Example]) -> Example | None:
    """The first example that shows what the card says; of a run whose examples do not know, one about its number."""
    knows = any(key in example.about for example in examples for key in card.telling)
    wanted = {**card.examples, **(card.telling if knows else {})}
    return next((example for example in examples if example.fits(wanted)), None)


def unclear(run: Run, card: SummaryCard, dot: DotCell) -> str:
    """Why a number is not clear: chance, or the correction where its interval alone would be clear."""
    neutral = dot.neutral if dot.floor is None else dot.floor
    if dot.low is None or dot.high is None or dot.low <= neutral <= dot.high:
        return "not distinguishable from chance"
    verdict = run.findings.verdict
    tests = [family.tests for family in verdict.families if family.of == card.of] if verdict else []
    every = f"{format_count(tests[0])} tests of its kind" if tests and tests[0] > 1 else "all tests of the run"
    return f"alone it would be clear; after correction for {every} it is not"


def in_words(asked: AskedQuestion) -> Text:
    """A question as it was put, and what the model chose or wrote.

    >>> from assay.presentation.rich_text import plain
    >>> options = [Option("Ann", 0.7, chosen=True), Option("Bob", 0.3, right=True)]
    >>> plain(in_words(AskedQuestion("Ann met Bob.", "Who lied?", options)))
    '“Ann met Bob. Who lied?” The model chose “Ann” (0.700); the right answer is “Bob”.'
    """
    put = _quoted(" ".join(filter(None, [asked.text, asked.question])), LONGEST)
    chosen = [_scored(option) for option in asked.options if option.chosen]
    wrote = [_quoted(asked.answer)] if asked.answer and not chosen else []
    if not chosen and not wrote:
        return put if asked.answer is None else [put, " The model wrote nothing."]
    missed = [option for option in asked.options if option.right and not option.chosen]
    right: list[Text] = [["the right answer is ", _quoted(option.text)] for option in missed]
    return [put, f" The model {'chose' if chosen else 'wrote'} ", join_texts([*chosen, *wrote, *right], "; "), "."]


def _scored(option: Option) -> Text:
    score = "" if option.score is None else NumberText(f" ({format_number(option.score)})")
    return [_quoted(option.text), score]


def _quoted(text: str, longest: int = 60) -> Text:
    return ["“", Verbatim(clipped(text, longest)), "”"]
