"""BBQ's charts by category and context: bias scores, accuracy, and what stereotypes cost; others build on them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from assay.blocks import Chart, Column, Dot, Group, Kind, Mark, Marked, Row, Table, TableCell, Text, Tools
from assay.findings import Cell, Estimate
from assay.findings import Table as Data
from assay.probes.bbq import category_words, context_words
from assay.probes.bbq.analyse import ALL
from assay.probes.bbq.grid import Grid, behind
from assay.probes.bbq.tally import QUESTION_ONLY
from assay.run import Run
from assay.verdict import Verdict, verdict
from assay.wording import number

GUESSING = 1 / 3
"""The accuracy of choosing one of three options at random."""

PEOPLE, PEOPLE_VOTING = 0.957, 0.997
"""The accuracy of single annotators on BBQ, and of five by vote (Parrish et al. 2022, section 4)."""


def by_category(run: Run, grid: Grid, starter: bool) -> list[Table]:
    bias = Chart(
        title="Bias scores by category",
        how=[
            "right of zero, answers that name a person agree with stereotypes more often than they contradict them; "
            "left, the other way round (as in BBQ’s Figure 3). A hollow dot ",
            *(Mark("hollow"), " could be chance."),
        ],
        file="bbq-bias",
        anchor="bias",
        after=[
            "q is the p-value corrected for the number of categories; above 0.05 a score could be chance. Agreeing "
            "errors is the share of wrongly named people that agrees with the stereotype (0.5 is even-handed); "
            "diff-bias is KoBBQ’s score of the same answers."
        ],
    )
    accuracy = Chart(
        title="Accuracy by category",
        how=[
            *("the share of right answers (as in BBQ’s Figure 5). The tick ", Mark("floor")),
            " is what guessing gives (0.333)",
            *people_said(grid.contexts, starter, f" ({number(PEOPLE)}; Parrish et al. 2022)"),
        ],
        file="bbq-accuracy",
        anchor="accuracy",
        after=[
            "The negative question asks whom something bad is true of, the other question the opposite.",
        ],
    )
    cost = Chart(
        title="What stereotypes cost: accuracy",
        how=[
            "accuracy where the right answer contradicts the stereotype minus accuracy where it agrees, in "
            "disambiguated questions (as in BBQ’s Figure 2). Left of zero, going against the stereotype costs the "
            "model right answers; a hollow dot ",
            *(Mark("hollow"), " could be chance."),
        ],
        file="bbq-accuracy-cost",
        anchor="cost",
    )
    beside = {"error_alignment": "agreeing errors", "diff_bias": "diff-bias"}
    polar = {"accuracy_neg": "negative question", "accuracy_nonneg": "other question"}
    return [
        *chart(run, grid, bias, lines(grid, "bias_score"), Column("bias score", Kind.DOTS), dot, beside),
        *chart(run, grid, accuracy, lines(grid, "accuracy"), SHARES, lambda e: right_dot(e, starter), polar),
        *chart(run, grid, cost, lines(grid, "accuracy_cost"), Column("accuracy cost", Kind.DOTS), dot, contexts=False),
    ]


# --- accuracy

SHARES = Column("accuracy", Kind.DOTS, ends=(0.0, 1.0))


def right_dot(e: Estimate, starter: bool) -> Dot:
    """An accuracy beside what guessing gives and, where they were given the texts, what people reach."""
    told = not starter and e.group["context"] != QUESTION_ONLY
    return replace(dot(e), floor=GUESSING, reference=PEOPLE if told else None)


def people_said(contexts: Sequence[str], starter: bool, more: str = "") -> list[Text]:
    """The end of a sentence that explains the marks of an accuracy."""
    if starter or not set(contexts) - {QUESTION_ONLY}:
        return ["."]
    return [", the tick ", Mark("reference"), f" what single people reach on BBQ{more}."]


# --- any chart

Lines = Sequence[tuple[str, Sequence[Estimate]]]  # with the head that stands beside them


def lines(grid: Grid, metric: str) -> Lines:
    """A metric by category, a line for each context."""
    return [
        (category_words(category), own)
        for category in grid.categories
        if (own := [e for context in grid.contexts if (e := grid.get(metric, category, context))])
    ]


def dot(e: Estimate) -> Dot:
    return Dot(e.value, e.low, e.high, e.floor, hollow=verdict(e) is Verdict.WITHIN)


def measured(e: Estimate) -> tuple[Marked, Marked]:
    """The value and the interval of an estimate; the one that is missing has the note that says why."""
    lacks = e.value is not None and e.low is None
    return Marked(e.value, note=None if lacks else e.note), Marked((e.low, e.high), note=e.note if lacks else None)


def chart(
    run: Run,
    grid: Grid,
    said: Chart,
    groups: Lines,
    drawn: Column,
    draw: Callable[[Estimate], TableCell],
    beside: Mapping[str, str] | None = None,
    *,
    contexts: bool = True,
    group: str = "category",
) -> list[Table]:
    """Estimates with their pictures, none where nothing was measured; `beside` are heads of other metrics."""
    others, estimates = beside or {}, [e for _, own in groups for e in own]
    if not estimates:
        return []
    has_q = any(e.q is not None for e in estimates)
    columns = [
        *([Column("question", Kind.TEXT)] if contexts else []),
        *(drawn, Column(drawn.head, Kind.NUMBER), Column(run.level, Kind.INTERVAL)),
        *([Column("q", Kind.PROBABILITY)] if has_q else []),
        *(Column(head, Kind.NUMBER, wraps=True) for head in others.values()),
        Column("n", Kind.COUNT),
    ]

    def row(e: Estimate) -> Row:
        context = [context_words(e.group["context"])] if contexts else []
        q: list[TableCell] = ["" if e.q is None else e.q] if has_q else []
        near = ("" if other is None else other.value for other in _beside(grid, e, others))
        return Row([*context, draw(e), *measured(e), *q, *near, e.n], behind(e))

    return [
        Table(
            **vars(replace(said, data=_data(grid, estimates, others))),
            columns=columns,
            groups=[Group([row(e) for e in own], head, own[0].group["category"] == ALL) for head, own in groups],
            sort=Tools.GROUPS,
            filter=Tools.GROUPS,
            heads_beside=True,
            group=group,
        )
    ]


def _beside(grid: Grid, e: Estimate, metrics: Mapping[str, str]) -> list[Estimate | None]:
    return [grid.get(metric, e.group["category"], e.group["context"]) for metric in metrics]


def _data(grid: Grid, estimates: Sequence[Estimate], beside: Mapping[str, str]) -> Data:
    keys = list(dict.fromkeys(key for e in estimates for key in e.group))

    def row(e: Estimate) -> list[Cell]:
        near = [None if other is None else other.value for other in _beside(grid, e, beside)]
        return [*(e.group.get(key) for key in keys), e.value, e.low, e.high, e.p, e.q, e.n, *near]

    return Data([*keys, estimates[0].metric, "low", "high", "p", "q", "n", *beside], [row(e) for e in estimates])
