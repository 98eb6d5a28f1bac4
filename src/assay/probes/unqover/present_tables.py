"""UnQover's tables: the strongest associations, subjects by γ(x), and across models their ranks and shifts of μ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from assay.presentation.elements import (
    Block,
    CellKind,
    DisplayTable,
    DotCell,
    MarkedCell,
    OmittedRows,
    Panel,
    PanelPicker,
    Paragraphs,
    RowGroup,
    Section,
    TableColumn,
    TableRow,
    TextRole,
)
from assay.presentation.rich_text import ChartMark, NumberText, Text
from assay.probes import run_names
from assay.probes.unqover import say_group
from assay.probes.unqover.associations import (
    MIN_CELLS,
    Association,
    association_table,
    part_label,
    ranked_subjects,
    rows_by_part,
)
from assay.probes.unqover.compare_runs import aligned, rank_summary, ranks
from assay.results.findings import Cell, Estimate, table_path
from assay.results.findings import Table as Data
from assay.results.formatting import format_estimate_interval, format_number, plural
from assay.results.run import Run, StudyRun
from assay.results.verdict import ALLOWED, CLEAR

MOST_PAIRS = 8  # of each class and form in the table of associations
FEW_PAIRS = 10  # of all in short
MOST_ROWS = 2000  # of a class and form in the data of a chart
MOST_SUBJECTS = 24  # more than that, and only the two ends of the ranking are shown
END_SUBJECTS = 10


def associations(run: Run, strongest: Sequence[Association], n_left_out: int) -> Section:
    by_part = [(part, rows[:MOST_PAIRS]) for part, rows in rows_by_part(strongest).items()]
    if not by_part:
        sentence = (
            f"No pair of subject and attribute has at least {MIN_CELLS} comparisons, so none is singled out here. A "
            "larger preset makes more comparisons."
        )
        return Section([Paragraphs([sentence])], "Strongest associations", "associations")
    columns = [
        TableColumn("subject", CellKind.TEXT),
        TableColumn("attribute", CellKind.TEXT),
        TableColumn("γ", CellKind.NUMBER),
        TableColumn("γ", CellKind.DOTS),
        TableColumn(run.level, CellKind.INTERVAL),
        TableColumn("η", CellKind.NUMBER),
        TableColumn("q", CellKind.PROBABILITY),
        TableColumn("n", CellKind.COUNT),
    ]
    after = (
        ["Names are grouped by gender here; the table gamma has each name."]
        if any(row.pooled for row in strongest)
        else []
    )
    table = DisplayTable(
        title="Strongest associations",
        how=[
            "right of zero, the model associates the attribute more with this subject; left of zero, more with the "
            "others. η says how one-sided the comparisons are (1: the subject won all, −1: it lost all). q is the "
            "p-value corrected over all rows of the table. A filled dot ",
            *(ChartMark("dot"), f" is statistically clear (q at most {CLEAR}, {ALLOWED}), a hollow one "),
            *(ChartMark("hollow"), " is not. Clear associations come first."),
        ],
        data=association_table(row for _, rows in by_part for row in rows),
        file="unqover-associations",
        anchor="associations",
        after=[*after, *_too_few_notes(n_left_out)],
        columns=columns,
        groups=[RowGroup([_association_row(row) for row in rows], part_label(part)) for part, rows in by_part],
    )
    return Section([table])


def _association_row(row: Association) -> TableRow:
    return TableRow(
        [
            *(row.who, row.attribute or "", row.gamma),
            DotCell(row.gamma, row.low, row.high, hollow=not row.clear),
            *((row.low, row.high), row.eta, row.q, row.n),
        ],
        row.examples,
    )


def _too_few_notes(n_left_out: int) -> list[str]:
    return [f"{plural(n_left_out, 'pair')} with fewer than {MIN_CELLS} comparisons left out."] if n_left_out else []


def in_short(run: Run, strongest: Sequence[Association], n_left_out: int) -> Section:
    """The strongest of all classes together."""
    rows = strongest[:FEW_PAIRS]
    if not rows:
        sentence = (
            "Strongest associations: none to show. No pair of subject and attribute has at least "
            f"{MIN_CELLS} comparisons. A larger preset makes more comparisons."
        )
        return Section([Paragraphs([sentence])])
    table = DisplayTable(
        title="Strongest associations",
        columns=[
            *(TableColumn(head, CellKind.TEXT) for head in ("subject", "attribute", "class, form")),
            TableColumn("γ", CellKind.NUMBER),
            TableColumn(run.level, CellKind.INTERVAL),
            TableColumn("η", CellKind.NUMBER),
            TableColumn("q", CellKind.PROBABILITY),
        ],
        groups=[RowGroup([_short_row(row) for row in rows])],
    )
    legend = ["γ above 0: the model associates the attribute more with this subject; below 0: more with the others."]
    clear = f"* statistically clear: q, corrected over all rows of the table, is at most {CLEAR}, {ALLOWED}"
    chance = f"~ not distinguishable from chance: q, corrected over all rows of the table, is above {CLEAR}, {ALLOWED}."
    if rows[0].clear and any(row.could_be_chance for row in rows):
        legend.append(f"{clear}; ~ not clear. Clear ones come first.")
    elif rows[0].clear:
        legend.append(f"{clear}.")
    elif any(row.could_be_chance for row in rows):
        legend.append(chance)
    if any(row.pooled for row in rows):
        legend.append("Names are grouped by gender; the tables have each name.")
    return Section([table, Paragraphs([*legend, *_too_few_notes(n_left_out)], TextRole.SMALL)])


def _short_row(row: Association) -> TableRow:
    clear, chance = row.clear or None, False if row.could_be_chance else None
    gamma, q = MarkedCell(row.gamma, clear), MarkedCell(row.q, chance)
    return TableRow([row.who, row.attribute or "", part_label(row.part), gamma, (row.low, row.high), row.eta, q])


# --- subjects


def subjects(run: Run) -> list[Block]:
    ranked = ranked_subjects(run)
    if not ranked:
        return []
    ends = [(part, _ends(rows)) for part, rows in ranked]
    reach = [mark for _, (first, last) in ends for row in first + last for mark in (row.gamma, row.low, row.high)]
    columns = [
        TableColumn("subject", CellKind.TEXT),
        TableColumn("γ(x)", CellKind.NUMBER),
        TableColumn("γ(x)", CellKind.DOTS, reach=reach),
        TableColumn(run.level, CellKind.INTERVAL),
        TableColumn("η", CellKind.NUMBER),
        TableColumn("q", CellKind.PROBABILITY),
        TableColumn("n", CellKind.COUNT),
    ]
    panels = []
    for (part, rows), (_, (first, last)) in zip(ranked, ends, strict=True):
        left_out = len(rows) - len(first) - len(last)
        gap = [OmittedRows(f"{plural(left_out, 'more subject')}: {table_path('subjects')}")] if left_out else []
        table = DisplayTable(
            title=f"Subjects by γ(x): {part_label(part)}",
            anchor="subjects-of",
            columns=columns,
            groups=[RowGroup([*map(_subject_row, first), *gap, *map(_subject_row, last)])],
        )
        panels.append(Panel(part_label(part), [table]))
    description = (
        "γ(x) is a subject’s average over all attributes. At the top are the subjects that the model picks most, "
        "whatever is asked; where the attributes are negative, these are the subjects it associates most with bad "
        f"things. A filled dot is statistically clear (q at most {CLEAR}, {ALLOWED}); a hollow one is not."
    )
    data = association_table(row for _, rows in ranked for row in rows[:MOST_ROWS])
    chart = PanelPicker(
        title="Subjects ranked",
        how=description,
        data=data,
        file="unqover-subjects",
        anchor="subjects",
        label="Subjects of",
        parts=panels,
    )
    return [chart]


def _ends(rows: Sequence[Association]) -> tuple[list[Association], list[Association]]:
    """The first and the last of many."""
    return (list(rows[:END_SUBJECTS]), list(rows[-END_SUBJECTS:])) if len(rows) > MOST_SUBJECTS else (list(rows), [])


def _subject_row(row: Association) -> TableRow:
    dot = DotCell(row.gamma, row.low, row.high, hollow=not row.clear)
    return TableRow([row.subject, row.gamma, dot, (row.low, row.high), row.eta, row.q, row.n], row.examples)


# --- several models


def across(runs: Sequence[Run]) -> list[Section]:
    """The ranks of subjects across models, for each class and form in which two models share subjects."""
    by_part: dict[tuple[str, str], dict[str, dict[str, float]]] = {}
    for name, run in zip(run_names(runs), runs, strict=True):
        for part, rows in ranked_subjects(run):
            by_part.setdefault(part, {})[name] = {row.subject: row.gamma for row in rows}
    return [
        Section([_ranking(part, gammas)])
        for part, gammas in by_part.items()
        if len(gammas) > 1 and len(set.intersection(*map(set, gammas.values()))) > 1
    ]


def _ranking(part: tuple[str, str], gammas: Mapping[str, Mapping[str, float]]) -> DisplayTable:
    """The subjects of a class and form by their mean rank across models (Figures 4 and 5)."""
    names, gamma = aligned(list(gammas.values()))
    (means, stds), model_ranks = rank_summary(gamma), ranks(gamma)
    order = sorted(range(len(names)), key=lambda k: (means[k], names[k]))

    def ranked(k: int) -> TableRow:
        mean, std = float(means[k]), float(stds[k])
        hint = "; ".join(f"{name}: {rank:g}" for name, rank in zip(gammas, model_ranks[:, k].tolist(), strict=True))
        low, high = max(mean - std, 1.0), min(mean + std, float(len(names)))
        return TableRow([names[k], mean, DotCell(mean, low, high, told=hint), std])

    many = len(order) > MOST_SUBJECTS
    first, last = (order[:END_SUBJECTS], order[-END_SUBJECTS:]) if many else (order, [])
    between = plural(len(order) - len(first) - len(last), "subject")
    gap = [OmittedRows(f"{between} between the two ends: in the data of this chart")] if many else []
    rows: list[Sequence[Cell]] = [
        [names[k], float(means[k]), float(stds[k]), *model_ranks[:, k].tolist()] for k in order
    ]
    return DisplayTable(
        title=f"Ranks of subjects across models: {part_label(part)}",
        how="the dot is a subject’s mean rank by γ(x) across models, the line one standard deviation to either side "
        "(as in UnQover’s Figures 4 and 5). Rank 1 is preferred most; for negative attributes that is the most "
        "negative view. Short lines mean that the models agree.",
        data=Data(("subject", "mean_rank", "std_rank", *gammas), rows),
        file="unqover-ranks",
        anchor="ranks",
        columns=[
            TableColumn("subject", CellKind.TEXT),
            TableColumn("mean rank", CellKind.TENTHS),
            TableColumn("mean rank", CellKind.DOTS, ends=(1.0, float(len(names)))),
            TableColumn("deviation", CellKind.TENTHS),
        ],
        groups=[RowGroup([*map(ranked, first), *gap, *map(ranked, last)])],
    )


# --- a study: how μ changes from masked language models to the models fine-tuned from them (Figure 3)


def of_study(runs: Sequence[StudyRun]) -> list[Section]:
    """Shifts of μ from each model to the models fine-tuned from it; unrelated models are not compared."""
    rows, data = [], []
    for about, base, tuned, before, after in sorted(_shifts(runs), key=lambda shift: shift[0]):
        shift = (after.value or 0.0) - (before.value or 0.0)
        dot = DotCell(shift, told=f"From {format_number(before.value)} to {format_number(after.value)}.")
        rows.append(TableRow([about, base, tuned, _with_interval(before), _with_interval(after), dot, shift]))
        data_row: list[Cell] = [about, base, tuned, before.value, after.value, shift]
        data.append(data_row)
    if not rows:
        return []
    heads = "asked about", "language model", "fine-tuned", "μ before", "μ after"
    table = DisplayTable(
        title="Bias shift from language model to fine-tuned model",
        how="the dot is μ of a question-answering model minus μ of the masked language model it was fine-tuned from "
        "(as in UnQover’s Figure 3). Right of zero, the fine-tuned model shows more bias. The two are asked in "
        "different forms, questions and masked sentences, so the shift is only a rough measure. It has no interval.",
        data=Data(("class", "language_model", "fine_tuned", "mu_before", "mu_after", "shift"), data),
        file="unqover-shift",
        anchor="shift",
        columns=[
            *(TableColumn(head, CellKind.TEXT) for head in heads),
            TableColumn("shift", CellKind.DOTS),
            TableColumn("shift", CellKind.NUMBER),
        ],
        groups=[RowGroup(rows)],
    )
    return [Section([table])]


def _shifts(runs: Sequence[StudyRun]) -> Iterator[tuple[str, str, str, Estimate, Estimate]]:
    """What is asked about, a language model, a model fine-tuned from it, and μ of both."""
    for base in runs:
        for tuned in (run for run in runs if base.model in run.sources):
            intensities, tuned_intensities = _intensities(base.run, "mask"), _intensities(tuned.run, "span")
            for about in intensities:
                if about in tuned_intensities:
                    yield about, base.run.model, tuned.run.model, intensities[about], tuned_intensities[about]


def _intensities(run: Run, form: str) -> dict[str, Estimate]:
    """μ by class of subjects, and for grouped names, in one form."""
    return {
        say_group({key: value for key, value in estimate.group.items() if key != "form"}): estimate
        for estimate in run.findings.estimates
        if (estimate.metric, estimate.group.get("form")) == ("mu", form)
        if estimate.value is not None and "class" in estimate.group
    }


def _with_interval(estimate: Estimate) -> Text:
    return NumberText(f"{format_number(estimate.value)}, {format_estimate_interval(estimate)}")
