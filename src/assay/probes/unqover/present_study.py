"""UnQover in a study: how μ changes from masked language models to the models fine-tuned from them (Figure 3)."""

from __future__ import annotations

from collections.abc import Sequence

from assay.presentation.elements import CellKind, DisplayTable, DotCell, RowGroup, Section, TableColumn, TableRow
from assay.presentation.rich_text import NumberText, Text
from assay.probes.unqover import say_group
from assay.results.findings import Cell, Estimate
from assay.results.findings import Table as Data
from assay.results.formatting import format_estimate_interval, format_number
from assay.results.run import Run, StudyRun

HOW = (
    "the dot is μ of a question-answering model minus μ of the masked language model it was fine-tuned from (as in "
    "UnQover’s Figure 3). Right of zero, the fine-tuned model shows more bias. The two are asked in different forms, "
    "questions and masked sentences, so the shift is only a rough measure. It has no interval."
)


def of_study(runs: Sequence[StudyRun]) -> list[Section]:
    """Shifts of μ from each model to the models fine-tuned from it; unrelated models are not compared."""
    rows, lines = [], []
    for about, base, tuned, before, after in sorted(_pairs(runs), key=lambda pair: pair[0]):
        shift = (after.value or 0.0) - (before.value or 0.0)
        told = f"From {format_number(before.value)} to {format_number(after.value)}."
        rows.append(
            TableRow([about, base.model, tuned.model, _said(before), _said(after), DotCell(shift, told=told), shift])
        )
        line: list[Cell] = [about, base.model, tuned.model, before.value, after.value, shift]
        lines.append(line)
    if not rows:
        return []
    table = DisplayTable(
        title="Bias shift from language model to fine-tuned model",
        how=HOW,
        data=Data(("class", "language_model", "fine_tuned", "mu_before", "mu_after", "shift"), lines),
        file="unqover-shift",
        anchor="shift",
        columns=[
            *(
                TableColumn(head, CellKind.TEXT)
                for head in ("asked about", "language model", "fine-tuned", "μ before", "μ after")
            ),
            TableColumn("shift", CellKind.DOTS),
            TableColumn("shift", CellKind.NUMBER),
        ],
        groups=[RowGroup(rows)],
    )
    return [Section([table])]


def _pairs(runs: Sequence[StudyRun]) -> list[tuple[str, Run, Run, Estimate, Estimate]]:
    found = []
    for base in runs:
        for tuned in (run for run in runs if base.model in run.sources):
            masked, asked = _intensities(base.run, "mask"), _intensities(tuned.run, "span")
            found += [(about, base.run, tuned.run, masked[about], asked[about]) for about in masked if about in asked]
    return found


def _intensities(run: Run, form: str) -> dict[str, Estimate]:
    """μ by class of subjects, and for grouped names, in one form."""
    return {
        say_group({key: value for key, value in e.group.items() if key != "form"}): e
        for e in run.findings.estimates
        if e.metric == "mu" and e.value is not None and e.group.get("form") == form and "class" in e.group
    }


def _said(estimate: Estimate) -> Text:
    return NumberText(f"{format_number(estimate.value)}, {format_estimate_interval(estimate)}")
