"""Models side by side, and two of them on the same items: changes with intervals over templates.

Items are the same where their content is (see `tables.content_digest`); runs without those digests are matched by the
items' numbers. Intervals draw templates anew within their category, the same ones for both models. p exchanges the two
models' answers template by template: under the null hypothesis it does not matter whose they are. Templates share
nothing, so that this is the exact test. q is corrected over the categories of a metric and context; all categories
pooled stand alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.audit import Run
from assay.differences import Change, Common, Paired, change_of
from assay.errors import DataError
from assay.findings import Cell, Findings, Table
from assay.probes.bbq.analyse import ALL, METRICS, SHARE, Metric
from assay.probes.bbq.examples import AMBIGUOUS, DISAMBIGUATED
from assay.probes.bbq.metrics import FIELDS, Field, Tally, ratio
from assay.probes.bbq.tally import QUESTION_ONLY
from assay.probes.bbq.units import by_unit
from assay.stats import MIN_UNITS, multinomial_weights, percentile_interval

TITLES = {"scores": "Bias scores and accuracies by model"}

RESAMPLES = 2000
SWAPS = 9999
_SHOWN = ("accuracy", "bias_score", "accuracy_cost")
_DEPENDS, _ORDERED = FIELDS, FIELDS + 1  # columns behind a tally: depends on the order; was asked in several
_TIE = 1e-12

ORDER_SENSITIVITY = Metric(
    "order_sensitivity",
    lambda tally: ratio(tally[..., _DEPENDS], tally[..., _ORDERED]),
    SHARE,
    lambda tally: tally[..., _ORDERED],
    "nothing was asked in several orders",
)

Key = tuple[str, str, str, str, str, int]  # category, template, context, polarity, content or number, which of several


def comparison(models: Sequence[tuple[str, Findings]]) -> dict[str, Table]:
    """Tables over models, given by name and findings."""
    table = _scores(models)
    return {"scores": table} if table.rows else {}


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
class Opened:
    """A run's answers, and how it counts refusals."""

    answers: Table
    refusals: str
    folder: str = ""

    @property
    def has_contents(self) -> bool:
        return "content" in self.answers.columns


def opened(run: Run) -> Opened:
    """A run's answers, from its table of them."""
    if "answers" not in run.findings.tables:
        raise DataError("this run has no table of answers.", "Score it again: assay score bbq DIR.", file=run.folder)
    refusals = (run.info.get("settings") or {}).get("refusals") or "wrong"
    return Opened(run.findings.tables["answers"], str(refusals), str(run.folder))


def paired(one: Opened, other: Opened, *, common: bool) -> Paired:
    """The changes from one model to the other on the items that both answered.

    Refusals are counted as the first run counts them. With `common` items must be known by their content.
    """
    contents = one.has_contents and other.has_contents
    if common and not contents:
        old = one if not one.has_contents else other
        raise DataError(
            "an older version made this table of answers: it does not say what was asked.",
            "Score it again (assay score bbq DIR), and compare that.",
            file=old.folder,
        )
    notes = []
    if one.refusals != other.refusals:
        notes.append(f"refusals are counted as {one.refusals} for both; this run itself has refusals={other.refusals}")
    first, second = (Items.of(side.answers, one.refusals, contents) for side in (one, other))
    shared = sorted(first.place.keys() & second.place.keys())
    counts = Common("items", len(first.place), len(second.place), len(shared))
    if not shared:
        return Paired([], [counts], notes=notes)
    tallies = [items.tallies[[items.place[key] for key in shared]] for items in (first, second)]
    return Paired(_changes(shared, tallies[0], tallies[1]), [counts], notes=notes)


@dataclass(frozen=True)
class Items:
    """A model's answers: what every item adds to a tally, and to the two columns of order sensitivity."""

    place: Mapping[Key, int]
    tallies: NDArray[np.float64]  # (item, Field and two more)

    @staticmethod
    def of(answers: Table, refusals: str, contents: bool) -> Items:
        """From the table of answers; several orders of the options of one item are averaged."""
        columns = {
            name: list(cells) for name, cells in zip(answers.columns, zip(*answers.rows, strict=True), strict=True)
        }
        if not columns:
            return Items({}, np.zeros((0, FIELDS + 2)))
        names = ("category", "question_index", "context", "polarity", "example_id")
        about = list(zip(*([str(cell) for cell in columns[name]] for name in names), strict=True))
        numbers: dict[tuple[str, ...], int] = {}
        item = np.array([numbers.setdefault(each, len(numbers)) for each in about], np.int64)  # (answer,)
        _, first, orders = np.unique(item, return_index=True, return_counts=True)
        added = np.concatenate([_tallies(columns, refusals), np.zeros((len(item), 2))], axis=1)
        said = np.array([f"{kind} {option}" for kind, option in zip(columns["answer"], columns["option"], strict=True)])
        added[:, _DEPENDS] = said != said[first][item]
        tallies = by_unit(added, item, len(numbers))
        tallies[:, :FIELDS] /= orders[:, None]
        several = orders > 1
        tallies[:, _DEPENDS] = several & (tallies[:, _DEPENDS] > 0)
        tallies[:, _ORDERED] = several
        place: dict[Key, int] = {}
        seen: dict[tuple[str, ...], int] = {}
        for number, row in enumerate(first.tolist()):
            *where, named = about[row]
            key = (*where, str(columns["content"][row]) if contents else named)
            seen[key] = seen.get(key, -1) + 1  # a file may ask one question twice
            place[key[0], key[1], key[2], key[3], key[4], seen[key]] = number
        return Items(place, tallies)


def _tallies(columns: Mapping[str, Sequence[Cell]], refusals: str) -> Tally:
    """What every answer adds to a tally (answer, Field), as `tally.counts` has it, from the table of answers."""
    kind = np.array(columns["answer"], dtype=object)
    refused, parsed = kind == "refused", kind != "unparsed"
    counted = parsed & ~refused if refusals == "exclude" else parsed
    as_unknown = refused & (refusals == "unknown")
    right = np.array([cell == 1 for cell in columns["correct"]])
    unknown_is_right = np.array(columns["context"], dtype=object) != DISAMBIGUATED
    correct = counted & np.where(as_unknown, unknown_is_right, right & ~refused)
    targeted = np.array([bool(cell) for cell in columns["target"]])
    biased, aligned = (np.array(columns[name], dtype=object) for name in ("biased", "aligned"))
    tally = np.zeros((len(kind), FIELDS))
    for place, holds in {
        Field.ASKED: np.ones_like(parsed),
        Field.UNPARSED: ~parsed,
        Field.UNKNOWN: (kind == "unknown") | as_unknown,
        Field.REFUSED: refused,
        Field.COUNTED: counted,
        Field.CORRECT: correct,
        Field.TARGETED: counted & targeted,
        Field.TARGETED_CORRECT: correct & targeted,
        Field.BIASED: biased == 1,
        Field.COUNTER: biased == 0,
        Field.ALIGNED: counted & (aligned == 1),
        Field.ALIGNED_CORRECT: correct & (aligned == 1),
        Field.NONALIGNED: counted & (aligned == 0),
        Field.NONALIGNED_CORRECT: correct & (aligned == 0),
    }.items():
        tally[:, place] = holds
    return tally


def _changes(shared: Sequence[Key], first: Tally, second: Tally) -> list[Change]:
    """The changes of every category and context, then of all categories of a context together."""
    made: list[Change] = []
    category, context = (np.array([key[place] for key in shared]) for place in (0, 2))
    for where in (AMBIGUOUS, DISAMBIGUATED, QUESTION_ONLY):
        here = context == where
        categories = list(dict.fromkeys(category[here].tolist()))
        for name in [*categories, *([ALL] if len(categories) > 1 else [])]:
            own = np.flatnonzero(here & ((category == name) | (name == ALL)))
            pair = _Pair.of([shared[place][:2] for place in own.tolist()], first[own], second[own])
            about = {"category": name, "context": where}
            several = (ORDER_SENSITIVITY,) if pair.total[0][_ORDERED] and pair.total[1][_ORDERED] else ()
            for metric in (*METRICS[where], *several):
                family = None if name == ALL else f"{metric.name} {where}"
                made.append(pair.change(metric, about, len(own), family))
    return made


@dataclass(frozen=True)
class _Pair:
    """Two models' tallies over the same templates, drawn anew and exchanged."""

    units: tuple[Tally, Tally]  # (unit, Field)
    total: tuple[Tally, Tally]  # (Field)
    again: tuple[Tally, Tally]  # (resample, Field)
    exchanged: tuple[Tally, Tally]  # (exchange, Field)

    @staticmethod
    def of(templates: Sequence[tuple[str, ...]], first: Tally, second: Tally) -> _Pair:
        names = sorted(set(templates))
        place = {template: number for number, template in enumerate(names)}
        of = np.array([place[template] for template in templates])
        one, other = (by_unit(tally, of, len(names)) for tally in (first, second))
        _, strata = np.unique([category for category, _ in names], return_inverse=True)
        rng = np.random.default_rng(0)
        weights = multinomial_weights(strata, RESAMPLES, rng)
        moved = rng.integers(0, 2, size=(SWAPS, len(names))).astype(np.float64) @ (other - one)
        totals = one.sum(axis=0), other.sum(axis=0)
        return _Pair((one, other), totals, (weights @ one, weights @ other), (totals[0] + moved, totals[1] - moved))

    def change(self, metric: Metric, group: Mapping[str, str], n: int, family: str | None) -> Change:
        values = float(metric.of(self.total[0])), float(metric.of(self.total[1]))
        units = min(int((metric.n(tally) > 0).sum()) for tally in self.units)
        note = f"no interval: too few templates to resample ({units}; it takes {MIN_UNITS})"
        return change_of(
            metric.name,
            group,
            values,
            n=n,
            bounds=metric.bounds,
            replicates=(metric.of(self.again[0]), metric.of(self.again[1])) if units >= MIN_UNITS else None,
            interval=lambda value, replicates, bounds: percentile_interval(value, replicates, units, bounds=bounds),
            p=self._p(metric, values),
            family=family,
            undefined=self._undefined(metric, values),
            note=note if units < MIN_UNITS else None,
        )

    def _p(self, metric: Metric, values: tuple[float, float]) -> float:
        drawn = metric.of(self.exchanged[1]) - metric.of(self.exchanged[0])
        reached = np.abs(drawn) >= abs(values[1] - values[0]) - _TIE  # an undefined draw is not counted as reaching it
        return (1 + int(reached.sum())) / (1 + int(np.isfinite(drawn).sum()))

    def _undefined(self, metric: Metric, values: tuple[float, float]) -> str:
        whose = [name for name, value in zip(("baseline", "model"), values, strict=True) if not np.isfinite(value)]
        return f"undefined in the {' and the '.join(whose)}: {metric.undefined}"
