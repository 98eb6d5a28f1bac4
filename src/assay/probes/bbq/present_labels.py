"""Whom the stereotypes are about: bias scores of labels, and of labels with single stereotypes."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from assay.blocks import Block, Chart, Column, Group, Kind, Mark, Name, Row, Table
from assay.examples import Wanted
from assay.probes.bbq import category_words, context_words
from assay.probes.bbq.present_answers import MIN_EXAMPLES
from assay.probes.bbq.present_scores import Score, gap, maps, read_scores, score_data
from assay.run import Run

MOST_LABELS = 5  # of each category
MOST_STEREOTYPES = 10

_STEREOTYPES = Chart(
    title="Labels and stereotypes",
    how="each square is the bias score of a label with one stereotype (as in BBQ’s Figure 4). Orange: the model agrees "
    "with the stereotype about these people; blue: it contradicts it. A click on a square shows examples of it.",
    file="bbq-stereotypes",
    anchor="stereotypes",
)


def labels(run: Run, contexts: Sequence[str], without: Collection[str]) -> list[Block]:
    """The labels of categories that are not shown elsewhere, and of all with single stereotypes.

    Where one context has to do, it is the first, in which bias shows most.
    """
    every = read_scores(run, "by_label", "label", "stereotype", contexts)
    shown = [row for row in every if row.n >= MIN_EXAMPLES and row.context == contexts[0]]
    pooled = [row for row in shown if not row.detail and row.category not in without]
    first = [
        (category, sorted((row for row in pooled if row.category == category), key=lambda row: row.order))
        for category in dict.fromkeys(row.category for row in pooled)
    ]
    kept = [row for _, own in first for row in own[:MOST_LABELS]]
    single = sorted((row for row in shown if row.detail), key=lambda row: row.order)
    strongest = single[:MOST_STEREOTYPES]
    reach = [mark for row in (*kept, *strongest) for mark in (row.value, row.low, row.high)]
    figures = [
        *(Column("bias score", Kind.NUMBER), Column("bias score", Kind.DOTS, reach=reach)),
        *(Column(run.level, Kind.INTERVAL), Column("n", Kind.COUNT)),
    ]
    main = Name(context_words(contexts[0]) if contexts else "")
    about = Table(
        title="Who the stereotypes are about",
        how=[
            *("the bias score in ", main, " questions, by the label of the person whom the stereotype is about, as "),
            "the data spell it. Right of zero, the model agrees with stereotypes about these people; a filled dot ",
            *(Mark("dot"), " marks an interval that leaves 0 out."),
        ],
        data=score_data(kept, "label"),
        file="bbq-labels",
        anchor="labels",
        after=[
            "The clearest of each category come first. Intervals need 5 templates, and are not corrected for the "
            "number of labels."
        ],
        columns=[Column("label", Kind.TEXT), *figures],
        groups=[
            Group(
                [
                    *(Row([row.who, *row.cells], _behind(row, label=row.who)) for row in own[:MOST_LABELS]),
                    *gap(len(own) - MOST_LABELS, "more label", "by_label"),
                ],
                category_words(category),
            )
            for category, own in first
        ],
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
        how=[
            *("the largest bias scores of a label with a stereotype in ", main, " questions. Most rest on one or two "),
            "templates, too few for an interval: they tell where to look, not what is so.",
        ],
        data=score_data(strongest, "label", "stereotype"),
        file="bbq-stereotypes",
        anchor="single",
        columns=[Column("label", Kind.TEXT), Column("stereotype", Kind.TEXT), *figures],
        groups=[Group([*rows, *gap(len(single) - MOST_STEREOTYPES, "", "by_label")])],
    )
    return [
        *([about] if kept else []),
        *maps(_STEREOTYPES, [row for row in every if row.detail], "label", "label", "stereotype"),
        *([alone] if strongest else []),
    ]


def _behind(row: Score, **more: str) -> Wanted:
    return {"category": row.category, "context": row.context, **more}
