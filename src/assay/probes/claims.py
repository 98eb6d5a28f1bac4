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
from assay.results.formatting import first_and_more, format_number
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
    tests = {claim.of: list(_tests(claim, findings, probe)) for claim in probe.claims.rules}
    families = list(dict.fromkeys(claim.family for claim in probe.claims.rules if claim.family and tests[claim.of]))
    q_of: dict[tuple[str, int], float] = {}
    least: dict[str, float | None] = {}
    for family in families:
        rules = [claim for claim in probe.claims.rules if claim.family == family]
        q_of_family = _of_family(rules, tests, len(families))
        q_of |= q_of_family
        smallest = [q_of_family[test.at] for claim in rules for test in tests[claim.of] if test.at in q_of_family]
        times = len(families) if any(claim.discoveries for claim in rules) else 1  # Holm's q has the share already
        least[family] = min(1.0, times * min(smallest)) if smallest else None
    claim_families = []
    claimed: dict[tuple[str, int], bool] = {}
    for claim in probe.claims.rules:
        corrected = [replace(test, q=q_of.get(test.at, test.q)) for test in tests[claim.of]]
        tests[claim.of] = corrected
        limit = least.get(claim.family, 0.0)
        for test in corrected:
            if test.q is not None and limit is not None:
                claimed[test.at] = max(test.q, limit) <= CLEAR
        claim_families.append(_family(claim, corrected, claimed, least.get(claim.family), settings))
    estimates = [
        replace(
            estimate, q=_tidied(q_of.get(("", index), estimate.q)), claimed=claimed.get(("", index), estimate.claimed)
        )
        for index, estimate in enumerate(findings.estimates)
    ]
    tables = {
        name: _marked(table, name, q_of, claimed) if "q" in table.columns and _is_claim(name, table, probe) else table
        for name, table in findings.tables.items()
    }
    marked = replace(findings, estimates=estimates, tables=tables)
    judged = _Judged(marked, probe, claim_families, tests, claimed, settings, findings.grounds or Grounds())
    return replace(marked, verdict=judged.verdict())


def _of_family(
    claims: Sequence[ClaimRule], tests: Mapping[str, Sequence[_FamilyTest]], families: int
) -> dict[tuple[str, int], float]:
    """q of the tests of a family."""
    if any(claim.discoveries for claim in claims):
        return {test.at: test.q for claim in claims for test in tests[claim.of] if test.q is not None}
    tested = [
        (test, 0.5 if claim.mirrored else 1.0) for claim in claims for test in tests[claim.of] if test.p is not None
    ]
    p = np.array([test.p for test, _ in tested], np.float64)
    weight = np.array([share for _, share in tested], np.float64)
    q = np.minimum(families * holm(p, weight), 1.0).tolist()
    return {test.at: value for (test, _), value in zip(tested, q, strict=True)}


def _tests(claim: ClaimRule, findings: Findings, probe: Probe) -> Iterator[_FamilyTest]:
    """Everything of a kind that has a value, tested or not."""
    for index, estimate in enumerate(findings.estimates):
        if probe.claims.family_of(estimate.metric, estimate.group) == claim.of and estimate.value is not None:
            value = estimate.value if estimate.corrected is None else estimate.corrected
            effect, title = abs(value - _neutral(claim, estimate)), f"the {probe.metric(estimate.metric).title}"
            label = _say_group(findings, probe, estimate)
            yield _FamilyTest(("", index), effect, estimate.p, estimate.q, value, label, title)
    for name, table in findings.tables.items():
        if "q" not in table.columns or claim.column not in table.columns:
            continue
        for index, row in enumerate(table.records()):
            number = _number(row[claim.column])
            if probe.claims.family_of_row(name, row) == claim.of and number is not None:
                label = ", ".join(str(row[column]) for column in claim.named_by)
                p, q = (_number(row.get(column)) for column in ("p", "q"))
                yield _FamilyTest((name, index), abs(number - claim.neutral), p, q, number, label)


def _say_group(findings: Findings, probe: Probe, estimate: Estimate) -> str:
    say = findings.grounds.say_group if findings.grounds else None
    return (say or probe.words.say_group)(estimate.group)


def _is_claim(name: str, table: Table, probe: Probe) -> bool:
    kinds = {claim.of for claim in probe.claims.rules}
    return any(probe.claims.family_of_row(name, row) in kinds for row in table.records()) or name in kinds


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
    tested = [test for test in tests if test.q is not None]
    clear = [test for test in tested if claimed.get(test.at)]
    large = [test for test in clear if test.effect >= smallest]
    n, n_clear, n_large = (len(group) // times for group in (tested, clear, large))
    q = _tidied(min((test.q for test in tested if test.q is not None), default=None))
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
            _tidied(q_of.get((name, index), _number(row[at]))),
            None if (flag := claimed.get((name, index))) is None else int(flag),
            *row[at + 1 :],
        ]
        for index, row in enumerate(table.rows)
    ]
    columns = [*table.columns[: at + 1], "claimed", *table.columns[at + 1 :]]
    return replace(table, columns=columns, rows=rows)


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
            if named := ", ".join(self._told(says)):
                size = "large enough for a headline" if says is VerdictKind.CLEAR else "too small for a headline"
                reason = f"statistically clear and {size}: {named}"
                return Verdict(says, self._sentence(reason, *self._standing), self.kinds, None, self.parts)
        return self._without_claims()

    @cached_property
    def parts(self) -> list[VerdictPart]:
        """What stands out or stays open, without what is claimed."""
        clear = [estimate for estimate in self.findings.estimates if estimate.claimed]
        claimed_parts = [(each.metric, dict(each.group)) for each in clear]
        return [part for part in self.grounds.parts if (part.metric, dict(part.group)) not in claimed_parts]

    @property
    def _standing(self) -> list[str]:
        return first_and_more([part.why for part in self.parts if part.status == STANDS_OUT], _NAMED)

    def _sentence(self, *clauses: str) -> str:
        return "; ".join(filter(None, [self.grounds.manner(self.findings.estimates), *clauses]))

    def _told(self, says: VerdictKind) -> Iterator[str]:
        """For every kind that decides: how many of it are clear, and the strongest ones by name."""
        for claim, kind in zip(self.probe.claims.rules, self.kinds, strict=True):
            n_clear = kind.large if says is VerdictKind.CLEAR else kind.claimed
            if kind.family is None or not n_clear:
                continue
            least = kind.smallest if says is VerdictKind.CLEAR else 0.0
            clear = [test for test in self.tests[claim.of] if self.claimed.get(test.at) and test.effect >= least]
            clear.sort(key=lambda test: -test.effect)
            effects = [f"{test.called}: {_signed(test.value)}" for test in clear[:: 2 if claim.mirrored else 1]]
            named = first_and_more(effects, _NAMED)
            label = (
                clear[0].title
                if kind.tests <= _NAMED and clear[0].title
                else f"{n_clear:,} of {kind.tests:,} {claim.noun}"
            )
            yield f"{label} ({'; '.join(named)})"

    def _without_claims(self) -> Verdict:
        """The verdict where nothing that could change it is clear: the numbers rule a bias out, or do not."""
        grounds, wide = self.grounds, _not_ruled_out(self.findings, self.probe, self.settings)
        parts = [*self.parts, *(part for part in wide if part.metric)]
        nothing = "nothing that decides is statistically clear"
        if not (self._standing or wide or grounds.doubts):
            still_open = first_and_more([part.why for part in self.parts if part.status == OPEN], _NAMED)
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
        clauses = [*self._standing, nothing + (f", but {reasons}" if reasons else ""), most.why if most else ""]
        return Verdict(
            VerdictKind.CANNOT if beyond else VerdictKind.FEW, self._sentence(*clauses), self.kinds, None, parts, step
        )


def _signed(value: float) -> str:
    return format_number(value).replace("-", "−")


def _not_ruled_out(findings: Findings, probe: Probe, settings: Mapping[str, Any]) -> list[VerdictPart]:
    """The decisive numbers whose intervals do not rule out every relevant bias."""
    claims = {claim.of: claim for claim in probe.claims.rules}
    decisive = [
        (claims[kind], estimate)
        for estimate in probe.claims.decisive(findings.estimates)
        for kind in [probe.claims.family_of(estimate.metric, estimate.group)]
        if kind in claims and claims[kind].family and not probe.claims.part_keys & estimate.group.keys()
    ]
    if not decisive:
        return [VerdictPart(OPEN, "", {}, "no interval can rule a bias out")]
    parts = []
    for claim, estimate in decisive:
        label = f"the {probe.metric(estimate.metric).title} ({_say_group(findings, probe, estimate)})"
        if reason := _open(claim, estimate, settings):
            parts.append(VerdictPart(OPEN, estimate.metric, dict(estimate.group), f"{label} {reason}"))
    return parts


def _open(claim: ClaimRule, estimate: Estimate, settings: Mapping[str, Any]) -> str:
    """Why an interval does not rule out every relevant bias; empty if it does."""
    if estimate.value is None:
        return "is undefined"
    if estimate.low is None or estimate.high is None:
        return "has no interval that can rule a bias out"
    allowed = float(settings.get("ruled_out", claim.ruled_out)) if claim.ruled_out else 0.0
    neutral = _neutral(claim, estimate)
    low_is_far = not claim.above_floor and neutral - estimate.low > estimate.high - neutral
    far = estimate.low if low_is_far else estimate.high
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
    for change, family in zip(changes, families, strict=True):
        if family is not None:
            q_of.setdefault(family, []).append(change.q)
    least = _least(q_of)
    marked = [
        change if family is None else replace(change, claimed=_is_claimed(change.q, least[family]))
        for change, family in zip(changes, families, strict=True)
    ]
    marked_tables = {}
    for name, table in tables.items():
        rows = {
            (name, index): claimed
            for index, row in enumerate(table.records())
            if _tested(table)
            if (claimed := _is_claimed(_number(row["q"]), least[f"table {name}"])) is not None
        }
        marked_tables[name] = _marked(table, name, {}, rows) if _tested(table) else table
    return marked, marked_tables


def _tested(table: Table) -> bool:
    return "q" in table.columns


def _least(q_of: Mapping[str, Sequence[float | None]]) -> dict[str, float | None]:
    """The smallest q of every family after Holm's correction; None if nothing was tested."""
    least = [min((q for q in q_values if q is not None), default=np.nan) for q_values in q_of.values()]
    corrected = holm(np.array(least, np.float64)).tolist()
    return {of: _tidied(each) if each == each else None for of, each in zip(q_of, corrected, strict=True)}


def _is_claimed(q: float | None, least: float | None) -> bool | None:
    """Whether a change is claimed, given its family's corrected smallest q; None if there was no test."""
    return None if q is None or least is None else max(q, least) <= CLEAR


# --- q of lists: corrected over everything of one kind that a run or a comparison reports


def corrected(estimates: Sequence[Estimate], families: Sequence[str | None]) -> list[Estimate]:
    """The estimates with q, corrected over all of the same family that have a p; None means no family."""
    indices_of: dict[str, list[int]] = {}
    for index, (estimate, family) in enumerate(zip(estimates, families, strict=True)):
        if estimate.p is not None and family is not None:
            indices_of.setdefault(family, []).append(index)
    corrected_estimates = list(estimates)
    for indices in indices_of.values():
        for index, q in zip(indices, _q([estimates[index].p for index in indices]).tolist(), strict=True):
            corrected_estimates[index] = replace(corrected_estimates[index], q=q)
    return corrected_estimates


def corrected_table(table: Table) -> Table:
    """The table with its column q, corrected over all of its rows that have a p."""
    p, q = (list(table.columns).index(name) for name in ("p", "q"))
    q_values = _q([row[p] for row in table.rows]).tolist()
    both = zip(table.rows, q_values, strict=True)
    return replace(
        table, rows=[[*row[:q], value if np.isfinite(value) else None, *row[q + 1 :]] for row, value in both]
    )


def _q(p: Sequence[Cell]) -> NDArray[np.float64]:
    return benjamini_hochberg(np.array([np.nan if each is None else each for each in p], np.float64))
