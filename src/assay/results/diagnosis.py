"""Whether a run's answers can be used: do they depend on the question, or on the position of the options?

A model that always answers "A" shows no bias in any table, and tells nothing about bias. Each probe makes the diagnosis
from its data (`assay.probes.diagnose` has the shared code). findings.json stores it, every view shows it, and the gate
checks it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, TypeVar

T = TypeVar("T")

FOLLOWS = "answers follow the option's place"
FOLLOWS_PLACE = "follows_place"
"""The id of this diagnosis in a verdict."""
KEYS = ("places", "exchanged", "ties", "negation")


@dataclass(frozen=True)
class PositionShare:
    """How often the option at a place was chosen, and how often it would be if places did not matter.

    `expected` follows from the orders asked and from the places of right and wrong options. `p` and `q` (over all
    places of the run) test the difference; they are None if there are too few units. `part` names the part of the
    probe's questions; empty means all.
    """

    place: str
    share: float
    expected: float
    n: int
    p: float | None = None
    q: float | None = None
    part: str = ""

    def __post_init__(self) -> None:
        numbers = [number for number in (self.share, self.expected, self.p, self.q) if number is not None]
        if self.n < 1 or not all(0 <= number <= 1 for number in numbers):  # nor is NaN
            raise ValueError(f"place {self.place}: shares, p and q must be from 0 to 1, and n at least 1")

    @property
    def excess(self) -> float:
        return round(self.share - self.expected, 12)

    @property
    def said(self) -> str:
        return f"{self.place} in {self.part}" if self.part else self.place


@dataclass(frozen=True)
class SwappedPairs:
    """Among n pairs of answers to the same options in two orders, every option moved: how many chose the same place.

    An answer that depends on the options moves with its option; one that depends on the place does not move.
    """

    same: int
    n: int
    part: str = ""

    def __post_init__(self) -> None:
        _check_part(self.same, self.n)

    @property
    def share(self) -> float:
        return self.same / self.n


@dataclass(frozen=True)
class Ties:
    """Among n decisions between scores: how many had equal scores, and how many almost equal ones (NEAR_TIE)."""

    exact: int
    near: int
    n: int

    def __post_init__(self) -> None:
        _check_part(self.exact + self.near, self.n)
        _check_part(min(self.exact, self.near), self.n)


@dataclass(frozen=True)
class NegatedPairs:
    """Among n pairs of a question and its negation whose right answers differ: how many got the same answer twice."""

    unchanged: int
    n: int

    def __post_init__(self) -> None:
        _check_part(self.unchanged, self.n)

    @property
    def share(self) -> float:
        return self.unchanged / self.n


def _check_part(part: int, n: int) -> None:
    if not 0 <= part <= n or n < 1:
        raise ValueError(f"{part} of {n}")


@dataclass(frozen=True)
class Diagnosis:
    """Whether answers follow the place of the options, why (one sentence), and the evidence.

    What a probe cannot measure is None, and `missing` gives the reason. Answers follow the place if the share of one
    place exceeds the expected share by `place_excess` at q ≤ 0.05, or if the same place was chosen in `place_same` of
    the exchanged pairs.

    >>> found = Diagnosis(False, "not tested", missing=dict.fromkeys(KEYS, "nothing was asked"))
    >>> found.tested, read_part(found.as_json(), Diagnosis) == found
    (False, True)
    """

    follows_place: bool
    why: str
    places: Sequence[PositionShare] | None = None
    exchanged: Sequence[SwappedPairs] | None = None
    ties: Ties | None = None
    negation: NegatedPairs | None = None
    missing: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        kinds = {key for key in KEYS if getattr(self, key) is not None}
        if kinds | {*self.missing} != {*KEYS} or kinds & {*self.missing}:
            raise ValueError(f"each of {', '.join(KEYS)} must be given, or missing must say why it is not")
        if self.follows_place and not self.tested:
            raise ValueError("follows_place is true without places or exchanged")

    @property
    def tested(self) -> bool:
        """Whether the run could show at all that answers follow the place."""
        return self.places is not None or self.exchanged is not None

    def as_json(self) -> dict[str, Any]:
        content = asdict(self)
        if self.exchanged is not None:
            content["exchanged"] = [_with_share(pairs) for pairs in self.exchanged]
        if self.negation is not None:
            content["negation"] = _with_share(self.negation)
        return content


def _with_share(pairs: SwappedPairs | NegatedPairs) -> dict[str, Any]:
    return asdict(pairs) | {"share": round(pairs.share, 12)}


def read_part(content: Any, kind: type[T]) -> T | None:
    """A diagnosis or a verdict read from findings.json, where it may be null; ValueError if its format is wrong."""
    if content is None:
        return None
    import msgspec  # not needed to describe a probe

    try:
        return msgspec.convert(content, kind)
    except msgspec.ValidationError as error:
        raise ValueError(f"{kind.__name__.lower()}: {error}") from None
