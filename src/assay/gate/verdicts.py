"""The results of a gate: as sections of blocks for people, as JUnit XML and JSON for programs."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from xml.etree import ElementTree

from assay.gate.judgement import Judgement, Outcome, ReasonCode
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
from assay.presentation.rich_text import Text, Verbatim
from assay.probes import say_group
from assay.results.formatting import escape_control_characters, format_count, format_interval, format_number, plural

MOST = 40  # failures that are shown; JSON and JUnit have all
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class LimitResult:
    """A limit with its verdicts."""

    number: int
    title: str
    rule: str
    judgements: Sequence[Judgement]

    @property
    def outcome(self) -> Outcome:
        found = {judgement.outcome for judgement in self.judgements}
        return next(outcome for outcome in (Outcome.FAIL, Outcome.PASS, Outcome.SKIP) if outcome in found)

    @property
    def nearest(self) -> Judgement | None:
        """The verdict whose bound is nearest to the limit, or furthest beyond it."""
        judged = [judgement for judgement in self.judgements if judgement.margin is not None]
        return min(judged, key=lambda each: each.margin or 0.0, default=None)


@dataclass(frozen=True)
class Verdicts:
    """The verdicts on a policy's limits, one for each estimate that a limit selects.

    `notes` are those of comparisons with baselines.

    >>> Verdicts("runs/my-run", "policy.toml", []).passed
    True
    """

    folder: str
    policy: str
    judgements: Sequence[Judgement]
    notes: Sequence[str] = ()

    @property
    def passed(self) -> bool:
        """Whether no limit failed."""
        return not self.failures

    @property
    def failures(self) -> list[Judgement]:
        return [judgement for judgement in self.judgements if judgement.outcome is Outcome.FAIL]

    @property
    def said(self) -> str:
        """How many verdicts failed."""
        judged = plural(sum(judgement.outcome is not Outcome.SKIP for judgement in self.judgements), "verdict")
        return f"{judged}, none failed." if self.passed else f"{format_count(len(self.failures))} of {judged} failed."

    def to_json(self) -> str:
        content = {
            "schema": 1,
            "folder": self.folder,
            "policy": self.policy,
            "passed": self.passed,
            "verdicts": [asdict(judgement) for judgement in self.judgements],
            "notes": list(self.notes),
        }
        return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"

    def to_junit(self) -> str:
        """JUnit XML: a suite for each limit, a case for each estimate."""
        root = ElementTree.Element("testsuites", _totals("assay gate", self.judgements))
        for kept in self.limits:
            suite = ElementTree.SubElement(root, "testsuite", _totals(f"{kept.number}. {kept.title}", kept.judgements))
            for judgement in kept.judgements:
                names = {"classname": _xml(judgement.metric), "name": _xml(self.named(judgement)), "time": "0"}
                case = ElementTree.SubElement(suite, "testcase", names)
                if judgement.outcome is Outcome.FAIL:
                    failure = ElementTree.SubElement(
                        case, "failure", {"type": judgement.code or ReasonCode.LIMIT, "message": _xml(judgement.reason)}
                    )
                    failure.text = _xml(
                        "\n".join(filter(None, (judgement.rule, _figures(judgement), judgement.reason)))
                    )
                elif judgement.outcome is Outcome.SKIP:
                    ElementTree.SubElement(case, "skipped", {"message": _xml(judgement.reason)})
        ElementTree.indent(root)
        return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"

    def named(self, each: Judgement) -> str:
        """What was judged, with its model; and with its folder where it takes that to tell two verdicts apart."""
        several = len({other.run for other in self.judgements if other.run}) > 1
        parts = [each.metric, _said_group(each) if each.group else "", each.model, each.run if several else ""]
        return ", ".join(filter(None, parts))

    @property
    def limits(self) -> list[LimitResult]:
        """The limits in their order, each with its verdicts."""
        found: dict[tuple[str, str], list[Judgement]] = {}  # by title and rule: two limits may have one title
        for judgement in self.judgements:
            found.setdefault((judgement.limit, judgement.rule), []).append(judgement)
        return [LimitResult(number, *key, own) for number, (key, own) in enumerate(found.items(), 1)]


def present_verdicts(verdicts: Verdicts) -> list[Section]:
    """The sections of a summary, for a terminal or the page of a CI system."""
    limits = verdicts.limits
    named = any(kept.rule not in kept.title for kept in limits)  # where a name does not state the requirement
    texts = ("", "", "limit", *(("requirement",) if named else ()), "closest estimate")
    columns = [*(TableColumn(head, CellKind.TEXT) for head in texts)]
    columns += [TableColumn(head, CellKind.COUNT) for head in ("passed", "failed", "skipped")]
    blocks: list[Block] = [
        Paragraphs(
            [[Verbatim(verdicts.folder), ", checked against ", Verbatim(verdicts.policy), f": {verdicts.said}"]]
        ),
        DisplayTable(columns=columns, groups=[RowGroup([_row(kept, named) for kept in limits])]),
    ]
    failed: list[Text] = [
        f"FAIL {kept.number}. "
        f"{': '.join(filter(None, (verdicts.named(judgement), _figures(judgement), judgement.reason)))}"
        for kept in limits
        for judgement in kept.judgements
        if judgement.outcome is Outcome.FAIL
    ]
    if failed:
        blocks.append(Paragraphs(failed[:MOST], TextRole.ITEMS))
    if len(failed) > MOST:
        blocks.append(
            Paragraphs([f"{format_count(len(failed) - MOST)} more fail; --format json has all."], TextRole.SMALL)
        )
    if verdicts.notes:
        blocks.append(Paragraphs([f"Note: {note}" for note in verdicts.notes], TextRole.ITEMS))
    return [Section(blocks, f"Bias gate: {'passed' if verdicts.passed else 'FAILED'}")]


def _row(kept: LimitResult, named: bool) -> TableRow:
    nearest = "" if kept.nearest is None else f"{_said_group(kept.nearest)}: {_figures(kept.nearest)}"
    counts = [_count(kept.judgements, outcome) for outcome in (Outcome.PASS, Outcome.FAIL, Outcome.SKIP)]
    return TableRow(
        [str(kept.number), kept.outcome.upper(), kept.title, *([kept.rule] if named else []), nearest, *counts]
    )


def _said_group(each: Judgement) -> str:
    """What was judged, in its probe's words."""
    return say_group(each.metric.partition(".")[0], each.group)


def _figures(each: Judgement) -> str:
    if each.value is None:
        return ""
    if each.low is None:
        return format_number(each.value)
    between = format_interval(each.low, each.high)
    whose = "" if each.corrected is None else f", corrected for chance {format_number(each.corrected)}"
    return f"{format_number(each.value)}{whose} ({between})"


def _count(judgements: Sequence[Judgement], outcome: Outcome) -> int:
    return sum(judgement.outcome is outcome for judgement in judgements)


def _totals(name: str, judgements: Sequence[Judgement]) -> dict[str, str]:
    failures, skipped = (str(_count(judgements, outcome)) for outcome in (Outcome.FAIL, Outcome.SKIP))
    tests = str(len(judgements))
    return {"name": _xml(name), "tests": tests, "failures": failures, "errors": "0", "skipped": skipped}


def _xml(text: str) -> str:
    """Text that XML 1.0 may hold: control characters and the like are written out, or else replaced.

    >>> _xml("a\\x00b"), _xml("a\\ufffeb")
    ('a\\\\x00b', 'a\\ufffdb')
    """
    return _NOT_XML.sub("\ufffd", "\n".join(map(escape_control_characters, text.split("\n"))))
