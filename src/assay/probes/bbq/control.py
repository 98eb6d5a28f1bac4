"""Accuracy on a set beside accuracy on its control set, which has names in place of groups (Neplenbroek et al. 2024).

A model that is wrong more often about groups than about names, on the same templates, is misled by the groups; one that
is wrong as often may only be poor at the task, or at the language.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from assay.presentation.elements import (
    Block,
    CellKind,
    DisplayTable,
    DotCell,
    MarkedCell,
    Paragraphs,
    RowGroup,
    TableColumn,
    TableRow,
    TableTools,
    TextRole,
)
from assay.presentation.rich_text import NumberText, Text
from assay.probes.bbq import ALL, PROBE, category_words, context_words
from assay.probes.bbq.compare_runs import compare_answers, recalled_run
from assay.probes.bbq.edition_language import EditionLanguage
from assay.probes.bbq.estimate_grid import fill_slots
from assay.probes.bbq.items import DISAMBIGUATED
from assay.probes.claims import corrected
from assay.probes.contrast import PairedChange
from assay.results.findings import Cell, Estimate
from assay.results.findings import Table as Data
from assay.results.formatting import format_interval, format_number, format_share
from assay.results.run import Run
from assay.results.verdict import CLEAR
from assay.stats import RESAMPLES


class ControlComparison(NamedTuple):
    """Accuracy on a set (`before`) and on its control set (`after`) in a language; `change` has q."""

    language: str
    before: float | None
    after: float | None
    change: Estimate


def control_accuracy(run: Run, control: Run) -> list[PairedChange]:
    """Accuracy on the control set minus accuracy on the set, in [−1, 1], for every category and context.

    MBBQ reports the accuracy on its control set beside its bias scores (Neplenbroek et al. 2024, arXiv 2406.07243).
    Here the difference is paired: templates are resampled, the same for both sets, and the examples of a template that
    have the same number count. 0 means that the model is right as often about names as about groups; above 0, it is
    right less often about groups.
    """
    about = [estimate for estimate in run.findings.estimates if estimate.metric == "accuracy"]
    return list(
        compare_answers(
            PROBE, recalled_run(run), recalled_run(control), resamples=RESAMPLES, common=False, about=about
        ).changes
    )


def controlled(runs: Sequence[Run]) -> list[ControlComparison]:
    """The accuracies of all runs whose control set is among the runs, in the same language; q is over all of them."""
    varieties = {EditionLanguage.of(run.info.settings): run for run in runs}
    changes = [
        (variety.in_language, change)
        for variety, run in varieties.items()
        for other_variety, control in varieties.items()
        if (variety.family, variety.language) == (other_variety.family, other_variety.language)
        and other_variety.is_control > variety.is_control
        for change in control_accuracy(run, control)
    ]
    tested = corrected([change.change for _, change in changes], ["accuracy"] * len(changes))
    both = zip(changes, tested, strict=True)
    return [ControlComparison(language, change.before, change.after, variety) for (language, change), variety in both]


def control_blocks(runs: Sequence[Run]) -> list[Block]:
    """What the control sets among the runs show: a sentence for each language, and a table; nothing without them."""
    comparisons = controlled(runs)
    if not comparisons:
        return []
    columns = ("category", "context", "language", "accuracy", "control_accuracy", "difference", "low", "high", "p", "q")
    rows: list[Sequence[Cell]] = []
    groups: dict[str, list[TableRow]] = {}
    for comparison in comparisons:
        change = comparison.change
        category, context = change.group["category"], change.group["context"]
        numbers = (change.value, change.low, change.high)
        rows.append(
            [
                category,
                context,
                comparison.language,
                comparison.before,
                comparison.after,
                *numbers,
                change.p,
                change.q,
                change.n,
            ]
        )
        dot = DotCell(*numbers, hollow=change.q is None or change.q > CLEAR)
        cells = [
            context_words(context),
            comparison.language,
            comparison.before,
            comparison.after,
            MarkedCell(change.value, note=change.note),
        ]
        groups.setdefault(category, []).append(TableRow([*cells, dot, numbers[1:], change.q]))
    table = DisplayTable(
        title="Control accuracy: the same questions about names in place of groups",
        how=fill_slots(
            "right of zero, the model is right more often about people with names than about members of groups: the "
            "groups mislead it. At zero, what it gets wrong it gets wrong about anybody. A filled dot {dot} is "
            "statistically clear (q ≤ 0.05), a hollow one {hollow} is not."
        ),
        data=Data((*columns, "n"), rows),
        file="bbq-control-accuracy",
        anchor="control",
        columns=[
            *(
                TableColumn("questions", CellKind.TEXT),
                TableColumn("language", CellKind.TEXT),
                TableColumn("accuracy", CellKind.NUMBER),
            ),
            *(
                TableColumn("control", CellKind.NUMBER),
                TableColumn("difference", CellKind.NUMBER),
                TableColumn("difference", CellKind.DOTS),
            ),
            *(TableColumn("95% interval", CellKind.INTERVAL), TableColumn("q", CellKind.PROBABILITY)),
        ],
        groups=[
            RowGroup(group_rows, category_words(category), category == ALL)
            for category, group_rows in sorted(groups.items(), key=lambda pair: pair[0] == ALL)
        ],
        sort=TableTools.NONE,
        filter=TableTools.NONE,
        heads_beside=True,
        group="category",
    )
    return [
        Paragraphs(
            [_said(comparison) for comparison in comparisons if _is_whole(comparison, comparisons)], TextRole.ITEMS
        ),
        table,
    ]


def _is_whole(comparison: ControlComparison, comparisons: Sequence[ControlComparison]) -> bool:
    """Whether it is about all categories, or the only one, where the text gives the answer."""
    categories = {other_comparison.change.group["category"] for other_comparison in comparisons}
    category = ALL if ALL in categories else next(iter(categories))
    return comparison.change.group == {"category": category, "context": DISAMBIGUATED}


def _said(comparison: ControlComparison) -> Text:
    change = comparison.change
    sizes = f"(difference {format_number(change.value)}, 95% interval {format_interval(change.low, change.high)})"
    return [
        f"In {comparison.language}, where the text gives the answer, the model is right in ",
        *(
            NumberText(format_share(comparison.before)),
            " of the questions about groups and in ",
            NumberText(format_share(comparison.after)),
        ),
        *(" of the same questions about names ", NumberText(sizes)),
    ]
