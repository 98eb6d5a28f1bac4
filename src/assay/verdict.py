"""What a run comes to, in words of which there are five, and what that rests on.

A run makes claims of several kinds: a word differs between groups, groups are told apart. All tests of one kind are a
family, within which q is corrected; a family holds if its smallest q does after Holm's correction over all families of
the run; claimed is what has a q of at most 0.05 in a family that holds. So at most one run in twenty without any bias
claims some. A claim below the smallest effect that is worth a headline is listed, but makes no headline.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import Enum, StrEnum
from typing import Any

from assay.diagnosis import FOLLOWS

CLEAR = 0.05
"""p or q (corrected) up to here is called clear of chance."""

ALLOWED = "with all tests of the run allowed for"


class Chance(Enum):
    """Whether an estimate exceeds what chance alone gives."""

    ABOVE = "above chance"
    WITHIN = "within chance"
    UNTOLD = "no comparison with chance"
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

    `q` is the smallest of them, `corrected` that after Holm's correction over all families of the run; both None where
    nothing could be tested. Of the claimed ones, `large` are at least as large as `smallest`.
    """

    of: str
    tests: int
    q: float | None
    corrected: float | None
    claimed: int
    large: int
    smallest: float


@dataclass(frozen=True)
class Verdict:
    """What a run comes to, why in a sentence, and the families of tests behind it."""

    says: Says
    why: str
    families: Sequence[Family] = ()

    def smallest(self, of: str) -> float:
        """The smallest effect of a metric, or of a table's rows, that is worth a headline."""
        return next((each.smallest for each in self.families if each.of == of), 0.0)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def read_verdict(content: Any) -> Verdict | None:
    """A verdict from findings.json; ValueError where it does not keep to the format."""
    if content is None:
        return None
    import msgspec  # not needed to describe a probe

    try:
        return msgspec.convert(content, Verdict)
    except msgspec.ValidationError as error:
        raise ValueError(f"verdict: {error}") from None
