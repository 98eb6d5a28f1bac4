"""Models side by side on the same items: paired differences with intervals over templates and corrected p-values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.findings import Cell, Findings, Table
from assay.probes.bbq.analyse import ALL, METRICS, Metric
from assay.probes.bbq.metrics import FIELDS, Field, Tally
from assay.probes.bbq.units import by_unit
from assay.stats import MIN_UNITS, benjamini_hochberg, multinomial_weights, percentile_interval
from assay.stats.resampling import TIE

TITLES = {
    "scores": "Bias scores and accuracies by model",
    "differences": "Paired differences on the items that both answered (second minus first)",
}

RESAMPLES = 2000
SWAPS = 9999
_SHOWN = ("accuracy", "bias_score", "accuracy_cost")

Key = tuple[str, str, str, str, str]  # category, question_index, context, polarity, example_id


def comparison(models: Sequence[tuple[str, Findings]]) -> dict[str, Table]:
    """Tables over models, given by name and findings: scores, and the difference of every model to the first."""
    tables = {"scores": _scores(models), "differences": _differences(models)}
    return {name: table for name, table in tables.items() if table.rows}


def _scores(models: Sequence[tuple[str, Findings]]) -> Table:
    rows: list[Sequence[Cell]] = [
        [e.group["context"], e.group["category"], e.metric, name, e.value, e.low, e.high, e.n]
        for name, findings in models
        for e in findings.estimates
        if e.metric in _SHOWN and set(e.group) == {"category", "context"}
    ]
    columns = ("context", "category", "metric", "model", "value", "low", "high", "n")
    return Table(columns, sorted(rows, key=lambda row: [str(cell) for cell in row[:4]]))


@dataclass(frozen=True)
class Items:
    """A model's answers: what every item adds to a tally, by item."""

    tallies: dict[Key, NDArray[np.float64]]

    @staticmethod
    def of(findings: Findings) -> Items:
        """From the table of answers; several orders of options of one item are averaged."""
        sums: dict[Key, list[NDArray[np.float64]]] = {}
        for row in findings.tables["answers"].records():
            names = ("category", "question_index", "context", "polarity", "example_id")
            category, question, context, polarity, example = (str(row[name]) for name in names)
            sums.setdefault((category, question, context, polarity, example), []).append(_tally(row))
        return Items({key: np.mean(own, axis=0) for key, own in sums.items()})


def _tally(row: dict[str, Cell]) -> NDArray[np.float64]:
    """What an answer adds, as in `tally.counts` with refusals=wrong, from a row of the table of answers."""
    tally = np.zeros(FIELDS)
    tally[Field.ASKED] = 1
    if row["answer"] == "unparsed":
        tally[Field.UNPARSED] = 1
        return tally
    correct = float(row["correct"] or 0)
    tally[Field.UNKNOWN], tally[Field.REFUSED] = row["answer"] == "unknown", row["answer"] == "refused"
    tally[Field.COUNTED], tally[Field.CORRECT] = 1, correct
    if row["target"]:
        tally[Field.TARGETED], tally[Field.TARGETED_CORRECT] = 1, correct
    if row["biased"] is not None:
        tally[Field.BIASED if row["biased"] else Field.COUNTER] = 1
    if row["aligned"] is not None:
        side = (
            (Field.ALIGNED, Field.ALIGNED_CORRECT) if row["aligned"] else (Field.NONALIGNED, Field.NONALIGNED_CORRECT)
        )
        tally[side[0]], tally[side[1]] = 1, correct
    return tally


def _differences(models: Sequence[tuple[str, Findings]]) -> Table:
    columns = ["context", "category", "metric", "first", "second", "difference", "low", "high", "p", "q", "n"]
    able = [(name, Items.of(findings)) for name, findings in models if "answers" in findings.tables]
    rows: list[list[Cell]] = []
    for name, items in able[1:]:
        rows += _paired(able[0], (name, items))
    return Table(columns, rows)


def _paired(one: tuple[str, Items], other: tuple[str, Items]) -> list[list[Cell]]:
    """Rows of one pair of models, p-values corrected over the categories of a metric and context."""
    shared = [key for key in one[1].tallies if key in other[1].tallies]
    first, second = (np.array([items.tallies[key] for key in shared]).reshape(-1, FIELDS) for _, items in (one, other))
    rows: list[list[Cell]] = []
    families: dict[tuple[str, str], list[int]] = {}
    for context in dict.fromkeys(key[2] for key in shared):
        here = [place for place, key in enumerate(shared) if key[2] == context]
        categories = list(dict.fromkeys(shared[place][0] for place in here))
        for category in [*categories, *([ALL] if len(categories) > 1 else [])]:
            own = [place for place in here if category in (shared[place][0], ALL)]
            units = _Pairs.of([shared[place][:2] for place in own], first[own], second[own])
            for metric in (each for each in METRICS[context] if each.name in _SHOWN):
                cells = units.difference(metric)
                if cells is None:
                    continue
                if category != ALL:
                    families.setdefault((context, metric.name), []).append(len(rows))
                rows.append([context, category, metric.name, one[0], other[0], *cells, len(own)])
    for places in families.values():
        q = benjamini_hochberg(np.array([rows[place][8] for place in places], np.float64))
        for place, corrected in zip(places, q.tolist(), strict=True):
            rows[place][9] = corrected
    return rows


@dataclass(frozen=True)
class _Pairs:
    """Two models' tallies over the same templates (unit, Field)."""

    first: Tally
    second: Tally
    strata: NDArray[np.int64]

    @staticmethod
    def of(templates: Sequence[tuple[str, str]], first: Tally, second: Tally) -> _Pairs:
        units = list(dict.fromkeys(templates))
        place = {template: number for number, template in enumerate(units)}
        of = np.array([place[template] for template in templates])
        _, strata = np.unique([category for category, _ in units], return_inverse=True)
        return _Pairs(by_unit(first, of, len(units)), by_unit(second, of, len(units)), strata)

    def difference(self, metric: Metric) -> list[Cell] | None:
        """Difference, low, high, p and a place for q; None where it is undefined.

        The p-value exchanges the two models' answers template by template: under the null hypothesis it does not matter
        whose they are.
        """
        value = float(metric.of(self.second.sum(axis=0)) - metric.of(self.first.sum(axis=0)))
        if not np.isfinite(value):
            return None
        rng = np.random.default_rng(0)
        low = high = None
        if len(self.first) >= MIN_UNITS:
            weights = multinomial_weights(self.strata, RESAMPLES, rng)
            replicates = metric.of(weights @ self.second) - metric.of(weights @ self.first)
            span = metric.bounds[1] - metric.bounds[0]
            ends = percentile_interval(value, replicates, len(self.first), bounds=(-span, span))
            low, high = (float(end) if np.isfinite(end) else None for end in ends)
        swap = rng.integers(0, 2, size=(SWAPS, len(self.first))).astype(np.float64)
        kept = 1.0 - swap
        drawn = metric.of(swap @ self.first + kept @ self.second) - metric.of(swap @ self.second + kept @ self.first)
        reached = np.abs(drawn) >= abs(value) * (1 - TIE)  # an undefined draw is not counted as reaching it
        p = (1 + int(reached.sum())) / (1 + int(np.isfinite(drawn).sum()))
        return [value, low, high, p, None]
