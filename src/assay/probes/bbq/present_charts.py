"""BBQ's charts by category and context: bias scores, accuracy, its gap, kinds of answers, and declined answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from assay.presentation import elements
from assay.presentation.elements import (
    BarCell,
    CellKind,
    Chart,
    DisplayTable,
    DotCell,
    HeatMap,
    MarkedCell,
    RowGroup,
    TableColumn,
    TableRow,
    TableTools,
)
from assay.probes.bbq import ALL, category_words, comparison_words, context_words
from assay.probes.bbq.estimate_grid import EstimateGrid, behind, fill_slots, is_clear, marked, single_and_whole
from assay.probes.bbq.items import DISAMBIGUATED
from assay.probes.bbq.tallies import QUESTION_ONLY
from assay.results.findings import Cell, Estimate
from assay.results.findings import Table as Data
from assay.results.formatting import UNDEFINED, format_count, format_number
from assay.results.run import Run

GUESSING = 1 / 3
"""The accuracy of choosing one of three options at random."""

PEOPLE, PEOPLE_VOTING = 0.957, 0.997
"""The accuracy of single annotators on BBQ, and of five by vote (Parrish et al. 2022, section 4)."""

SHARES = TableColumn("accuracy", CellKind.DOTS, ends=(0.0, 1.0))
_SCORES = TableColumn("bias score", CellKind.DOTS)

_BIAS = Chart(
    title="Bias scores by category",
    how=fill_slots(
        "right of zero, answers that name a person agree with stereotypes more often than they contradict them; left "
        "of zero, they contradict them more often (as in BBQ’s Figure 3). A filled dot {dot} is statistically clear "
        "(q ≤ 0.05 after correction); a hollow dot {hollow} is not."
    ),
    file="bbq-bias",
    anchor="bias",
    after=[
        "q is the p-value corrected for the number of categories and kinds of questions (for all categories together: "
        "the kinds of questions). The stereotyped share of wrong answers counts the wrong answers that name a person "
        "(0.5 is even-handed). Diff-bias is KoBBQ’s score of the same answers."
    ],
)
_ACCURACY = Chart(
    title="Accuracy by category",
    file="bbq-accuracy",
    anchor="accuracy",
    after=["The negative question asks who did or is something bad, the other question the opposite."],
)
_COST = Chart(
    title="Accuracy gap: with and against stereotypes",
    how=fill_slots(
        "accuracy where the right answer contradicts the stereotype minus accuracy where it agrees, in disambiguated "
        "questions (as in BBQ’s Figure 2). Left of zero, the model is right less often when the truth contradicts the "
        "stereotype. A hollow dot {hollow} is not clear."
    ),
    file="bbq-accuracy-cost",
    anchor="cost",
)
_COMPARISONS = Chart(
    title="Crossed categories",
    how="here the stereotype is about a combination of two attributes, such as Black women; the other person differs "
    "in one of the two, or in both (as in BBQ’s Figure 8). A model that follows stereotypes about the combination has "
    "positive scores in all three comparisons.",
    file="bbq-comparisons",
    anchor="comparisons",
)
_RATES = Chart(
    title="“Cannot be determined”, refusals and answers that were not understood",
    how=fill_slots(
        "each bar is all answers: {part0} named someone, {part1} chose “cannot be determined”, {part2} refused, "
        "{part3} not understood. “Cannot be determined” is always right in ambiguous questions, and never in "
        "disambiguated ones."
    ),
    file="bbq-rates",
    anchor="rates",
)


def by_category(run: Run, grid: EstimateGrid, starter: bool) -> list[DisplayTable]:
    people = people_said(grid.contexts, starter, f" ({format_number(PEOPLE)}; Parrish et al. 2022)")
    reading = "the share of right answers (as in BBQ’s Figure 5). The tick {floor} is the chance level (0.333)" + people
    accuracy = replace(_ACCURACY, how=fill_slots(reading))
    beside = {"error_alignment": "stereotyped share of wrong answers", "diff_bias": "diff-bias"}
    polar = {"accuracy_neg": "negative question", "accuracy_nonneg": "other question"}
    gap = TableColumn("accuracy gap", CellKind.DOTS)
    return [
        *_chart(run, grid, _BIAS, _lines(grid, "bias_score"), _SCORES, dot, beside),
        *_chart(run, grid, accuracy, _lines(grid, "accuracy"), SHARES, lambda e: right_dot(e, starter), polar),
        *_chart(run, grid, _COST, _lines(grid, "accuracy_cost"), gap, dot, contexts=False),
    ]


def comparisons(run: Run, grid: EstimateGrid) -> list[DisplayTable]:
    """The bias scores of crossed categories, by how the other person differs."""
    scores = grid.comparisons
    lines = [
        (
            f"{category_words(category)}: {comparison_words(category, letter)}",
            [scores[category, letter, context] for context in grid.contexts if (category, letter, context) in scores],
        )
        for category, letter in dict.fromkeys((category, letter) for category, letter, _ in scores)
    ]
    return _chart(run, grid, _COMPARISONS, lines, _SCORES, dot, group="category: the other person has")


# --- accuracy


def right_dot(accuracy: Estimate, starter: bool) -> DotCell:
    """An accuracy with the chance level and, if there is a text, the accuracy of people."""
    compared = not starter and accuracy.group["context"] != QUESTION_ONLY
    return replace(dot(accuracy), floor=GUESSING, reference=PEOPLE if compared else None)


def people_said(contexts: Sequence[str], starter: bool, more: str = "") -> str:
    """The end of a sentence that explains the marks of an accuracy."""
    if starter or not set(contexts) - {QUESTION_ONLY}:
        return "."
    return f", the tick {{reference}} the accuracy of single annotators on BBQ{more}."


# --- kinds of answers

KINDS = {
    "named": "named someone",
    "unknown": "cannot be determined",
    "refused": "refused",
    "unparsed": "not understood",
    "tied": "tied",
}
"""The kinds of answers, and what the page calls them."""


def rates(run: Run, grid: EstimateGrid) -> list[DisplayTable]:
    """The share of each kind of answer; each bar is all answers."""
    names = list(KINDS.values())
    beside, reading = {"refused_rate": "refused", "unparsed_rate": "not understood"}, _RATES.how
    after = (
        "“Cannot be determined” includes all phrasings of it. It and “refused” are shares of the answers that were "
        "understood; “not understood” is a share of all answers."
    )
    if grid.has_any("tied_rate"):
        beside["tied_rate"] = "tied"
        reading = [reading, fill_slots(" {part4} tied: several options share exactly the highest score.")]
        after += " “Tied” is also a share of all answers. Neither counts in any other number."
    if grid.has_any("out_of_choice_rate"):
        beside["out_of_choice_rate"] = "out of choice"
        after += " “Out of choice” is KoBBQ’s ratio: the share of all answers that are refused or not understood."
    if any(metric == "order_sensitivity" for metric, _, _ in grid.cells):
        beside["order_sensitivity"] = "order-sensitive"
        after += " “Order-sensitive” is the share of questions whose answer changes with the order of the options."

    def shares(unknown: Estimate) -> dict[str, float]:
        return _kinds(grid, unknown, run.setting("refusals"))

    def bar(unknown: Estimate) -> elements.TableCell:
        named = {KINDS[kind]: share for kind, share in shares(unknown).items()}
        return BarCell({name: share for name, share in named.items() if share or name in names[:2]}) if named else ""

    chart = replace(_RATES, how=reading, after=[after])
    column = TableColumn("cannot be determined", CellKind.BARS, parts=names)
    more = tuple(KINDS), lambda e: [shares(e).get(kind) for kind in KINDS]
    return _chart(run, grid, chart, _lines(grid, "unknown_rate"), column, bar, beside, more)


def _kinds(grid: EstimateGrid, unknown: Estimate, refusals: str) -> dict[str, float]:
    """The kinds of answers as shares of all answers."""
    if unknown.value is None:
        return {}
    key = unknown.group["category"], unknown.group["context"]
    estimates = (grid.get(metric, *key) for metric in ("refused_rate", "unparsed_rate", "tied_rate"))
    refused, lost, tied = (0.0 if e is None or e.value is None else e.value for e in estimates)
    declined = unknown.value - (refused if refusals == "unknown" else 0.0)  # there UNKNOWN includes refusals
    understood = (max(0.0, share) * (1.0 - lost - tied) for share in (1.0 - declined - refused, declined, refused))
    return dict(zip(KINDS, (*understood, lost, tied), strict=True))


# --- declined answers

ABSTENTION = "Declined answers: with and against stereotypes"
_DECLINED = ("abstention", "abstention_gap", "abstention_share", "wrong_persons")


def abstentions(run: Run, grid: EstimateGrid, *, drawn: bool = True) -> list[DisplayTable]:
    """How often a model declines where the text gives the answer, and to say what: a row for each category.

    Without `drawn`, which is for a terminal, only if something was declined. Empty for a run that has no such numbers.
    """
    numbers = ("value", "low", "high", "q", "n")
    by_category = {
        category: [grid.get(metric, category, DISAMBIGUATED) for metric in _DECLINED] for category in grid.categories
    }
    by_category = {category: estimates for category, estimates in by_category.items() if estimates[0] is not None}
    if not by_category or not (drawn or any(estimates[0] and estimates[0].value for estimates in by_category.values())):
        return []

    def row(category: str) -> TableRow:
        rate, gap, among, wrong = by_category[category]
        cells: list[elements.TableCell] = [category_words(category), rate.value if rate else ""]
        cells += ([dot(gap)] if gap else [""]) if drawn else []
        if gap is None:
            cells += ["", "", ""]
        else:
            cells += [marked(gap, gap.note if drawn else None), (gap.low, gap.high), "" if gap.q is None else gap.q]
        return TableRow([*cells, _as_counts(among), _as_counts(wrong)], behind(rate) if rate else None)

    if drawn:
        shares = [
            TableColumn("of wrong answers, declined", CellKind.COUNT, wraps=True),
            TableColumn("of persons named, wrong", CellKind.COUNT, wraps=True),
        ]
    else:
        shares = [
            TableColumn("declined", CellKind.COUNT, over="wrong answers:"),
            TableColumn("wrong", CellKind.COUNT, over="persons named:"),
        ]
    return [
        DisplayTable(
            title=ABSTENTION,
            how=fill_slots(
                "“declined” is how often the model chose “cannot be determined” where the text gives the answer. Right "
                "of zero, it declines more often where that answer confirms a stereotype; left of zero, where it "
                "contradicts one. A hollow dot {hollow} is not clear."
            ),
            data=Data(
                ["category", *(f"{metric}_{name}" for metric in _DECLINED for name in numbers)],
                [
                    [category, *(None if e is None else getattr(e, name) for e in estimates for name in numbers)]
                    for category, estimates in by_category.items()
                ],
            ),
            file="bbq-abstention",
            anchor="abstention",
            columns=[
                TableColumn("category", CellKind.TEXT),
                TableColumn("declined", CellKind.SHARE),
                *([TableColumn("abstention gap", CellKind.DOTS)] if drawn else []),
                TableColumn("abstention gap" if drawn else "gap", CellKind.FIXED),
                TableColumn(run.level, CellKind.FIXED_INTERVAL),
                TableColumn("q", CellKind.PROBABILITY),
                *shares,
            ],
            groups=single_and_whole(by_category, row),
        )
    ]


def _as_counts(share: Estimate | None) -> str:
    """A share as counts.

    >>> _as_counts(Estimate("wrong_persons", {}, 0.02, n=450)), _as_counts(None)
    ('9 of 450', '–')
    """
    if share is None or share.value is None:
        return UNDEFINED
    return f"{format_count(round(share.value * share.n))} of {format_count(share.n)}"


# --- any chart

Lines = Sequence[tuple[str, Sequence[Estimate]]]  # each with its head


def _lines(grid: EstimateGrid, metric: str) -> Lines:
    """A metric by category, a line for each context."""
    return [
        (category_words(category), estimates)
        for category in grid.categories
        if (estimates := [e for context in grid.contexts if (e := grid.get(metric, category, context))])
    ]


def dot(estimate: Estimate) -> DotCell:
    return DotCell(estimate.value, estimate.low, estimate.high, estimate.floor, hollow=estimate.could_be_chance)


def measured(estimate: Estimate) -> tuple[MarkedCell, MarkedCell]:
    """The value and the interval of an estimate; the note goes to the one that is missing."""
    notes = (None, estimate.note) if estimate.value is not None and estimate.low is None else (estimate.note, None)
    return MarkedCell(estimate.value, note=notes[0]), MarkedCell((estimate.low, estimate.high), note=notes[1])


def _chart(
    run: Run,
    grid: EstimateGrid,
    chart: Chart,
    lines: Lines,
    column: TableColumn,
    draw: Callable[[Estimate], elements.TableCell],
    beside: Mapping[str, str] | None = None,
    more: tuple[Sequence[str], Callable[[Estimate], Sequence[Cell]]] = ((), lambda e: ()),
    *,
    contexts: bool = True,
    group: str = "category",
) -> list[DisplayTable]:
    """A chart of estimates; empty if nothing was measured.

    `beside` has the heads of other metrics, `more` columns that only the data have.
    """
    heads, estimates = beside or {}, [e for _, of_line in lines for e in of_line]
    if not estimates:
        return []
    has_q = any(e.q is not None for e in estimates)
    keys = list(dict.fromkeys(key for e in estimates for key in e.group))

    def near(estimate: Estimate, absent: str | None) -> list[str | float | None]:
        others = (grid.get(metric, estimate.group["category"], estimate.group["context"]) for metric in heads)
        return [absent if e is None else e.value for e in others]

    def row(estimate: Estimate) -> TableRow:
        context = [context_words(estimate.group["context"])] if contexts else []
        q: list[elements.TableCell] = ["" if estimate.q is None else estimate.q] if has_q else []
        numbers = [*measured(estimate), *q, *near(estimate, ""), estimate.n]
        return TableRow([*context, draw(estimate), *numbers], behind(estimate))

    data = Data(
        [*keys, estimates[0].metric, "low", "high", "p", "q", "n", *heads, *more[0]],
        [
            [*map(e.group.get, keys), e.value, e.low, e.high, e.p, e.q, e.n, *near(e, None), *more[1](e)]
            for e in estimates
        ],
    )
    return [
        DisplayTable(
            **vars(replace(chart, data=data)),
            columns=[
                *([TableColumn("questions", CellKind.TEXT)] if contexts else []),
                column,
                TableColumn(column.head, CellKind.NUMBER),
                TableColumn(run.level, CellKind.INTERVAL),
                *([TableColumn("q", CellKind.PROBABILITY)] if has_q else []),
                *(TableColumn(head, CellKind.NUMBER, wraps=True) for head in heads.values()),
                TableColumn("n", CellKind.COUNT),
            ],
            groups=[
                RowGroup([row(e) for e in of_line], head, of_line[0].group["category"] == ALL)
                for head, of_line in lines
            ],
            sort=TableTools.GROUPS,
            filter=TableTools.GROUPS,
            heads_beside=True,
            group=group,
        )
    ]


def heat_map(
    chart: Chart, cells: Mapping[tuple[str, str], Estimate], number: int, title: str, **fields: Any
) -> HeatMap:
    """The estimates by row and column as one of several maps, with other numbers about them that are known."""
    beside = {name: {key: _rounded(getattr(e, name)) for key, e in cells.items()} for name in ("low", "high", "q", "n")}
    return HeatMap(
        **vars(replace(chart, title=title, anchor=f"{chart.anchor}-{number}")),
        cells={key: value for key, e in cells.items() if (value := _rounded(e.value)) is not None},
        beside={name: numbers for name, numbers in beside.items() if any(n is not None for n in numbers.values())},
        unclear={key for key, e in cells.items() if not is_clear(e)},
        **fields,
    )


def _rounded(value: float | None) -> float | None:
    """Rounded to what a reader can use, to keep the page small."""
    return None if value is None else float(f"{value:.5g}")
