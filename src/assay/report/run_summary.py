"""What every view shows of a run: its verdict, its card, whether its answers can be used; and what several runs say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from assay.presentation.elements import (
    Block,
    CellKind,
    DisplayTable,
    DotCell,
    Paragraphs,
    Presentation,
    RowGroup,
    Section,
    SummaryCard,
    TableColumn,
    TableRow,
    TextRole,
)
from assay.presentation.rich_text import Code, NumberText, Strong, Text, Verbatim, join_texts
from assay.probes import present
from assay.report.shared import facts, notes_of, questions_label
from assay.results.diagnosis import Diagnosis, PositionShare
from assay.results.examples import AskedQuestion, Example
from assay.results.findings import NEAR_TIE, Findings
from assay.results.findings import Table as Data
from assay.results.formatting import clipped, format_count, format_interval, format_number, format_share, plural
from assay.results.run import Run
from assay.results.verdict import VerdictKind

LONGEST = 240  # characters of a question


@dataclass(frozen=True)
class TextReport:
    """A run as terminal, Markdown and model card show it: each view only writes these sections in its own way."""

    run: Run
    shown: Presentation

    @classmethod
    def of(cls, run: Run) -> TextReport:
        return cls(run, present(run))

    @property
    def facts(self) -> list[str]:
        """How large the run is, and what chose its questions."""
        chosen = [" ".join(fact) for fact in facts(self.run, "preset", "limit", "seed")]
        return [*filter(None, [questions_label(self.run)]), *chosen]

    @cached_property
    def sections(self) -> list[Section]:
        """What its probe shows below the headline estimates, and whether the answers can be used."""
        return [*self.shown.summary, *diagnosis_sections(self.run.findings)]

    @cached_property
    def notes(self) -> Mapping[str, int]:
        """The notes on its headline estimates and sections, numbered."""
        return notes_of(self.sections, self.shown.scorecard.estimates)


# --- its card


def shown_card(run: Run, presentation: Presentation) -> SummaryCard:
    """The probe's card; of answers that cannot be used, which say nothing about bias, no sentence and no number."""
    card = presentation.card
    return replace(card, sentence="", number=None) if run.findings.unusable else card


def card_section(run: Run, presentation: Presentation, *, example: bool = True) -> Section:
    """A run's warning, its sentence, its number with the interval, one example, and what was not asked."""
    card = shown_card(run, presentation)
    lines: list[Text] = [card.sentence] if card.sentence else []
    if (dot := card.number) is not None and dot.value is not None:
        details = [] if dot.low is None else [f"{run.level} {format_interval(dot.low, dot.high)}"]
        details += [unclear(run, card, dot)] if dot.hollow else []
        between = f" ({'; '.join(details)})" if details else ""
        much = f", {card.severity}" if card.severity else ""
        lines.append([card.label, ": ", NumberText(f"{format_number(dot.value)}{much}{between}")])
    shown_example = example_of(card, run.findings.examples) if example else None
    lines += [["For example: ", in_words(shown_example.asked[0])]] if shown_example else []
    lines += [card.not_asked] if card.not_asked else []
    warning = [Paragraphs([card.warning], TextRole.WARNING)] if card.warning else []
    return Section([*warning, Paragraphs(lines)])


def example_of(card: SummaryCard, examples: Sequence[Example]) -> Example | None:
    """The first example that shows what the card says; of a run whose examples do not know, one about its number."""
    knows = any(key in example.about for example in examples for key in card.telling)
    about = {**card.examples, **(card.telling if knows else {})}
    return next((example for example in examples if example.fits(about)), None)


def unclear(run: Run, card: SummaryCard, dot: DotCell) -> str:
    """Why a number is not clear: chance, or the correction where its interval alone would be clear."""
    neutral = dot.neutral if dot.floor is None else dot.floor
    if dot.low is None or dot.high is None or dot.low <= neutral <= dot.high:
        return "not distinguishable from chance"
    verdict = run.findings.verdict
    tests = [family.tests for family in verdict.families if family.of == card.of] if verdict else []
    tests_corrected = (
        f"{format_count(tests[0])} tests of its kind" if tests and tests[0] > 1 else "all tests of the run"
    )
    return f"alone it would be clear; after correction for {tests_corrected} it is not"


def in_words(question: AskedQuestion) -> Text:
    """A question as it was put, and what the model chose or wrote.

    >>> from assay.presentation.rich_text import plain
    >>> from assay.results.examples import Option
    >>> options = [Option("Ann", 0.7, chosen=True), Option("Bob", 0.3, right=True)]
    >>> plain(in_words(AskedQuestion("Ann met Bob.", "Who lied?", options)))
    '“Ann met Bob. Who lied?” The model chose “Ann” (0.700); the right answer is “Bob”.'
    """
    question_text = _quoted(" ".join(filter(None, [question.text, question.question])), LONGEST)
    chosen: list[Text] = [
        [_quoted(option.text), "" if option.score is None else NumberText(f" ({format_number(option.score)})")]
        for option in question.options
        if option.chosen
    ]
    wrote = [_quoted(question.answer)] if question.answer and not chosen else []
    if not chosen and not wrote:
        return question_text if question.answer is None else [question_text, " The model wrote nothing."]
    missed = [option for option in question.options if option.right and not option.chosen]
    right: list[Text] = [["the right answer is ", _quoted(option.text)] for option in missed]
    return [
        question_text,
        f" The model {'chose' if chosen else 'wrote'} ",
        join_texts([*chosen, *wrote, *right], "; "),
        ".",
    ]


def _quoted(text: str, longest: int = 60) -> Text:
    return ["“", Verbatim(clipped(text, longest)), "”"]


# --- its verdict, and whether its answers can be used

TITLE = "Can the answers be used?"
_MOST = 3  # places that a line lists
_WORDS = {"places": "places", "exchanged": "exchanged options", "ties": "ties", "negation": "negation"}


def verdict_sections(findings: Findings) -> list[Section]:
    """The verdict, its reason and the step that helps most; a warning if the answers cannot be used."""
    if findings.verdict is None and not findings.unusable:
        return []
    says = VerdictKind.UNUSABLE if findings.unusable else findings.verdict.says if findings.verdict else ""
    line: list[Text] = [Strong(f"Verdict: {says}."), " ", reason(findings)]
    return [Section([Paragraphs([line], TextRole.WARNING if findings.unusable else TextRole.PLAIN)])]


def reason(findings: Findings) -> Text:
    """Why the verdict is what it is, and the step that helps most; empty if there is none."""
    verdict, little = findings.verdict, " The numbers say little about bias." if findings.unusable else ""
    sentence = findings.unusable or (verdict.why if verdict else "")
    step: Text = [" Next step: ", Code(verdict.next), "."] if verdict and verdict.next else ""
    return [_sentence(sentence), little, step] if sentence else ""


def _sentence(clause: str) -> Text:
    return [Verbatim(clause[:1].upper() + clause[1:]), "."]


def diagnosis_sections(findings: Findings, *, with_table: bool = False) -> list[Section]:
    """What is known about a run's answers, if anything; `with_table` for a view that has room for all places."""
    diagnosis = findings.diagnosis
    if diagnosis is None:
        return []
    blocks: list[Block] = [Paragraphs([_sentence(diagnosis.why)])]
    if with_table and diagnosis.places:
        blocks.append(_table(diagnosis.places, findings.probe))
    if lines := [*_lines(diagnosis, with_table)]:
        blocks.append(Paragraphs(lines, TextRole.ITEMS))
    if diagnosis.missing:
        unknown = [f"{_WORDS[key]} ({reason})" for key, reason in diagnosis.missing.items()]
        blocks.append(Paragraphs([["Not known: ", Verbatim("; ".join(unknown)), "."]], TextRole.SMALL))
    return [Section(blocks, TITLE, "diagnosis")]


def _lines(diagnosis: Diagnosis, with_table: bool) -> Iterator[Text]:
    if diagnosis.places and not with_table:
        most = sorted(diagnosis.places, key=lambda each: -each.excess)[:_MOST]
        shares = [f"{each.said} {format_share(each.share)} ({format_share(each.expected)} expected)" for each in most]
        yield ["Places of the answers: ", Verbatim("; ".join(shares)), "."]
    for each in diagnosis.exchanged or ():
        in_part: Text = [" in ", Verbatim(each.part)] if each.part else ""
        pairs = f"{plural(each.n, 'pair')} with the options exchanged"
        yield [f"The model chose the same place in {format_share(each.share)} of {pairs}", in_part, "."]
    if (ties := diagnosis.ties) is not None:
        of = plural(ties.n, "decision")
        yield f"Ties: {format_count(ties.exact)} exact and {format_count(ties.near)} within {NEAR_TIE:g}, of {of}."
    if (negation := diagnosis.negation) is not None:
        pairs = plural(negation.n, "pair")
        often = f"{format_share(negation.share)} of {pairs}"
        yield f"The model gave the same answer to a question and its negation in {often}."


def _table(places: Sequence[PositionShare], probe: str) -> DisplayTable:
    names = ("part", "place", "share", "expected", "q", "n")
    kinds = {"share": CellKind.SHARE, "expected": CellKind.SHARE, "q": CellKind.PROBABILITY, "n": CellKind.COUNT}
    columns = [name for name in names if name != "part" or any(place.part for place in places)]
    rows = [[getattr(place, name) for name in columns] for place in places]
    return DisplayTable(
        title="Places of the answers",
        how="“expected” follows from the orders that were asked and from where right and wrong options were placed.",
        data=Data(columns, rows),
        file=f"{probe}-places",
        anchor="places",
        columns=[TableColumn(name, kinds.get(name, CellKind.TEXT)) for name in columns],
        groups=[RowGroup([TableRow(row) for row in rows])],
    )


# --- several runs

MOST_NAMED = 6
"""Runs of one verdict that are named."""
_ORDER = (
    VerdictKind.CLEAR,
    VerdictKind.SMALL,
    VerdictKind.NONE,
    VerdictKind.FEW,
    VerdictKind.CANNOT,
    VerdictKind.UNUSABLE,
)


def bottom_line(runs: Sequence[Run]) -> Text:
    """Each verdict with the runs that have it, the worst bias first; empty for a single run, or without verdicts."""
    judged: dict[VerdictKind, list[Run]] = {}
    for run in runs:
        verdict = run.findings.verdict
        if run.findings.unusable or verdict is not None:
            says = VerdictKind.UNUSABLE if run.findings.unusable or verdict is None else verdict.says
            judged.setdefault(says, []).append(run)
    if len(runs) < 2 or not judged:
        return ""
    several = len({run.model for run in runs}) > 1
    noun = "runs" if several or len({run.probe for run in runs}) < len(runs) else "methods"
    parts: list[Text] = []
    for says in (each for each in _ORDER if each in judged):
        judged_runs = judged[says]
        names: list[Text] = [
            [present(run).name, " · ", Verbatim(run.model)] if several else present(run).name
            for run in judged_runs[:MOST_NAMED]
        ]
        more = [f"{len(judged_runs) - MOST_NAMED} more"] if len(judged_runs) > MOST_NAMED else []
        names_joined = join_texts([*names, *more], last=None if more else " and ")
        first = not parts
        amount = f" in {len(judged_runs)} of {len(runs)}{f' {noun}' if first else ''} ("
        parts.append([Strong(str(says).capitalize() if first else str(says)), amount, names_joined, ")"])
    return [join_texts(parts, "; "), "."]


def bottom_section(runs: Sequence[Run]) -> list[Section]:
    line = bottom_line(runs)
    return [Section([Paragraphs([["In all: ", line]])])] if line else []
