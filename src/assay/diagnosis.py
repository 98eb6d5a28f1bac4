"""What a run's answers say about the run itself: do they depend on what was asked, or on where the options stood?

A model that always answers "A" has no bias in any table, and nothing to say about bias. A probe makes the diagnosis
from its data (`assay.probes.diagnose` has what probes share); findings.json keeps it, every view shows it, and the gate
judges it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from assay.settings import setting

FOLLOWS = "answers follow the option's place"
KEYS = ("places", "exchanged", "ties", "negation")


@dataclass(frozen=True)
class Place:
    """How often answers were the option at a place, and how often they would be if places did not matter.

    `expected` is what the asked orders and the places of right and wrong options imply. `p` and `q` (over all places of
    the run) test the difference; None where there are too few units. `part` is of the probe's questions; empty: all.
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
            raise ValueError(f"place {self.place}: shares, p and q are from 0 to 1, and n is at least 1")

    @property
    def excess(self) -> float:
        return round(self.share - self.expected, 12)

    @property
    def said(self) -> str:
        return f"{self.place} in {self.part}" if self.part else self.place


@dataclass(frozen=True)
class Exchanged:
    """Of n pairs of answers to the same options in another order, none at its old place: how many have the same place.

    An answer that depends on the options moves with its option; one that depends on the place stays.
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
    """Of n decisions between scores: how many were between equal ones, and between almost equal ones (NEAR_TIE)."""

    exact: int
    near: int
    n: int

    def __post_init__(self) -> None:
        _check_part(self.exact + self.near, self.n)
        _check_part(min(self.exact, self.near), self.n)


@dataclass(frozen=True)
class Negation:
    """Of n pairs of a question and its negation whose right answers differ: how many got the same answer twice."""

    unchanged: int
    n: int

    def __post_init__(self) -> None:
        _check_part(self.unchanged, self.n)

    @property
    def share(self) -> float:
        return self.unchanged / self.n


def _check_part(some: int, n: int) -> None:
    if not 0 <= some <= n or n < 1:
        raise ValueError(f"{some} of {n}")


@dataclass(frozen=True)
class Diagnosis:
    """Whether answers follow the place of the options, in a sentence `why`, and what that rests on.

    What a probe cannot have is None, and `missing` says why. "Answers follow the place" needs one place whose share
    exceeds the expected one by `place_excess` at q ≤ 0.05, or the same place in `place_same` of exchanged pairs.

    >>> found = Diagnosis(False, "not tested", missing=dict.fromkeys(KEYS, "nothing was asked"))
    >>> found.tested, read_diagnosis(found.as_json()) == found
    (False, True)
    """

    follows_place: bool
    why: str
    places: Sequence[Place] | None = None
    exchanged: Sequence[Exchanged] | None = None
    ties: Ties | None = None
    negation: Negation | None = None
    missing: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        there = {key for key in KEYS if getattr(self, key) is not None}
        if there | {*self.missing} != {*KEYS} or there & {*self.missing}:
            raise ValueError(f"of {', '.join(KEYS)} each is there or is in missing, with the reason")
        if self.follows_place and not self.tested:
            raise ValueError("follows_place is true without places or exchanged")

    @property
    def tested(self) -> bool:
        """Whether it could be seen at all that answers follow the place."""
        return self.places is not None or self.exchanged is not None

    def as_json(self) -> dict[str, Any]:
        content = asdict(self)
        if self.exchanged is not None:
            content["exchanged"] = [_with_share(own) for own in self.exchanged]
        if self.negation is not None:
            content["negation"] = _with_share(self.negation)
        return content


def _with_share(own: Exchanged | Negation) -> dict[str, Any]:
    return asdict(own) | {"share": round(own.share, 12)}


def read_diagnosis(content: Any) -> Diagnosis | None:
    """A diagnosis from findings.json; ValueError where it does not keep to the format."""
    if content is None:
        return None
    import msgspec  # not needed to describe a probe

    try:
        return msgspec.convert(content, Diagnosis)
    except msgspec.ValidationError as error:
        raise ValueError(f"diagnosis: {error}") from None


# --- settings that probes have for it


def excess_setting() -> Any:
    said = "answers follow the place if one is chosen so much more often than the options' places imply"
    return setting(0.25, said, least=0, most=1, real=True, example="0.25")


def same_setting() -> Any:
    said = "or if the same place is chosen in this share of the pairs whose options were exchanged"
    return setting(0.8, said, least=0, most=1, real=True, example="0.8")
