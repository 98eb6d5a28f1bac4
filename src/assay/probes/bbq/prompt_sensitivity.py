"""How far bias scores depend on the prompt: the same questions asked in several ways, templates resampled together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from assay.probes.bbq.count_answers import Array, Tally
from assay.probes.bbq.tallies import AnsweredItems, ResampledTallies, ResamplingUnits, TallyMetric
from assay.results.findings import Cell, Estimate, Table

EXCHANGES = 499
"""How often the prompts' answers are exchanged for the chance level."""

_UNDEFINED = "the bias score of a prompt is undefined: with it, no answer names a person"
COLUMNS = ("prompt", "category", "context", "accuracy", "bias_score", "low", "high", "n")


def width(scores: Array) -> Array:
    """The largest bias score minus the smallest, over prompts (prompt, …), in [0, 2]; 0: the prompt never matters."""
    return np.asarray(scores.max(axis=0) - scores.min(axis=0))


def deviation(scores: Array) -> Array:
    """The standard deviation over prompts (prompt, …), from n − 1, in [0, √2]; 0: the prompt never matters."""
    return np.asarray(scores.std(axis=0, ddof=1))


SPREADS: Mapping[str, tuple[Callable[[Array], Array], float]] = {
    "prompt_spread": (width, 2.0),
    "prompt_deviation": (deviation, float(np.sqrt(2.0))),
}
"""By metric, the function and its largest value."""

Grouped = tuple[Mapping[str, str], NDArray[np.int64], tuple[TallyMetric, ...]]  # group, rows, metrics


def by_prompt(
    part: AnsweredItems, refusals: str, units: ResamplingUnits, seed: int, groups: Iterable[Grouped]
) -> tuple[list[Estimate], Table]:
    """The spreads of bias scores over prompts in each group, and a table of each prompt's accuracy and bias score."""
    tallies = np.moveaxis(part.judged.tally(refusals), 1, 0)  # (prompt, example, Field)
    estimates: list[Estimate] = []
    rows: list[list[Cell]] = []
    for group, own, metrics in groups:
        drawn = units.drawn(tallies, own)
        accuracy, bias = (
            next(metric for metric in metrics if metric.name == name) for name in ("accuracy", "bias_score")
        )
        estimates += _spreads(drawn, bias, group, seed)
        for place, name in enumerate(part.prompts):
            alone = units.drawn(tallies[[place]], own)
            spread, right, n = alone.of(bias), accuracy.of(alone.total), bias.n(alone.total)
            ends = spread.interval(float(spread.values[0]), spread.again[0], bias.bounds)
            numbers = [_known(each) for each in (right[0], spread.values[0], *ends)]
            rows.append([name, group["category"], group["context"], *numbers, round(float(n[0]))])
    return estimates, Table(list(COLUMNS), rows)


def _spreads(drawn: ResampledTallies, bias: TallyMetric, group: Mapping[str, str], seed: int) -> list[Estimate]:
    """The spreads of one group. The chance level is what they are if each template's answers belong to prompts at
    random, and p how often that gives as much."""
    spread, n = drawn.of(bias), round(float(bias.n(drawn.total).mean()))
    if not np.isfinite(spread.values).all():
        return [Estimate(name, group, None, n=n, note=_UNDEFINED) for name in SPREADS]
    exchanged = bias.of(_exchanged(drawn.tally, seed))  # (prompt, exchange)
    found = []
    for name, (of, most) in SPREADS.items():
        value = float(of(spread.values))
        again = of(exchanged[:, np.isfinite(exchanged).all(axis=0)])
        floor = float(again.mean()) if len(again) else None
        p = float((1 + (again >= value - 1e-12).sum()) / (1 + len(again)))
        low, high = (_known(end) for end in spread.interval(value, of(spread.again), (0.0, most)))
        note = None if low is not None else spread.few or "no interval: undefined in most resamples"
        found.append(Estimate(name, group, value, low, high, n=n, p=p, floor=floor, note=note))
    return found


def _exchanged(tally: Tally, seed: int) -> Tally:
    """Totals (prompt, exchange, Field), with each template's tallies (prompt, unit, Field) given to random prompts."""
    prompts, units, _ = tally.shape
    rng, every = np.random.default_rng([seed, 1]), np.arange(units)
    moved = [
        tally[rng.permuted(np.tile(np.arange(prompts), (units, 1)), axis=1).T, every].sum(axis=1)
        for _ in range(EXCHANGES)
    ]
    return np.stack(moved, axis=1)


def _known(number: float) -> float | None:
    return float(number) if np.isfinite(number) else None
