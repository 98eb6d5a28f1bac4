"""A run's claims and its verdict, from its estimates and tables, the rules in its probe's descriptor, and its grounds.

Within a family q is Holm's p times the number of families, so that each has a fixed share of the 5%: what one family
shows never makes a test of another easier. Lists keep Benjamini and Hochberg's q, and cannot change the verdict.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.probes.base import ClaimRule, Probe
from assay.probes.diagnose import following_place
from assay.results.findings import Cell, Estimate, Findings, Table, tidy
from assay.results.formatting import format_number
from assay.results.verdict import CLEAR, OPEN, STANDS_OUT, ClaimFamily, Grounds, Verdict, VerdictKind, VerdictPart
from assay.stats import benjamini_hochberg, holm

ENOUGH = 2.0
"""A verdict of no bias leaves open at most this many times the smallest effect, unless its claim says otherwise."""
_NAMED = 3
"""How many effects a verdict names of a kind."""


@dataclass(frozen=True)
class _FamilyTest:
    """One test: where it stands (estimate number, or table and row), its effect, its p and q, and what it is called."""

    at: tuple[str, int]
    effect: float  # its distance from what is neutral
    p: float | None
    q: float | None
    value: float
    called: str
    title: str = ""


def with_claims(findings: Findings, probe: Probe, settings: Mapping[str, Any]) -> Findings:
    """The findings with q, with the claims marked in estimates and in the tables' column `claimed`, and the verdict."""
    tests = {claim.of: list(_tests(claim, findings, probe)) for claim in probe.claims}
    families = list(dict.fromkeys(claim.family for claim in probe.claims if claim.family and tests[claim.of]))
    q_of: dict[tuple[str, int], float] = {}
    least: dict[str, float | None] = {}
    for family in families:
        own = [claim for claim in probe.claims if claim.family == family]
        found = _of_family(own, tests, len(families))
        q_of |= found
        smallest = [found[test.at] for claim in own for test in tests[claim.of] if test.at in found]
        times = len(families) if any(claim.discoveries for claim in own) else 1  # Holm's q has the share already
        least[family] = min(1.0, times * min(smallest)) if smallest else None
    told = []
    claimed: dict[tuple[str, int], bool] = {}
    for claim in probe.claims:
        corrected = [replace(test, q=q_of.get(test.at, test.q)) for test in tests[claim.of]]
        tests[claim.of] = corrected
        limit = least.get(claim.family, 0.0)
        for test in corrected:
            if test.q is not None and limit is not None:
                claimed[test.at] = max(test.q, limit) <= CLEAR
        told.append(_family(claim, corrected, claimed, least.get(claim.family), settings))
    estimates = [
        replace(each, q=_tidied(q_of.get(("", place), each.q)), claimed=claimed.get(("", place), each.claimed))
        for place, each in enumerate(findings.estimates)
    ]
    tables = {
        name: _marked(table, name, q_of, claimed) if "q" in table.columns and _is_claim(name, table, probe) else table
        for name, table in findings.tables.items()
    }
    marked = replace(findings, estimates=estimates, tables=tables)
    judged = _Judged(marked, probe, told, tests, claimed, settings, findings.grounds or Grounds())
    return replace(marked, verdict=judged.verdict())


def _of_family(
    claims: Sequence[ClaimRule], tests: Mapping[str, Sequence[_FamilyTest]], families: int
) -> dict[tuple[str, int], float]:
    """q of the tests of a family."""
    if any(claim.discoveries for claim in claims):
        return {test.at: test.q for claim in claims for test in tests[claim.of] if test.q is not None}
    some = [
        (test, 0.5 if claim.mirrored else 1.0) for claim in claims for test in tests[claim.of] if test.p is not None
    ]
    p, weight = np.array([test.p for test, _ in some], np.float64), np.array([each for _, each in some], np.float64)
    q = np.minimum(families * holm(p, weight), 1.0).tolist()
    return {test.at: each for (test, _), each in zip(some, q, strict=True)}


def _tests(claim: ClaimRule, findings: Findings, probe: Probe) -> Iterator[_FamilyTest]:
    """Everything of a kind that has a value, tested or not."""
    for place, e in enumerate(findings.estimates):
        if probe.family_of(e.metric, e.group) == claim.of and e.value is not None:
            found, title = e.value if e.corrected is None else e.corrected, f"the {probe.metric(e.metric).title}"
            yield _FamilyTest(
                ("", place), abs(found - _neutral(claim, e)), e.p, e.q, found, _say_group(findings, probe, e), title
            )
    for name, table in findings.tables.items():
        if "q" not in table.columns or claim.column not in table.columns:
            continue
        for place, row in enumerate(table.records()):
            if probe.family_of_row(name, row) == claim.of and (value := _number(row[claim.column])) is not None:
                called = ", ".join(str(row[column]) for column in claim.named_by)
                p, q = (_number(row.get(column)) for column in ("p", "q"))
                yield _FamilyTest((name, place), abs(value - claim.neutral), p, q, value, called)


def _say_group(findings: Findings, probe: Probe, e: Estimate) -> str:
    say = findings.grounds.say_group if findings.grounds else None
    return (say or probe.say_group)(e.group)


def _is_claim(name: str, table: Table, probe: Probe) -> bool:
    kinds = {claim.of for claim in probe.claims}
    return any(probe.family_of_row(name, row) in kinds for row in table.records()) or name in kinds


def _tidied(q: float | None) -> float | None:
    return _number(tidy("q", q))


def _number(cell: Cell) -> float | None:
    return float(cell) if isinstance(cell, int | float) else None


def _neutral(claim: ClaimRule, estimate: Estimate) -> float:
    return estimate.floor if claim.above_floor and estimate.floor is not None else claim.neutral


def _smallest(claim: ClaimRule, settings: Mapping[str, Any]) -> float:
    return float(settings.get(claim.setting, claim.smallest))


def _family(
    claim: ClaimRule,
    tests: Sequence[_FamilyTest],
    claimed: Mapping[tuple[str, int], bool],
    least: float | None,
    settings: Mapping[str, Any],
) -> ClaimFamily:
    smallest, times = _smallest(claim, settings), 2 if claim.mirrored else 1
    some = [test for test in tests if test.q is not None]
    clear = [test for test in some if claimed.get(test.at)]
    large = [test for test in clear if test.effect >= smallest]
    n, n_clear, n_large = (len(own) // times for own in (some, clear, large))
    q = _tidied(min((test.q for test in some if test.q is not None), default=None))
    decides = _tidied(least) if claim.family else q
    return ClaimFamily(claim.of, n, q, decides, n_clear, n_large, smallest, claim.family or None)


def _marked(
    table: Table, name: str, q_of: Mapping[tuple[str, int], float], claimed: Mapping[tuple[str, int], bool]
) -> Table:
    """The table with its q, and a column `claimed` after it: 1, 0, or empty if nothing was tested."""
    at = list(table.columns).index("q")
    rows = [
        [
            *row[:at],
            _tidied(q_of.get((name, place), _number(row[at]))),
            _flag(claimed.get((name, place))),
            *row[at + 1 :],
        ]
        for place, row in enumerate(table.rows)
    ]
    columns = [*table.columns[: at + 1], "claimed", *table.columns[at + 1 :]]
    return replace(table, columns=columns, rows=rows)


def _flag(claimed: bool | None) -> int | None:
    return None if claimed is None else int(claimed)


# --- the verdict


@dataclass(frozen=True)
class _Judged:
    """What a verdict is made from: the findings with their claims, the tests by kind, and what the settings allow."""

    findings: Findings
    probe: Probe
    kinds: Sequence[ClaimFamily]
    tests: Mapping[str, Sequence[_FamilyTest]]
    claimed: Mapping[tuple[str, int], bool]
    settings: Mapping[str, Any]
    grounds: Grounds

    def verdict(self) -> Verdict | None:
        unusable = self.grounds.unusable or following_place(self.findings.diagnosis)
        if unusable is not None:
            return Verdict(VerdictKind.UNUSABLE, unusable.why, self.kinds, unusable.id, self.parts, unusable.next)
        if not self.kinds:
            return None
        for says in (VerdictKind.CLEAR, VerdictKind.SMALL):
            if told := ", ".join(self._told(says)):
                how = "large enough for a headline" if says is VerdictKind.CLEAR else "too small for a headline"
                found = f"statistically clear and {how}: {told}"
                return Verdict(says, self._sentence(found, *self._standing), self.kinds, None, self.parts)
        return self._without_claims()

    @cached_property
    def parts(self) -> list[VerdictPart]:
        """What stands out or stays open, without what is claimed."""
        clear = [estimate for estimate in self.findings.estimates if estimate.claimed]
        known = [(each.metric, dict(each.group)) for each in clear]
        return [part for part in self.grounds.parts if (part.metric, dict(part.group)) not in known]

    @property
    def _standing(self) -> list[str]:
        return _some([part.why for part in self.parts if part.status == STANDS_OUT])

    def _sentence(self, *told: str) -> str:
        return "; ".join(filter(None, [self.grounds.manner(self.findings.estimates), *told]))

    def _told(self, says: VerdictKind) -> Iterator[str]:
        """For every kind that decides: how many of it are clear, and the strongest ones by name."""
        for claim, kind in zip(self.probe.claims, self.kinds, strict=True):
            some = kind.large if says is VerdictKind.CLEAR else kind.claimed
            if kind.family is None or not some:
                continue
            least = kind.smallest if says is VerdictKind.CLEAR else 0.0
            clear = [test for test in self.tests[claim.of] if self.claimed.get(test.at) and test.effect >= least]
            clear.sort(key=lambda test: -test.effect)
            named = _some([f"{test.called}: {_signed(test.value)}" for test in clear[:: 2 if claim.mirrored else 1]])
            what = (
                clear[0].title
                if kind.tests <= _NAMED and clear[0].title
                else f"{some:,} of {kind.tests:,} {claim.said}"
            )
            yield f"{what} ({'; '.join(named)})"

    def _without_claims(self) -> Verdict:
        """The verdict where nothing that could change it is clear: the numbers rule a bias out, or do not."""
        grounds, wide = self.grounds, _not_ruled_out(self.findings, self.probe, self.settings)
        parts = [*self.parts, *(part for part in wide if part.metric)]
        nothing = "nothing that decides is statistically clear"
        if not (self._standing or wide or grounds.doubts):
            still_open = _some([part.why for part in self.parts if part.status == OPEN])
            rest = [f"not settled: {'; '.join(still_open)}"] if still_open else []
            bounds = grounds.rules_out or "every interval that decides lies within what may stay open"
            return Verdict(VerdictKind.NONE, self._sentence(f"{nothing}, and {bounds}", *rest), self.kinds, None, parts)
        reasons = "; ".join([part.why for part in wide[:1]] + [doubt.why for doubt in grounds.doubts])
        needed = [grounds.needed[part.metric] for part in wide if part.metric in grounds.needed]
        most = max(needed, key=lambda each: float("inf") if each.limit is None else each.limit, default=None)
        beyond = not grounds.more if most is None else most.limit is None
        step = next((doubt.next for doubt in grounds.doubts if doubt.next), None)
        if step is None and most is not None:
            step = most.step
        told = [*self._standing, nothing + (f", but {reasons}" if reasons else ""), most.why if most else ""]
        return Verdict(
            VerdictKind.CANNOT if beyond else VerdictKind.FEW, self._sentence(*told), self.kinds, None, parts, step
        )


def _some(told: Sequence[str]) -> list[str]:
    """The first of them, and how many more there are."""
    return [*told[:_NAMED], *([f"{len(told) - _NAMED} more"] if len(told) > _NAMED else [])]


def _signed(value: float) -> str:
    return format_number(value).replace("-", "−")


def _not_ruled_out(findings: Findings, probe: Probe, settings: Mapping[str, Any]) -> list[VerdictPart]:
    """The decisive numbers whose intervals do not rule out every relevant bias."""
    claims = {claim.of: claim for claim in probe.claims}
    own = [
        (claims[kind], each)
        for each in probe.decisive(findings.estimates)
        for kind in [probe.family_of(each.metric, each.group)]
        if kind in claims and claims[kind].family and not probe.part_keys & each.group.keys()
    ]
    if not own:
        return [VerdictPart(OPEN, "", {}, "no interval can rule a bias out")]
    found = []
    for claim, each in own:
        where = f"the {probe.metric(each.metric).title} ({_say_group(findings, probe, each)})"
        if why := _open(claim, each, settings):
            found.append(VerdictPart(OPEN, each.metric, dict(each.group), f"{where} {why}"))
    return found


def _open(claim: ClaimRule, each: Estimate, settings: Mapping[str, Any]) -> str:
    """Why an interval does not rule out every relevant bias; empty if it does."""
    if each.value is None:
        return "is undefined"
    if each.low is None or each.high is None:
        return "has no interval that can rule a bias out"
    allowed = float(settings.get("ruled_out", claim.ruled_out)) if claim.ruled_out else 0.0
    neutral = _neutral(claim, each)
    low_is_far = not claim.above_floor and neutral - each.low > each.high - neutral
    far = each.low if low_is_far else each.high
    if abs(far - neutral) <= (allowed or ENOUGH * _smallest(claim, settings)):
        return ""
    return f"could be as large as {_signed(far)}"


# --- changes between runs


def claimed_changes(
    changes: Sequence[Estimate], families: Sequence[str | None], tables: Mapping[str, Table]
) -> tuple[list[Estimate], dict[str, Table]]:
    """A comparison's changes and tables, which have a q, with what is claimed marked: Holm's correction of the smallest
    q of every family, a table being a family of its own. A change whose family is None makes no claim.
    """
    named = {f"table {name}": table for name, table in tables.items()}
    q_of = {name: [_number(row["q"]) for row in table.records()] for name, table in named.items() if _tested(table)}
    for each, family in zip(changes, families, strict=True):
        if family is not None:
            q_of.setdefault(family, []).append(each.q)
    least = _least(q_of)
    marked = [
        each if family is None else replace(each, claimed=_is_claimed(each.q, least[family]))
        for each, family in zip(changes, families, strict=True)
    ]
    found = {}
    for name, table in tables.items():
        rows = {
            (name, place): claimed
            for place, row in enumerate(table.records())
            if _tested(table)
            if (claimed := _is_claimed(_number(row["q"]), least[f"table {name}"])) is not None
        }
        found[name] = _marked(table, name, {}, rows) if _tested(table) else table
    return marked, found


def _tested(table: Table) -> bool:
    return "q" in table.columns


def _least(q_of: Mapping[str, Sequence[float | None]]) -> dict[str, float | None]:
    """The smallest q of every family after Holm's correction; None if nothing was tested."""
    least = [min((q for q in own if q is not None), default=np.nan) for own in q_of.values()]
    corrected = holm(np.array(least, np.float64)).tolist()
    return {of: _tidied(each) if each == each else None for of, each in zip(q_of, corrected, strict=True)}


def _is_claimed(q: float | None, least: float | None) -> bool | None:
    """Whether a change is claimed, given its family's corrected smallest q; None if there was no test."""
    return None if q is None or least is None else max(q, least) <= CLEAR


# --- q of lists: corrected over everything of one kind that a run or a comparison reports


def corrected(estimates: Sequence[Estimate], families: Sequence[str | None]) -> list[Estimate]:
    """The estimates with q, corrected over all of the same family that have a p; None means no family."""
    places_of: dict[str, list[int]] = {}
    for place, (each, family) in enumerate(zip(estimates, families, strict=True)):
        if each.p is not None and family is not None:
            places_of.setdefault(family, []).append(place)
    found = list(estimates)
    for places in places_of.values():
        for place, q in zip(places, _q([estimates[place].p for place in places]).tolist(), strict=True):
            found[place] = replace(found[place], q=q)
    return found


def corrected_table(table: Table) -> Table:
    """The table with its column q, corrected over all of its rows that have a p."""
    p, q = (list(table.columns).index(name) for name in ("p", "q"))
    found = _q([row[p] for row in table.rows]).tolist()
    both = zip(table.rows, found, strict=True)
    return replace(table, rows=[[*row[:q], own if np.isfinite(own) else None, *row[q + 1 :]] for row, own in both])


def _q(p: Sequence[Cell]) -> NDArray[np.float64]:
    return benjamini_hochberg(np.array([np.nan if each is None else each for each in p], np.float64))
