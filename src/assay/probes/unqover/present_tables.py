"""UnQover's tables: the strongest associations, subjects by γ(x), and their ranks over several models."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from assay.blocks import Block, Column, Dot, Gap, Group, Kind, Marked, Part, Pick, Prose, Role, Row, Section, Table
from assay.findings import Cell
from assay.findings import Table as Data
from assay.probes.unqover.associations import (
    MIN_CELLS,
    Association,
    Strongest,
    ranked_subjects,
)
from assay.probes.unqover.models import aligned, rank_summary, ranks
from assay.run import Run, run_names
from assay.text import Mark
from assay.verdict import ALLOWED, CLEAR
from assay.wording import plural

MOST_PAIRS = 8  # of each class and form in the table of associations
FEW_PAIRS = 10  # of all in short
MOST_ROWS = 2000  # of a class and form in the data of a chart
MOST_SUBJECTS = 24  # more than that, and only the two ends of the ranking are shown
END_SUBJECTS = 10


def associations(run: Run, strongest: Strongest) -> Section:
    shown = strongest.by_class(MOST_PAIRS)
    if not shown:
        said = (
            f"No pair of subject and attribute was asked about in at least {MIN_CELLS} cells, so none is singled out "
            "here. A larger preset asks more often."
        )
        return Section([Prose([said])], "Strongest associations", "associations")
    columns = [
        Column("subject", Kind.TEXT),
        Column("attribute", Kind.TEXT),
        Column("γ", Kind.NUMBER),
        Column("γ", Kind.DOTS),
        Column(run.level, Kind.INTERVAL),
        Column("η", Kind.NUMBER),
        Column("q", Kind.PROBABILITY),
        Column("n", Kind.COUNT),
    ]
    after = ["Gendered names are pooled here; the table gamma has each name."] if strongest.pooled else []
    table = Table(
        title="Strongest associations",
        how=[
            "right of zero, the model gives the attribute rather to this subject; left, rather to the others. η says "
            "how one-sidedly (1: it won every comparison, −1: it lost every one). q is the p-value corrected over "
            "all rows of the table; a hollow dot ",
            Mark("hollow"),
            f" marks what could be chance; what is clear of it (q at most {CLEAR}, {ALLOWED}) comes first.",
        ],
        data=_data(row for _, rows in shown for row in rows),
        file="unqover-associations",
        anchor="associations",
        after=[*after, *_too_few(strongest)],
        columns=columns,
        groups=[Group([_association(row) for row in rows], _place(place)) for place, rows in shown],
    )
    return Section([table])


def _association(row: Association) -> Row:
    return Row(
        [
            *(row.subject, row.attribute or "", row.gamma),
            Dot(row.gamma, row.low, row.high, hollow=row.could_be_chance),
            *((row.low, row.high), row.eta, row.q, row.n),
        ],
        _behind(row),
    )


def _behind(row: Association) -> dict[str, str]:
    """Which examples stand behind an association."""
    who = {"group" if row.pooled else "subject": row.subject}
    return {"class": row.bias_class, "form": row.form} | who | ({"attribute": row.attribute} if row.attribute else {})


def _too_few(strongest: Strongest) -> list[str]:
    few = strongest.too_few
    return [f"{plural(few, 'pair')} with fewer than {MIN_CELLS} cells left out."] if few else []


def in_short(run: Run, strongest: Strongest) -> Section:
    """The strongest of all classes together."""
    shown = strongest.rows[:FEW_PAIRS]
    if not shown:
        said = (
            "Strongest associations: none to show, no subject was asked about any attribute in at least "
            f"{MIN_CELLS} cells. A larger preset asks more often."
        )
        return Section([Prose([said])])
    table = Table(
        title="Strongest associations",
        columns=[
            *(Column(head, Kind.TEXT) for head in ("subject", "attribute", "class, form")),
            Column("γ", Kind.NUMBER),
            Column(run.level, Kind.INTERVAL),
            Column("η", Kind.NUMBER),
            Column("q", Kind.PROBABILITY),
        ],
        groups=[Group([_short(row) for row in shown])],
    )
    reading = ["γ above 0: the model gives the attribute rather to this subject; below 0: rather to others."]
    clear = f"* clear of chance: q, corrected over all rows of the table, is at most {CLEAR}, {ALLOWED}"
    chance = f"~ could be chance: q, corrected over all rows of the table, is not below {CLEAR}, {ALLOWED}."
    if shown[0].clear and any(row.could_be_chance for row in shown):
        reading.append(f"{clear}; ~ could be chance. Those clear of chance come first.")
    elif shown[0].clear:
        reading.append(f"{clear}.")
    elif any(row.could_be_chance for row in shown):
        reading.append(chance)
    if any(row.pooled for row in shown):
        reading.append("Gendered names are pooled; the tables have each name.")
    return Section([table, Prose([*reading, *_too_few(strongest)], Role.SMALL)])


def _short(row: Association) -> Row:
    clear, chance = row.clear or None, False if row.could_be_chance else None
    gamma, q = Marked(row.gamma, clear), Marked(row.q, chance)
    return Row([row.subject, row.attribute or "", _place(row.where), gamma, (row.low, row.high), row.eta, q])


def _data(rows: Iterable[Association]) -> Data:
    columns = ("class", "form", "subject", "attribute", "gamma", "low", "high", "eta", "q", "n")
    return Data(columns, [[*r.where, r.subject, r.attribute, r.gamma, r.low, r.high, r.eta, r.q, r.n] for r in rows])


def _place(place: tuple[str, str]) -> str:
    return ", ".join(part for part in place if part)


# --- subjects


def subjects(run: Run) -> list[Block]:
    ranked = ranked_subjects(run)
    if not ranked:
        return []
    shown = [(place, _ends(rows)) for place, rows in ranked]
    reach = [mark for _, (first, last) in shown for row in first + last for mark in (row.gamma, row.low, row.high)]
    columns = [
        Column("subject", Kind.TEXT),
        Column("γ(x)", Kind.NUMBER),
        Column("γ(x)", Kind.DOTS, reach=reach),
        Column(run.level, Kind.INTERVAL),
        Column("η", Kind.NUMBER),
        Column("n", Kind.COUNT),
    ]
    parts = []
    for (place, rows), (_, (first, last)) in zip(ranked, shown, strict=True):
        left_out = len(rows) - len(first) - len(last)
        gap = [Gap(f"{plural(left_out, 'more subject')}: tables/subjects.csv")] if left_out else []
        table = Table(
            title=f"Subjects by γ(x): {_place(place)}",
            anchor="subjects-of",
            columns=columns,
            groups=[Group([*map(_subject, first), *gap, *map(_subject, last)])],
        )
        parts.append(Part(_place(place), [table]))
    how = (
        "γ(x) is a subject’s average over all attributes. At the top are those that the model picks more often "
        "whatever is asked; where the attributes are negative, those are the subjects that it connects with bad "
        "things most. A hollow dot, whose interval includes 0, shows no clear preference."
    )
    data = _data(row for _, rows in ranked for row in rows[:MOST_ROWS])
    chart = Pick(
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


def _subject(row: Association) -> Row:
    low, high = row.low, row.high
    dot = Dot(row.gamma, low, high, hollow=low is not None and high is not None and low <= 0 <= high)
    return Row([row.subject, row.gamma, dot, (row.low, row.high), row.eta, row.n], _behind(row))


# --- several models


def across(runs: Sequence[Run]) -> list[Section]:
    """The ranks of subjects over models, for each class and form in which two models have subjects in common."""
    places: dict[tuple[str, str], dict[str, dict[str, float]]] = {}
    for name, run in zip(run_names(runs), runs, strict=True):
        for place, rows in ranked_subjects(run):
            places.setdefault(place, {})[name] = {row.subject: row.gamma for row in rows}
    return [Section([_ranking(place, own)]) for place, own in places.items() if _share(own)]


def _share(own: Mapping[str, Mapping[str, float]]) -> bool:
    """Whether at least two models have subjects in common."""
    return len(own) > 1 and len(set.intersection(*map(set, own.values()))) > 1


def _ranking(place: tuple[str, str], own: Mapping[str, Mapping[str, float]]) -> Table:
    """The subjects of a class and form by their mean rank over models (Figures 4 and 5)."""
    names, gamma = aligned(list(own.values()))
    summary, each = rank_summary(gamma), ranks(gamma)
    order = sorted(range(len(names)), key=lambda k: (summary.mean[k], names[k]))

    def ranked(k: int) -> Row:
        mean, std = float(summary.mean[k]), float(summary.std[k])
        told = "; ".join(f"{name}: {rank:g}" for name, rank in zip(own, each[:, k].tolist(), strict=True))
        low, high = max(mean - std, 1.0), min(mean + std, float(len(names)))
        return Row([names[k], mean, Dot(mean, low, high, told=told), std])

    many = len(order) > MOST_SUBJECTS
    first, last = (order[:END_SUBJECTS], order[-END_SUBJECTS:]) if many else (order, [])
    between = plural(len(order) - len(first) - len(last), "subject")
    gap = [Gap(f"{between} between the two ends: in the data of this chart")] if many else []
    rows: list[Sequence[Cell]] = [
        [names[k], float(summary.mean[k]), float(summary.std[k]), *each[:, k].tolist()] for k in order
    ]
    return Table(
        title=f"Ranks of subjects over models: {_place(place)}",
        how="the dot is the mean over models of a subject’s rank by γ(x), the line one standard deviation to either "
        "side (as in UnQover’s Figures 4 and 5). Rank 1 is preferred most, which for negative attributes is the most "
        "negative view; short lines mean that the models agree.",
        data=Data(("subject", "mean_rank", "std_rank", *own), rows),
        file="unqover-ranks",
        anchor="ranks",
        columns=[
            Column("subject", Kind.TEXT),
            Column("mean rank", Kind.TENTHS),
            Column("mean rank", Kind.DOTS, ends=(1.0, float(len(names)))),
            Column("deviation", Kind.TENTHS),
        ],
        groups=[Group([*map(ranked, first), *gap, *map(ranked, last)])],
    )
