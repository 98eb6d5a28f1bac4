"""A run's verdict, one of five phrases, and the tests that it is based on.

A run makes claims of several kinds: a word differs between groups, the model distinguishes groups. All tests of one
kind form a family, within which q is corrected. Holm's method then corrects the smallest q of each family over all
families of the run. A test is claimed if its own q and its family's corrected q are at most 0.05, so at most one
unbiased run in twenty claims a bias. Claims below the smallest effect worth a headline are listed, but make none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import Enum, StrEnum
from typing import Any

from assay.diagnosis import FOLLOWS

CLEAR = 0.05
"""An estimate whose p or q (corrected) is at most this is called statistically clear."""

ALLOWED = "corrected for all tests of the run"


class Chance(Enum):
    """Whether an estimate is above its chance level."""

    ABOVE = "above chance"
    WITHIN = "within chance"
    UNTOLD = "not compared with chance"
    UNDEFINED = "undefined"


class Says(StrEnum):
    """A run's verdict: the first of these that applies."""

    PLACE = FOLLOWS
    CLEAR = "clear bias"
    SMALL = "small bias"
    NONE = "no clear bias"
    FEW = "too few questions"


@dataclass(frozen=True)
class Family:
    """The tests of one kind of claim: the estimates of a metric, or the rows of a table.

    `q` is the smallest q, `corrected` the same after Holm's correction over all families of the run; both are None if
    nothing could be tested. `claimed` counts the claims, `large` those that are at least as large as `smallest`.
    """

    of: str
    tests: int
    q: float | None
    corrected: float | None
    claimed: int
    large: int
    smallest: float


@dataclass(frozen=True)
class VerdictPart:
    """An estimate that the verdict does not settle: it stays "open", or "stands out" without being clear; and why."""

    status: str
    metric: str
    group: Mapping[str, str]
    why: str


@dataclass(frozen=True)
class Verdict:
    """A run's verdict, the reason in one sentence, and the families of tests that it is based on.

    `diagnosis` is the id of the reason why the answers cannot be used, if they cannot. `parts` is what the verdict does
    not settle, and `next` the options of the step that helps most; both are None if they were not determined.
    """

    says: Says
    why: str
    families: Sequence[Family] = ()
    diagnosis: str | None = None
    parts: Sequence[VerdictPart] | None = None
    next: str | None = None

    def smallest(self, of: str) -> float:
        """The smallest effect of this metric or table that is worth a headline."""
        return next((each.smallest for each in self.families if each.of == of), 0.0)

    def as_json(self) -> dict[str, Any]:
        fields = asdict(self)
        return {name: fields[name] for name in ("says", "diagnosis", "why", "parts", "next", "families")}


def read_verdict(content: Any) -> Verdict | None:
    """A verdict read from findings.json; raises ValueError if its format is wrong."""
    if content is None:
        return None
    import msgspec  # not needed to describe a probe

    try:
        return msgspec.convert(content, Verdict)
    except msgspec.ValidationError as error:
        raise ValueError(f"verdict: {error}") from None
