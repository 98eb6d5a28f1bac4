"""`sodapop-names`: how well two models' vectors give away whose names they are, compared name by name.

A name is told rightly in some share of the splits that asked about it. The interval draws names anew, within their
groups; p exchanges the two models' shares name by name. Only runs with the same names, splits and seed are paired: only
these learnt from the same names.

A run's own interval is another one: how far its splits differ. It cannot draw names, since one that is drawn twice
would be learnt from and asked about; here nothing is learnt again. A run draws nothing, so that this probe has no
setting `resamples`: a comparison draws as often as `assay.compare` says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.errors import DataError
from assay.findings import Cell, Estimate, Findings, Table
from assay.probes.base import Probe
from assay.probes.contrast import SEED, Change, Common, Contrast, change_of
from assay.run import Run
from assay.stats import MIN_UNITS, multinomial_weights, percentile_interval, sign_flip_p


def side_by_side(models: Sequence[tuple[str, Findings]]) -> dict[str, Table]:
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
        problem = "this run has no table of names."
        raise DataError(problem, "Repeat the run.", code="bad-findings", file=run.folder, key="names")
    records = list(table.records())
    estimates = {e.group["attribute"]: e for e in run.findings.estimates if e.metric == "name_accuracy"}
    return Opened(
        tuple((str(record["group"]), str(record["name"])) for record in records),
        {key: [record.get(f"told_{key}") for record in records] for key in estimates},
        estimates,
        (str(run.info.settings.get("splits")), str(run.info.seed)),
    )


def paired(probe: Probe, one: Opened, other: Opened, resamples: int) -> Contrast:
    """The changes from one model to the other."""
    shared = len(set(one.names) & set(other.names))
    counts = [Common("names", len(one.names), len(other.names), shared)]
    if one.names != other.names or one.drawn != other.drawn:
        why = "names" if one.names != other.names else "splits or seeds"
        return Contrast([], counts, notes=[f"nothing is paired: the two runs have different {why}"])
    groups = np.unique([group for group, _ in one.names], return_inverse=True)[1].astype(np.int64)
    changes = [_change(probe, key, one, other, groups, resamples) for key in one.estimates if key in other.estimates]
    return Contrast(changes, counts)


def _change(
    probe: Probe, attribute: str, one: Opened, other: Opened, groups: NDArray[np.int64], resamples: int
) -> Change:
    first, second = one.estimates[attribute], other.estimates[attribute]
    values = tuple(np.nan if each.value is None else each.value for each in (first, second))
    shares = np.array([[np.nan if cell is None else cell for cell in side.told[attribute]] for side in (one, other)])
    asked = np.isfinite(shares).all(axis=0)
    strata = groups[asked]
    enough = int(asked.sum()) >= MIN_UNITS
    replicates = None
    gained = shares[1, asked] - shares[0, asked]
    if enough:
        weights = multinomial_weights(strata, resamples, np.random.default_rng(SEED))
        means = weights @ shares[:, asked].T / len(strata)  # (resample, model)
        drawn = means - shares[:, asked].mean(axis=1) + np.array(values)
        replicates = drawn[:, 0], drawn[:, 1]
    return change_of(
        probe.metric("name_accuracy"),
        {"attribute": attribute},
        (values[0], values[1]),
        n=len(strata),
        replicates=replicates,
        interval=lambda value, drawn, bounds: percentile_interval(value, drawn, len(strata), bounds=bounds),
        p=float(sign_flip_p(gained[None, :])[0]) if enough else None,
        family="name_accuracy",
        undefined=first.note if first.value is None else second.note,
        note=None if enough else f"no interval: fewer than {MIN_UNITS} names were asked about in both",
    )
