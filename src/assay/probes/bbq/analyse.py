"""Findings from answers: estimates for every category and context, with intervals over templates; and how far bias
scores depend on the prompt."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from assay.probes.bbq import ALL, BOTH, count_answers, family_of, metrics
from assay.probes.bbq.count_answers import Array, Tally, TallyField, if_finite
from assay.probes.bbq.items import AMBIGUOUS, COMPARISONS, DISAMBIGUATED, POLARITIES
from assay.probes.bbq.tables import leaning, tables_of
from assay.probes.bbq.tallies import (
    MIN_COUNTED,
    QUESTION_ONLY,
    SHARE,
    SIGNED,
    AnsweredItems,
    ResampledMetric,
    ResampledTallies,
    ResamplingUnits,
    TallyMetric,
    counts,
)
from assay.probes.claims import corrected, corrected_table
from assay.results.findings import Cell, Estimate, Findings, Table
from assay.stats import sign_flip_p


def _counted(field: int) -> Callable[[Tally], Array]:
    return lambda tally: tally[..., field]


def _both_sides(tally: Tally) -> Array:
    return tally[..., TallyField.ALIGNED] + tally[..., TallyField.NONALIGNED]


_NOTHING = "no answer could be used: all are ties, refused or not understood"
_NOBODY = "no answer named a person: all chose “cannot be determined”, or were refused, tied or not understood"
_NO_PERSON = "no answer named a person: all say “cannot be determined”, or were refused, tied or not understood"
_NO_MISTAKE = "no answer was wrong"
_FEW_SIDES = f"fewer than {MIN_COUNTED} answers where the fact confirms the stereotype, or where it contradicts it"
_ONE_SIDE = "no answer was understood where the right one agrees with the stereotype, or where it contradicts it"

_ACCURACY = TallyMetric("accuracy", metrics.accuracy, SHARE, _counted(TallyField.COUNTED), _NOTHING)
WRONG_PERSONS = TallyMetric("wrong_persons", metrics.wrong_persons, SHARE, count_answers.persons, _NO_PERSON)
_RATES = (
    TallyMetric("unknown_rate", metrics.unknown_rate, SHARE, count_answers.understood, _NOTHING),
    TallyMetric("refused_rate", metrics.refused_rate, SHARE, count_answers.understood, _NOTHING),
    TallyMetric("unparsed_rate", metrics.unparsed_rate, SHARE, _counted(TallyField.ASKED), "nothing was asked"),
    TallyMetric("tied_rate", metrics.tied_rate, SHARE, _counted(TallyField.ASKED), "nothing was asked"),
)
_AMBIGUOUS = (
    _ACCURACY,
    TallyMetric("bias_score", metrics.bias_ambiguous, SIGNED, _counted(TallyField.TARGETED), _NOBODY),
    TallyMetric("error_alignment", metrics.error_alignment, SHARE, count_answers.named, _NOBODY),
    TallyMetric("diff_bias", metrics.diff_bias_ambiguous, SIGNED, _counted(TallyField.TARGETED), _NOTHING),
    *_RATES,
)
_DISAMBIGUATED = (
    _ACCURACY,
    TallyMetric("bias_score", metrics.bias_disambiguated, SIGNED, count_answers.named, _NOBODY),
    TallyMetric("accuracy_cost", metrics.accuracy_cost, SIGNED, _both_sides, _ONE_SIDE, count_answers.sides),
    TallyMetric("abstention", metrics.abstention, SHARE, _counted(TallyField.COUNTED), _NOTHING),
    TallyMetric("abstention_gap", metrics.abstention_gap, SIGNED, _both_sides, _FEW_SIDES, count_answers.sides),
    TallyMetric("abstention_share", metrics.abstention_share, SHARE, count_answers.wrong, _NO_MISTAKE),
    WRONG_PERSONS,
    TallyMetric("diff_bias", metrics.diff_bias_disambiguated, SIGNED, _both_sides, _ONE_SIDE, count_answers.sides),
    *_RATES,
)
ORDER_SENSITIVITY = TallyMetric(
    "order_sensitivity",
    lambda tally: count_answers.ratio(tally[..., TallyField.DEPENDS], tally[..., TallyField.ORDERED]),
    SHARE,
    _counted(TallyField.ORDERED),
    "nothing was asked in several orders",
)
OUT_OF_CHOICE = TallyMetric(
    "out_of_choice_rate", metrics.out_of_choice_rate, SHARE, _counted(TallyField.ASKED), "nothing was asked"
)
"""Of sets made like BBQ."""
METRICS = {AMBIGUOUS: _AMBIGUOUS, DISAMBIGUATED: _DISAMBIGUATED, QUESTION_ONLY: _AMBIGUOUS}
"""The metrics of each context; the question-only baseline has those of ambiguous contexts."""

_SPLIT = {"polarity": ("accuracy",), "comparison": ("accuracy", "bias_score")}
"""The metrics of one polarity, and of one intersectional comparison."""

_REFUSALS = ("refused_rate", "unparsed_rate", "out_of_choice_rate")
_NEVER = "always 0: a model that scores options always chooses one"
_RARE, _OFTEN = 0.05, 40
"""Below this share, with so many answers per template, too few intervals of a category cover the truth (docs)."""
_NARROW = "this interval may be too narrow: nearly all answers agree, and templates where they differ may be missing"


@dataclass(frozen=True)
class EstimateGroup:
    """The examples of a group of estimates."""

    group: Mapping[str, str]
    rows: NDArray[np.int64]
    metrics: tuple[TallyMetric, ...]


def findings_of(
    probe: str,
    parts: Sequence[AnsweredItems],
    *,
    refusals: str,
    resamples: int,
    seed: int,
    scored: bool,
    near_ties: Mapping[str, int] | None = None,
    without: Mapping[str, str] | None = None,
    also: Sequence[TallyMetric] = (),
) -> Findings:
    """The findings from answers; `scored` says that the model scored all options of every question, `without` which
    metrics the questions cannot support, and why; `also` are further metrics of every category and context."""
    estimates: list[Estimate] = []
    tables: dict[str, list[Table]] = {}
    for part in parts:
        units = ResamplingUnits.make(part.templates, resamples, seed)
        counted = counts(part, refusals)
        estimates += _measured(cells_of(part), counted, units, scored)
        undivided = [cell for cell in cells_of(part) if not {"polarity", "comparison"} & cell.group.keys()]
        if more := [*([ORDER_SENSITIVITY] if part.orders > 1 else []), *also]:
            estimates += _measured((replace(cell, metrics=tuple(more)) for cell in undivided), counted, units, scored)
        if part.prompts:
            spreads, table = _by_prompt(part, refusals, units, seed, undivided)
            estimates += spreads
            tables["by_prompt"] = [table]
        overall = overall_in(np.array(part.dataset.cells), np.array(part.contexts))
        estimates += _measured(overall, counted, units, scored)
        for name, table in tables_of(part, counted, units).items():
            tables.setdefault(name, []).append(table)
    joined = {
        name: Table(pieces[0].columns, [row for table in pieces for row in table.rows])
        for name, pieces in tables.items()
    }
    joined |= {name: corrected_table(table) for name, table in joined.items() if "q" in table.columns}
    notes = without or {}
    estimates = [
        Estimate(e.metric, e.group, None, n=e.n, note=notes[e.metric]) if e.metric in notes else e for e in estimates
    ]
    estimates = corrected(estimates, [family_of(estimate.metric, estimate.group) for estimate in estimates])
    return Findings(probe, "", estimates, joined, near_ties or {})


def cells_in(context: str, names: NDArray[np.str_], contexts: NDArray[np.str_]) -> Iterator[EstimateGroup]:
    """Every category in a context, then all together; from each example's category and context."""
    in_context = contexts == context
    present = list(dict.fromkeys(names[in_context].tolist()))
    for name in present:
        group = {"category": name, "context": context}
        yield EstimateGroup(group, np.flatnonzero(in_context & (names == name)), METRICS[context])
    if len(present) > 1:
        yield EstimateGroup({"category": ALL, "context": context}, np.flatnonzero(in_context), METRICS[context])


def cells_of(part: AnsweredItems) -> Iterator[EstimateGroup]:
    """Every category and context, all categories together, polarities, and comparisons of crossed categories."""
    examples = part.dataset.examples
    polarity = np.array([example.polarity for example in examples])
    comparison = np.array([example.comparison or "" for example in examples])

    def split(cell: EstimateGroup, key: str, values: NDArray[np.str_], names: Sequence[str]) -> Iterator[EstimateGroup]:
        compared = tuple(metric for metric in cell.metrics if metric.name in _SPLIT[key])
        for name in names:
            rows = cell.rows[values[cell.rows] == name]
            if len(rows):
                yield EstimateGroup({**cell.group, key: name}, rows, compared)

    for context in METRICS:
        cells = list(cells_in(context, np.array(part.dataset.cells), np.array(part.contexts)))
        yield from cells
        for cell in cells:
            yield from split(cell, "polarity", polarity, POLARITIES)
        for cell in cells:
            if cell.group["category"] != ALL:
                yield from split(cell, "comparison", comparison, [*COMPARISONS.values()])


def overall_in(names: NDArray[np.str_], contexts: NDArray[np.str_]) -> Iterator[EstimateGroup]:
    """Accuracy over both contexts, where both were asked: of all categories together, or of the only one."""
    rows = np.flatnonzero(np.isin(contexts, (AMBIGUOUS, DISAMBIGUATED)))
    if len(rows) and len(set(contexts[rows].tolist())) > 1:
        present = set(names[rows].tolist())
        yield EstimateGroup(
            {"category": ALL if len(present) > 1 else present.pop(), "context": BOTH}, rows, (_ACCURACY,)
        )


def _measured(cells: Iterable[EstimateGroup], counted: Tally, units: ResamplingUnits, scored: bool) -> list[Estimate]:
    estimates: list[Estimate] = []
    for cell in cells:
        tallies = units.drawn(counted[None], cell.rows)
        for metric in cell.metrics:
            estimate = estimate_of(metric, cell.group, tallies)
            if scored and metric.name in _REFUSALS and estimate.value == 0:
                estimate = replace(estimate, low=0.0, high=0.0, note=_NEVER)
            estimates.append(estimate)
    return estimates


def estimate_of(metric: TallyMetric, group: Mapping[str, str], tallies: ResampledTallies) -> Estimate:
    """A metric of the first model that was drawn."""
    spread = tallies.of(metric)
    value, n = float(spread.values[0]), round(float(metric.n(tallies.total[0])))
    few_sides = metric.of is metrics.abstention_gap and float(metric.counted(tallies.total[0])) < MIN_COUNTED
    if not np.isfinite(value) or few_sides:
        return Estimate(metric.name, group, None, n=n, note=metric.undefined)
    p = None if _hardly_declined(metric, tallies.total[0]) else _p(metric.name, tallies.tally[0])
    if (counted := float(metric.counted(tallies.total[0]))) < MIN_COUNTED:
        least = f"{counted:.3g} answers count, and at least {MIN_COUNTED} are needed"
        missing = "no interval" if p is None else "no interval and no test"
        return Estimate(
            metric.name, group, value, n=n, note=spread.few if p is None and spread.few else f"{missing}: {least}"
        )
    low, high = (float(end) for end in spread.interval(value, spread.replicates[0], metric.bounds))
    if not (np.isfinite(low) and np.isfinite(high)):
        note = spread.few or "no interval: undefined in most resamples"
        return Estimate(metric.name, group, value, n=n, p=p, note=note)
    narrow = _NARROW if hardly_differ(metric, tallies.total, spread)[0] else None
    return Estimate(metric.name, group, value, low, high, n=n, p=p, note=narrow)


def hardly_differ(metric: TallyMetric, total: Tally, spread: ResampledMetric) -> NDArray[np.bool_]:
    """Whether so many answers of a category agree (model,) that templates where they differ may be missing.

    With few answers per template, and for all categories together, the interval is wide enough.
    """
    if metric.of in (metrics.bias_ambiguous, metrics.diff_bias_ambiguous):
        differing = count_answers.ratio(count_answers.named(total), metric.n(total))
    elif metric.of in (metrics.accuracy, metrics.unknown_rate):
        differing = np.minimum(spread.values, 1.0 - spread.values)
    else:
        return np.zeros(len(total), np.bool_)
    often = metric.n(total) >= _OFTEN * spread.units
    alike: NDArray[np.bool_] = (differing > 0) & (differing < _RARE) & often & (spread.strata == 1)
    return alike


def _hardly_declined(metric: TallyMetric, total: Tally) -> bool:
    """Whether the abstention gap rests on too few abstentions to be tested."""
    declined = float(total[TallyField.ALIGNED_UNKNOWN] + total[TallyField.NONALIGNED_UNKNOWN])
    return metric.of is metrics.abstention_gap and declined < MIN_COUNTED


GAPS = {
    "accuracy_cost": (
        TallyField.NONALIGNED_CORRECT,
        TallyField.NONALIGNED,
        TallyField.ALIGNED_CORRECT,
        TallyField.ALIGNED,
    ),
    "abstention_gap": (
        TallyField.ALIGNED_UNKNOWN,
        TallyField.ALIGNED,
        TallyField.NONALIGNED_UNKNOWN,
        TallyField.NONALIGNED,
    ),
}
"""The differences of two rates: what the first counts, and of how many; then the second."""


def _p(name: str, tally: Tally) -> float | None:
    """Whether a bias differs from 0: the sign-flip test over templates (unit, Field)."""
    added = contributions(name, tally)
    return None if added is None else float(sign_flip_p(added[None, :])[0])


def contributions(name: str, tally: Tally) -> Array | None:
    """What each template adds to a bias (…, unit), from tallies (…, unit, Field); None for other metrics."""
    if name == "bias_score":
        return leaning(tally)
    return _apart(tally, *GAPS[name]) if name in GAPS else None


def _apart(tally: Tally, k1: TallyField, n1: TallyField, k2: TallyField, n2: TallyField) -> Array:
    """What each template adds (…, unit) to the difference of two rates k/n, centred: (k₁ − r·n₁)/N₁ − (k₂ − r·n₂)/N₂
    with r the rate over both sides.

    So a template that has more questions of one kind than of the other does not look as if it leaned.
    """
    total = tally.sum(axis=-2, keepdims=True)
    rate = (total[..., k1] + total[..., k2]) / (total[..., n1] + total[..., n2])
    first = (tally[..., k1] - rate * tally[..., n1]) / total[..., n1]
    return np.asarray(first - (tally[..., k2] - rate * tally[..., n2]) / total[..., n2])


# --- how far bias scores depend on the prompt: templates are resampled together for all prompts

EXCHANGES = 499
"""How often the prompts' answers are exchanged for the chance level."""

_UNDEFINED = "the bias score of a prompt is undefined: with it, no answer names a person"


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


def _by_prompt(
    part: AnsweredItems, refusals: str, units: ResamplingUnits, seed: int, groups: Iterable[EstimateGroup]
) -> tuple[list[Estimate], Table]:
    """The spreads of bias scores over prompts in each group, and a table of each prompt's accuracy and bias score."""
    tallies = np.moveaxis(part.judged.tally(refusals), 1, 0)  # (prompt, example, Field)
    estimates: list[Estimate] = []
    rows: list[list[Cell]] = []
    for group in groups:
        metric = {metric.name: metric for metric in group.metrics}
        accuracy, bias = metric["accuracy"], metric["bias_score"]
        estimates += _spreads(units.drawn(tallies, group.rows), bias, group.group, seed)
        for i, name in enumerate(part.prompts):
            of_prompt = units.drawn(tallies[[i]], group.rows)
            spread, n = of_prompt.of(bias), round(float(bias.n(of_prompt.total)[0]))
            ends = spread.interval(float(spread.values[0]), spread.replicates[0], bias.bounds)
            numbers = [if_finite(value) for value in (accuracy.of(of_prompt.total)[0], spread.values[0], *ends)]
            rows.append([name, group.group["category"], group.group["context"], *numbers, n])
    return estimates, Table(("prompt", "category", "context", "accuracy", "bias_score", "low", "high", "n"), rows)


def _spreads(tallies: ResampledTallies, bias: TallyMetric, group: Mapping[str, str], seed: int) -> list[Estimate]:
    """The spreads of one group. The chance level is what they are if each template's answers belong to prompts at
    random, and p how often that gives as much."""
    spread, n = tallies.of(bias), round(float(bias.n(tallies.total).mean()))
    if not np.isfinite(spread.values).all():
        return [Estimate(name, group, None, n=n, note=_UNDEFINED) for name in SPREADS]
    exchanged = bias.of(_exchanged(tallies.tally, seed))  # (prompt, exchange)
    estimates = []
    for name, (of, most) in SPREADS.items():
        value = float(of(spread.values))
        by_chance = of(exchanged[:, np.isfinite(exchanged).all(axis=0)])
        floor = float(by_chance.mean()) if len(by_chance) else None
        p = float((1 + (by_chance >= value - 1e-12).sum()) / (1 + len(by_chance)))
        low, high = (if_finite(end) for end in spread.interval(value, of(spread.replicates), (0.0, most)))
        note = None if low is not None else spread.few or "no interval: undefined in most resamples"
        estimates.append(Estimate(name, group, value, low, high, n=n, p=p, floor=floor, note=note))
    return estimates


def _exchanged(tally: Tally, seed: int) -> Tally:
    """Totals (prompt, exchange, Field), with each template's tallies (prompt, unit, Field) given to random prompts."""
    prompts, units, _ = tally.shape
    rng, all_units = np.random.default_rng([seed, 1]), np.arange(units)
    moved = [
        tally[rng.permuted(np.tile(np.arange(prompts), (units, 1)), axis=1).T, all_units].sum(axis=1)
        for _ in range(EXCHANGES)
    ]
    return np.stack(moved, axis=1)
