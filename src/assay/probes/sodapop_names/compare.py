"""`sodapop-names`: how well two models' vectors give away whose names they are, compared name by name.

A name is told rightly in some share of the splits that asked about it. The interval draws names anew, within their
groups; p exchanges the two models' shares name by name. Only runs with the same names, splits and seed are paired: only
these learnt from the same names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.audit import Run
from assay.differences import Change, Common, Paired, change_of
from assay.errors import DataError
from assay.findings import Cell, Estimate, Findings, Table
from assay.stats import MIN_UNITS, multinomial_weights, percentile_interval, sign_flip_p

TITLES = {"telling": "How often an attribute is told rightly from the vectors of names"}

RESAMPLES = 1000


def comparison(models: Sequence[tuple[str, Findings]]) -> dict[str, Table]:
    """Tables over models, given by name and findings."""
    rows: list[Sequence[Cell]] = [
        [each.group["attribute"], name, each.value, each.low, each.high, each.floor, each.p, each.n]
        for name, findings in models
        for each in findings.estimates
        if each.metric == "name_accuracy" and each.value is not None
    ]
    columns = ("attribute", "model", "accuracy", "low", "high", "floor", "p", "n")
    table = Table(columns, sorted(rows, key=lambda row: str(row[0])))
    return {"telling": table} if rows else {}


@dataclass(frozen=True)
class Opened:
    """Who was told how often: by attribute the estimate, and every name's share."""

    names: tuple[tuple[str, str], ...]  # group, name
    told: Mapping[str, Sequence[Cell]]
    estimates: Mapping[str, Estimate]
    drawn: tuple[str, str]  # splits and seed


def opened(run: Run) -> Opened:
    """From the run's table of names."""
    table = run.findings.tables.get("names")
    if table is None:
        raise DataError("this run has no table of names.", "Repeat the run.", file=run.folder)
    records = list(table.records())
    estimates = {e.group["attribute"]: e for e in run.findings.estimates if e.metric == "name_accuracy"}
    return Opened(
        tuple((str(record["group"]), str(record["name"])) for record in records),
        {key: [record.get(f"told_{key}") for record in records] for key in estimates},
        estimates,
        (str((run.info.get("settings") or {}).get("splits")), str(run.info.get("seed"))),
    )


def paired(one: Opened, other: Opened, *, common: bool) -> Paired:
    """The changes from one model to the other."""
    del common  # vectors of fewer names would have to be learnt from again
    shared = len(set(one.names) & set(other.names))
    counts = [Common("names", len(one.names), len(other.names), shared)]
    if one.names != other.names or one.drawn != other.drawn:
        why = "names" if one.names != other.names else "splits or seeds"
        return Paired([], counts, notes=[f"nothing is paired: the two runs have different {why}"])
    groups = np.unique([group for group, _ in one.names], return_inverse=True)[1].astype(np.int64)
    changes = [_change(key, one, other, groups) for key in one.estimates if key in other.estimates]
    return Paired(changes, counts)


def _change(attribute: str, one: Opened, other: Opened, groups: NDArray[np.int64]) -> Change:
    first, second = one.estimates[attribute], other.estimates[attribute]
    values = tuple(np.nan if each.value is None else each.value for each in (first, second))
    shares = np.array([[np.nan if cell is None else cell for cell in side.told[attribute]] for side in (one, other)])
    asked = np.isfinite(shares).all(axis=0)
    strata = groups[asked]
    enough = int(asked.sum()) >= MIN_UNITS
    replicates = None
    gained = shares[1, asked] - shares[0, asked]
    if enough:
        weights = multinomial_weights(strata, RESAMPLES, np.random.default_rng(0))
        means = weights @ shares[:, asked].T / len(strata)  # (resample, model)
        drawn = means - shares[:, asked].mean(axis=1) + np.array(values)
        replicates = drawn[:, 0], drawn[:, 1]
    return change_of(
        "name_accuracy",
        {"attribute": attribute},
        (values[0], values[1]),
        n=len(strata),
        bounds=(0.0, 1.0),
        replicates=replicates,
        interval=lambda value, drawn, bounds: percentile_interval(value, drawn, len(strata), bounds=bounds),
        p=float(sign_flip_p(gained[None, :])[0]) if enough else None,
        family="name_accuracy",
        undefined=first.note if first.value is None else second.note,
        note=None if enough else f"no interval: fewer than {MIN_UNITS} names were asked about in both",
    )
