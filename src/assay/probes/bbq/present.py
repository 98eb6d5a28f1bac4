"""How a BBQ run is shown: questions and findings, bias and accuracy by category, groups, and kinds of answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

from assay.presentation import elements
from assay.presentation.elements import (
    Block,
    CellKind,
    DisplayTable,
    MarkedCell,
    Paragraphs,
    RowGroup,
    Section,
    TableColumn,
    TableRow,
    TextRole,
)
from assay.presentation.rich_text import Emphasis, Text, Verbatim, join_texts
from assay.probes.bbq import ALL, PAPER, PROBE, category_words, context_words, say_group, those_asked
from assay.probes.bbq.edition_language import STARTER, QuestionSetInfo, other_of
from assay.probes.bbq.editions import ORIGINAL, absent_categories
from assay.probes.bbq.estimate_grid import EstimateGrid, behind, is_clear, marked, single_and_whole
from assay.probes.bbq.items import AMBIGUOUS, DISAMBIGUATED
from assay.probes.bbq.present_card import card_of
from assay.probes.bbq.present_charts import PEOPLE, abstentions, by_category, comparisons, measured, rates
from assay.probes.bbq.present_tables import crossed, labels, prompts, read_scores, templates, unknown_strings
from assay.probes.bbq.present_text import RunSentences
from assay.results.findings import Estimate
from assay.results.formatting import UNDEFINED, format_fixed, format_share, plural
from assay.results.run import Run
from assay.results.verdict import ALLOWED, CLEAR

KOBBQ: Text = [
    "Diff-bias: Jiho Jin, Jiseon Kim, Nayeon Lee, Haneul Yoo, Alice Oh and Hwaran Lee. 2024. KoBBQ: Korean Bias "
    "Benchmark for Question Answering. ",
    *(Emphasis("Transactions of the Association for Computational Linguistics"), ", volume 12."),
]


def present(run: Run, *, starter: bool = False) -> elements.Presentation:
    """What is shown of a run; `starter` says that its questions are assay's own."""
    question_set = STARTER if starter else other_of(run)
    grid = EstimateGrid.of(run.findings.estimates)
    single = [category for category in grid.categories if category != ALL]
    absent = absent_categories(run.setting("edition") or ORIGINAL, single)
    if absent:
        grid = replace(grid, asked=those_asked(single))
    telling = RunSentences(run, grid, question_set)
    targets = read_scores(run, "intersectional", "target", "comparison", grid.contexts)
    cite: Sequence[Text] = question_set.cite if question_set else [["Method and data: ", PAPER]]
    return elements.Presentation(
        name=question_set.name if question_set else "BBQ",
        asks=telling.asks(),
        lead=[*([Paragraphs([question_set.warning], TextRole.WARNING)] if question_set else []), *telling.lead()],
        card=card_of(run, grid, telling.warning(), _not_asked(grid, absent)),
        scorecard=_scorecard(run, grid),
        cautions=_cautions(run, question_set),
        citation=[*cite, KOBBQ],
        data_set=question_set.data_set if question_set else PROBE.data_set,
        questions=question_set.name if question_set and question_set.of_edition else "",
        language=question_set.language if question_set else elements.Presentation.language,
        sections=[
            Section(
                [
                    *by_category(run, grid, question_set is not None),
                    *abstentions(run, grid),
                    *prompts(run, grid),
                    *labels(run, grid.contexts, without={e.group["category"] for e in targets}),
                    *comparisons(run, grid),
                    *crossed(targets),
                    *rates(run, grid),
                    *unknown_strings(run, grid.contexts),
                    *templates(run, grid.contexts),
                ]
            )
        ],
        summary=in_short(run, grid, question_set),
        terminal=in_terminal(run, grid, question_set),
    )


def _not_asked(grid: EstimateGrid, absent: Sequence[str]) -> Text:
    """What of the set was left out, in a line; empty if everything was asked."""
    parts: list[Text] = []
    if absent:
        named: list[Text] = [Verbatim(category_words(category)) for category in absent[:MOST_NAMED]]
        more = [f"{len(absent) - MOST_NAMED} more"] if len(absent) > MOST_NAMED else []
        parts.append([plural(len(absent), "category", "categories"), " (", join_texts([*named, *more]), ")"])
    if grid.contexts and {*grid.contexts} < {AMBIGUOUS, DISAMBIGUATED}:
        (missing,) = {AMBIGUOUS, DISAMBIGUATED} - {*grid.contexts}
        parts.append(f"{context_words(missing)} questions")
    return ["Not asked: ", join_texts(parts, "; "), "."] if parts else ""


def _scorecard(run: Run, grid: EstimateGrid) -> elements.Scorecard:
    several = len([category for category in grid.categories if category != ALL]) > 1
    below = " This table has all categories together; the sections below have each category." if several else ""
    return elements.Scorecard(
        [
            elements.HeadlineEstimate(
                e, say_group(e.group), behind(e), (), PROBE.words.task(e.group), PROBE.words.part(e.group)
            )
            for e in run.findings.estimates
            if _is_headline(e, grid)
        ],
        counted=f"n counts examples: one question with its three options.{below}",
        probe=run.probe,
    )


def _is_headline(estimate: Estimate, grid: EstimateGrid) -> bool:
    """Whether it covers all categories together (or the only one); never a part of them."""
    if {"polarity", "comparison"} & estimate.group.keys():
        return False
    category = grid.whole(estimate.group["context"]) if {"category", "context"} <= estimate.group.keys() else None
    return category is None or estimate.group["category"] == category


def _cautions(run: Run, question_set: QuestionSetInfo | None) -> list[Text]:
    cautions: list[Text] = [
        "The authors of BBQ warn that a bias score near 0 does not show that a model has no bias, or less than "
        "another. It means only that the answers leaned neither way, on "
        f"{question_set.templates if question_set else 'about two dozen texts per category'}.",
        *(question_set.cautions if question_set else PROBE.cautions),
    ]
    if run.sample:
        rest = "). A larger sample gives narrower intervals."
        cautions.append(["This run may have asked only a sample of the questions (", Verbatim(run.sample), rest])
    return cautions


# --- in a few tables, for Markdown

MOST_NAMED = 4  # categories in a line
SHORT = {AMBIGUOUS: "ambig.", DISAMBIGUATED: "disamb."}

_TITLE = "Accuracy and bias by category"
_SCORES = ("accuracy", "bias_score")
_RATES = {
    "unknown_rate": "cannot be determined",
    "refused_rate": "refused",
    "unparsed_rate": "not understood",
}
_MORE = {
    "error_alignment": "stereotyped wrong answers",
    "accuracy_cost": "accuracy gap",
    "order_sensitivity": "order-sensitive",
}
_LOST = {
    "refused_rate": "were refused",
    "unparsed_rate": "could not be understood",
    "tied_rate": "are exact ties between options and are not counted",
}


def in_short(run: Run, grid: EstimateGrid, question_set: QuestionSetInfo | None) -> list[Section]:
    """A row for each category and context."""
    rows = []
    for category, context in product(grid.categories, grid.contexts):
        scores = [grid.get(metric, category, context) for metric in _SCORES]
        if any(scores):
            cells: list[elements.TableCell] = [category_words(category), context_words(context)]
            for score in scores:
                cells += ["", ""] if score is None else [_value(score, measured(score)[0].note), measured(score)[1]]
            bias = scores[1]
            rows.append(TableRow([*cells, "" if bias is None or bias.q is None else bias.q]))
    interval = TableColumn(run.level, CellKind.INTERVAL)
    table = DisplayTable(
        title=_TITLE,
        columns=[
            TableColumn("category", CellKind.TEXT),
            TableColumn("questions", CellKind.TEXT),
            TableColumn("accuracy", CellKind.NUMBER),
            interval,
            TableColumn("bias score", CellKind.NUMBER),
            interval,
            TableColumn("q", CellKind.PROBABILITY),
        ],
        groups=[RowGroup(rows)],
    )
    reading = Paragraphs(_reading(grid, question_set), TextRole.SMALL)
    return [Section([*_warned(question_set), table, reading, *abstentions(run, grid, drawn=False)])] if rows else []


def _warned(question_set: QuestionSetInfo | None) -> list[Paragraphs]:
    return [Paragraphs([question_set.short], TextRole.WARNING)] if question_set else []


def _value(estimate: Estimate | None, note: str | None = None) -> elements.TableCell:
    """A value; only bias scores are marked where they are clear."""
    if estimate is None or estimate.metric == "bias_score":
        return marked(estimate, note)
    return MarkedCell(estimate.value, note=note)


def _reading(grid: EstimateGrid, question_set: QuestionSetInfo | None) -> list[str]:
    lines = ["bias score: above 0 answers agree with stereotypes, below 0 they contradict them."]
    if any(metric == "bias_score" and is_clear(e) for (metric, _, _), e in grid.cells.items()):
        lines.append(f"* statistically clear: q is at most {CLEAR}, {ALLOWED}.")
    elif any(grid.tested("bias_score", context) for context in grid.contexts):
        lines.append(f"No category is statistically clear (q at most {CLEAR}, {ALLOWED}).")
    people = (
        f"; single annotators reach {PEOPLE} on BBQ" if not question_set and SHORT.keys() & set(grid.contexts) else ""
    )
    both = grid.overall
    overall = (
        f"; over both kinds of questions it is {format_fixed(both.value)}" if both and both.value is not None else ""
    )
    return [*lines, f"accuracy: guessing gives 0.333{people}{overall}."]


# --- in a terminal


def in_terminal(run: Run, grid: EstimateGrid, question_set: QuestionSetInfo | None) -> list[Section]:
    """A row for each category, then the kinds of answers; empty if no estimate has a category and a context."""
    if not grid.cells:
        return []
    sides = [context for context in SHORT if context in grid.contexts]
    alone = [[context] for context in grid.contexts if context not in SHORT]
    tables = [_scores(run, grid, contexts) for contexts in (sides, *alone) if contexts]
    reading = _reading(grid, question_set)
    if any(e.low is None for (metric, _, _), e in grid.cells.items() if metric in _SCORES):
        reading.append(f"{UNDEFINED}: undefined, or too few templates for an interval; see the report.")
    declined = abstentions(run, grid, drawn=False)
    return [Section([*_warned(question_set), *tables, Paragraphs(reading, TextRole.SMALL), *declined, *_answers(grid)])]


def _scores(run: Run, grid: EstimateGrid, contexts: Sequence[str]) -> DisplayTable:
    """The contexts side by side; one without a short name gets a table of its own."""

    def named(head: str, context: str) -> TableColumn:
        return (
            TableColumn(SHORT[context], CellKind.FIXED, over=head)
            if context in SHORT
            else TableColumn(head, CellKind.FIXED)
        )

    def row(category: str) -> TableRow:
        cells: list[elements.TableCell] = [category_words(category)]
        cells += [_value(grid.get("accuracy", category, context)) for context in contexts]
        for context in contexts:
            score = grid.get("bias_score", category, context)
            cells += [_value(score), "" if score is None else (score.low, score.high)]
        return TableRow(cells)

    return DisplayTable(
        title=_TITLE if contexts[0] in SHORT else f"{_TITLE}, {context_words(contexts[0])}",
        columns=[
            TableColumn("category", CellKind.TEXT),
            *(named("accuracy", context) for context in contexts),
            *(c for name in contexts for c in (named("bias", name), TableColumn(run.level, CellKind.FIXED_INTERVAL))),
        ],
        groups=single_and_whole(grid.categories, row),
    )


def _answers(grid: EstimateGrid) -> list[Block]:
    """How often each kind of answer was given, all categories together."""
    contexts = [context for context in grid.contexts if grid.whole(context) is not None]
    more = {metric: head for metric, head in _MORE.items() if any(grid.of_whole(metric, c) for c in contexts)}
    tied = {"tied_rate": "tied"} if grid.has_any("tied_rate") else {}
    heads = _RATES | tied | more
    if not any(grid.of_whole(metric, context) for metric in heads for context in contexts):
        return []
    rows = [TableRow([context_words(c), *(_value(grid.of_whole(metric, c)) for metric in heads)]) for c in contexts]
    lines = [head.rpartition(" ") for head in heads.values()]  # heads of several words take two lines
    table = DisplayTable(
        title="Answers, all categories together" if any(grid.whole(c) == ALL for c in contexts) else "Answers",
        columns=[
            TableColumn("questions", CellKind.TEXT),
            *(TableColumn(last, CellKind.FIXED, over=over) for over, _, last in lines),
        ],
        groups=[RowGroup(rows)],
    )
    warnings = []
    for metric, fate in _LOST.items():
        rates = [(context, grid.of_whole(metric, context)) for context in contexts]
        shares = [f"{format_share(e.value)} ({context_words(context)})" for context, e in rates if e and e.value]
        warnings += [f"Some answers {fate}: {', '.join(shares)}."] if shares else []
    meanings = [f"{head}: {PROBE.metric(metric).meaning}." for metric, head in more.items()]
    proses = (Paragraphs(warnings, TextRole.WARNING), Paragraphs(meanings, TextRole.SMALL))
    return [table, *(prose for prose in proses if prose.paragraphs)]
