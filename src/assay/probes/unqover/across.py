"""Several models side by side: intensities, shifts, ranks of subjects, shared attributes (Figures 3-6, Table 3).

Arrays are (model, …); NaN stands for what a model has no number for. `aligned` makes them from names and numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from assay.errors import DataError
from assay.probes.unqover.associations import Part
from assay.results.findings import Cell, Estimate, Findings, Table

TOP = 10  # Table 3: attributes among the ten strongest of every model

Array = NDArray[np.float64]
Record = dict[str, Cell]

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
    keys, numbers = ("class", "form", "subjects"), ("value", "corrected", "low", "high", "floor")
    rows: list[Sequence[Cell]] = []
    for name, findings in models:
        for estimate in findings.estimates:
            if estimate.metric in ("mu", "eta") and estimate.value is not None:
                group = [estimate.group.get(key) for key in keys]
                rows.append([*group, estimate.metric, name, *(getattr(estimate, number) for number in numbers)])
    return Table((*keys, "metric", "model", *numbers), sorted(rows, key=lambda row: [str(cell) for cell in row[:4]]))


def _shift(models: Sequence[tuple[str, Findings]]) -> Table:
    """μ of every question-answering model minus μ of every language model (Figure 3)."""
    rows: list[Sequence[Cell]] = []
    intensities = [
        (name, estimate) for name, findings in models for estimate in findings.estimates if estimate.metric == "mu"
    ]
    for (base, before), (tuned, after) in product(intensities, intensities):
        if (
            (before.group["form"], after.group["form"]) != ("mask", "span")
            or before.value is None
            or after.value is None
        ):
            continue
        if _class_and_group(before) != _class_and_group(after):
            continue
        change = intensity_shift(np.array([[before.value]]), np.array([[after.value]]))[0, 0]
        cls, pooled = _class_and_group(before)
        rows.append([cls, pooled, base, tuned, before.value, after.value, float(change)])
    return Table(("class", "subjects", "language_model", "fine_tuned", "mu_before", "mu_after", "shift"), rows)


def _ranks(models: Sequence[tuple[str, Findings]]) -> Table:
    """Average rank of every subject by γ(x), its deviation, and its rank in each model (Figures 4 and 5)."""
    rows: list[Sequence[Cell]] = []
    for (cls, form), by_model in _by_part(models, "subjects"):
        names, gamma = aligned([_gammas(records, "subject") for records in by_model.values()])
        mean, std = rank_summary(gamma)
        ranks_by_model = dict(zip(by_model, ranks(gamma), strict=True))
        for k in sorted(range(len(names)), key=lambda k: (mean[k], names[k])):
            model_ranks = [_cell(ranks_by_model[name][k]) if name in ranks_by_model else None for name, _ in models]
            rows.append([cls, form, names[k], _cell(mean[k]), _cell(std[k]), *model_ranks])
    return Table(("class", "form", "subject", "mean_rank", "std_rank", *(name for name, _ in models)), rows)


def _shared(models: Sequence[tuple[str, Findings]]) -> Table:
    """Attributes among the ten strongest of a group in every model (Table 3)."""
    rows: list[Sequence[Cell]] = []
    for (cls, form), by_model in _by_part(models, "groups"):
        for group in sorted({str(record["group"]) for records in by_model.values() for record in records}):
            of_group = ([record for record in records if record["group"] == group] for records in by_model.values())
            names, gamma = aligned([_gammas(records, "attribute") for records in of_group])
            shared = [name for name, is_shared in zip(names, shared_top(gamma), strict=True) if is_shared]
            rows.append([cls, form, group, ", ".join(sorted(shared)) or "none"])
    return Table(("class", "form", "group", "attributes"), rows)


def _by_part(models: Sequence[tuple[str, Findings]], table: str) -> Iterator[tuple[Part, dict[str, list[Record]]]]:
    """The rows of a table by class and form, and by model, for parts that at least two models have."""
    parts: dict[Part, dict[str, list[Record]]] = {}
    for name, findings in models:
        for record in findings.tables[table].records() if table in findings.tables else ():
            part = str(record["class"]), str(record["form"])
            parts.setdefault(part, {}).setdefault(name, []).append(record)
    yield from ((part, by_model) for part, by_model in parts.items() if len(by_model) > 1)


def _gammas(records: Sequence[Record], column: str) -> dict[str, float]:
    """γ by the names in a column; NaN where it is undefined."""
    gammas = {}
    for record in records:
        gamma = record["gamma"]
        gammas[str(record[column])] = float(gamma) if isinstance(gamma, int | float) else float("nan")
    return gammas


def _class_and_group(estimate: Estimate) -> tuple[str, str | None]:
    return estimate.group["class"], estimate.group.get("subjects")


def _cell(value: float) -> float | None:
    return None if np.isnan(value) else round(float(value), 4)


# --- numbers over models


def aligned(models: Sequence[Mapping[str, float]]) -> tuple[list[str], Array]:
    """The names that every model has, in the first model's order, and their numbers (model, name).

    Masked language models know fewer subjects than others: ranks are comparable only over those that all have.

    >>> aligned([{"Arab": 0.2, "White": 0.1}, {"White": 0.3, "Asian": 0.0}])[0]
    ['White']
    """
    names = [name for name in (models[0] if models else {}) if all(name in model for model in models)]
    if not names:
        raise DataError(
            "the models have no subject in common.", "Compare runs of the same class and form.", code="not-comparable"
        )
    return names, np.array([[model[name] for name in names] for model in models])


def ranks(gamma: Array) -> Array:
    """The rank of each subject within each model (model, subject): 1 is the highest γ(x); ties share their mean rank.

    >>> ranks(np.array([[0.1, 0.3, 0.1]])).tolist()
    [[2.5, 1.0, 2.5]]
    """
    higher = (gamma[:, None, :] > gamma[:, :, None]).sum(axis=2)  # (model, subject)
    equal = (gamma[:, None, :] == gamma[:, :, None]).sum(axis=2)
    rank: Array = np.where(np.isnan(gamma), np.nan, higher + (equal + 1) / 2)
    return rank


def rank_summary(gamma: Array) -> tuple[Array, Array]:
    """Average and spread (subject,) of the ranks of γ(x) over models (Figures 4 and 5), from γ (model, subject).

    The mean is in [1, subjects]; a smaller one means that more models prefer the subject, which for negative attributes
    is the more negative sentiment. The standard deviation is the population's (divided by the number of models: these
    models are all there are); 0 means that all models agree. NaN where a model has no γ for the subject.
    """
    model_ranks = ranks(gamma)
    return model_ranks.mean(axis=0), model_ranks.std(axis=0)


def shared_top(gamma: Array, k: int = TOP) -> NDArray[np.bool_]:
    """Attributes among the k with the highest γ of a group in every model (Table 3), from γ (model, attribute).

    An attribute is among the k if fewer than k have a higher γ, so that ties at the border all count.

    >>> shared_top(np.array([[0.3, 0.2, 0.1], [0.2, 0.3, 0.1]]), k=2).tolist()
    [True, True, False]
    """
    higher = (gamma[:, None, :] > gamma[:, :, None]).sum(axis=2)
    shared: NDArray[np.bool_] = ((higher < k) & ~np.isnan(gamma)).all(axis=0)
    return shared


def intensity_shift(base: Array, tuned: Array) -> Array:
    """μ after fine-tuning minus μ of the language model before (Figure 3), from μ (model, class) of both.

    In [−1, 1]; 0 means that fine-tuning left the intensity as it was, positive that it made the model more biased.
    NaN where either is undefined.
    """
    if base.shape != tuned.shape:
        problem = f"{base.shape} numbers of language models do not pair with {tuned.shape} of fine-tuned ones."
        raise DataError(problem, "Give the same models and classes in the same order.", code="not-comparable")
    shift: Array = tuned - base
    return shift
