"""What several models show of BBQ together: bias scores (Figure 3), accuracy (Figure 5) and its cost (Figure 2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.findings import Cell, Estimate, Table
from assay.report.across import run_names
from assay.report.bars import Scale, signed_scale
from assay.report.bbq import PEOPLE, STARTER
from assay.report.bbq_charts import GUESSING, SHARES
from assay.report.bbq_grid import ALL, DISAMBIGUATED, QUESTION_ONLY, Grid
from assay.report.bbq_heat import in_columns, known_beside, rounded
from assay.report.content import Content
from assay.report.headline import Line, line_of
from assay.report.heat import Heat, heat_map
from assay.report.words import CONTEXTS, category_words

Grids = Mapping[str, Grid]  # by the model's name
_BESIDE: Mapping[str, Callable[[Estimate], float | None]] = {
    "low": lambda estimate: estimate.low,
    "high": lambda estimate: estimate.high,
    "q": lambda estimate: estimate.q,
    "n": lambda estimate: estimate.n,
}


@dataclass(frozen=True)
class Category:
    """A category's accuracy, a line for each model."""

    name: str
    whole: bool
    lines: Sequence[Line]


@dataclass(frozen=True)
class Accuracies:
    """The accuracies in one context by category and model."""

    context: str
    scale: Scale
    parts: Sequence[Category]


def bbq_models(contents: Sequence[Content]) -> dict[str, Any]:
    """What the macro `across` of templates/bbq.html needs."""
    names = run_names(contents)
    grids = {name: Grid.of(c.findings.estimates) for name, c in zip(names, contents, strict=True)}
    present = dict.fromkeys(context for grid in grids.values() for context in grid.contexts)
    contexts = [*(context for context in CONTEXTS if context in present), *(c for c in present if c not in CONTEXTS)]
    starter = all(content.findings.probe == STARTER for content in contents)
    accuracies = [_accuracies(grids, context, None if starter else PEOPLE) for context in contexts]
    return {
        "bias": _maps(grids, "bias_score", contexts),
        "cost": _maps(grids, "accuracy_cost", [context for context in contexts if context == DISAMBIGUATED]),
        "accuracy": [each for each in accuracies if each.parts],
        "accuracy_table": _table(grids, "accuracy", contexts),
        "people": not starter and any(context != QUESTION_ONLY for context in contexts),
    }


def _categories(grids: Grids) -> list[str]:
    return sorted(dict.fromkeys(c for grid in grids.values() for c in grid.categories), key=lambda c: c == ALL)


def _found(grids: Grids, metric: str, category: str, context: str) -> dict[str, Estimate]:
    """By model, where it is defined."""
    found = {name: grid.get(metric, category, context) for name, grid in grids.items()}
    return {name: each for name, each in found.items() if each is not None and each.value is not None}


def _maps(grids: Grids, metric: str, contexts: Sequence[str]) -> list[Heat]:
    """A metric of single categories by model, a map for each context in which at least two models have it."""
    maps = []
    for context in contexts:
        own = {
            (category_words(category), name): estimate
            for category in _categories(grids)
            if category != ALL
            for name, estimate in _found(grids, metric, category, context).items()
        }
        if len({name for _, name in own}) < 2:
            continue
        values = {key: rounded(e.value) for key, e in own.items() if e.value is not None}
        beside = known_beside({said: {key: of(e) for key, e in own.items()} for said, of in _BESIDE.items()})
        if heat := heat_map(CONTEXTS.get(context, context), values, beside, _end(grids, metric)):
            maps.append(in_columns(heat, grids))
    return maps


def _end(grids: Grids, metric: str) -> float:
    """The same for all contexts, so that their colours can be compared."""
    values = [
        e.value
        for g in grids.values()
        for (own, category, _), e in g.cells.items()
        if own == metric and category != ALL
    ]
    return signed_scale(values).high


def _accuracies(grids: Grids, context: str, people: float | None) -> Accuracies:
    told = None if context == QUESTION_ONLY else people  # people were given the texts
    parts = []
    for category in _categories(grids):
        found = _found(grids, "accuracy", category, context)
        if len(found) > 1:
            lines = [
                line_of(e, name, {e.note: 0} if e.note else {}, SHARES, chance=GUESSING, reference=told)
                for name, e in found.items()
            ]
            parts.append(Category(category_words(category), category == ALL, lines))
    return Accuracies(CONTEXTS.get(context, context), SHARES, parts)


def _table(grids: Grids, metric: str, contexts: Sequence[str]) -> Table:
    rows: list[Sequence[Cell]] = [
        [context, category, name, e.value, e.low, e.high, e.n]
        for context in contexts
        for category in _categories(grids)
        for name, e in _found(grids, metric, category, context).items()
    ]
    return Table(("context", "category", "model", metric, "low", "high", "n"), rows)
