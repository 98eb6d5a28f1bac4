"""How a model differs from a baseline on the items that both answered: changes with their names, p and q.

q is Benjamini and Hochberg's, over all models that are compared with the baseline, within a family of changes that the
probe names: one metric over all groups of a kind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.probes import known_probe
from assay.probes.claims import claimed_changes, corrected, corrected_table
from assay.probes.contrast import PairedChange
from assay.results.findings import Cell, Estimate, Table
from assay.results.verdict import Chance

EstimateKey = tuple[str, tuple[tuple[str, str], ...]]
"""Metric and group, which identify an estimate of a run."""


@dataclass(frozen=True)
class Difference:
    """How a model differs from a baseline in one metric of one group.

    `change` is the model's value minus the baseline's, with the metric and group of findings.json; its n counts the
    items that both answered. `worse` is by how much the model is worse (above 0: worse), with an interval of its own:
    |s| of one model minus |s| of the other is not the size of a difference. None where neither direction is worse.
    `before` and `after` are the baseline's and the model's value on these items.
    """

    model: str
    baseline: str
    change: Estimate
    worse: Estimate | None
    before: float | None = None
    after: float | None = None
    probe: str = ""

    @property
    def clear(self) -> bool:
        """Whether it is statistically clear: claimed (q, and Holm over all families), with 0 outside the interval."""
        change = self.change
        if change.p is None or change.chance is not Chance.ABOVE:
            return False
        return change.low is None or change.high is None or change.low > 0 or change.high < 0

    @staticmethod
    def from_json(record: Mapping[str, Any]) -> Difference:
        """The difference that `as_json` wrote."""
        worse = None if record["worse"] is None else Estimate.from_json(record["worse"])
        names, values = (record["model"], record["baseline"]), (record["baseline_value"], record["model_value"])
        return Difference(*names, Estimate.from_json(record["change"]), worse, *values, record["probe"])

    def as_json(self) -> dict[str, Any]:
        return {
            "probe": self.probe,
            "model": self.model,
            "baseline": self.baseline,
            "baseline_value": self.before,
            "model_value": self.after,
            "change": self.change.as_json(),
            "worse": None if self.worse is None else self.worse.as_json(),
            "clear": self.clear,
        }


def key_of(estimate: Estimate) -> EstimateKey:
    return estimate.metric, tuple(sorted(estimate.group.items()))


def tested_and_clear(differences: Sequence[Difference]) -> tuple[int, list[Difference]]:
    """How many differences could be tested, and the clear ones, the largest first."""
    tested = [difference for difference in differences if difference.change.p is not None]
    clear = [difference for difference in tested if difference.clear]
    return len(tested), sorted(clear, key=lambda difference: -abs(difference.change.value or 0.0))


def is_bias(difference: Difference) -> bool:
    """Whether it is about a metric that models are ranked by."""
    return bool(known_probe(difference.probe).claims.ranked([difference.change]))


def changed(differences: Sequence[Difference]) -> list[Difference]:
    """The differences that are neither 0 nor undefined in both runs, without repeats: first the bias that models are
    ranked by, then what a run may claim, then the rest.

    A repeat has the same values as another metric of the same model and group, as accuracy and the share of “cannot be
    determined” have in ambiguous questions.
    """
    by_model: dict[tuple[str, str], list[Estimate]] = {}
    for difference in differences:
        by_model.setdefault((difference.probe, difference.model), []).append(difference.change)
    main = {
        id(change) for (probe, _), changes in by_model.items() for change in known_probe(probe).claims.ranked(changes)
    }

    def tier(difference: Difference) -> tuple[bool, bool, bool]:
        probe = known_probe(difference.probe)
        family = probe.claims.family_of(difference.change.metric, difference.change.group)
        claimed = family in {claim.of for claim in probe.claims.rules}
        return id(difference.change) not in main, not is_bias(difference), not claimed

    by_values: dict[object, Difference] = {}
    for difference in sorted(differences, key=tier):
        change, values = difference.change, (difference.before, difference.after)
        if change.value == 0 or values == (None, None):
            continue
        metric, group = key_of(change)
        repeated = (metric,) if change.value is None else values
        by_values.setdefault((difference.probe, difference.model, group, *repeated), difference)
    return list(by_values.values())


def differences_of(
    probe: str, baseline: str, changes: Mapping[str, Sequence[PairedChange]], tables: Mapping[str, Table]
) -> tuple[list[Difference], dict[str, Table]]:
    """The changes of all models with their q, corrected within every family over all models, and tables of changes.

    Both mark what is claimed, corrected over all families and tables.
    """
    pairs = [(model, pair) for model, model_changes in changes.items() for pair in model_changes]
    families = [pair.family for _, pair in pairs]
    tables = {name: corrected_table(table) if "q" in table.columns else table for name, table in tables.items()}
    tested, marked = claimed_changes(corrected([pair.change for _, pair in pairs], families), families, tables)
    differences = [
        Difference(model, baseline, change, pair.worse, pair.before, pair.after, probe)
        for (model, pair), change in zip(pairs, tested, strict=True)
    ]
    return differences, marked


def difference_table(differences: Sequence[Difference]) -> Table:
    """All that is known about the differences, one row for each."""
    columns = ("model", "baseline", "metric", "group", "baseline_value", "model_value", "change", "low", "high")
    rows: list[Sequence[Cell]] = []
    for difference in differences:
        change, worse = difference.change, difference.worse
        group = "; ".join(f"{key}={value}" for key, value in change.group.items())
        about = [difference.model, difference.baseline, change.metric, group, difference.before, difference.after]
        judged: list[Cell] = [None] * 3 if worse is None else [worse.value, worse.low, worse.high]
        numbers = [change.value, change.low, change.high, change.p, change.q, change.n]
        rows.append([*about, *numbers, *judged, int(difference.clear), change.note])
    return Table((*columns, "p", "q", "n", "worse", "worse_low", "worse_high", "clear", "note"), rows)
