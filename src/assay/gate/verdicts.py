"""The results of a gate: judgements, shown as sections of blocks for people, as JUnit XML and JSON for programs."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from xml.etree import ElementTree

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


class Outcome(StrEnum):
    """The result of a limit for an estimate."""

    PASS = "pass"
    FAIL = "fail"
    SKIP = "skip"


class ReasonCode(StrEnum):
    """Why something failed or was skipped, for programs."""

    LIMIT = "limit"
    VERDICT = "verdict"
    UNUSABLE = "unusable"
    FEW = "too-few"


@dataclass(frozen=True)
class Judgement:
    """A limit, an estimate and the outcome, with the reason in words, and as a code unless it passed.

    Against a baseline `value`, `low` and `high` are of how much worse the model is. `corrected` is the number that the
    interval belongs to, where that is not the value. `margin` is how far the judged bound is from its limit, below 0
    beyond it; None where no bound was judged. `metric` is PROBE.METRIC. Where a limit selected nothing, there is no
    group and no value.
    """

    limit: str
    rule: str
    outcome: Outcome
    reason: str
    metric: str
    group: Mapping[str, str]
    model: str = ""
    run: str = ""
    value: float | None = None
    corrected: float | None = None
    low: float | None = None
    high: float | None = None
    level: float | None = None
    n: int | None = None
    margin: float | None = None
    code: ReasonCode | None = None


@dataclass(frozen=True)
class LimitResult:
    """A limit with its verdicts."""

    number: int
    title: str
    rule: str
    judgements: Sequence[Judgement]

    @property
    def outcome(self) -> Outcome:
        outcomes = {judgement.outcome for judgement in self.judgements}
        return next(outcome for outcome in (Outcome.FAIL, Outcome.PASS, Outcome.SKIP) if outcome in outcomes)

    @property
    def nearest(self) -> Judgement | None:
        """The verdict whose bound is nearest to the limit, or furthest beyond it."""
        judged = [judgement for judgement in self.judgements if judgement.margin is not None]
        return min(judged, key=lambda judgement: judgement.margin or 0.0, default=None)


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
        for result in self.limits:
            totals = _totals(f"{result.number}. {result.title}", result.judgements)
            suite = ElementTree.SubElement(root, "testsuite", totals)
            for judgement in result.judgements:
                names = {"classname": _xml(judgement.metric), "name": _xml(self.named(judgement)), "time": "0"}
                case = ElementTree.SubElement(suite, "testcase", names)
                if judgement.outcome is Outcome.FAIL:
                    attributes = {"type": judgement.code or ReasonCode.LIMIT, "message": _xml(judgement.reason)}
                    lines = judgement.rule, _figures(judgement), judgement.reason
                    ElementTree.SubElement(case, "failure", attributes).text = _xml("\n".join(filter(None, lines)))
                elif judgement.outcome is Outcome.SKIP:
                    ElementTree.SubElement(case, "skipped", {"message": _xml(judgement.reason)})
        ElementTree.indent(root)
        return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"

    def named(self, judgement: Judgement) -> str:
        """What was judged, with its model; and with its folder where it takes that to tell two verdicts apart."""
        several = len({verdict.run for verdict in self.judgements if verdict.run}) > 1
        group, run = _group(judgement) if judgement.group else "", judgement.run if several else ""
        return ", ".join(filter(None, (judgement.metric, group, judgement.model, run)))

    @property
    def limits(self) -> list[LimitResult]:
        """The limits in their order, each with its verdicts."""
        by_limit: dict[tuple[str, str], list[Judgement]] = {}  # by title and rule: two limits may have one title
        for judgement in self.judgements:
            by_limit.setdefault((judgement.limit, judgement.rule), []).append(judgement)
        return [LimitResult(n, *limit, judgements) for n, (limit, judgements) in enumerate(by_limit.items(), 1)]


def present_verdicts(verdicts: Verdicts) -> list[Section]:
    """The sections of a summary, for a terminal or the page of a CI system."""
    limits = verdicts.limits
    named = any(result.rule not in result.title for result in limits)  # where a name does not state the requirement
    heads = ("", "", "limit", *(("requirement",) if named else ()), "closest estimate")
    columns = [TableColumn(head, CellKind.TEXT) for head in heads]
    columns += [TableColumn(head, CellKind.COUNT) for head in ("passed", "failed", "skipped")]
    checked: Text = [Verbatim(verdicts.folder), ", checked against ", Verbatim(verdicts.policy), f": {verdicts.said}"]
    rows = [_row(result, named) for result in limits]
    blocks: list[Block] = [Paragraphs([checked]), DisplayTable(columns=columns, groups=[RowGroup(rows)])]
    failed: list[Text] = [
        f"FAIL {result.number}. "
        f"{': '.join(filter(None, (verdicts.named(judgement), _figures(judgement), judgement.reason)))}"
        for result in limits
        for judgement in result.judgements
        if judgement.outcome is Outcome.FAIL
    ]
    if failed:
        blocks.append(Paragraphs(failed[:MOST], TextRole.ITEMS))
    if len(failed) > MOST:
        more = f"{format_count(len(failed) - MOST)} more fail; --format json has all."
        blocks.append(Paragraphs([more], TextRole.SMALL))
    if verdicts.notes:
        blocks.append(Paragraphs([f"Note: {note}" for note in verdicts.notes], TextRole.ITEMS))
    return [Section(blocks, f"Bias gate: {'passed' if verdicts.passed else 'FAILED'}")]


def _row(result: LimitResult, named: bool) -> TableRow:
    nearest = "" if result.nearest is None else f"{_group(result.nearest)}: {_figures(result.nearest)}"
    counts = [_count(result.judgements, outcome) for outcome in (Outcome.PASS, Outcome.FAIL, Outcome.SKIP)]
    rule = [result.rule] if named else []
    return TableRow([str(result.number), result.outcome.upper(), result.title, *rule, nearest, *counts])


def _group(judgement: Judgement) -> str:
    """What was judged, in its probe's words."""
    return say_group(judgement.metric.partition(".")[0], judgement.group)


def _figures(judgement: Judgement) -> str:
    if judgement.value is None:
        return ""
    if judgement.low is None:
        return format_number(judgement.value)
    between = format_interval(judgement.low, judgement.high)
    whose = "" if judgement.corrected is None else f", corrected for chance {format_number(judgement.corrected)}"
    return f"{format_number(judgement.value)}{whose} ({between})"


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
