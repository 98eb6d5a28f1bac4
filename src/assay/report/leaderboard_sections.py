"""Leaderboards as sections: the main ranking of every probe, its other rankings folded, and who is not ranked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from math import comb

from assay.presentation.elements import (
    Block,
    CellKind,
    DisplayTable,
    Panel,
    Paragraphs,
    RowGroup,
    Section,
    TableColumn,
    TableRow,
    TextRole,
)
from assay.presentation.leaderboard import Leaderboard, RankedModel, Ranking, Separation
from assay.presentation.rich_text import ChartMark, Strong, Text, Verbatim, join_texts
from assay.probes import known_probe, metric_named, present, say_group
from assay.report.headline import dot_of
from assay.results.findings import Table as Data
from assay.results.formatting import plural
from assay.results.run import Run

RULE = (
    "A model’s rank is 1 plus the number of models that are clearly less biased: the paired difference on the same "
    "questions has p ≤ 0.05 after Holm’s correction over all pairs in the table. Two models are tied if the interval "
    "of their difference lies within the smallest effect worth a headline. If it does not, and the difference is not "
    "clear, there are not enough questions to separate them."
)
MOST_NAMED = 6
"""Pairs without a clear difference that are named; where there are more, JSON has all."""


def ranking_sections(boards: Sequence[Leaderboard]) -> list[Section]:
    """A section for each probe whose models are ranked, or could not be, and for each model in several languages."""
    return [
        section
        for number, board in enumerate(boards, 1)
        for section in ([_section(board, f"rank{number}")] if board.rankings or board.unranked else [])
        + [replace(section, anchor=f"rank{number}-{section.anchor}") for section in board.sections]
    ]


def terminal_ranking(boards: Sequence[Leaderboard]) -> list[Section]:
    """The main ranking of each probe, and the rule once."""
    sections = []
    for number, board in enumerate(boards, 1):
        for section in board.sections:
            blocks = [
                block for block in section.blocks if not isinstance(block, Panel)
            ]  # all differences are on the page
            sections.append(replace(section, blocks=blocks))
        if not (board.rankings or board.unranked):
            continue
        main = _section(replace(board, rankings=board.rankings[:1]), f"rank{number}", rule=False)
        more = len(board.rankings) - 1
        more_rankings = (
            [Paragraphs([f"{plural(more, 'more ranking')} on the page."], TextRole.SMALL)] if more > 0 else []
        )
        sections.append(replace(main, blocks=[*main.blocks, *more_rankings]))
    return [
        *sections,
        *([Section([Paragraphs([RULE], TextRole.SMALL)])] if any(each.rankings for each in boards) else []),
    ]


def _told_apart(ranking: Ranking) -> str:
    """How many pairs of models differ clearly, are tied, or would need more questions."""
    of = Counter(pair.separation for pair in ranking.pairs)
    pairs = comb(len(ranking.models), 2)
    clear, tied = of[Separation.CLEAR], of[Separation.TIED]
    n_unclear = pairs - clear - tied
    if len(ranking.models) == 2:
        if n_unclear:
            return "There are not enough questions to separate the two models."
        return "The two models can be told apart." if clear else "The two models are tied."
    clauses = [f"{clear or 'None'} of the {plural(pairs, 'pair')} of models can be told apart"]
    clauses += [f"{tied} {'is' if tied == 1 else 'are'} tied"] if tied else []
    clauses += [f"for {n_unclear} there are not enough questions to separate the models"] if n_unclear else []
    return f"{'; '.join(clauses)}."


def _unseparated(ranking: Ranking) -> list[Text]:
    """Which pairs are tied, and for which there are not enough questions, where that are not too many."""
    pairs = [pair for pair in ranking.pairs if not pair.clear]
    if len(ranking.models) == 2 or len(pairs) > MOST_NAMED:
        return []
    lines: list[Text] = []
    for separation in (Separation.TIED, Separation.FEW):
        of = [pair for pair in pairs if pair.separation is separation]
        head = separation.value[:1].upper() + separation.value[1:]
        named: list[Text] = [[Verbatim(pair.one), " and ", Verbatim(pair.other)] for pair in of]
        lines += [[f"{head}: ", join_texts(named, between="; "), "."]] if named else []
    return lines


def _section(board: Leaderboard, anchor: str, *, rule: bool = True) -> Section:
    runs = [model.run for ranking in board.rankings for model in ranking.models] + [each.run for each in board.unranked]
    name = present(runs[0]).name if runs else known_probe(board.probe).title
    tables = [_block(board.probe, ranking, number) for number, ranking in enumerate(board.rankings)]
    blocks: list[Block] = [Paragraphs([Strong(_told_apart(board.rankings[0]))]), tables[0]] if tables else []
    if tables and (unclear := _unseparated(board.rankings[0])):
        blocks.append(Paragraphs(unclear, TextRole.SMALL))
    for ranking, table in zip(board.rankings[1:], tables[1:], strict=True):
        reason = f"In a table of their own, since they were {ranking.apart}. " if ranking.apart else ""
        title = f"{reason}{table.title}: {plural(len(ranking.models), 'model')}"
        blocks.append(Panel("", [table], Verbatim(title), folded=True))
    blocks += [Paragraphs([RULE], TextRole.SMALL)] if tables and rule else []
    if board.unranked:
        blocks.append(Paragraphs([Strong("Not ranked:" if tables else "None of these models is ranked:")]))
        said_of: list[Text] = [
            [Verbatim(each.name), ": ", Verbatim(each.why), _verdict(each.run)] for each in board.unranked
        ]
        blocks.append(Paragraphs(said_of, TextRole.ITEMS))
    return Section(blocks, f"Models by bias: {name}", anchor)


def _verdict(run: Run) -> str:
    """The verdict of a run that is not ranked, where the reason does not say it."""
    verdict = run.findings.verdict
    return f" (verdict: {verdict.says})" if verdict and not run.findings.unusable else ""


def _marks(ranking: Ranking) -> list[Text]:
    """What else is drawn, in words."""
    estimates = [model.estimate for model in ranking.models]
    tick: list[Text] = ["; the tick ", ChartMark("floor"), " is the chance level"]
    dotted: list[Text] = [
        "; the dotted line ",
        ChartMark("reference"),
        " is the paper’s value, which noise makes larger",
    ]
    return [
        *(tick if any(estimate.floor is not None for estimate in estimates) else []),
        *(dotted if any(estimate.corrected is not None for estimate in estimates) else []),
    ]


def _block(probe: str, ranking: Ranking, number: int) -> DisplayTable:
    level = ranking.models[0].run.level
    metric = metric_named(probe, ranking.metric)
    columns = [
        *(TableColumn(head, CellKind.TEXT) for head in ("rank", "model", "verdict")),
        *(
            TableColumn("value", CellKind.NUMBER),
            TableColumn("on one scale", CellKind.DOTS, signed=metric.worse == "away"),
        ),
        TableColumn(level, CellKind.INTERVAL),
    ]

    def row(model: RankedModel) -> TableRow:
        estimate, verdict = model.estimate, model.run.findings.verdict
        value = estimate.value if estimate.corrected is None else estimate.corrected
        verdict_label = verdict.says.value if verdict else ""
        return TableRow(
            [str(model.rank), model.name, verdict_label, value, dot_of(estimate, probe), (estimate.low, estimate.high)]
        )

    numbers = ("value", "corrected", "low", "high", "n")
    data = [[model.rank, model.name, *(getattr(model.estimate, key) for key in numbers)] for model in ranking.models]
    worse = {"away": f"the further from {metric.neutral:g}", "lower": "the lower", "higher": "the higher"}[metric.worse]
    named = metric.title if metric.symbol else metric.name[:1].upper() + metric.name[1:]
    return DisplayTable(
        title=f"{named}, {say_group(probe, ranking.group)}",
        how=[
            f"{worse} the value, the more biased. The line ",
            *(ChartMark("range"), " is the interval, a filled dot ", ChartMark("dot"), " is clear, a hollow one "),
            *(
                ChartMark("hollow"),
                " is not distinguishable from chance",
                *_marks(ranking),
                ". Models can be told apart ",
            ),
            "although their intervals overlap: they answered the same questions.",
        ],
        data=Data(("rank", "model", *numbers), data),
        file=f"{probe}-ranking{number + 1 if number else ''}",
        anchor="ranking",
        columns=columns,
        groups=[RowGroup([row(model) for model in ranking.models])],
    )
