"""What a run claims, and its verdict: made from its estimates and tables by the rules of its probe's descriptor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from assay.findings import Cell, Estimate, Findings, Table, tidy
from assay.probes.base import Claim, Probe
from assay.stats import holm
from assay.verdict import CLEAR, Family, Says, Verdict
from assay.wording import number

ENOUGH = 2.0
"""An interval rules out a bias that matters if it lies within so many times the smallest effect."""


class _Test(NamedTuple):
    q: float | None
    effect: float


def with_claims(findings: Findings, probe: Probe, settings: Mapping[str, Any]) -> Findings:
    """The findings with what of them is claimed, in estimates and in the tables' column `claimed`, and the verdict."""
    tests = {claim: _tests(claim, findings, probe) for claim in probe.claims}
    held = _held({claim.of: [each.q for each in own] for claim, own in tests.items()})
    families = [
        _family(claim, own, held[claim.of], settings.get(claim.setting, claim.smallest)) for claim, own in tests.items()
    ]
    holds = {each.of: each.holds for each in families}
    estimates = [
        replace(each, claimed=_is_claimed(each.q, holds[family])) if family in holds else each
        for each in findings.estimates
        for family in [probe.family_of(each.metric, each.group)]
    ]
    tables = {
        name: _marked(table, holds[name]) if name in holds and "q" in table.columns else table
        for name, table in findings.tables.items()
    }
    found = replace(findings, estimates=estimates, tables=tables)
    return replace(found, verdict=_verdict(found, probe, families))


def claimed_changes(
    changes: Sequence[Estimate], families: Sequence[str | None], tables: Mapping[str, Table]
) -> tuple[list[Estimate], dict[str, Table]]:
    """A comparison's changes and tables, which have their q, with what of them is claimed, as in a run.

    A change whose family is None is corrected with no others.
    """
    q_of: dict[str, list[float | None]] = {}
    for each, family in zip(changes, families, strict=True):
        if family is not None:
            q_of.setdefault(family, []).append(each.q)
    for name, table in tables.items():
        if "q" in table.columns:
            q_of[f"table {name}"] = [_number(row["q"]) for row in table.records()]
    held = {family for family, least in _held(q_of).items() if least is not None and least <= CLEAR}
    claimed = [
        each if family is None else replace(each, claimed=_is_claimed(each.q, family in held))
        for each, family in zip(changes, families, strict=True)
    ]
    return claimed, {
        name: _marked(table, f"table {name}" in held) if "q" in table.columns else table
        for name, table in tables.items()
    }


def _held(q_of: Mapping[str, Sequence[float | None]]) -> dict[str, float | None]:
    """The smallest q of every family after Holm's correction; None where nothing was tested."""
    least = [min((q for q in own if q is not None), default=np.nan) for own in q_of.values()]
    corrected = holm(np.array(least, np.float64)).tolist()
    return {of: _number(tidy("q", each)) if each == each else None for of, each in zip(q_of, corrected, strict=True)}


def _is_claimed(q: float | None, holds: bool) -> bool | None:
    return None if q is None else holds and q <= CLEAR


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


def _family(claim: Claim, tests: Sequence[_Test], corrected: float | None, smallest: float) -> Family:
    tested = [(each.q, each.effect) for each in tests if each.q is not None]
    holds = corrected is not None and corrected <= CLEAR
    claimed = [effect for q, effect in tested if holds and q <= CLEAR]
    large = sum(effect >= smallest for effect in claimed)
    times = 2 if claim.mirrored else 1
    counts = (len(claimed) // times, large // times)
    least = min((q for q, _ in tested), default=None)
    return Family(claim.of, len(tested) // times, least, corrected, *counts, smallest)


def _marked(table: Table, holds: bool) -> Table:
    """The table with its column `claimed`, behind q: 1, 0, or empty where nothing was tested."""
    at = list(table.columns).index("q")
    rows = [[*row[: at + 1], _flag(_is_claimed(_number(row[at]), holds)), *row[at + 1 :]] for row in table.rows]
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
        return Verdict(Says.PLACE, diagnosis.why, families)
    for each in families:
        if each.large:
            how = f"clear of chance and at least {each.smallest:g}"
            return Verdict(Says.CLEAR, f"{_counted(each.large, each.tests, said[each.of])} {how}", families)
    for each in families:
        if each.claimed:
            how = f"clear of chance, but smaller than {each.smallest:g}"
            return Verdict(Says.SMALL, f"{_counted(each.claimed, each.tests, said[each.of])} {how}", families)
    open_still = _not_ruled_out(findings, probe, families)
    nothing = "nothing is clear of chance"
    if open_still:
        return Verdict(Says.FEW, f"{nothing}, but {open_still}", families)
    within = "every interval lies within twice the smallest effect worth a headline"
    return Verdict(Says.NONE, f"{nothing}, and {within}", families)


def _counted(some: int, tests: int, said: str) -> str:
    return f"{some:,} of {tests:,} {said} {'is' if some == 1 else 'are'}"


def _not_ruled_out(findings: Findings, probe: Probe, families: Sequence[Family]) -> str:
    """Which bias the intervals leave possible; empty where they leave none."""
    smallest = {each.of: each.smallest for each in families}
    claims = {claim.of: claim for claim in probe.claims}
    own = [
        (claims[family], each)
        for each in probe.decisive(findings.estimates)
        for family in [probe.family_of(each.metric, each.group)]
        if family in claims and not probe.part_keys & each.group.keys()
    ]
    if not own:
        return "there is no interval that could rule a bias out"
    for claim, each in own:
        where = f"{probe.metric(each.metric).title} ({probe.say_group(each.group)})"
        if each.value is None:
            return f"{where} is not known"
        if each.low is None or each.high is None:
            return f"{where} has no interval that could rule a bias out"
        neutral = _neutral(claim, each)
        low_is_far = not claim.above_floor and neutral - each.low > each.high - neutral
        far = each.low if low_is_far else each.high
        if abs(far - neutral) > ENOUGH * smallest[claim.of]:
            return f"{where} could be {number(far)}"
    return ""
