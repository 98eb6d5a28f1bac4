"""What several BBQ runs show together: bias scores (Figure 3), accuracy (Figure 5) and its gap (Figure 2) by model or
language, and accuracy on a set beside accuracy on its control set, which has names in place of groups (Neplenbroek et
al. 2024).

A model that is wrong more often about groups than about names, on the same templates, is misled by the groups; one that
is wrong as often may only be poor at the task, or at the language.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from assay.config.settings import RESAMPLES
from assay.presentation.elements import (
    Block,
    CellKind,
    Chart,
    DisplayTable,
    DotCell,
    HeatMap,
    MarkedCell,
    Panel,
    PanelPicker,
    Paragraphs,
    RowGroup,
    Section,
    TableCell,
    TableColumn,
    TableRow,
    TableTools,
    TextRole,
)
from assay.presentation.rich_text import NumberText, Text, Verbatim
from assay.probes import run_names, varieties
from assay.probes.bbq import ALL, PROBE, category_words, context_words, same_category
from assay.probes.bbq.compare_runs import compare_answers, recalled_run
from assay.probes.bbq.edition_language import EditionLanguage
from assay.probes.bbq.estimate_grid import (
    EstimateGrid,
    categories_in_order,
    contexts_in_order,
    fill_slots,
    is_clear,
)
from assay.probes.bbq.items import DISAMBIGUATED
from assay.probes.bbq.present_charts import SHARES, heat_map, people_said, right_dot
from assay.probes.claims import corrected
from assay.probes.contrast import PairedChange
from assay.results.findings import Cell, Estimate
from assay.results.findings import Table as Data
from assay.results.formatting import format_interval, format_number, format_share
from assay.results.run import Run
from assay.results.verdict import CLEAR

Grids = Mapping[str, EstimateGrid]  # by the model's name, or the language

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
_BIAS_OF_LANGUAGES = Chart(
    title="Bias scores by category and language: {} questions",
    how="each square is the model’s bias score in a category and a language. Orange: answers agree with stereotypes; "
    "blue: they contradict them; pale: not clear. All kinds of questions share one colour scale. Point at a square, or "
    "use the arrow keys, to see its interval and q.",
    file="bbq-bias-languages",
    anchor="bias",
)


def across(runs: Sequence[Run], *, starter: bool = False) -> list[Section]:
    """What several models show together, or one model in several languages."""
    grids: Grids = {
        name: EstimateGrid.of(run.findings.estimates) for name, run in zip(run_names(runs), runs, strict=True)
    }
    contexts = contexts_in_order(context for grid in grids.values() for context in grid.contexts)
    if varieties(runs):
        grids = _aligned(grids)
        with_scores = {  # a control set has none that is defined
            name: grid
            for name, grid in grids.items()
            if any(e.value is not None for (metric, _, _), e in grid.cells.items() if metric == "bias_score")
        }
        bias = _maps(_BIAS_OF_LANGUAGES, with_scores, "bias_score", contexts, "language")
        numbers = Panel("", [_numbers(with_scores, contexts)], "The bias scores as a table", folded=True)
        return [Section([*bias, numbers, *control_blocks(runs), *_accuracies(grids, contexts, True, "language")])]
    disambiguated = [context for context in contexts if context == DISAMBIGUATED]
    bias = _maps(_BIAS_OF_MODELS, grids, "bias_score", contexts)
    cost = _maps(_COST_OF_MODELS, grids, "accuracy_cost", disambiguated)
    return [Section([*bias, *_accuracies(grids, contexts, starter), *cost])]


def _categories(grids: Grids) -> list[str]:
    return categories_in_order(category for grid in grids.values() for category in grid.categories)


def _defined(grids: Grids, metric: str, category: str, context: str) -> dict[str, Estimate]:
    """The estimates that are defined, by model."""
    estimates = {name: grid.get(metric, category, context) for name, grid in grids.items()}
    return {name: e for name, e in estimates.items() if e is not None and e.value is not None}


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


def _by_category(rows: Mapping[str, Sequence[TableRow]], columns: Sequence[TableColumn], **fields: Any) -> DisplayTable:
    """A table with the categories' names beside their rows."""
    return DisplayTable(
        **fields,
        columns=columns,
        groups=[
            RowGroup(of_category, category_words(category), category == ALL) for category, of_category in rows.items()
        ],
        sort=TableTools.NONE,
        filter=TableTools.NONE,
        heads_beside=True,
        group="category",
    )


def _numbers(grids: Grids, contexts: Sequence[str]) -> DisplayTable:
    """The bias scores by category and language as a table, for views that cannot draw."""

    def cells(category: str, context: str) -> list[TableCell]:
        scores = (grid.get("bias_score", category, context) for grid in grids.values())
        return ["" if score is None else _score_cell(score) for score in scores]

    rows = {
        category: [
            TableRow([context_words(context), *cells(category, context)])
            for context in contexts
            if any(grid.get("bias_score", category, context) for grid in grids.values())
        ]
        for category in _categories(grids)
    }
    return _by_category(
        rows,
        [
            TableColumn("questions", CellKind.TEXT),
            *(TableColumn(Verbatim(name), CellKind.NUMBER) for name in grids),
        ],
        title="Bias scores by category and language",
        how="1: every answer agrees with the stereotype; −1: every answer contradicts it; 0: even-handed.",
        anchor="scores",
    )


def _score_cell(score: Estimate) -> MarkedCell:
    clear = None if score.q is None else is_clear(score)
    return MarkedCell(score.value, clear, score.note if score.value is None else None)


def _maps(chart: Chart, grids: Grids, metric: str, contexts: Sequence[str], column: str = "model") -> list[HeatMap]:
    """A metric of single categories by model or language, with a map for each context that at least two have."""
    categories = [category for category in _categories(grids) if category != ALL]
    reach = [
        e.value for grid in grids.values() for (name, c, _), e in grid.cells.items() if name == metric and c != ALL
    ]
    maps: list[HeatMap] = []
    for context in contexts:
        cells = {
            (category_words(category), name): estimate
            for category in categories
            for name, estimate in _defined(grids, metric, category, context).items()
        }
        if len({name for _, name in cells}) < 2:
            continue
        heat = heat_map(
            chart,
            cells,
            len(maps) + 1,
            title=chart.title.format(context_words(context)),
            name=context_words(context),
            row="category",
            column=column,
            value=PROBE.metric(metric).name,
            columns=list(grids),
            reach=reach,
        )
        maps.append(heat)
    return maps


def _accuracies(grids: Grids, contexts: Sequence[str], starter: bool, column: str = "model") -> list[PanelPicker]:
    """The accuracies by category and model or language, those of one context at a time."""
    parts, data = [], list[Sequence[Cell]]()
    columns = [
        TableColumn(column, CellKind.TEXT),
        SHARES,
        TableColumn("accuracy", CellKind.NUMBER),
        TableColumn("interval", CellKind.INTERVAL),
        TableColumn("n", CellKind.COUNT),
    ]
    for context in contexts:
        by_category = {category: _defined(grids, "accuracy", category, context) for category in _categories(grids)}
        data += [
            [context, category, name, e.value, e.low, e.high, e.n]
            for category, by_name in by_category.items()
            for name, e in by_name.items()
        ]
        rows = {
            category: [
                TableRow([name, right_dot(e, starter), e.value, (e.low, e.high), e.n]) for name, e in by_name.items()
            ]
            for category, by_name in by_category.items()
            if len(by_name) > 1
        }
        words = context_words(context)
        table = _by_category(rows, columns, title=f"Accuracy by {column}: {words} questions", anchor="accuracy-of")
        parts += [Panel(words, [table])] if rows else []
    share = "a model’s share of right answers" if column == "model" else "the share of right answers in a language"
    picker = PanelPicker(
        title=f"Accuracy by category and {column}",
        how=fill_slots(
            f"each dot {{dot}} is {share}, the line its interval (as in BBQ’s Figure 5). The tick {{floor}} is the "
            "chance level" + people_said(contexts, starter)
        ),
        data=Data(("context", "category", column, "accuracy", "low", "high", "n"), data),
        file=f"bbq-accuracy-{column}s",
        anchor="accuracy",
        label="Questions",
        parts=parts,
    )
    return [picker] if parts else []


# --- control sets


def control_accuracy(run: Run, control: Run) -> Sequence[PairedChange]:
    """Accuracy on the control set minus accuracy on the set, in [−1, 1], for every category and context.

    MBBQ reports the accuracy on its control set beside its bias scores (Neplenbroek et al. 2024, arXiv 2406.07243).
    Here the difference is paired: templates are resampled, the same for both sets, and the examples of a template that
    have the same number count. 0 means that the model is right as often about names as about groups; above 0, it is
    right less often about groups.
    """
    sets = recalled_run(run), recalled_run(control)
    about = [estimate for estimate in run.findings.estimates if estimate.metric == "accuracy"]
    return compare_answers(PROBE, *sets, resamples=RESAMPLES, common=False, about=about).changes


def controlled(runs: Sequence[Run]) -> list[tuple[str, PairedChange]]:
    """The changes to the control sets among the runs, each with its language; q is over all of them."""
    run_of = {EditionLanguage.of(run.info.settings): run for run in runs}
    changes = [
        (variety.in_language, change)
        for variety, run in run_of.items()
        for control, control_run in run_of.items()
        if (variety.family, variety.language) == (control.family, control.language)
        and control.is_control > variety.is_control
        for change in control_accuracy(run, control_run)
    ]
    tested = corrected([change.change for _, change in changes], ["accuracy"] * len(changes))
    return [(name, replace(change, change=e)) for (name, change), e in zip(changes, tested, strict=True)]


def control_blocks(runs: Sequence[Run]) -> list[Block]:
    """What the control sets among the runs show: a sentence for each language, and a table; nothing without them."""
    changes = controlled(runs)
    if not changes:
        return []
    data: list[Sequence[Cell]] = []
    by_category: dict[str, list[TableRow]] = {}
    sentences: list[Text] = []
    categories = [change.change.group["category"] for _, change in changes]
    of_all = {"category": ALL if ALL in categories else categories[0], "context": DISAMBIGUATED}
    for name, change in changes:
        difference = change.change
        category, context = difference.group["category"], difference.group["context"]
        numbers = (difference.value, difference.low, difference.high)
        about = [category, context, name, change.before, change.after]
        data.append([*about, *numbers, difference.p, difference.q, difference.n])
        cells: list[TableCell] = [context_words(context), name, change.before, change.after]
        dot = DotCell(*numbers, hollow=difference.q is None or difference.q > CLEAR)
        cells += [MarkedCell(difference.value, note=difference.note), dot, numbers[1:], difference.q]
        by_category.setdefault(category, []).append(TableRow(cells))
        if difference.group == of_all:
            sentences.append(_sentence(name, change))
    columns = ("category", "context", "language", "accuracy", "control_accuracy", "difference", "low", "high", "p", "q")
    table = _by_category(
        {category: by_category[category] for category in categories_in_order(by_category)},
        [
            TableColumn("questions", CellKind.TEXT),
            TableColumn("language", CellKind.TEXT),
            TableColumn("accuracy", CellKind.NUMBER),
            TableColumn("control", CellKind.NUMBER),
            TableColumn("difference", CellKind.NUMBER),
            TableColumn("difference", CellKind.DOTS),
            TableColumn("95% interval", CellKind.INTERVAL),
            TableColumn("q", CellKind.PROBABILITY),
        ],
        title="Control accuracy: the same questions about names in place of groups",
        how=fill_slots(
            "right of zero, the model is right more often about people with names than about members of groups: the "
            "groups mislead it. At zero, what it gets wrong it gets wrong about anybody. A filled dot {dot} is "
            "statistically clear (q ≤ 0.05), a hollow one {hollow} is not."
        ),
        data=Data((*columns, "n"), data),
        file="bbq-control-accuracy",
        anchor="control",
    )
    return [Paragraphs(sentences, TextRole.ITEMS), table]


def _sentence(language: str, change: PairedChange) -> Text:
    difference = change.change
    interval = format_interval(difference.low, difference.high)
    return [
        f"In {language}, where the text gives the answer, the model is right in ",
        NumberText(format_share(change.before)),
        " of the questions about groups and in ",
        NumberText(format_share(change.after)),
        " of the same questions about names ",
        NumberText(f"(difference {format_number(difference.value)}, 95% interval {interval})"),
    ]
