"""Whom the stereotypes are about: bias scores of labels, of labels with single stereotypes, and of crossed groups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from assay.blocks import (
    Beside,
    Block,
    Chart,
    Column,
    Dot,
    Gap,
    Group,
    Heat,
    Kind,
    Marked,
    Name,
    Part,
    Pick,
    Row,
    Table,
    TableCell,
)
from assay.findings import Estimate
from assay.findings import Table as Data
from assay.probes.bbq import category_words, context_words
from assay.probes.bbq.grid import told
from assay.probes.bbq.present_answers import MIN_EXAMPLES
from assay.probes.bbq.showcase import comparison_words
from assay.run import Run
from assay.wording import cell, count, plural

MOST_LABELS = 5  # of each category
MOST_STEREOTYPES = 10
MOST_TARGETS = 20  # of each crossed category

_STEREOTYPES = Chart(
    title="Labels and stereotypes",
    how="each square is the bias score of a label with one stereotype (as in BBQ’s Figure 4). Orange: the model agrees "
    "with the stereotype about these people; blue: it contradicts it. A click on a square shows examples of it.",
    file="bbq-stereotypes",
    anchor="stereotypes",
)
_CROSSED = Chart(
    title="Crossed groups",
    how="each square is the bias score of the people whom the stereotype is about, by how the other person differs "
    "from them (as in BBQ’s Figures 9 and 10). Orange: the model agrees with stereotypes about them; blue: it "
    "contradicts these. A click on a square shows examples of it.",
    file="bbq-crossed",
    anchor="crossed",
)


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


def _data(rows: Iterable[Score], *who: str) -> Data:
    return Data(
        ("category", "context", *who, "bias_score", "low", "high", "n"),
        [[r.category, r.context, *(r.who, r.detail)[: len(who)], r.value, r.low, r.high, r.n] for r in rows],
    )


def _gap(left_out: int, what: str, table: str) -> list[Gap]:
    many = plural(left_out, what) if what else f"{count(left_out)} more"
    return [Gap(f"{many}: tables/{table}.csv")] if left_out > 0 else []


# --- labels


def labels(run: Run, contexts: Sequence[str], without: Collection[str]) -> list[Block]:
    """The labels of categories that are not shown elsewhere, and of all with single stereotypes.

    Where one context has to do, it is the first, in which bias shows most.
    """
    every = read_scores(run, "by_label", "label", "stereotype", contexts)
    shown = [row for row in every if row.n >= MIN_EXAMPLES and row.context == contexts[0]]
    pooled = [row for row in shown if not row.detail and row.category not in without]
    by_category = {
        category: sorted((row for row in pooled if row.category == category), key=lambda row: row.order)
        for category in dict.fromkeys(row.category for row in pooled)
    }
    single = sorted((row for row in shown if row.detail), key=lambda row: row.order)
    kept, strongest = [row for own in by_category.values() for row in own[:MOST_LABELS]], single[:MOST_STEREOTYPES]
    reach = [mark for row in (*kept, *strongest) for mark in (row.value, row.low, row.high)]
    figures = [
        *(Column("bias score", Kind.NUMBER), Column("bias score", Kind.DOTS, reach=reach)),
        *(Column(run.level, Kind.INTERVAL), Column("n", Kind.COUNT)),
    ]
    context = contexts[0] if contexts else ""
    main = Name(context_words(context))
    groups = [
        Group(
            [
                *(Row([row.who, *row.cells], _behind(row, label=row.who)) for row in own[:MOST_LABELS]),
                *_gap(len(own) - MOST_LABELS, "more label", "by_label"),
            ],
            category_words(category),
        )
        for category, own in by_category.items()
    ]
    about = Table(
        title="Who the stereotypes are about",
        how=told(
            "the bias score in {main} questions, by the label of the person whom the stereotype is about, as the data "
            "spell it. Right of zero, the model agrees with stereotypes about these people; a filled dot {dot} marks "
            "an interval that leaves 0 out.",
            main=main,
        ),
        data=_data(kept, "label"),
        file="bbq-labels",
        anchor="labels",
        after=[
            "The clearest of each category come first. Intervals need 5 templates, and are not corrected for the "
            "number of labels."
        ],
        columns=[Column("label", Kind.TEXT), *figures],
        groups=groups,
    )
    rows = [
        Row(
            [[Name(row.who), " (", Name(category_words(row.category)), ")"], row.detail, *row.cells],
            _behind(row, label=row.who, stereotype=row.detail),
        )
        for row in strongest
    ]
    alone = Table(
        title="Single stereotypes",
        how=told(
            "the largest bias scores of a label with a stereotype in {main} questions. Most rest on one or two "
            "templates, too few for an interval: they tell where to look, not what is so.",
            main=main,
        ),
        data=_data(strongest, "label", "stereotype"),
        file="bbq-stereotypes",
        anchor="single",
        columns=[Column("label", Kind.TEXT), Column("stereotype", Kind.TEXT), *figures],
        groups=[Group([*rows, *_gap(len(single) - MOST_STEREOTYPES, "", "by_label")])],
    )
    return [
        *([about] if kept else []),
        *_maps(_STEREOTYPES, [row for row in every if row.detail], "label", "label", "stereotype"),
        *([alone] if strongest else []),
    ]


def _behind(row: Score, **more: str) -> dict[str, str]:
    return {"category": row.category, "context": row.context, **more}


# --- crossed groups


def crossed(run: Run, found: Sequence[Score]) -> list[Block]:
    """Maps and tables of crossed groups by how the other person differs from them."""
    contexts = [row.context for row in found]
    by_letter = sorted(found, key=lambda row: (contexts.index(row.context), row.detail))
    in_words = [replace(row, detail=comparison_words(row.category, row.detail)) for row in by_letter]
    return [
        *_maps(_CROSSED, in_words, "about whom", "target", "comparison", in_order=True),
        *(
            _in_numbers(run, number, category, [row for row in found if row.category == category])
            for number, category in enumerate(dict.fromkeys(row.category for row in found), 1)
        ),
    ]


def _in_numbers(run: Run, number: int, category: str, own: Sequence[Score]) -> Part:
    """A crossed category; at most so many targets, those with the most examples."""
    found = {(row.who, row.detail, row.context): row for row in own}
    heads = list(product(sorted({row.detail for row in own}), dict.fromkeys(row.context for row in own)))
    sizes: Counter[str] = Counter()
    for row in found.values():
        sizes[row.who] += row.n
    chosen = sorted(sorted(sizes, key=lambda who: (-sizes[who], who))[:MOST_TARGETS])
    rows = [
        Row(
            [who, *(Marked(s.value, s.clear or None) if (s := found.get((who, *head))) else "" for head in heads)],
            {"category": category, "target": who},
        )
        for who in chosen
    ]
    title = f"Crossed groups in numbers: {category_words(category)}"
    table = Table(
        title=title,
        how=f"bias scores by whom the stereotype is about; bold where the {run.level} leaves 0 out.",
        data=_data((row for who in chosen for row in found.values() if row.who == who), "target", "comparison"),
        file="bbq-crossed",
        anchor=f"targets-{number}",
        columns=[
            Column("about whom", Kind.TEXT),
            *(
                Column(Name(context_words(context)), Kind.NUMBER, over=comparison_words(category, letter))
                for letter, context in heads
            ),
        ],
        groups=[Group([*rows, *_gap(len(sizes) - len(chosen), "", "intersectional")])],
    )
    return Part("", [table], Name(title), folded=True)


# --- maps

Key = tuple[str, str]  # row, column


def _maps(
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
