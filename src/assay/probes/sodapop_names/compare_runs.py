"""`sodapop-names`: how well two models' vectors give away whose names they are, compared name by name.

A name is told rightly in some share of the splits that asked about it. Interval and p are those of Student's t over
names, each with the variance that it has when it is asked once; half of the names count. The spread of the shares would
be too small, and so would be the error of all names: those of one split are told by one classifier, and a model was
found to differ from its equal too often (`bench/sodapop_coverage.py`). Only runs with the same names, splits and seed
are paired: only these learnt from the same names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from assay.errors import DataError
from assay.probes.base import Probe
from assay.probes.contrast import Common, Contrast, PairedChange, change_of
from assay.results.findings import Cell, Estimate, Findings, Table
from assay.results.run import Run
from assay.stats import MIN_UNITS, student_p, student_reach

COUNTED = 0.5
"""The share of the names that count as independent of each other."""


def side_by_side(models: Sequence[tuple[str, Findings]]) -> dict[str, Table]:
    """Tables over models, given by name and findings."""
    rows: list[Sequence[Cell]] = [
        [
            estimate.group["attribute"],
            name,
            estimate.value,
            estimate.low,
            estimate.high,
            estimate.floor,
            estimate.p,
            estimate.q,
            estimate.n,
        ]
        for name, findings in models
        for estimate in findings.estimates
        if estimate.metric == "name_accuracy" and estimate.value is not None
    ]
    columns = ("attribute", "model", "accuracy", "low", "high", "floor", "p", "q", "n")
    table = Table(columns, sorted(rows, key=lambda row: str(row[0])))
    return {"telling": table} if rows else {}


@dataclass(frozen=True)
class RecalledNames:
    """Who was told how often: by attribute the estimate, and every name's share."""

    names: tuple[tuple[str, str], ...]  # group, name
    told: Mapping[str, Sequence[float | None]]
    estimates: Mapping[str, Estimate]
    drawn: tuple[str, str]  # splits and seed


def opened(run: Run) -> RecalledNames:
    """From the run's table of names."""
    table = run.findings.tables.get("names")
    if table is None:
        problem = "this run has no table of names."
        raise DataError(problem, "Repeat the run.", code="bad-findings", file=run.folder, key="names")
    records = list(table.records())
    estimates = {e.group["attribute"]: e for e in run.findings.estimates if e.metric == "name_accuracy"}
    return RecalledNames(
        tuple((str(record["group"]), str(record["name"])) for record in records),
        {key: [run.number("names", record, f"told_{key}", (0, 1)) for record in records] for key in estimates},
        estimates,
        (str(run.info.settings.get("splits")), str(run.info.seed)),
    )


def paired(probe: Probe, one: RecalledNames, other: RecalledNames) -> Contrast:
    """The changes from one model to the other."""
    shared = len(set(one.names) & set(other.names))
    counts = [Common("names", len(one.names), len(other.names), shared)]
    if one.names != other.names or one.drawn != other.drawn:
        why = "names" if one.names != other.names else "splits or seeds"
        return Contrast([], counts, notes=[f"nothing is paired: the two runs have different {why}"])
    return Contrast([_change(probe, key, one, other) for key in one.estimates if key in other.estimates], counts)


def _change(probe: Probe, attribute: str, one: RecalledNames, other: RecalledNames) -> PairedChange:
    first, second = one.estimates[attribute], other.estimates[attribute]
    before, after = (np.nan if each.value is None else each.value for each in (first, second))
    shares = np.array([[np.nan if cell is None else cell for cell in side.told[attribute]] for side in (one, other)])
    shares = shares[:, np.isfinite(shares).all(axis=0)]  # (model, name)
    n = shares.shape[1]
    enough = n >= MIN_UNITS
    apart = shares[0] * (1.0 - shares[1]) + shares[1] * (1.0 - shares[0])  # how often the two differ about a name
    error = np.sqrt(apart.mean() / (COUNTED * n)) if enough else np.nan
    return change_of(
        probe.metric("name_accuracy"),
        {"attribute": attribute},
        (before, after),
        n=n,
        replicates=(shares[0], shares[1]) if enough else None,
        interval=lambda value, drawn, bounds: np.clip(value + student_reach(error, n - 1) * np.array([-1, 1]), *bounds),
        p=float(student_p(after - before, error, n - 1)) if enough else None,
        family="name_accuracy",
        undefined=first.note if first.value is None else second.note,
        note=None if enough else f"no interval: fewer than {MIN_UNITS} names were asked about in both",
    )
