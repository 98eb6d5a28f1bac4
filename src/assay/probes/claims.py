"""A run's claims and its verdict, from its estimates and tables and the rules in its probe's descriptor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from assay.diagnosis import FOLLOWS_PLACE
from assay.findings import Cell, Estimate, Findings, Table, tidy
from assay.probes.base import Claim, Probe
from assay.stats import holm
from assay.verdict import CLEAR, Family, Says, Verdict
from assay.wording import number

ENOUGH = 2.0
"""An interval rules out a relevant bias if it lies within this many times the smallest effect."""


class _Test(NamedTuple):
    q: float | None
    effect: float


class _Claimed(NamedTuple):
    estimates: list[Estimate]
    tables: dict[str, Table]
    least: Mapping[str, float | None]  # by family: its smallest q after Holm's correction


def with_claims(findings: Findings, probe: Probe, settings: Mapping[str, Any]) -> Findings:
    """The findings with the verdict and with the claims marked, in estimates and in the tables' column `claimed`."""
    kinds = {claim.of for claim in probe.claims}
    families = [probe.family_of(each.metric, each.group) for each in findings.estimates]
    tables = {name: table for name, table in findings.tables.items() if name in kinds}
    found = _claimed(findings.estimates, [each if each in kinds else None for each in families], tables)
    told = [
        _family(claim, _tests(claim, findings, probe), found.least.get(claim.of), settings) for claim in probe.claims
    ]
    verdict = _verdict(findings, probe, told)
    return replace(findings, estimates=found.estimates, tables={**findings.tables, **found.tables}, verdict=verdict)


def claimed_changes(
    changes: Sequence[Estimate], families: Sequence[str | None], tables: Mapping[str, Table]
) -> tuple[list[Estimate], dict[str, Table]]:
    """A comparison's changes and tables, which have a q, with the claims marked as in a run."""
    found = _claimed(changes, families, {f"table {name}": table for name, table in tables.items()})
    return found.estimates, {name: found.tables[f"table {name}"] for name in tables}


def _claimed(estimates: Sequence[Estimate], families: Sequence[str | None], tables: Mapping[str, Table]) -> _Claimed:
    """Estimates and tables, which have a q, with the claims marked; a table is a family of its own.

    An estimate whose family is None makes no claim.
    """
    q_of = {name: [_number(row["q"]) for row in table.records()] for name, table in tables.items() if _tested(table)}
    for each, family in zip(estimates, families, strict=True):
        if family is not None:
            q_of.setdefault(family, []).append(each.q)
    least = _least(q_of)
    marked = [
        each if family is None else replace(each, claimed=_is_claimed(each.q, least[family]))
        for each, family in zip(estimates, families, strict=True)
    ]
    own = {name: _marked(table, least[name]) if _tested(table) else table for name, table in tables.items()}
    return _Claimed(marked, own, least)


def _tested(table: Table) -> bool:
    return "q" in table.columns


def _least(q_of: Mapping[str, Sequence[float | None]]) -> dict[str, float | None]:
    """The smallest q of every family after Holm's correction; None if nothing was tested."""
    least = [min((q for q in own if q is not None), default=np.nan) for own in q_of.values()]
    corrected = holm(np.array(least, np.float64)).tolist()
    return {of: _number(tidy("q", each)) if each == each else None for of, each in zip(q_of, corrected, strict=True)}


def _is_claimed(q: float | None, least: float | None) -> bool | None:
    """Whether a test is claimed, given its family's corrected smallest q; None if there was no test."""
    return None if q is None or least is None else max(q, least) <= CLEAR


def _tests(claim: Claim, findings: Findings, probe: Probe) -> list[_Test]:
    if claim.of in findings.tables:
        rows = findings.tables[claim.of].records()
        return [
            _Test(_number(row.get("q")), abs(value - claim.neutral))
            for row in rows
            if (value := _number(row[claim.column])) is not None
        ]
    return [
        _Test(each.q, _effect(claim, each))
        for each in findings.estimates
        if each.value is not None and probe.family_of(each.metric, each.group) == claim.of
    ]


def _number(cell: Cell) -> float | None:
    return float(cell) if isinstance(cell, int | float) else None


def _effect(claim: Claim, estimate: Estimate) -> float:
    found = estimate.value if estimate.corrected is None else estimate.corrected
    assert found is not None  # undefined ones are not tested
    return abs(found - _neutral(claim, estimate))


def _neutral(claim: Claim, estimate: Estimate) -> float:
    return estimate.floor if claim.above_floor and estimate.floor is not None else claim.neutral


def _family(claim: Claim, tests: Sequence[_Test], least: float | None, settings: Mapping[str, Any]) -> Family:
    smallest = settings.get(claim.setting, claim.smallest)
    tested = [each for each in tests if each.q is not None]
    claimed = [each.effect for each in tested if _is_claimed(each.q, least)]
    large = [effect for effect in claimed if effect >= smallest]
    n, n_claimed, n_large = (len(some) // (2 if claim.mirrored else 1) for some in (tested, claimed, large))
    q = min((each.q for each in tested if each.q is not None), default=None)
    return Family(claim.of, n, q, least, n_claimed, n_large, smallest)


def _marked(table: Table, least: float | None) -> Table:
    """The table with a column `claimed` after q: 1, 0, or empty if nothing was tested."""
    at = list(table.columns).index("q")
    rows = [[*row[: at + 1], _flag(_is_claimed(_number(row[at]), least)), *row[at + 1 :]] for row in table.rows]
    columns = [*table.columns[: at + 1], "claimed", *table.columns[at + 1 :]]
    return replace(table, columns=columns, rows=rows)


def _flag(claimed: bool | None) -> int | None:
    return None if claimed is None else int(claimed)


def _verdict(findings: Findings, probe: Probe, families: Sequence[Family]) -> Verdict | None:
    if not families:
        return None
    said = {claim.of: claim.said for claim in probe.claims}
    diagnosis = findings.diagnosis
    if diagnosis is not None and diagnosis.follows_place:
        return Verdict(Says.PLACE, diagnosis.why, families, diagnosis=FOLLOWS_PLACE)
    for each in families:
        if each.large:
            how = f"statistically clear and at least {each.smallest:g}"
            return Verdict(Says.CLEAR, f"{_counted(each.large, each.tests, said[each.of])} {how}", families)
    for each in families:
        if each.claimed:
            how = f"statistically clear, but smaller than {each.smallest:g}"
            return Verdict(Says.SMALL, f"{_counted(each.claimed, each.tests, said[each.of])} {how}", families)
    open_still = _not_ruled_out(findings, probe, families)
    nothing = "nothing is statistically clear"
    if open_still:
        return Verdict(Says.FEW, f"{nothing}, but {open_still}", families)
    within = "every interval lies within twice the smallest effect worth a headline"
    return Verdict(Says.NONE, f"{nothing}, and {within}", families)


def _counted(some: int, tests: int, said: str) -> str:
    return f"{some:,} of {tests:,} {said} {'is' if some == 1 else 'are'}"


def _not_ruled_out(findings: Findings, probe: Probe, families: Sequence[Family]) -> str:
    """Which bias the intervals do not rule out; empty if they rule out every relevant bias."""
    smallest = {each.of: each.smallest for each in families}
    claims = {claim.of: claim for claim in probe.claims}
    own = [
        (claims[family], each)
        for each in probe.decisive(findings.estimates)
        for family in [probe.family_of(each.metric, each.group)]
        if family in claims and not probe.part_keys & each.group.keys()
    ]
    if not own:
        return "no interval can rule a bias out"
    for claim, each in own:
        where = f"the {probe.metric(each.metric).title} ({probe.say_group(each.group)})"
        if each.value is None:
            return f"{where} is undefined"
        if each.low is None or each.high is None:
            return f"{where} has no interval that can rule a bias out"
        neutral = _neutral(claim, each)
        low_is_far = not claim.above_floor and neutral - each.low > each.high - neutral
        far = each.low if low_is_far else each.high
        if abs(far - neutral) > ENOUGH * smallest[claim.of]:
            return f"{where} could be as large as {number(far).replace('-', '−')}"
    return ""
