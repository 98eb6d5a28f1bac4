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
        found = self.change
        if found.p is None or found.chance is not Chance.ABOVE:
            return False
        return found.low is None or found.high is None or found.low > 0 or found.high < 0

    @staticmethod
    def from_json(told: Mapping[str, Any]) -> Difference:
        """The difference that `as_json` wrote."""
        worse = None if told["worse"] is None else Estimate.from_json(told["worse"])
        who, values = (told["model"], told["baseline"]), (told["baseline_value"], told["model_value"])
        return Difference(*who, Estimate.from_json(told["change"]), worse, *values, told["probe"])

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


def tested_and_clear(found: Sequence[Difference]) -> tuple[int, list[Difference]]:
    """How many differences could be tested, and the clear ones, the largest first."""
    tested = [each for each in found if each.change.p is not None]
    clear = [each for each in tested if each.clear]
    return len(tested), sorted(clear, key=lambda each: -abs(each.change.value or 0.0))


def is_bias(each: Difference) -> bool:
    """Whether it is about a metric that models are ranked by."""
    return bool(known_probe(each.probe).claims.ranked([each.change]))


def changed(found: Sequence[Difference]) -> list[Difference]:
    """The differences that are neither 0 nor undefined in both runs, without repeats: first the bias that models are
    ranked by, then what a run may claim, then the rest.

    A repeat has the same values as another metric of the same model and group, as accuracy and the share of “cannot be
    determined” have in ambiguous questions.
    """
    main = {id(each) for each in _main(found)}

    def tier(each: Difference) -> tuple[bool, bool, bool]:
        probe = known_probe(each.probe)
        family = probe.claims.family_of(each.change.metric, each.change.group)
        return id(each.change) not in main, not is_bias(each), family not in {claim.of for claim in probe.claims.rules}

    kept: dict[object, Difference] = {}
    some = [each for each in found if each.change.value != 0 and (each.before, each.after) != (None, None)]
    for each in sorted(some, key=tier):
        metric, group = key_of(each.change)
        values = (metric,) if each.change.value is None else (each.before, each.after)
        kept.setdefault((each.probe, each.model, group, *values), each)
    return list(kept.values())


def _main(found: Sequence[Difference]) -> list[Estimate]:
    """Of every model and probe, the changes of the bias that it is ranked by."""
    changes: dict[tuple[str, str], list[Estimate]] = {}
    for each in found:
        changes.setdefault((each.probe, each.model), []).append(each.change)
    return [each for (probe, _), own in changes.items() for each in known_probe(probe).claims.ranked(own)]


def differences_of(
    probe: str, baseline: str, changes: Mapping[str, Sequence[PairedChange]], tables: Mapping[str, Table]
) -> tuple[list[Difference], dict[str, Table]]:
    """The changes of all models with their q, corrected within every family over all models, and tables of changes.

    Both mark what is claimed, corrected over all families and tables.
    """
    every = [(model, each) for model, own in changes.items() for each in own]
    families = [each.family for _, each in every]
    tables = {name: corrected_table(table) if "q" in table.columns else table for name, table in tables.items()}
    tested, marked = claimed_changes(corrected([each.change for _, each in every], families), families, tables)
    found = [
        Difference(model, baseline, change, each.worse, each.before, each.after, probe)
        for (model, each), change in zip(every, tested, strict=True)
    ]
    return found, marked


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
