"""What a gate found, and as JUnit XML and JSON for programs; `assay.gate.present` shows it to people."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree import ElementTree

from assay.gate.judge import Judgement, Outcome
from assay.probes import say_group
from assay.wording import count, interval, number, plural, visible

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class Kept:
    """A limit with its verdicts."""

    number: int
    title: str
    rule: str
    judgements: Sequence[Judgement]

    def count(self, outcome: Outcome) -> int:
        return sum(each.outcome is outcome for each in self.judgements)

    @property
    def outcome(self) -> Outcome:
        if self.count(Outcome.FAIL):
            return Outcome.FAIL
        return Outcome.PASS if self.count(Outcome.PASS) else Outcome.SKIP

    @property
    def nearest(self) -> Judgement | None:
        """The verdict whose bound is nearest to the limit, or furthest beyond it."""
        judged = [each for each in self.judgements if each.margin is not None]
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
        """Whether every limit is kept."""
        return not self.failures

    @property
    def failures(self) -> list[Judgement]:
        return [judgement for judgement in self.judgements if judgement.outcome is Outcome.FAIL]

    @property
    def said(self) -> str:
        """How many verdicts failed."""
        judged = plural(sum(each.outcome is not Outcome.SKIP for each in self.judgements), "verdict")
        return f"{judged}, none failed." if self.passed else f"{count(len(self.failures))} of {judged} failed."

    def to_json(self) -> str:
        content = {
            "schema": 1,
            "folder": self.folder,
            "policy": self.policy,
            "passed": self.passed,
            "verdicts": [judgement.as_json() for judgement in self.judgements],
            "notes": list(self.notes),
        }
        return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"

    def to_junit(self) -> str:
        """JUnit XML: a suite for each limit, a case for each estimate."""
        root = ElementTree.Element("testsuites", _totals("assay gate", self.judgements))
        for kept in self.limits:
            suite = ElementTree.SubElement(root, "testsuite", _totals(f"{kept.number}. {kept.title}", kept.judgements))
            for each in kept.judgements:
                names = {"classname": _xml(each.metric), "name": _xml(self.named(each)), "time": "0"}
                case = ElementTree.SubElement(suite, "testcase", names)
                if each.outcome is Outcome.FAIL:
                    failure = ElementTree.SubElement(case, "failure", {"type": "limit", "message": _xml(each.reason)})
                    failure.text = _xml("\n".join(filter(None, (each.rule, figures(each), each.reason))))
                elif each.outcome is Outcome.SKIP:
                    ElementTree.SubElement(case, "skipped", {"message": _xml(each.reason)})
        ElementTree.indent(root)
        return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"

    def named(self, each: Judgement) -> str:
        """What was judged, with its model; and with its folder where it takes that to tell two verdicts apart."""
        several = len({other.run for other in self.judgements if other.run}) > 1
        parts = [
            each.metric,
            say_group(each.metric.partition(".")[0], each.group) if each.group else "",
            each.model,
            each.run * several,
        ]
        return ", ".join(filter(None, parts))

    @property
    def limits(self) -> list[Kept]:
        """The limits in their order, each with its verdicts."""
        found: dict[tuple[str, str], list[Judgement]] = {}  # by title and rule: two limits may have one title
        for each in self.judgements:
            found.setdefault((each.limit, each.rule), []).append(each)
        return [Kept(number, *key, own) for number, (key, own) in enumerate(found.items(), 1)]


def said_group(each: Judgement) -> str:
    """What was judged, in its probe's words."""
    return say_group(each.metric.partition(".")[0], each.group)


def figures(each: Judgement) -> str:
    if each.value is None:
        return ""
    if each.low is None:
        return number(each.value)
    return f"{number(each.value)} ({interval(each.low, each.high)})"


def _totals(name: str, judgements: Sequence[Judgement]) -> dict[str, str]:
    counts = {outcome: sum(each.outcome is outcome for each in judgements) for outcome in Outcome}
    return {
        "name": _xml(name),
        "tests": str(len(judgements)),
        "failures": str(counts[Outcome.FAIL]),
        "errors": "0",
        "skipped": str(counts[Outcome.SKIP]),
    }


def _xml(text: str) -> str:
    """Text that XML 1.0 may hold: control characters and the like are written out, or else replaced.

    >>> _xml("a\\x00b"), _xml("a\\ufffeb")
    ('a\\\\x00b', 'a\\ufffdb')
    """
    return _NOT_XML.sub("\ufffd", "\n".join(map(visible, text.split("\n"))))
