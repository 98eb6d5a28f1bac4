"""A run's verdict, and whether its answers can be used, as sections for every view."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from assay.presentation.elements import (
    Block,
    CellKind,
    DisplayTable,
    Paragraphs,
    RowGroup,
    Section,
    TableColumn,
    TableRow,
    TextRole,
)
from assay.presentation.rich_text import Code, Strong, Text, Verbatim
from assay.results.diagnosis import Diagnosis, PositionShare
from assay.results.findings import NEAR_TIE, Findings
from assay.results.findings import Table as Data
from assay.results.formatting import format_count, format_share, plural
from assay.results.verdict import VerdictKind

TITLE = "Can the answers be used?"
_MOST = 3  # places that a line lists
_WORDS = {"places": "places", "exchanged": "exchanged options", "ties": "ties", "negation": "negation"}


def verdict_sections(findings: Findings) -> list[Section]:
    """The verdict, its reason and the step that helps most; a warning if the answers cannot be used."""
    if findings.verdict is None and not findings.unusable:
        return []
    says = VerdictKind.UNUSABLE if findings.unusable else findings.verdict.says if findings.verdict else ""
    said: list[Text] = [Strong(f"Verdict: {says}."), " ", reason(findings)]
    return [Section([Paragraphs([said], TextRole.WARNING if findings.unusable else TextRole.PLAIN)])]


def reason(findings: Findings) -> Text:
    """Why the verdict is what it is, and the step that helps most; empty if there is none."""
    verdict, little = findings.verdict, " The numbers say little about bias." if findings.unusable else ""
    why = findings.unusable or (verdict.why if verdict else "")
    step: Text = [" Next step: ", Code(verdict.next), "."] if verdict and verdict.next else ""
    return [_sentence(why), little, step] if why else ""


def _sentence(said: str) -> Text:
    return [Verbatim(said[:1].upper() + said[1:]), "."]


def diagnosis_sections(findings: Findings, *, drawn: bool = False) -> list[Section]:
    """What is known about a run's answers, if anything; `drawn` for a view that has room for all places."""
    found = findings.diagnosis
    if found is None:
        return []
    blocks: list[Block] = [Paragraphs([_sentence(found.why)])]
    if drawn and found.places:
        blocks.append(_table(found.places, findings.probe))
    if lines := [*_lines(found, drawn)]:
        blocks.append(Paragraphs(lines, TextRole.ITEMS))
    if found.missing:
        unknown = [f"{_WORDS[key]} ({why})" for key, why in found.missing.items()]
        blocks.append(Paragraphs([["Not known: ", Verbatim("; ".join(unknown)), "."]], TextRole.SMALL))
    return [Section(blocks, TITLE, "diagnosis")]


def _lines(found: Diagnosis, drawn: bool) -> Iterator[Text]:
    if found.places and not drawn:
        most = sorted(found.places, key=lambda each: -each.excess)[:_MOST]
        said = [f"{each.said} {format_share(each.share)} ({format_share(each.expected)} expected)" for each in most]
        yield ["Places of the answers: ", Verbatim("; ".join(said)), "."]
    for each in found.exchanged or ():
        where: Text = [" in ", Verbatim(each.part)] if each.part else ""
        pairs = f"{plural(each.n, 'pair')} with the options exchanged"
        yield [f"The model chose the same place in {format_share(each.share)} of {pairs}", where, "."]
    if (ties := found.ties) is not None:
        of = plural(ties.n, "decision")
        yield f"Ties: {format_count(ties.exact)} exact and {format_count(ties.near)} within {NEAR_TIE:g}, of {of}."
    if (negation := found.negation) is not None:
        pairs = plural(negation.n, "pair")
        often = f"{format_share(negation.share)} of {pairs}"
        yield f"The model gave the same answer to a question and its negation in {often}."


def _table(places: Sequence[PositionShare], probe: str) -> DisplayTable:
    names = ("part", "place", "share", "expected", "q", "n")
    kinds = {"share": CellKind.SHARE, "expected": CellKind.SHARE, "q": CellKind.PROBABILITY, "n": CellKind.COUNT}
    shown = [name for name in names if name != "part" or any(place.part for place in places)]
    rows = [[getattr(place, name) for name in shown] for place in places]
    return DisplayTable(
        title="Places of the answers",
        how="“expected” follows from the orders that were asked and from where right and wrong options were placed.",
        data=Data(shown, rows),
        file=f"{probe}-places",
        anchor="places",
        columns=[TableColumn(name, kinds.get(name, CellKind.TEXT)) for name in shown],
        groups=[RowGroup([TableRow(row) for row in rows])],
    )
