"""One estimate against one limit. The interval's bound decides, not the value."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from assay.gate.policy import Limit, Policy
from assay.results.findings import Estimate
from assay.results.verdict import Chance


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


def judge(policy: Policy, limit: Limit, estimate: Estimate, worse: Estimate | str | None = None) -> Judgement:
    """The verdict on an estimate of a run; against a baseline on how much worse it is, or why that is not known."""
    judged, margin = estimate if worse is None or isinstance(worse, str) else worse, None
    if isinstance(worse, str) or judged.value is None:
        reason = worse if isinstance(worse, str) else f"undefined: {judged.note}"
        outcome = Outcome(policy.rule("undefined", limit))
        judged = replace(estimate, value=None, low=None, high=None, note=reason)
    elif limit.clear_of_chance is not None:
        outcome, reason = _by_chance(judged)
    else:
        outcome, reason, margin = _by_bounds(policy, limit, judged)
    about = limit.title, limit.rule, outcome, reason, limit.metric, dict(judged.group)
    numbers = {key: getattr(judged, key) for key in ("value", "corrected", "low", "high", "level", "n")}
    code = None
    if outcome is not Outcome.PASS:
        code = ReasonCode.FEW if _lacks_answers(limit, judged, margin) else ReasonCode.LIMIT
    return Judgement(*about, **numbers, margin=margin, code=code)


_TOO_FEW = re.compile(r"\b(too few|fewer than|are needed|in most resamples)\b")
"""How probes' notes say that there are too few answers, templates or names for a number or its interval."""


def _lacks_answers(limit: Limit, judged: Estimate, margin: float | None) -> bool:
    """Whether nothing could be judged because there are too few answers for a number, its interval or its test."""
    unknown = judged.chance is Chance.UNTOLD if limit.clear_of_chance is not None else judged.low is None
    missing = judged.value is None or (unknown and margin is None)
    return missing and _TOO_FEW.search(judged.note or "") is not None


_NOT_CONTAINED = "its interval does not contain it, so no bound can be checked"


def _by_chance(estimate: Estimate) -> tuple[Outcome, str]:
    chance = estimate.chance
    finding = {
        Chance.ABOVE: "statistically clear",
        Chance.WITHIN: "not statistically clear",
        Chance.UNTOLD: "it has no p, q or chance level to compare with",
    }[chance]
    numbers = {"q": estimate.q, "p": estimate.p, "chance level": estimate.floor}
    tested = ", ".join(f"{name} {value:.3g}" for name, value in numbers.items() if value is not None)
    outcome = Outcome.PASS if chance is Chance.WITHIN else Outcome.FAIL
    return outcome, f"{finding} ({tested})" if tested else finding


def _by_bounds(policy: Policy, limit: Limit, estimate: Estimate) -> tuple[Outcome, str, float | None]:
    if not estimate.contained:
        return Outcome.FAIL, _NOT_CONTAINED, None
    low, high, value = estimate.low, estimate.high, estimate.value
    lowest, highest, hint = "lower bound", "upper bound", ""
    if low is None or high is None:
        if policy.rule("no_interval", limit) == "fail":
            note = f": {estimate.note}" if estimate.note else ""
            return Outcome.FAIL, f"a value without an interval{note}", None
        assert value is not None  # undefined ones were judged before
        low = high = value
        lowest = highest = "value"
        hint = "checked by its value: it has no interval"
    broken, margins, (lower, upper) = [], [], limit.bounds
    if upper is not None:
        margins.append(upper - high)
        if limit.worse_by is not None and high > upper:
            broken.append(f"{highest} {high:.6g} is more than {upper:g}")
        elif limit.worse_by is None and high >= upper:
            broken.append(f"{highest} {high:.6g} is not below {upper:g}")
    if lower is not None:
        margins.append(low - lower)
        if low <= lower:
            broken.append(f"{lowest} {low:.6g} is not above {lower:g}")
    return Outcome.FAIL if broken else Outcome.PASS, "; ".join(broken) or hint, min(margins)
