"""The one rule for what is clear: whether an estimate exceeds what chance alone gives."""

from __future__ import annotations

from enum import Enum

from assay.findings import Estimate

CLEAR = 0.05
"""p or q (corrected) up to here is called clear of chance."""


class Verdict(Enum):
    """Whether an estimate exceeds what chance alone gives."""

    ABOVE = "above chance"
    WITHIN = "within chance"
    UNTOLD = "no comparison with chance"
    UNDEFINED = "undefined"


def verdict(estimate: Estimate) -> Verdict:
    """By q, else p, where there is one (at most 0.05 is above); else by whether the interval lies above the floor.

    >>> verdict(Estimate("mu", {}, 0.3, p=0.001)), verdict(Estimate("mu", {}, 0.3, low=0.1, floor=0.2))
    (<Verdict.ABOVE: 'above chance'>, <Verdict.WITHIN: 'within chance'>)
    """
    if estimate.value is None:
        return Verdict.UNDEFINED
    p = estimate.q if estimate.q is not None else estimate.p
    if p is not None:
        return Verdict.ABOVE if p <= CLEAR else Verdict.WITHIN
    if estimate.floor is not None and estimate.low is not None:
        return Verdict.ABOVE if estimate.low > estimate.floor else Verdict.WITHIN
    return Verdict.UNTOLD
