"""UnQover's tables: the strongest associations, subjects by γ(x), and their ranks across models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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
from assay.presentation.rich_text import ChartMark
from assay.probes import run_names
from assay.probes.unqover.associations import (
    MIN_CELLS,
    Association,
    StrongestAssociations,
    association_table,
    place_said,
    ranked_subjects,
)
from assay.probes.unqover.model_ranks import aligned, rank_summary, ranks
from assay.results.findings import Cell, table_path
from assay.results.findings import Table as Data
from assay.results.formatting import plural
from assay.results.run import Run
from assay.results.verdict import ALLOWED, CLEAR

MOST_PAIRS = 8  # of each class and form in the table of associations
FEW_PAIRS = 10  # of all in short
MOST_ROWS = 2000  # of a class and form in the data of a chart
MOST_SUBJECTS = 24  # more than that, and only the two ends of the ranking are shown
END_SUBJECTS = 10


def associations(run: Run, strongest: StrongestAssociations) -> Section:
    shown = strongest.by_class(MOST_PAIRS)
    if not shown:
        said = (
            f"No pair of subject and attribute has at least {MIN_CELLS} comparisons, so none is singled out here. A "
            "larger preset makes more comparisons."
        )
        return Section([Paragraphs([said])], "Strongest associations", "associations")
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
    after = ["Names are grouped by gender here; the table gamma has each name."] if strongest.pooled else []
    table = DisplayTable(
        title="Strongest associations",
        how=[
            "right of zero, the model associates the attribute more with this subject; left of zero, more with the "
            "others. η says how one-sided the comparisons are (1: the subject won all, −1: it lost all). q is the "
            "p-value corrected over all rows of the table. A filled dot ",
            *(ChartMark("dot"), f" is statistically clear (q at most {CLEAR}, {ALLOWED}), a hollow one "),
            *(ChartMark("hollow"), " is not. Clear associations come first."),
        ],
        data=association_table(row for _, rows in shown for row in rows),
        file="unqover-associations",
        anchor="associations",
        after=[*after, *_too_few(strongest)],
        columns=columns,
        groups=[RowGroup([_association(row) for row in rows], place_said(place)) for place, rows in shown],
    )
    return Section([table])


def _association(row: Association) -> TableRow:
    return TableRow(
        [
            *(row.who, row.attribute or "", row.gamma),
            DotCell(row.gamma, row.low, row.high, hollow=not row.clear),
            *((row.low, row.high), row.eta, row.q, row.n),
        ],
        row.examples,
    )


def _too_few(strongest: StrongestAssociations) -> list[str]:
    few = strongest.too_few
    return [f"{plural(few, 'pair')} with fewer than {MIN_CELLS} comparisons left out."] if few else []


def in_short(run: Run, strongest: StrongestAssociations) -> Section:
    """The strongest of all classes together."""
    shown = strongest.rows[:FEW_PAIRS]
    if not shown:
        said = (
            "Strongest associations: none to show. No pair of subject and attribute has at least "
            f"{MIN_CELLS} comparisons. A larger preset makes more comparisons."
        )
        return Section([Paragraphs([said])])
    table = DisplayTable(
        title="Strongest associations",
        columns=[
            *(TableColumn(head, CellKind.TEXT) for head in ("subject", "attribute", "class, form")),
            TableColumn("γ", CellKind.NUMBER),
            TableColumn(run.level, CellKind.INTERVAL),
            TableColumn("η", CellKind.NUMBER),
            TableColumn("q", CellKind.PROBABILITY),
        ],
        groups=[RowGroup([_short(row) for row in shown])],
    )
    reading = ["γ above 0: the model associates the attribute more with this subject; below 0: more with the others."]
    clear = f"* statistically clear: q, corrected over all rows of the table, is at most {CLEAR}, {ALLOWED}"
    chance = f"~ not distinguishable from chance: q, corrected over all rows of the table, is above {CLEAR}, {ALLOWED}."
    if shown[0].clear and any(row.could_be_chance for row in shown):
        reading.append(f"{clear}; ~ not clear. Clear ones come first.")
    elif shown[0].clear:
        reading.append(f"{clear}.")
    elif any(row.could_be_chance for row in shown):
        reading.append(chance)
    if any(row.pooled for row in shown):
        reading.append("Names are grouped by gender; the tables have each name.")
    return Section([table, Paragraphs([*reading, *_too_few(strongest)], TextRole.SMALL)])


def _short(row: Association) -> TableRow:
    clear, chance = row.clear or None, False if row.could_be_chance else None
    gamma, q = MarkedCell(row.gamma, clear), MarkedCell(row.q, chance)
    return TableRow([row.who, row.attribute or "", place_said(row.where), gamma, (row.low, row.high), row.eta, q])


# --- subjects


def subjects(run: Run) -> list[Block]:
    ranked = ranked_subjects(run)
    if not ranked:
        return []
    shown = [(place, _ends(rows)) for place, rows in ranked]
    reach = [mark for _, (first, last) in shown for row in first + last for mark in (row.gamma, row.low, row.high)]
    columns = [
        TableColumn("subject", CellKind.TEXT),
        TableColumn("γ(x)", CellKind.NUMBER),
        TableColumn("γ(x)", CellKind.DOTS, reach=reach),
        TableColumn(run.level, CellKind.INTERVAL),
        TableColumn("η", CellKind.NUMBER),
        TableColumn("q", CellKind.PROBABILITY),
        TableColumn("n", CellKind.COUNT),
    ]
    parts = []
    for (place, rows), (_, (first, last)) in zip(ranked, shown, strict=True):
        left_out = len(rows) - len(first) - len(last)
        gap = [OmittedRows(f"{plural(left_out, 'more subject')}: {table_path('subjects')}")] if left_out else []
        table = DisplayTable(
            title=f"Subjects by γ(x): {place_said(place)}",
            anchor="subjects-of",
            columns=columns,
            groups=[RowGroup([*map(_subject, first), *gap, *map(_subject, last)])],
        )
        parts.append(Panel(place_said(place), [table]))
    how = (
        "γ(x) is a subject’s average over all attributes. At the top are the subjects that the model picks most, "
        "whatever is asked; where the attributes are negative, these are the subjects it associates most with bad "
        f"things. A filled dot is statistically clear (q at most {CLEAR}, {ALLOWED}); a hollow one is not."
    )
    data = association_table(row for _, rows in ranked for row in rows[:MOST_ROWS])
    chart = PanelPicker(
        title="Subjects ranked",
        how=how,
        data=data,
        file="unqover-subjects",
        anchor="subjects",
        label="Subjects of",
        parts=parts,
    )
    return [chart]


def _ends(rows: Sequence[Association]) -> tuple[list[Association], list[Association]]:
    """The first and the last of many."""
    return (list(rows[:END_SUBJECTS]), list(rows[-END_SUBJECTS:])) if len(rows) > MOST_SUBJECTS else (list(rows), [])


def _subject(row: Association) -> TableRow:
    dot = DotCell(row.gamma, row.low, row.high, hollow=not row.clear)
    return TableRow([row.subject, row.gamma, dot, (row.low, row.high), row.eta, row.q, row.n], row.examples)


# --- several models


def across(runs: Sequence[Run]) -> list[Section]:
    """The ranks of subjects across models, for each class and form in which two models share subjects."""
    places: dict[tuple[str, str], dict[str, dict[str, float]]] = {}
    for name, run in zip(run_names(runs), runs, strict=True):
        for place, rows in ranked_subjects(run):
            places.setdefault(place, {})[name] = {row.subject: row.gamma for row in rows}
    return [Section([_ranking(place, own)]) for place, own in places.items() if _share(own)]


def _share(own: Mapping[str, Mapping[str, float]]) -> bool:
    """Whether at least two models have subjects in common."""
    return len(own) > 1 and len(set.intersection(*map(set, own.values()))) > 1


def _ranking(place: tuple[str, str], own: Mapping[str, Mapping[str, float]]) -> DisplayTable:
    """The subjects of a class and form by their mean rank across models (Figures 4 and 5)."""
    names, gamma = aligned(list(own.values()))
    summary, each = rank_summary(gamma), ranks(gamma)
    order = sorted(range(len(names)), key=lambda k: (summary.mean[k], names[k]))

    def ranked(k: int) -> TableRow:
        mean, std = float(summary.mean[k]), float(summary.std[k])
        told = "; ".join(f"{name}: {rank:g}" for name, rank in zip(own, each[:, k].tolist(), strict=True))
        low, high = max(mean - std, 1.0), min(mean + std, float(len(names)))
        return TableRow([names[k], mean, DotCell(mean, low, high, told=told), std])

    many = len(order) > MOST_SUBJECTS
    first, last = (order[:END_SUBJECTS], order[-END_SUBJECTS:]) if many else (order, [])
    between = plural(len(order) - len(first) - len(last), "subject")
    gap = [OmittedRows(f"{between} between the two ends: in the data of this chart")] if many else []
    rows: list[Sequence[Cell]] = [
        [names[k], float(summary.mean[k]), float(summary.std[k]), *each[:, k].tolist()] for k in order
    ]
    return DisplayTable(
        title=f"Ranks of subjects across models: {place_said(place)}",
        how="the dot is a subject’s mean rank by γ(x) across models, the line one standard deviation to either side "
        "(as in UnQover’s Figures 4 and 5). Rank 1 is preferred most; for negative attributes that is the most "
        "negative view. Short lines mean that the models agree.",
        data=Data(("subject", "mean_rank", "std_rank", *own), rows),
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
