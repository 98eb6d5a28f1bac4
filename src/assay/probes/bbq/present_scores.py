"""Bias scores of groups of people as the long tables have them, and as heat maps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from assay.blocks import Beside, Chart, Dot, Gap, Heat, Part, Pick, TableCell
from assay.findings import Estimate
from assay.findings import Table as Data
from assay.probes.bbq import category_words, context_words
from assay.run import Run
from assay.wording import cell, count, plural


@dataclass(frozen=True)
class Score:
    """The bias score of a group of people, for a stereotype or a comparison where `detail` names one."""

    category: str
    context: str
    who: str
    detail: str
    value: float
    low: float | None
    high: float | None
    n: int

    @property
    def clear(self) -> bool:
        """Whether its interval leaves 0 out. These intervals are not corrected for the number of groups."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)

    @property
    def order(self) -> tuple[bool, bool, float, str, str, str]:
        """Sorts what is clear of 0 first, then what has an interval, then by size: small groups score far by chance."""
        return not self.clear, self.low is None, -abs(self.value), self.category, self.who, self.detail

    @property
    def cells(self) -> list[TableCell]:
        drawn = Dot(self.value, self.low, self.high, hollow=not self.clear)
        return [self.value, drawn, (self.low, self.high), self.n]


def read_scores(run: Run, table: str, who: str, detail: str, contexts: Sequence[str]) -> list[Score]:
    """The rows of a table that have a bias score, by context."""
    found = []
    for row in run.rows(table):
        value, low, high, n = (run.number(table, row, column) for column in ("bias_score", "low", "high", "n"))
        if value is not None and n and cell(row, "context") in contexts:
            place = cell(row, "category"), cell(row, "context"), cell(row, who), cell(row, detail)
            found.append(Score(*place, value, low, high, int(n)))
    return sorted(found, key=lambda row: contexts.index(row.context))


def score_data(rows: Iterable[Score], *who: str) -> Data:
    return Data(
        ("category", "context", *who, "bias_score", "low", "high", "n"),
        [[r.category, r.context, *(r.who, r.detail)[: len(who)], r.value, r.low, r.high, r.n] for r in rows],
    )


def gap(left_out: int, what: str, table: str) -> list[Gap]:
    many = plural(left_out, what) if what else f"{count(left_out)} more"
    return [Gap(f"{many}: tables/{table}.csv")] if left_out > 0 else []


# --- maps

Key = tuple[str, str]  # row, column


def maps(
    said: Chart, found: Sequence[Score], row: str, row_key: str, column: str, *, in_order: bool = False
) -> list[Pick]:
    """A map for each category and context, all on one scale, so that colours mean the same in each."""
    parts: list[Part] = []
    categories, contexts = (dict.fromkeys(getattr(each, key) for each in found) for key in ("category", "context"))
    for category, context in product(categories, contexts):
        own = {(each.who, each.detail): each for each in found if (each.category, each.context) == (category, context)}
        if not own:
            continue
        name = f"{category_words(category)}, {context_words(context)}"
        cells, beside = map_of(own, ("low", "high", "n"))
        shown = replace(said, title=f"{said.title}: {name}", anchor=f"{said.anchor}-{len(parts) + 1}")
        heat = Heat(
            **vars(shown),
            name=name,
            row=row,
            column=column,
            value="bias score",
            cells=cells,
            beside=beside,
            columns=[each.detail for each in found] if in_order else None,
            reach=[each.value for each in found],
            examples={"category": category, "context": context},
            row_key=row_key,
            column_key=column,
        )
        parts.append(Part(name, [heat], folded=True, open=not parts))
    return [Pick(label=f"{said.title} of", parts=parts)] if parts else []


def map_of(own: Mapping[Key, Score | Estimate], names: Sequence[str]) -> tuple[dict[Key, float], Beside]:
    """The cells of a map, and the numbers beside them as far as any is known."""
    beside = {name: {key: _rounded(getattr(each, name)) for key, each in own.items()} for name in names}
    return (
        {key: value for key, each in own.items() if (value := _rounded(each.value)) is not None},
        {name: numbers for name, numbers in beside.items() if any(value is not None for value in numbers.values())},
    )


def _rounded(value: float | None) -> float | None:
    """To what a reader can use, which keeps the page small."""
    return None if value is None else float(f"{value:.5g}")
