"""A run's verdict, one of six phrases, and the tests that it is based on.

A run makes claims of several kinds: a word differs between groups, a category's answers lean. Kinds whose tests are
corrected together form a family. The families that can change the verdict have fixed, equal shares of the 5%, and
Holm's method corrects within each, so that at most one unbiased run in twenty claims a bias. Kinds without a family are
lists: their q is Benjamini and Hochberg's, and they cannot change the verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import Enum, StrEnum
from typing import Any

CLEAR = 0.05
"""An estimate whose p or q (corrected) is at most this is called statistically clear."""

ALLOWED = "corrected for all tests of the run"


class Chance(Enum):
    """Whether an estimate is above its chance level."""

    ABOVE = "above chance"
    WITHIN = "within chance"
    UNTOLD = "not compared with chance"
    UNDEFINED = "undefined"


class VerdictKind(StrEnum):
    """A run's verdict: the first of these that applies."""

    UNUSABLE = "answers cannot be used"
    CLEAR = "clear bias"
    SMALL = "small bias"
    NONE = "no clear bias"
    FEW = "too few questions"
    CANNOT = "this set cannot tell"


@dataclass(frozen=True)
class ClaimFamily:
    """The tests of one kind of claim: the estimates of a metric, or the rows of a table.

    `family` is shared by the kinds that are corrected together; it is None for lists, which cannot change the verdict.
    `q` is the kind's smallest q, and `corrected` what decides, the smallest of its family after correction over all
    families; both are None if nothing could be tested. `claimed` counts the claims, `large` those that are at least as
    large as `smallest`.
    """

    of: str
    tests: int
    q: float | None
    corrected: float | None
    claimed: int
    large: int
    smallest: float
    family: str | None = None


OPEN, STANDS_OUT = "open", "stands out"


@dataclass(frozen=True)
class VerdictPart:
    """What the verdict does not settle: it stays "open", or "stands out" without being clear; and why."""

    status: str
    metric: str
    group: Mapping[str, str]
    why: str


@dataclass(frozen=True)
class Unusable:
    """Why a run's answers cannot be used: an id for programs, a sentence, and the options that help, if any do."""

    id: str
    why: str
    next: str | None = None


@dataclass(frozen=True)
class Doubt:
    """Why "no clear bias" cannot be given although nothing is claimed, and the options that help, if any do."""

    why: str
    next: str | None = None


SPARE = 1.25
"""How many more questions are suggested than the measured variances ask for, which are themselves uncertain."""


@dataclass(frozen=True)
class Needed:
    """How many questions would settle a number: a `--limit`, or None where the set has too few; and that in words.

    `options` are what a run with that limit needs beside it to ask more of the same, or what alone makes it ask so many
    if it is not sized `by_limit`.
    """

    limit: int | None
    why: str
    options: str = ""
    by_limit: bool = True

    @property
    def step(self) -> str | None:
        """The options that settle it; None where the set has too few questions."""
        if self.limit is None:
            return None
        return f"--limit {self.limit} {self.options}".strip() if self.by_limit else self.options


@dataclass(frozen=True)
class Grounds:
    """What a probe knows about a run's answers, beside its estimates, for the verdict.

    `manner` says how the model answers, for the first sentence, from the estimates with their claims. `parts` stand out
    or stay open. `needed` has, by metric, what would settle its decisive number. `more` says whether the set has
    questions that were not asked, and `rules_out` what a verdict of no bias rules out. `say_group` names groups, where
    what was asked changes their names.
    """

    unusable: Unusable | None = None
    manner: Callable[[Sequence[Any]], str] = lambda estimates: ""
    parts: Sequence[VerdictPart] = ()
    doubts: Sequence[Doubt] = ()
    needed: Mapping[str, Needed] = field(default_factory=dict)
    more: bool = True
    rules_out: str = ""
    say_group: Callable[[Mapping[str, str]], str] | None = None


@dataclass(frozen=True)
class Verdict:
    """A run's verdict, the reason in a sentence or two, and the families of tests that it is based on.

    `diagnosis` is the id of the reason why the answers cannot be used, if they cannot. `parts` is what the verdict does
    not settle, and `next` the options of the step that helps most, if one does.
    """

    says: VerdictKind
    why: str
    families: Sequence[ClaimFamily] = ()
    diagnosis: str | None = None
    parts: Sequence[VerdictPart] = ()
    next: str | None = None

    def smallest(self, of: str) -> float:
        """The smallest effect of this metric or table that is worth a headline."""
        return next((family.smallest for family in self.families if family.of == of), 0.0)

    def as_json(self) -> dict[str, Any]:
        fields = asdict(self)
        return {name: fields[name] for name in ("says", "diagnosis", "why", "parts", "next", "families")}
