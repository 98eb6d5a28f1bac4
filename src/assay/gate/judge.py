"""One estimate against one limit. The interval's bound decides, not the value: a limit has to be kept for sure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any

from assay.findings import Estimate
from assay.gate.policy import Limit, Policy
from assay.verdict import Verdict, verdict


class Outcome(StrEnum):
    """What came of a limit for an estimate."""

    PASS = "pass"
    FAIL = "fail"
    SKIP = "skip"


@dataclass(frozen=True)
class Judgement:
    """A limit, an estimate and what came of it, with the reason in words.

    Against a baseline `value`, `low` and `high` are of how much worse the model is. `margin` is how far the judged
    bound is from its limit, below 0 beyond it; None where no bound was judged. `metric` is PROBE.METRIC. Where a limit
    selected nothing, there is no group and no value.
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
    low: float | None = None
    high: float | None = None
    level: float | None = None
    n: int | None = None
    margin: float | None = None

    def as_json(self) -> dict[str, Any]:
        return asdict(self) | {"outcome": self.outcome.value, "group": dict(self.group)}


def judge(policy: Policy, limit: Limit, estimate: Estimate) -> Judgement:
    """The verdict on an estimate of the run."""
    about = _about(limit, estimate)
    if estimate.value is None:
        return _undefined(policy, limit, about, f"undefined: {estimate.note}")
    if limit.clear_of_chance is not None:
        return _by_chance(about, estimate)
    lower, upper = limit.bounds
    return _by_bounds(policy, limit, about, estimate, lower, upper)


def judge_difference(policy: Policy, limit: Limit, estimate: Estimate, worse: Estimate | str) -> Judgement:
    """The verdict on how much worse an estimate is than the baseline's, or the reason why that is not known."""
    if isinstance(worse, str) or worse.value is None:
        why = worse if isinstance(worse, str) else f"undefined: {worse.note}"
        return _undefined(
            policy, limit, _about(limit, replace(estimate, value=None, low=None, high=None, note=why)), why
        )
    return _by_bounds(policy, limit, _about(limit, worse), worse, None, limit.worse_by)


def not_selected(limit: Limit, why: str, outcome: Outcome, model: str = "", run: str = "") -> Judgement:
    """The verdict on a limit that names what a run does not have."""
    return Judgement(limit.title, limit.rule, outcome, why, limit.metric, {}, model, run)


def _about(limit: Limit, estimate: Estimate) -> Judgement:
    e = estimate
    return Judgement(
        limit.title,
        limit.rule,
        Outcome.PASS,
        "",
        limit.metric,
        dict(e.group),
        value=e.value,
        low=e.low,
        high=e.high,
        level=e.level,
        n=e.n,
    )


def _undefined(policy: Policy, limit: Limit, about: Judgement, why: str) -> Judgement:
    return replace(about, outcome=Outcome(policy.rule("undefined", limit)), reason=why)


def _by_chance(about: Judgement, estimate: Estimate) -> Judgement:
    found = verdict(estimate)
    said = {
        Verdict.ABOVE: "clear of chance",
        Verdict.WITHIN: "not clear of chance",
        Verdict.UNTOLD: "there is no p, q or floor to tell it from chance",
    }[found]
    tested = ", ".join(
        f"{key} {value:.3g}" for key in ("q", "p", "floor") if (value := getattr(estimate, key)) is not None
    )
    outcome = Outcome.PASS if found is Verdict.WITHIN else Outcome.FAIL
    return replace(about, outcome=outcome, reason=f"{said} ({tested})" if tested else said)


def _by_bounds(
    policy: Policy, limit: Limit, about: Judgement, estimate: Estimate, lower: float | None, upper: float | None
) -> Judgement:
    low, high, value = estimate.low, estimate.high, estimate.value
    lowest, highest, hint = "lower bound", "upper bound", ""
    if low is None or high is None:
        if policy.rule("no_interval", limit) == "fail":
            why = f": {estimate.note}" if estimate.note else ""
            return replace(about, outcome=Outcome.FAIL, reason=f"a value without an interval{why}")
        assert value is not None  # undefined ones were judged before
        low = high = value
        lowest = highest = "value"
        hint = "judged by its value: it has no interval"
    broken, margins = [], []
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
    outcome = Outcome.FAIL if broken else Outcome.PASS
    return replace(about, outcome=outcome, reason="; ".join(broken) or hint, margin=min(margins))
