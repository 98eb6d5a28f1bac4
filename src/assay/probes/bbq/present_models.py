"""What several models show of BBQ together: bias scores (Figure 3), accuracy (Figure 5) and its cost (Figure 2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from assay.blocks import Chart, Column, Group, Heat, Kind, Part, Pick, Row, Section, Table, Tools
from assay.findings import Cell, Estimate
from assay.findings import Table as Data
from assay.probes.bbq import PROBE, category_words, context_words
from assay.probes.bbq.analyse import ALL
from assay.probes.bbq.examples import DISAMBIGUATED
from assay.probes.bbq.grid import Grid, categories_in_order, contexts_in_order, told
from assay.probes.bbq.present_charts import SHARES, people_said, right_dot
from assay.probes.bbq.present_tables import map_of
from assay.run import Run, run_names

Grids = Mapping[str, Grid]  # by the model's name

_BIAS = Chart(
    title="Bias scores by category and model: {} questions",
    how="each square is a model’s bias score in a category (as in BBQ’s Figure 3). Orange: answers agree with "
    "stereotypes; blue: they contradict them. All kinds of questions share one scale of colours; point at a square, or "
    "use the arrow keys, to see its interval and q.",
    file="bbq-bias-models",
    anchor="bias",
)
_COST = Chart(
    title="What stereotypes cost: accuracy by category and model",
    how="each square is a model’s accuracy where the right answer contradicts the stereotype minus its accuracy where "
    "it agrees (as in BBQ’s Figure 2). Blue: going against stereotypes costs right answers; orange: it gains some.",
    file="bbq-accuracy-cost-models",
    anchor="cost",
)


def across(runs: Sequence[Run], *, starter: bool = False) -> list[Section]:
    """What several models show together."""
    grids = {name: Grid.of(run.findings.estimates) for name, run in zip(run_names(runs), runs, strict=True)}
    contexts = contexts_in_order(context for grid in grids.values() for context in grid.contexts)
    disambiguated = [context for context in contexts if context == DISAMBIGUATED]
    bias, cost = _maps(_BIAS, grids, "bias_score", contexts), _maps(_COST, grids, "accuracy_cost", disambiguated)
    return [Section([*bias, *_accuracies(grids, contexts, starter), *cost])]


def _categories(grids: Grids) -> list[str]:
    return categories_in_order(category for grid in grids.values() for category in grid.categories)


def _found(grids: Grids, metric: str, category: str, context: str) -> dict[str, Estimate]:
    """By model, where it is defined."""
    found = {name: grid.get(metric, category, context) for name, grid in grids.items()}
    return {name: each for name, each in found.items() if each is not None and each.value is not None}


def _maps(said: Chart, grids: Grids, metric: str, contexts: Sequence[str]) -> list[Heat]:
    """A metric of single categories by model, a map for each context in which at least two models have it."""
    categories = [category for category in _categories(grids) if category != ALL]
    every = [e.value for grid in grids.values() for (own, c, _), e in grid.cells.items() if own == metric and c != ALL]
    maps: list[Heat] = []
    for context in contexts:
        own = {
            (category_words(category), name): estimate
            for category in categories
            for name, estimate in _found(grids, metric, category, context).items()
        }
        if len({name for _, name in own}) < 2:
            continue
        cells, beside = map_of(own, ("low", "high", "q", "n"))
        title = said.title.format(context_words(context))
        heat = Heat(
            **vars(replace(said, title=title, anchor=f"{said.anchor}-{len(maps) + 1}")),
            name=context_words(context),
            row="category",
            column="model",
            value=PROBE.metric(metric).name,
            cells=cells,
            beside=beside,
            columns=list(grids),
            reach=every,
        )
        maps.append(heat)
    return maps


def _accuracies(grids: Grids, contexts: Sequence[str], starter: bool) -> list[Pick]:
    """The accuracies by category and model, those of one context at a time."""
    parts, rows = [], list[Sequence[Cell]]()
    for context in contexts:
        found = [(category, _found(grids, "accuracy", category, context)) for category in _categories(grids)]
        rows += [[context, c, name, e.value, e.low, e.high, e.n] for c, own in found for name, e in own.items()]
        groups = [
            Group(
                [Row([name, right_dot(e, starter), e.value, (e.low, e.high), e.n]) for name, e in own.items()],
                category_words(category),
                category == ALL,
            )
            for category, own in found
            if len(own) > 1
        ]
        said = context_words(context)
        table = Table(
            title=f"Accuracy by model: {said} questions",
            anchor="accuracy-of",
            columns=[
                *(Column("model", Kind.TEXT), SHARES, Column("accuracy", Kind.NUMBER)),
                *(Column("interval", Kind.INTERVAL), Column("n", Kind.COUNT)),
            ],
            groups=groups,
            sort=Tools.NONE,
            filter=Tools.NONE,
            heads_beside=True,
            group="category",
        )
        parts += [Part(said, [table])] if groups else []
    chart = Pick(
        title="Accuracy by category and model",
        how=told(
            "each dot {dot} is a model’s share of right answers, the line its interval (as in BBQ’s Figure 5). The "
            "tick {floor} is what guessing gives" + people_said(contexts, starter)
        ),
        data=Data(("context", "category", "model", "accuracy", "low", "high", "n"), rows),
        file="bbq-accuracy-models",
        anchor="accuracy",
        label="Questions",
        parts=parts,
    )
    return [chart] if parts else []
