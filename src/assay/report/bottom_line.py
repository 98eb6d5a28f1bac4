"""What all runs of a report say together, in a line for the first screen."""

from __future__ import annotations

from collections.abc import Sequence

from assay.presentation.elements import Paragraphs, Section
from assay.presentation.rich_text import Strong, Text, Verbatim, join_texts
from assay.probes import present
from assay.results.run import Run
from assay.results.verdict import VerdictKind

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
    what = "runs" if several or len({run.probe for run in runs}) < len(runs) else "methods"
    said: list[Text] = []
    for says in (each for each in _ORDER if each in judged):
        own = judged[says]
        names: list[Text] = [_name(run, several) for run in own[:MOST_NAMED]]
        more = [f"{len(own) - MOST_NAMED} more"] if len(own) > MOST_NAMED else []
        who = join_texts([*names, *more], last=None if more else " and ")
        first = not said
        amount = f" in {len(own)} of {len(runs)}{f' {what}' if first else ''} ("
        said.append([Strong(str(says).capitalize() if first else str(says)), amount, who, ")"])
    return [join_texts(said, "; "), "."]


def bottom_section(runs: Sequence[Run]) -> list[Section]:
    line = bottom_line(runs)
    return [Section([Paragraphs([["In all: ", line]])])] if line else []


def _name(run: Run, several: bool) -> Text:
    name = present(run).name
    return [name, " · ", Verbatim(run.model)] if several else name
