"""Stereotypes about people of two kinds at once: bias scores by how the other person differs from them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import product

from assay.blocks import Block, Chart, Column, Group, Kind, Marked, Name, Part, Row, Table
from assay.probes.bbq import category_words, context_words
from assay.probes.bbq.grid import Grid
from assay.probes.bbq.present_charts import chart, dot
from assay.probes.bbq.present_scores import Score, gap, maps, score_data
from assay.probes.bbq.showcase import comparison_words
from assay.run import Run

MOST_TARGETS = 20  # of each crossed category

_CROSSED = Chart(
    title="Crossed groups",
    how="each square is the bias score of the people whom the stereotype is about, by how the other person differs "
    "from them (as in BBQ’s Figures 9 and 10). Orange: the model agrees with stereotypes about them; blue: it "
    "contradicts these. A click on a square shows examples of it.",
    file="bbq-crossed",
    anchor="crossed",
)


def crossed(run: Run, grid: Grid, found: Sequence[Score]) -> list[Block]:
    """The crossed categories, and the groups that `found` has the scores of."""
    return [
        *_comparisons(run, grid),
        *maps(_CROSSED, _in_words(found), "about whom", "target", "comparison", in_order=True),
        *_in_numbers(run, found),
    ]


def _in_words(found: Sequence[Score]) -> list[Score]:
    """With comparisons in words, those of each context in the order of their letters."""
    by_letter = sorted(found, key=lambda row: row.detail)
    contexts = [row.context for row in found]
    return [
        replace(row, detail=comparison_words(row.category, row.detail))
        for row in sorted(by_letter, key=lambda row: contexts.index(row.context))
    ]


def _comparisons(run: Run, grid: Grid) -> list[Table]:
    """The bias scores of crossed categories, by how the other person differs."""
    found = grid.comparisons
    said = Chart(
        title="Crossed categories",
        how="here the stereotype is about people of two kinds at once, such as Black women; the other person differs "
        "from them in one of the two, or in both (as in BBQ’s Figure 8). A model that follows stereotypes about the "
        "crossing has positive scores in all three comparisons.",
        file="bbq-comparisons",
        anchor="comparisons",
    )
    groups = [
        (
            f"{category_words(category)}: {comparison_words(category, letter)}",
            [found[category, letter, context] for context in grid.contexts if (category, letter, context) in found],
        )
        for category, letter in dict.fromkeys((category, letter) for category, letter, _ in found)
    ]
    column = Column("bias score", Kind.DOTS)
    return chart(run, grid, said, groups, column, dot, group="category: the other person has")


def _in_numbers(run: Run, found: Sequence[Score]) -> list[Part]:
    """The crossed categories; of each at most so many targets, those with the most examples."""
    parts = []
    for number, category in enumerate(dict.fromkeys(row.category for row in found), 1):
        own = {(row.who, row.detail, row.context): row for row in found if row.category == category}
        heads = list(
            product(sorted({row.detail for row in own.values()}), dict.fromkeys(r.context for r in own.values()))
        )
        sizes: Counter[str] = Counter()
        for row in own.values():
            sizes[row.who] += row.n
        chosen = sorted(sorted(sizes, key=lambda who: (-sizes[who], who))[:MOST_TARGETS])
        title = f"Crossed groups in numbers: {category_words(category)}"
        rows = [
            Row(
                [who, *(Marked(s.value, s.clear or None) if (s := own.get((who, *head))) else "" for head in heads)],
                {"category": category, "target": who},
            )
            for who in chosen
        ]
        table = Table(
            title=title,
            how=f"bias scores by whom the stereotype is about; bold where the {run.level} leaves 0 out.",
            data=score_data((row for who in chosen for row in own.values() if row.who == who), "target", "comparison"),
            file="bbq-crossed",
            anchor=f"targets-{number}",
            columns=[
                Column("about whom", Kind.TEXT),
                *(
                    Column(Name(context_words(context)), Kind.NUMBER, over=comparison_words(category, letter))
                    for letter, context in heads
                ),
            ],
            groups=[Group([*rows, *gap(len(sizes) - len(chosen), "", "intersectional")])],
        )
        parts.append(Part("", [table], Name(title), folded=True))
    return parts
