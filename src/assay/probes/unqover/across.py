"""Several models side by side: intensities, shifts, ranks of subjects, shared attributes (Figures 3-6, Table 3)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np

from assay.probes.unqover.model_ranks import aligned, intensity_shift, rank_summary, ranks, shared_top
from assay.results.findings import Cell, Estimate, Findings, Table

Part = tuple[str, str]  # class, form

TITLES = {
    "intensity": "Bias intensity by model",
    "shift": "Change in μ from language model to fine-tuned model",
    "ranks": "Ranks of subjects by γ across models (1: most preferred; for negative attributes, most negative)",
    "shared": "Attributes among the ten strongest of every model",
}


def side_by_side(models: Sequence[tuple[str, Findings]]) -> dict[str, Table]:
    """Tables over models, given by name and findings: intensity, shift, ranks, shared."""
    tables = {
        "intensity": _intensity(models),
        "shift": _shift(models),
        "ranks": _ranks(models),
        "shared": _shared(models),
    }
    return {name: table for name, table in tables.items() if table.rows}


def _intensity(models: Sequence[tuple[str, Findings]]) -> Table:
    """μ and η of every model (Figures 3 and 6)."""
    numbers = ("value", "corrected", "low", "high", "floor")
    rows: list[Sequence[Cell]] = [
        [e.group["class"], e.group["form"], e.group.get("subjects"), e.metric, name, *(getattr(e, k) for k in numbers)]
        for name, findings in models
        for e in findings.estimates
        if e.metric in ("mu", "eta") and e.value is not None
    ]
    columns = ("class", "form", "subjects", "metric", "model", *numbers)
    return Table(columns, sorted(rows, key=lambda row: [str(cell) for cell in row[:4]]))


def _shift(models: Sequence[tuple[str, Findings]]) -> Table:
    """μ of every question-answering model minus μ of every language model (Figure 3)."""
    rows: list[Sequence[Cell]] = []
    found = [
        (name, estimate) for name, findings in models for estimate in findings.estimates if estimate.metric == "mu"
    ]
    for (base, before), (tuned, after) in product(found, found):
        if before.group["form"] != "mask" or after.group["form"] != "span" or _what(before) != _what(after):
            continue
        if before.value is None or after.value is None:
            continue
        change = intensity_shift(np.array([[before.value]]), np.array([[after.value]]))[0, 0]
        cls, pooled = _what(before)
        rows.append([cls, pooled, base, tuned, before.value, after.value, float(change)])
    return Table(("class", "subjects", "language_model", "fine_tuned", "mu_before", "mu_after", "shift"), rows)


def _ranks(models: Sequence[tuple[str, Findings]]) -> Table:
    """Average rank of every subject by γ(x), its deviation, and its rank in each model (Figures 4 and 5)."""
    rows: list[Sequence[Cell]] = []
    for (cls, form), found in _by_part(models, "subjects"):
        names, gamma = aligned([{str(r["subject"]): _number(r["gamma"]) for r in own} for _, own in found])
        summary, places = rank_summary(gamma), dict(zip((name for name, _ in found), ranks(gamma), strict=True))
        for k in sorted(range(len(names)), key=lambda k: (summary.mean[k], names[k])):
            each = [_cell(places[name][k]) if name in places else None for name, _ in models]
            rows.append([cls, form, names[k], _cell(summary.mean[k]), _cell(summary.std[k]), *each])
    return Table(("class", "form", "subject", "mean_rank", "std_rank", *(name for name, _ in models)), rows)


def _shared(models: Sequence[tuple[str, Findings]]) -> Table:
    """Attributes among the ten strongest of a group in every model (Table 3)."""
    rows: list[Sequence[Cell]] = []
    for (cls, form), found in _by_part(models, "groups"):
        for group in sorted({str(row["group"]) for _, own in found for row in own}):
            own_rows = [
                {str(r["attribute"]): _number(r["gamma"]) for r in own if r["group"] == group} for _, own in found
            ]
            names, gamma = aligned(own_rows)
            shared = [name for name, is_shared in zip(names, shared_top(gamma), strict=True) if is_shared]
            rows.append([cls, form, group, ", ".join(sorted(shared)) or "none"])
    return Table(("class", "form", "group", "attributes"), rows)


def _by_part(
    models: Sequence[tuple[str, Findings]], table: str
) -> Iterator[tuple[Part, list[tuple[str, list[dict[str, Cell]]]]]]:
    """The rows of a table by class and form, for parts that at least two models have."""
    parts: dict[Part, list[tuple[str, list[dict[str, Cell]]]]] = {}
    for name, findings in models:
        own: dict[Part, list[dict[str, Cell]]] = {}
        for record in findings.tables[table].records() if table in findings.tables else ():
            own.setdefault((str(record["class"]), str(record["form"])), []).append(record)
        for part, records in own.items():
            parts.setdefault(part, []).append((name, records))
    yield from ((part, found) for part, found in parts.items() if len(found) > 1)


def _what(estimate: Estimate) -> tuple[str, str | None]:
    return estimate.group["class"], estimate.group.get("subjects")


def _cell(value: float) -> float | None:
    return None if np.isnan(value) else round(float(value), 4)


def _number(cell: Cell) -> float:
    return float(cell) if isinstance(cell, int | float) else float("nan")
