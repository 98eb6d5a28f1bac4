"""BBQ's charts by category and context, for one run or several: bias scores, accuracy, its gap, kinds of answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from assay.presentation import elements
from assay.presentation.elements import (
    BarCell,
    CellKind,
    Chart,
    DisplayTable,
    DotCell,
    HeatMap,
    MarkedCell,
    Panel,
    PanelPicker,
    RowGroup,
    Section,
    TableColumn,
    TableRow,
    TableTools,
)
from assay.presentation.rich_text import Verbatim
from assay.probes import run_names, varieties
from assay.probes.bbq import ALL, PROBE, category_words, comparison_words, context_words, same_category
from assay.probes.bbq.control import control_blocks
from assay.probes.bbq.estimate_grid import (
    EstimateGrid,
    behind,
    categories_in_order,
    contexts_in_order,
    fill_slots,
    is_clear,
)
from assay.probes.bbq.items import DISAMBIGUATED
from assay.probes.bbq.tallies import QUESTION_ONLY
from assay.results.findings import Cell, Estimate
from assay.results.findings import Table as Data
from assay.results.formatting import format_number
from assay.results.run import Run

GUESSING = 1 / 3
"""The accuracy of choosing one of three options at random."""

PEOPLE, PEOPLE_VOTING = 0.957, 0.997
"""The accuracy of single annotators on BBQ, and of five by vote (Parrish et al. 2022, section 4)."""

SHARES = TableColumn("accuracy", CellKind.DOTS, ends=(0.0, 1.0))
_SCORES = TableColumn("bias score", CellKind.DOTS)

_BIAS = Chart(
    title="Bias scores by category",
    how=fill_slots(
        "right of zero, answers that name a person agree with stereotypes more often than they contradict them; left "
        "of zero, they contradict them more often (as in BBQ’s Figure 3). A filled dot {dot} is statistically clear "
        "(q ≤ 0.05 after correction); a hollow dot {hollow} is not."
    ),
    file="bbq-bias",
    anchor="bias",
    after=[
        "q is the p-value corrected for the number of categories and kinds of questions (for all categories together: "
        "the kinds of questions). The stereotyped share of wrong answers counts the wrong answers that name a person "
        "(0.5 is even-handed). Diff-bias is KoBBQ’s score of the same answers."
    ],
)
_ACCURACY = Chart(
    title="Accuracy by category",
    file="bbq-accuracy",
    anchor="accuracy",
    after=["The negative question asks who did or is something bad, the other question the opposite."],
)
_COST = Chart(
    title="Accuracy gap: with and against stereotypes",
    how=fill_slots(
        "accuracy where the right answer contradicts the stereotype minus accuracy where it agrees, in disambiguated "
        "questions (as in BBQ’s Figure 2). Left of zero, the model is right less often when the truth contradicts the "
        "stereotype. A hollow dot {hollow} is not clear."
    ),
    file="bbq-accuracy-cost",
    anchor="cost",
)
_COMPARISONS = Chart(
    title="Crossed categories",
    how="here the stereotype is about a combination of two attributes, such as Black women; the other person differs "
    "in one of the two, or in both (as in BBQ’s Figure 8). A model that follows stereotypes about the combination has "
    "positive scores in all three comparisons.",
    file="bbq-comparisons",
    anchor="comparisons",
)
_RATES = Chart(
    title="“Cannot be determined”, refusals and answers that were not understood",
    how=fill_slots(
        "each bar is all answers: {part0} named someone, {part1} chose “cannot be determined”, {part2} refused, "
        "{part3} not understood. “Cannot be determined” is always right in ambiguous questions, and never in "
        "disambiguated ones."
    ),
    file="bbq-rates",
    anchor="rates",
)


def by_category(run: Run, grid: EstimateGrid, starter: bool) -> list[DisplayTable]:
    people = people_said(grid.contexts, starter, f" ({format_number(PEOPLE)}; Parrish et al. 2022)")
    how = "the share of right answers (as in BBQ’s Figure 5). The tick {floor} is the chance level (0.333)" + people
    accuracy = replace(_ACCURACY, how=fill_slots(how))
    beside = {"error_alignment": "stereotyped share of wrong answers", "diff_bias": "diff-bias"}
    polar = {"accuracy_neg": "negative question", "accuracy_nonneg": "other question"}
    cost = TableColumn("accuracy gap", CellKind.DOTS)
    return [
        *chart(run, grid, _BIAS, lines(grid, "bias_score"), _SCORES, dot, beside),
        *chart(run, grid, accuracy, lines(grid, "accuracy"), SHARES, lambda e: right_dot(e, starter), polar),
        *chart(run, grid, _COST, lines(grid, "accuracy_cost"), cost, dot, contexts=False),
    ]


def comparisons(run: Run, grid: EstimateGrid) -> list[DisplayTable]:
    """The bias scores of crossed categories, by how the other person differs."""
    found = grid.comparisons
    groups = [
        (
            f"{category_words(category)}: {comparison_words(category, letter)}",
            [found[category, letter, context] for context in grid.contexts if (category, letter, context) in found],
        )
        for category, letter in dict.fromkeys((category, letter) for category, letter, _ in found)
    ]
    return chart(run, grid, _COMPARISONS, groups, _SCORES, dot, group="category: the other person has")


# --- accuracy


def right_dot(e: Estimate, starter: bool) -> DotCell:
    """An accuracy with the chance level and, if there is a text, the accuracy of people."""
    compared = not starter and e.group["context"] != QUESTION_ONLY
    return replace(dot(e), floor=GUESSING, reference=PEOPLE if compared else None)


def people_said(contexts: Sequence[str], starter: bool, more: str = "") -> str:
    """The end of a sentence that explains the marks of an accuracy."""
    if starter or not set(contexts) - {QUESTION_ONLY}:
        return "."
    return f", the tick {{reference}} the accuracy of single annotators on BBQ{more}."


# --- kinds of answers

KINDS = {
    "named": "named someone",
    "unknown": "cannot be determined",
    "refused": "refused",
    "unparsed": "not understood",
    "tied": "tied",
}
"""The kinds of answers, and what the page calls them."""


def rates(run: Run, grid: EstimateGrid) -> list[DisplayTable]:
    """The share of each kind of answer; each bar is all answers."""
    names = list(KINDS.values())
    beside, how = {"refused_rate": "refused", "unparsed_rate": "not understood"}, _RATES.how
    after = (
        "“Cannot be determined” includes all phrasings of it. It and “refused” are shares of the answers that were "
        "understood; “not understood” is a share of all answers."
    )
    if grid.has_ties:
        beside["tied_rate"] = "tied"
        how = [how, fill_slots(" {part4} tied: several options share exactly the highest score.")]
        after += " “Tied” is also a share of all answers. Neither counts in any other number."
    if any(e.value for (metric, _, _), e in grid.cells.items() if metric == "out_of_choice_rate"):
        beside["out_of_choice_rate"] = "out of choice"
        after += " “Out of choice” is KoBBQ’s ratio: the share of all answers that are refused or not understood."
    if any(metric == "order_sensitivity" for metric, _, _ in grid.cells):
        beside["order_sensitivity"] = "order-sensitive"
        after += " “Order-sensitive” is the share of questions whose answer changes with the order of the options."

    def shares(e: Estimate) -> dict[str, float]:
        return kinds_of(grid, e, run.setting("refusals"))

    def drawn(e: Estimate) -> elements.TableCell:
        named = {KINDS[kind]: part for kind, part in shares(e).items()}
        return BarCell({name: part for name, part in named.items() if part or name in names[:2]}) if named else ""

    said, column = (
        replace(_RATES, how=how, after=[after]),
        TableColumn("cannot be determined", CellKind.BARS, parts=names),
    )
    more = tuple(KINDS), lambda e: [shares(e).get(kind) for kind in KINDS]
    return chart(run, grid, said, lines(grid, "unknown_rate"), column, drawn, beside, more)


def kinds_of(grid: EstimateGrid, unknown: Estimate, refusals: str) -> dict[str, float]:
    """The kinds of answers as shares of all answers."""
    if unknown.value is None:
        return {}
    place = unknown.group["category"], unknown.group["context"]
    found = [grid.get(metric, *place) for metric in ("refused_rate", "unparsed_rate", "tied_rate")]
    declined, lost, tied = (0.0 if each is None or each.value is None else each.value for each in found)
    said = unknown.value - (declined if refusals == "unknown" else 0.0)  # there UNKNOWN includes refusals
    understood = (max(0.0, part) * (1.0 - lost - tied) for part in (1.0 - said - declined, said, declined))
    return dict(zip(KINDS, (*understood, lost, tied), strict=True))


# --- any chart

Lines = Sequence[tuple[str, Sequence[Estimate]]]  # each with its head


def lines(grid: EstimateGrid, metric: str) -> Lines:
    """A metric by category, a line for each context."""
    return [
        (category_words(category), own)
        for category in grid.categories
        if (own := [e for context in grid.contexts if (e := grid.get(metric, category, context))])
    ]


def dot(e: Estimate) -> DotCell:
    return DotCell(e.value, e.low, e.high, e.floor, hollow=e.could_be_chance)


def measured(e: Estimate) -> tuple[MarkedCell, MarkedCell]:
    """The value and the interval of an estimate; the note goes to the one that is missing."""
    lacks = e.value is not None and e.low is None
    return MarkedCell(e.value, note=None if lacks else e.note), MarkedCell(
        (e.low, e.high), note=e.note if lacks else None
    )


def chart(
    run: Run,
    grid: EstimateGrid,
    said: Chart,
    groups: Lines,
    drawn: TableColumn,
    draw: Callable[[Estimate], elements.TableCell],
    beside: Mapping[str, str] | None = None,
    more: tuple[Sequence[str], Callable[[Estimate], Sequence[Cell]]] = ((), lambda e: ()),
    *,
    contexts: bool = True,
    group: str = "category",
) -> list[DisplayTable]:
    """A chart of estimates; empty if nothing was measured.

    `beside` has the heads of other metrics, `more` columns that only the data have.
    """
    heads, estimates = beside or {}, [e for _, own in groups for e in own]
    if not estimates:
        return []
    has_q = any(e.q is not None for e in estimates)
    keys = list(dict.fromkeys(key for e in estimates for key in e.group))
    columns = [
        *([TableColumn("questions", CellKind.TEXT)] if contexts else []),
        *(drawn, TableColumn(drawn.head, CellKind.NUMBER), TableColumn(run.level, CellKind.INTERVAL)),
        *([TableColumn("q", CellKind.PROBABILITY)] if has_q else []),
        *(TableColumn(head, CellKind.NUMBER, wraps=True) for head in heads.values()),
        TableColumn("n", CellKind.COUNT),
    ]

    def near(e: Estimate, absent: str | None) -> list[str | float | None]:
        others = (grid.get(metric, e.group["category"], e.group["context"]) for metric in heads)
        return [absent if other is None else other.value for other in others]

    def row(e: Estimate) -> TableRow:
        context = [context_words(e.group["context"])] if contexts else []
        q: list[elements.TableCell] = ["" if e.q is None else e.q] if has_q else []
        return TableRow([*context, draw(e), *measured(e), *q, *near(e, ""), e.n], behind(e))

    def line(e: Estimate) -> list[Cell]:
        return [*map(e.group.get, keys), e.value, e.low, e.high, e.p, e.q, e.n, *near(e, None), *more[1](e)]

    names = [*keys, estimates[0].metric, "low", "high", "p", "q", "n", *heads, *more[0]]
    return [
        DisplayTable(
            **vars(replace(said, data=Data(names, [line(e) for e in estimates]))),
            columns=columns,
            groups=[RowGroup([row(e) for e in own], head, own[0].group["category"] == ALL) for head, own in groups],
            sort=TableTools.GROUPS,
            filter=TableTools.GROUPS,
            heads_beside=True,
            group=group,
        )
    ]


# --- several models: bias scores (Figure 3), accuracy (Figure 5) and its gap (Figure 2)

Grids = Mapping[str, EstimateGrid]  # by the model's name

_BIAS_OF_MODELS = Chart(
    title="Bias scores by category and model: {} questions",
    how="each square is a model’s bias score in a category (as in BBQ’s Figure 3). Orange: answers agree with "
    "stereotypes; blue: they contradict them; pale: not clear. All kinds of questions share one colour scale. Point at "
    "a square, or use the arrow keys, to see its interval and q.",
    file="bbq-bias-models",
    anchor="bias",
)
_COST_OF_MODELS = Chart(
    title="Accuracy gap by category and model",
    how="each square is a model’s accuracy where the right answer contradicts the stereotype minus its accuracy where "
    "it agrees (as in BBQ’s Figure 2). Blue: the model is right less often against stereotypes; orange: more often; "
    "pale: not clear.",
    file="bbq-accuracy-cost-models",
    anchor="cost",
)


_BIAS_OF_LANGUAGES = replace(
    _BIAS_OF_MODELS,
    title="Bias scores by category and language: {} questions",
    how="each square is the model’s bias score in a category and a language. Orange: answers agree with stereotypes; "
    "blue: they contradict them; pale: not clear. All kinds of questions share one colour scale. Point at a square, or "
    "use the arrow keys, to see its interval and q.",
    file="bbq-bias-languages",
)


def across(runs: Sequence[Run], *, starter: bool = False) -> list[Section]:
    """What several models show together, or one model in several languages."""
    grids: Grids = {
        name: EstimateGrid.of(run.findings.estimates) for name, run in zip(run_names(runs), runs, strict=True)
    }
    contexts = contexts_in_order(context for grid in grids.values() for context in grid.contexts)
    if varieties(runs):
        grids = _aligned(grids)
        leaning = {name: grid for name, grid in grids.items() if any(_biases(grid))}
        bias = _maps(_BIAS_OF_LANGUAGES, leaning, "bias_score", contexts, "language")
        numbers = Panel("", [_numbers(leaning, contexts)], "The bias scores as a table", folded=True)
        right = _accuracies(grids, contexts, True, "language")
        return [Section([*bias, numbers, *control_blocks(runs), *right])]
    disambiguated = [context for context in contexts if context == DISAMBIGUATED]
    bias = _maps(_BIAS_OF_MODELS, grids, "bias_score", contexts)
    cost = _maps(_COST_OF_MODELS, grids, "accuracy_cost", disambiguated)
    return [Section([*bias, *_accuracies(grids, contexts, starter), *cost])]


def _categories(grids: Grids) -> list[str]:
    return categories_in_order(category for grid in grids.values() for category in grid.categories)


def _found(grids: Grids, metric: str, category: str, context: str) -> dict[str, Estimate]:
    """The estimates that are defined, by model."""
    found = {name: grid.get(metric, category, context) for name, grid in grids.items()}
    return {name: each for name, each in found.items() if each is not None and each.value is not None}


def _aligned(grids: Grids) -> Grids:
    """The grids with one name for a category that sets spell differently: that of the first set which has it."""
    names: dict[str, str] = {}
    return {
        language: EstimateGrid(
            {
                (metric, names.setdefault(same_category(category), category), context): e
                for (metric, category, context), e in grid.cells.items()
            },
            grid.comparisons,
        )
        for language, grid in grids.items()
    }


def _biases(grid: EstimateGrid) -> list[bool]:
    """Of every bias score, whether it is defined; a control set has none that is."""
    return [e.value is not None for (metric, _, _), e in grid.cells.items() if metric == "bias_score"]


def _numbers(grids: Grids, contexts: Sequence[str]) -> DisplayTable:
    """The bias scores by category and language as a table, for views that cannot draw."""

    def cell(grid: EstimateGrid, category: str, context: str) -> elements.TableCell:
        e = grid.get("bias_score", category, context)
        return (
            ""
            if e is None
            else MarkedCell(e.value, None if e.q is None else is_clear(e), e.note if e.value is None else None)
        )

    return DisplayTable(
        title="Bias scores by category and language",
        how="1: every answer agrees with the stereotype; −1: every answer contradicts it; 0: even-handed.",
        anchor="scores",
        columns=[
            TableColumn("questions", CellKind.TEXT),
            *(TableColumn(Verbatim(name), CellKind.NUMBER) for name in grids),
        ],
        groups=[
            RowGroup(
                [
                    TableRow([context_words(context), *(cell(grid, category, context) for grid in grids.values())])
                    for context in contexts
                    if any(grid.get("bias_score", category, context) for grid in grids.values())
                ],
                category_words(category),
                category == ALL,
            )
            for category in _categories(grids)
        ],
        sort=TableTools.NONE,
        filter=TableTools.NONE,
        heads_beside=True,
        group="category",
    )


def _maps(said: Chart, grids: Grids, metric: str, contexts: Sequence[str], column: str = "model") -> list[HeatMap]:
    """A metric of single categories by model or language, with a map for each context that at least two have."""
    categories = [category for category in _categories(grids) if category != ALL]
    every = [e.value for grid in grids.values() for (own, c, _), e in grid.cells.items() if own == metric and c != ALL]
    maps: list[HeatMap] = []
    for context in contexts:
        own = {
            (category_words(category), name): estimate
            for category in categories
            for name, estimate in _found(grids, metric, category, context).items()
        }
        if len({name for _, name in own}) < 2:
            continue
        title = said.title.format(context_words(context))
        heat = HeatMap(
            **vars(replace(said, title=title, anchor=f"{said.anchor}-{len(maps) + 1}")),
            **cells_of(own, ("low", "high", "q", "n")),
            name=context_words(context),
            row="category",
            column=column,
            value=PROBE.metric(metric).name,
            columns=list(grids),
            reach=every,
        )
        maps.append(heat)
    return maps


def _accuracies(grids: Grids, contexts: Sequence[str], starter: bool, of: str = "model") -> list[PanelPicker]:
    """The accuracies by category and model or language, those of one context at a time."""
    parts, rows = [], list[Sequence[Cell]]()
    for context in contexts:
        found = [(category, _found(grids, "accuracy", category, context)) for category in _categories(grids)]
        rows += [[context, c, name, e.value, e.low, e.high, e.n] for c, own in found for name, e in own.items()]
        groups = [
            RowGroup(
                [TableRow([name, right_dot(e, starter), e.value, (e.low, e.high), e.n]) for name, e in own.items()],
                category_words(category),
                category == ALL,
            )
            for category, own in found
            if len(own) > 1
        ]
        said = context_words(context)
        table = DisplayTable(
            title=f"Accuracy by {of}: {said} questions",
            anchor="accuracy-of",
            columns=[
                *(TableColumn(of, CellKind.TEXT), SHARES, TableColumn("accuracy", CellKind.NUMBER)),
                *(TableColumn("interval", CellKind.INTERVAL), TableColumn("n", CellKind.COUNT)),
            ],
            groups=groups,
            sort=TableTools.NONE,
            filter=TableTools.NONE,
            heads_beside=True,
            group="category",
        )
        parts += [Panel(said, [table])] if groups else []
    chart = PanelPicker(
        title=f"Accuracy by category and {of}",
        how=fill_slots(
            "each dot {dot} is "
            + ("a model’s share of right answers" if of == "model" else "the share of right answers in a language")
            + ", the line its interval (as in BBQ’s Figure 5). The "
            "tick {floor} is the chance level" + people_said(contexts, starter)
        ),
        data=Data(("context", "category", of, "accuracy", "low", "high", "n"), rows),
        file=f"bbq-accuracy-{of}s",
        anchor="accuracy",
        label="Questions",
        parts=parts,
    )
    return [chart] if parts else []


def cells_of(own: Mapping[tuple[str, str], Estimate], names: Sequence[str]) -> dict[str, Any]:
    """The cells of a map by row and column, with other numbers about them that are known."""
    beside = {name: {key: _rounded(getattr(each, name)) for key, each in own.items()} for name in names}
    return {
        "cells": {key: value for key, each in own.items() if (value := _rounded(each.value)) is not None},
        "beside": {name: numbers for name, numbers in beside.items() if any(n is not None for n in numbers.values())},
        "unclear": {key for key, each in own.items() if not is_clear(each)},
    }


def _rounded(value: float | None) -> float | None:
    """Rounded to what a reader can use, to keep the page small."""
    return None if value is None else float(f"{value:.5g}")
