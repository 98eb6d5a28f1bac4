"""What is shown of a gate's verdicts, as sections of blocks: the limits, then what fails."""

from __future__ import annotations

from assay.blocks import Block, Column, Group, Kind, Name, Prose, Role, Row, Section, Table, Text
from assay.gate.judge import Outcome
from assay.gate.verdicts import Kept, Verdicts, figures, said_group
from assay.wording import count

MOST = 40  # failures that are shown; JSON and JUnit have all


def present_verdicts(verdicts: Verdicts) -> list[Section]:
    """The sections of a summary, for a terminal or the page of a CI system."""
    limits = verdicts.limits
    named = any(kept.rule not in kept.title for kept in limits)  # where a name does not say what is demanded
    demanded = [Column("demanded", Kind.TEXT)] if named else []
    blocks: list[Block] = [
        Prose([[Name(verdicts.folder), ", judged by ", Name(verdicts.policy), f": {verdicts.said}"]]),
        Table(
            columns=[
                *(Column("", Kind.TEXT), Column("", Kind.TEXT), Column("limit", Kind.TEXT)),
                *(*demanded, Column("nearest to it", Kind.TEXT)),
                *(Column("kept", Kind.COUNT), Column("broken", Kind.COUNT), Column("skipped", Kind.COUNT)),
            ],
            groups=[Group([_row(kept, named) for kept in limits])],
        ),
    ]
    failed: list[Text] = [
        f"FAIL {kept.number}. {': '.join(filter(None, (verdicts.named(each), figures(each), each.reason)))}"
        for kept in limits
        for each in kept.judgements
        if each.outcome is Outcome.FAIL
    ]
    if failed:
        blocks.append(Prose(failed[:MOST], Role.ITEMS))
    if len(failed) > MOST:
        blocks.append(Prose([f"{count(len(failed) - MOST)} more fail; --format json has all."], Role.SMALL))
    if verdicts.notes:
        blocks.append(Prose([f"Note: {note}" for note in verdicts.notes], Role.ITEMS))
    return [Section(blocks, f"Bias gate: {'passed' if verdicts.passed else 'FAILED'}")]


def _row(kept: Kept, named: bool) -> Row:
    nearest = "" if kept.nearest is None else f"{said_group(kept.nearest)}: {figures(kept.nearest)}"
    counts = [kept.count(outcome) for outcome in (Outcome.PASS, Outcome.FAIL, Outcome.SKIP)]
    return Row([str(kept.number), kept.outcome.upper(), kept.title, *([kept.rule] if named else []), nearest, *counts])
