"""How often a model declines where the text gives the answer, and to say what, by category."""

from __future__ import annotations

from collections.abc import Sequence

from assay.presentation.elements import (
    CellKind,
    DisplayTable,
    DotCell,
    MarkedCell,
    RowGroup,
    TableCell,
    TableColumn,
    TableRow,
    TableTools,
)
from assay.probes.bbq import ALL, category_words
from assay.probes.bbq.estimate_grid import EstimateGrid, behind, fill_slots, is_clear
from assay.probes.bbq.items import DISAMBIGUATED
from assay.results.findings import Estimate
from assay.results.findings import Table as Data
from assay.results.formatting import UNDEFINED, format_count
from assay.results.run import Run

TITLE = "Declined answers: with and against stereotypes"
_METRICS = ("abstention", "abstention_gap", "abstention_share", "wrong_persons")


def abstentions(run: Run, grid: EstimateGrid, *, drawn: bool = True) -> list[DisplayTable]:
    """A row for each category; without `drawn`, which is for a terminal, only if something was declined. Empty for a
    run that has no such numbers.
    """
    found = {
        category: [grid.get(metric, category, DISAMBIGUATED) for metric in _METRICS] for category in grid.categories
    }
    found = {category: own for category, own in found.items() if own[0] is not None}
    if not found or not (drawn or any(own[0] and own[0].value for own in found.values())):
        return []

    def row(category: str) -> TableRow:
        rate, gap, among, wrong = found[category]
        cells: list[TableCell] = [category_words(category), rate.value if rate else ""]
        drawing = [DotCell(gap.value, gap.low, gap.high, hollow=gap.could_be_chance) if gap else ""] if drawn else []
        if gap is None:
            cells += [*drawing, "", "", ""]
        else:
            value = MarkedCell(gap.value, is_clear(gap) or None, gap.note if drawn else None)
            cells += [*drawing, value, (gap.low, gap.high), "" if gap.q is None else gap.q]
        return TableRow([*cells, _of(among), _of(wrong)], behind(rate) if rate else None)

    single = [row(category) for category in found if category != ALL]
    whole = [RowGroup([row(ALL)], whole=True)] if ALL in found else []
    return [
        DisplayTable(
            title=TITLE,
            how=fill_slots(
                "“declined” is how often the model chose “cannot be determined” where the text gives the answer. Right "
                "of zero, it declines more often where that answer confirms a stereotype; left of zero, where it "
                "contradicts one. A hollow dot {hollow} is not clear."
            ),
            data=_data(found),
            file="bbq-abstention",
            anchor="abstention",
            columns=[
                *(TableColumn("category", CellKind.TEXT), TableColumn("declined", CellKind.SHARE)),
                *([TableColumn("abstention gap", CellKind.DOTS)] if drawn else []),
                *(
                    TableColumn("abstention gap" if drawn else "gap", CellKind.FIXED),
                    TableColumn(run.level, CellKind.FIXED_INTERVAL),
                ),
                TableColumn("q", CellKind.PROBABILITY),
                *([TableColumn("of wrong answers, declined", CellKind.COUNT, wraps=True)] if drawn else []),
                *([TableColumn("of persons named, wrong", CellKind.COUNT, wraps=True)] if drawn else []),
                *([] if drawn else [TableColumn("declined", CellKind.COUNT, over="wrong answers:")]),
                *([] if drawn else [TableColumn("wrong", CellKind.COUNT, over="persons named:")]),
            ],
            groups=[RowGroup(single), *whole],
            sort=TableTools.ROWS,
        )
    ]


def _of(share: Estimate | None) -> str:
    """A share as counts.

    >>> _of(Estimate("wrong_persons", {}, 0.02, n=450)), _of(None)
    ('9 of 450', '–')
    """
    if share is None or share.value is None:
        return UNDEFINED
    return f"{format_count(round(share.value * share.n))} of {format_count(share.n)}"


def _data(found: dict[str, list[Estimate | None]]) -> Data:
    numbers = ("value", "low", "high", "q", "n")
    columns = ["category", *(f"{metric}_{name}" for metric in _METRICS for name in numbers)]

    def cells(estimates: Sequence[Estimate | None]) -> list[float | None]:
        return [None if e is None else getattr(e, name) for e in estimates for name in numbers]

    return Data(columns, [[category, *cells(own)] for category, own in found.items()])
