"""What a gate found, for people and for programs: a short table, Markdown, JUnit XML and JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from assay.gate.judge import Judgement, Outcome
from assay.report import words
from assay.report.markdown import escaped, table
from assay.report.plaintext import visible

if TYPE_CHECKING:
    from rich.console import Console

MOST = 40  # failures that a terminal or a summary shows; JSON and JUnit have all

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True)
class _Kept:
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

    def to_markdown(self) -> str:
        """A summary for pages of CI systems."""
        rows = [
            [
                str(kept.number),
                kept.outcome.upper(),
                escaped(kept.title),
                escaped(kept.rule),
                *_counted(kept),
                escaped(_nearest(kept)),
            ]
            for kept in self._limits
        ]
        heads = ["", "", "limit", "demanded", "kept", "broken", "skipped", "nearest to the limit"]
        lines = [f"## Bias gate: {'passed' if self.passed else 'FAILED'}", ""]
        lines += [f"{escaped(self.folder)}, judged by {escaped(self.policy)}: {self._said}", "", *table(heads, rows)]
        failed = [
            [str(number), *map(escaped, (self._named(each), _figures(each), each.reason))]
            for number, each in self._failed[:MOST]
        ]
        if failed:
            lines += ["", "### What failed", "", *table(["limit", "estimate", "value and interval", "why"], failed)]
        if len(self.failures) > MOST:
            lines += ["", f"{words.count(len(self.failures) - MOST)} more are not shown."]
        if self.notes:
            lines += ["", *(f"- {escaped(note)}" for note in self.notes)]
        return "\n".join(lines) + "\n"

    def to_junit(self) -> str:
        """JUnit XML: a suite for each limit, a case for each estimate."""
        root = ElementTree.Element("testsuites", _totals("assay gate", self.judgements))
        for kept in self._limits:
            suite = ElementTree.SubElement(root, "testsuite", _totals(f"{kept.number}. {kept.title}", kept.judgements))
            for each in kept.judgements:
                names = {"classname": _xml(each.metric), "name": _xml(self._named(each)), "time": "0"}
                case = ElementTree.SubElement(suite, "testcase", names)
                if each.outcome is Outcome.FAIL:
                    failure = ElementTree.SubElement(case, "failure", {"type": "limit", "message": _xml(each.reason)})
                    failure.text = _xml("\n".join(filter(None, (each.rule, _figures(each), each.reason))))
                elif each.outcome is Outcome.SKIP:
                    ElementTree.SubElement(case, "skipped", {"message": _xml(each.reason)})
        ElementTree.indent(root)
        return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"

    def show(self, console: Console) -> None:
        """Print the limits, then what fails."""
        from assay.report.printer import Printer, Row

        printer = Printer(console)
        printer.line(f"{visible(self.folder)}, judged by {visible(self.policy)}", "bold")
        printer.line()
        rows = [
            Row([str(kept.number), kept.outcome.upper(), kept.title, _nearest(kept), *_counted(kept)])
            for kept in self._limits
        ]
        printer.table("Limits", ["", "", "limit", "nearest to it"], ["kept", "broken", "skipped"], rows)
        for number, each in self._failed[:MOST]:
            figures = f": {_figures(each)}" if each.value is not None else ""
            printer.line(visible(f"FAIL {number}. {self._named(each)}{figures}: {each.reason}"))
        if len(self.failures) > MOST:
            printer.line(f"{words.count(len(self.failures) - MOST)} more fail; --format json has all.", "dim")
        for note in self.notes:
            printer.line(f"Note: {visible(note)}", "dim")
        printer.line(("PASSED: " if self.passed else "FAILED: ") + self._said, "bold")

    @property
    def _said(self) -> str:
        failed, judged = len(self.failures), [each for each in self.judgements if each.outcome is not Outcome.SKIP]
        broken = f"{words.count(failed)} of {words.plural(len(judged), 'verdict')}"
        return f"{broken} failed." if failed else f"{words.plural(len(judged), 'verdict')}, none failed."

    def _named(self, each: Judgement) -> str:
        """What was judged, with its model; and with its folder where it takes that to tell two verdicts apart."""
        several = len({other.run for other in self.judgements if other.run}) > 1
        parts = [each.metric, words.group_words(each.group) if each.group else "", each.model, each.run * several]
        return ", ".join(filter(None, parts))

    @property
    def _failed(self) -> list[tuple[int, Judgement]]:
        """The failures with the numbers of their limits."""
        return [(k.number, each) for k in self._limits for each in k.judgements if each.outcome is Outcome.FAIL]

    @property
    def _limits(self) -> list[_Kept]:
        found: dict[tuple[str, str], list[Judgement]] = {}  # by title and rule: two limits may have one title
        for each in self.judgements:
            found.setdefault((each.limit, each.rule), []).append(each)
        return [_Kept(number, *key, own) for number, (key, own) in enumerate(found.items(), 1)]


def _counted(kept: _Kept) -> list[str]:
    return [words.count(kept.count(outcome)) for outcome in (Outcome.PASS, Outcome.FAIL, Outcome.SKIP)]


def _nearest(kept: _Kept) -> str:
    return "" if kept.nearest is None else f"{words.group_words(kept.nearest.group)}: {_figures(kept.nearest)}"


def _figures(each: Judgement) -> str:
    if each.value is None:
        return ""
    if each.low is None:
        return words.number(each.value)
    return f"{words.number(each.value)} ({words.interval(each.low, each.high)})"


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
