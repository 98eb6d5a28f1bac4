"""How a BBQ run is shown: questions and findings, bias and accuracy by category, groups, and kinds of answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

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
from assay.probes.bbq.estimate_grid import EstimateGrid, behind, is_clear
from assay.probes.bbq.items import AMBIGUOUS, DISAMBIGUATED
from assay.probes.bbq.present_abstention import abstentions
from assay.probes.bbq.present_card import card_of
from assay.probes.bbq.present_charts import PEOPLE, by_category, comparisons, measured, rates
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
    other = STARTER if starter else other_of(run)
    grid = EstimateGrid.of(run.findings.estimates)
    single = [category for category in grid.categories if category != ALL]
    absent = absent_categories(run.setting("edition") or ORIGINAL, single)
    if absent:
        grid = replace(grid, asked=those_asked(single))
    telling = RunSentences(run, grid, other)
    targets = read_scores(run, "intersectional", "target", "comparison", grid.contexts)
    cite: Sequence[Text] = other.cite if other else [["Method and data: ", PAPER]]
    return elements.Presentation(
        name=other.name if other else "BBQ",
        asks=telling.asks(),
        lead=[*([Paragraphs([other.warning], TextRole.WARNING)] if other else []), *telling.lead()],
        card=card_of(run, grid, telling.warning(), _not_asked(grid, absent)),
        scorecard=_scorecard(run, grid),
        cautions=_cautions(run, other),
        citation=[*cite, KOBBQ],
        data_set=other.data_set if other else PROBE.data_set,
        questions=other.name if other and other.of_edition else "",
        language=other.language if other else elements.Presentation.language,
        sections=[
            Section(
                [
                    *by_category(run, grid, other is not None),
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
        summary=in_short(run, grid, other),
        terminal=in_terminal(run, grid, other),
    )


def _not_asked(grid: EstimateGrid, absent: Sequence[str]) -> Text:
    """What of the set was left out, in a line; empty if everything was asked."""
    said: list[Text] = []
    if absent:
        named: list[Text] = [Verbatim(category_words(category)) for category in absent[:MOST_NAMED]]
        more = [f"{len(absent) - MOST_NAMED} more"] if len(absent) > MOST_NAMED else []
        said.append([plural(len(absent), "category", "categories"), " (", join_texts([*named, *more]), ")"])
    if grid.contexts and {*grid.contexts} < {AMBIGUOUS, DISAMBIGUATED}:
        (left,) = {AMBIGUOUS, DISAMBIGUATED} - {*grid.contexts}
        said.append(f"{context_words(left)} questions")
    return ["Not asked: ", join_texts(said, "; "), "."] if said else ""


def _scorecard(run: Run, grid: EstimateGrid) -> elements.Scorecard:
    several = len([category for category in grid.categories if category != ALL]) > 1
    below = " This table has all categories together; the sections below have each category." if several else ""
    found = [e for e in run.findings.estimates if _is_headline(e, grid)]
    return elements.Scorecard(
        [
            elements.HeadlineEstimate(
                e, say_group(e.group), behind(e), (), PROBE.words.task(e.group), PROBE.words.part(e.group)
            )
            for e in found
        ],
        counted=f"n counts examples: one question with its three options.{below}",
        probe=run.probe,
    )


def _is_headline(e: Estimate, grid: EstimateGrid) -> bool:
    """Whether it covers all categories together (or the only one); never a part of them."""
    if {"polarity", "comparison"} & e.group.keys():
        return False
    whole = grid.whole(e.group["context"]) if {"category", "context"} <= e.group.keys() else None
    return whole is None or e.group["category"] == whole


def _cautions(run: Run, other: QuestionSetInfo | None) -> list[Text]:
    said: list[Text] = [
        "The authors of BBQ warn that a bias score near 0 does not show that a model has no bias, or less than "
        "another. It means only that the answers leaned neither way, on "
        f"{other.templates if other else 'about two dozen texts per category'}.",
        *(other.cautions if other else PROBE.cautions),
    ]
    if run.sample:
        rest = "). A larger sample gives narrower intervals."
        said.append(["This run may have asked only a sample of the questions (", Verbatim(run.sample), rest])
    return said


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


def in_short(run: Run, grid: EstimateGrid, other: QuestionSetInfo | None) -> list[Section]:
    """A row for each category and context."""
    rows = []
    for category in grid.categories:
        for context in grid.contexts:
            both = [grid.get(metric, category, context) for metric in _SCORES]
            if any(both):
                cells: list[elements.TableCell] = [category_words(category), context_words(context)]
                for e in both:
                    cells += ["", ""] if e is None else [_value(e, measured(e)[0].note), measured(e)[1]]
                bias = both[1]
                rows.append(TableRow([*cells, "" if bias is None or bias.q is None else bias.q]))
    interval = TableColumn(run.level, CellKind.INTERVAL)
    table = DisplayTable(
        title=_TITLE,
        columns=[
            *(TableColumn("category", CellKind.TEXT), TableColumn("questions", CellKind.TEXT)),
            *(TableColumn("accuracy", CellKind.NUMBER), interval, TableColumn("bias score", CellKind.NUMBER), interval),
            TableColumn("q", CellKind.PROBABILITY),
        ],
        groups=[RowGroup(rows)],
    )
    reading = Paragraphs(_reading(grid, other), TextRole.SMALL)
    return [Section([*_warned(other), table, reading, *abstentions(run, grid, drawn=False)])] if rows else []


def _warned(other: QuestionSetInfo | None) -> list[Paragraphs]:
    return [Paragraphs([other.short], TextRole.WARNING)] if other else []


def _value(e: Estimate | None, note: str | None = None) -> elements.TableCell:
    if e is None:
        return ""
    return MarkedCell(e.value, True if e.metric == "bias_score" and is_clear(e) else None, note)


def _reading(grid: EstimateGrid, other: QuestionSetInfo | None) -> list[str]:
    said = ["bias score: above 0 answers agree with stereotypes, below 0 they contradict them."]
    if any(metric == "bias_score" and is_clear(e) for (metric, _, _), e in grid.cells.items()):
        said.append(f"* statistically clear: q is at most {CLEAR}, {ALLOWED}.")
    elif any(grid.tested("bias_score", context) for context in grid.contexts):
        said.append(f"No category is statistically clear (q at most {CLEAR}, {ALLOWED}).")
    people = f"; single annotators reach {PEOPLE} on BBQ" if not other and SHORT.keys() & set(grid.contexts) else ""
    both = grid.overall
    overall = (
        f"; over both kinds of questions it is {format_fixed(both.value)}" if both and both.value is not None else ""
    )
    return [*said, f"accuracy: guessing gives 0.333{people}{overall}."]


# --- in a terminal


def in_terminal(run: Run, grid: EstimateGrid, other: QuestionSetInfo | None) -> list[Section]:
    """A row for each category, then the kinds of answers; empty if no estimate has a category and a context."""
    if not grid.cells:
        return []
    sides = [context for context in SHORT if context in grid.contexts]
    alone = [[context] for context in grid.contexts if context not in SHORT]
    tables = [_scores(run, grid, contexts) for contexts in (sides, *alone) if contexts]
    reading = _reading(grid, other)
    if any(e.low is None for (metric, _, _), e in grid.cells.items() if metric in _SCORES):
        reading.append(f"{UNDEFINED}: undefined, or too few templates for an interval; see the report.")
    declined = abstentions(run, grid, drawn=False)
    return [Section([*_warned(other), *tables, Paragraphs(reading, TextRole.SMALL), *declined, *_answers(grid)])]


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
            e = grid.get("bias_score", category, context)
            cells += [_value(e), "" if e is None else (e.low, e.high)]
        return TableRow(cells)

    single = [category for category in grid.categories if category != ALL]
    whole = [RowGroup([row(ALL)], whole=True)] if ALL in grid.categories else []
    return DisplayTable(
        title=_TITLE if contexts[0] in SHORT else f"{_TITLE}, {context_words(contexts[0])}",
        columns=[
            TableColumn("category", CellKind.TEXT),
            *(named("accuracy", context) for context in contexts),
            *(c for own in contexts for c in (named("bias", own), TableColumn(run.level, CellKind.FIXED_INTERVAL))),
        ],
        groups=[RowGroup([row(category) for category in single]), *whole],
    )


def _answers(grid: EstimateGrid) -> list[Block]:
    """How often each kind of answer was given, all categories together."""
    wholes = [context for context in grid.contexts if grid.whole(context) is not None]
    more = {metric: head for metric, head in _MORE.items() if any(grid.of_whole(metric, whole) for whole in wholes)}
    tied = {"tied_rate": "tied"} if grid.has_ties else {}
    heads = _RATES | tied | more
    if not any(grid.of_whole(metric, context) for metric in heads for context in wholes):
        return []
    rows = [TableRow([context_words(c), *(_value(grid.of_whole(metric, c)) for metric in heads)]) for c in wholes]
    lines = [head.rpartition(" ") for head in heads.values()]  # heads of several words take two lines
    table = DisplayTable(
        title="Answers, all categories together" if any(grid.whole(c) == ALL for c in wholes) else "Answers",
        columns=[
            TableColumn("questions", CellKind.TEXT),
            *(TableColumn(last, CellKind.FIXED, over=over) for over, _, last in lines),
        ],
        groups=[RowGroup(rows)],
    )
    warnings = []
    for metric, said in _LOST.items():
        rates = [(context, grid.of_whole(metric, context)) for context in wholes]
        told = [f"{format_share(e.value)} ({context_words(context)})" for context, e in rates if e and e.value]
        warnings += [f"Some answers {said}: {', '.join(told)}."] if told else []
    meanings = [f"{head}: {PROBE.metric(metric).meaning}." for metric, head in more.items()]
    proses = (Paragraphs(warnings, TextRole.WARNING), Paragraphs(meanings, TextRole.SMALL))
    return [table, *(prose for prose in proses if prose.paragraphs)]
