"""Runs compared: by how much μ, η, δ and ε change from one model to another, and several models side by side.

Two models are compared on the same cells. Two cells are the same if their content is: the template's text, both
questions with the attribute, and the two subjects. Interval and p come from leaving out each subject and each template:
Student's t with the jackknife's error. A test that exchanges the two models' answers pair by pair would be wrong here.
For two models that prefer different subjects equally strongly, it mixes them into one without a preference, and any
difference in μ looks clear.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np
from numpy.typing import NDArray

from assay.errors import DataError
from assay.probes.base import Probe
from assay.probes.contrast import Common, Contrast, PairedChange, change_of
from assay.probes.unqover import metrics
from assay.probes.unqover.analyse import ScoredCells, fewest, numbered, only_asked, too_few, too_thin
from assay.probes.unqover.associations import Part
from assay.probes.unqover.cells import CellLabels, Cells, ListedShares, Scores
from assay.probes.unqover.metrics import Array
from assay.probes.unqover.slots import Content
from assay.probes.unqover.uncertainty import POOLED, Indices
from assay.probes.unqover.uncertainty_subjects import jackknifed, make_blocks
from assay.results.findings import Cell, Estimate, Findings, Table
from assay.stats import MIN_UNITS, student_p, student_reach


def _shared_cells(
    first_run: ScoredCells, second_run: ScoredCells
) -> tuple[Cells, Scores, ListedShares | None, CellLabels]:
    """The cells that two runs share, as the first has them; the second's scores of these and what its options got.

    What the options got is as the second has them: what is made of that does not depend on who is called first.
    """
    subjects: dict[tuple[str, str], int] = {}
    contents: dict[Content, int] = {}
    for side in (first_run, second_run):
        for key in _people(side.labels):
            subjects.setdefault(key, len(subjects))
        for content in side.contents().values():
            contents.setdefault(content, len(contents))
    keys, turned = _numbers(first_run, subjects, contents)
    other_keys, other_turned = _numbers(second_run, subjects, contents)
    if np.array_equal(keys, other_keys):
        rows = other_rows = np.arange(len(keys))
    else:
        _, rows, other_rows = np.intersect1d(keys, other_keys, return_indices=True)
        rows, other_rows = (indices[np.argsort(rows, kind="stable")] for indices in (rows, other_rows))
    flipped = turned[rows] != other_turned[other_rows]
    other_cells = second_run.cells.take(other_rows)
    scores = other_cells.scores
    scores[flipped] = scores[flipped][:, ::-1, :, ::-1]  # the other order is the first, and the other subject
    cells, labels = only_asked(*_by_name(first_run.cells.take(rows), first_run.labels))
    pairs = len(np.unique(_pair(cells, len(labels.subjects))))
    combinations = cells.template.astype(np.int64) * max(len(labels.attributes), 1) + cells.attribute
    grid = pairs * len(np.unique(combinations))
    sampled = first_run.labels.sampled or second_run.labels.sampled or len(cells) < grid
    return cells, scores, other_cells.listed, replace(labels, sampled=sampled)


def _people(labels: CellLabels) -> list[tuple[str, str]]:
    groups = labels.groups or [""] * len(labels.subjects)
    return list(zip(labels.subjects, groups, strict=True))


def _pair(cells: Cells, subjects: int) -> Indices:
    low, high = (pick(cells.first, cells.second).astype(np.int64) for pick in (np.minimum, np.maximum))
    return low * subjects + high


def _numbers(
    side: ScoredCells, subjects: Mapping[tuple[str, str], int], contents: Mapping[Content, int]
) -> tuple[Indices, Indices]:
    """A number for each cell that says what it is about, and whether its subjects stand the other way round there."""
    number = np.array([subjects[key] for key in _people(side.labels)], dtype=np.int32)
    table = np.zeros((side.labels.templates, len(side.labels.attributes)), dtype=np.int64)
    for combination, content in side.contents().items():
        table[combination] = contents[content]
    cells = side.cells
    named = replace(cells, first=number[cells.first], second=number[cells.second])
    key = _pair(named, len(subjects)) * len(contents) + table[cells.template, cells.attribute]
    return key, (named.first > named.second).astype(np.int64)


def _by_name(cells: Cells, labels: CellLabels) -> tuple[Cells, CellLabels]:
    """The same with the subjects by name, whoever named them first."""
    order = np.argsort(np.array(labels.subjects), kind="stable")
    new_index = np.argsort(order, kind="stable").astype(np.int32)
    groups = None if labels.groups is None else [labels.groups[k] for k in order]
    named = replace(labels, subjects=[labels.subjects[k] for k in order], groups=groups)
    return replace(cells, first=new_index[cells.first], second=new_index[cells.second]), named


def contrast(probe: Probe, first: Sequence[ScoredCells], second: Sequence[ScoredCells]) -> Contrast:
    """The changes from one model to the other on the cells of every class and form that both were asked."""
    second_parts = {(part.cls, part.form): part for part in second}
    pairs = [(part, second_parts[part.cls, part.form]) for part in first if (part.cls, part.form) in second_parts]
    results = [changes(probe, *pair) for pair in pairs]
    return Contrast(
        [change for part_changes, _ in results for change in part_changes],
        [counts for _, counts in results],
        notes=[] if results else [*_incomparable_forms(first, second)],
    )


def _incomparable_forms(first: Sequence[ScoredCells], second: Sequence[ScoredCells]) -> Iterator[str]:
    """Which classes are in both runs, but in forms that cannot be compared."""
    for cls in dict.fromkeys(part.cls for part in first):
        ours, theirs = (" and ".join(part.form for part in run if part.cls == cls) for run in (first, second))
        if theirs:
            asked = f"{cls} was asked as “{ours}” in one run and as “{theirs}” in the other"
            yield f"{asked}; their numbers differ in meaning"


def changes(probe: Probe, first: ScoredCells, second: ScoredCells) -> tuple[list[PairedChange], Common]:
    """The changes from one model to the other on the cells of a class and form that both were asked."""
    cells, second_scores, second_listed, labels = _shared_cells(first, second)
    n = len(cells)
    counts = Common(f"{first.cls} ({first.form}), comparisons", len(first.cells), len(second.cells), n)
    if not n:
        return [], counts
    released = first.released, second.released
    subjects, attributes = len(labels.subjects), len(labels.attributes)
    groups = None if labels.groups is None else numbered(labels.groups)[1]
    scores = cells.scores, second_scores
    bias = np.stack([metrics.of_cells(metrics.comparative_bias, score) for score in scores])  # (model, cell)
    listed = [metrics.listed_errors(shares) for shares in (cells.listed, second_listed)]
    errors = np.stack(
        [
            error
            for model_scores, is_released, model_listed in zip(scores, released, listed, strict=True)
            for error in (*metrics.errors(model_scores, released=is_released), *model_listed.values())
        ]
    )
    blocks = make_blocks(cells, bias, subjects, attributes, labels.templates, errors)
    unclear_reason = _too_few_reason(n, labels)
    paired_changes = []
    for name, estimate in jackknifed(blocks, attributes, groups, models=2, more=[*listed[0]]).items():
        pooled, metric = name in POOLED, name.removeprefix("pooled_")
        undefined_reason = _undefined_reason(metric, n, labels, pooled, released)
        before, after, change = estimate.value.tolist()
        paired_changes.append(
            change_of(
                probe.metric(metric),
                {"class": first.cls, "form": first.form, **({"subjects": "pooled"} if pooled else {})},
                (np.nan, np.nan) if undefined_reason else (before, after),
                n=n,
                replicates=None if unclear_reason else (estimate.without[:, 0], estimate.without[:, 1]),
                interval=partial(_change_interval, reach=float(student_reach(estimate.error, estimate.freedom)[2])),
                p=None if unclear_reason else float(student_p(change, estimate.error[2], estimate.freedom[2])),
                family=name,
                undefined=undefined_reason,
                note=unclear_reason,
            )
        )
    return paired_changes, counts


def _change_interval(
    value: float, replicates: Array, bounds: tuple[float, float], *, reach: float
) -> tuple[float, float]:
    """The interval of a change, within what is possible."""
    return max(value - reach, bounds[0]), min(value + reach, bounds[1])


def _too_few_reason(n: int, labels: CellLabels) -> str | None:
    """Why n common comparisons give no interval and no p, if so."""
    if fewest(labels) < MIN_UNITS:
        return f"no interval and no p: {too_few(labels, 'common ')}"
    if n < MIN_UNITS:
        return f"no interval and no p: the two runs share {n} comparisons, and at least {MIN_UNITS} are needed"
    return None


def _undefined_reason(metric: str, n: int, labels: CellLabels, pooled: bool, released: tuple[bool, bool]) -> str | None:
    """Why a change is undefined; None where it is defined."""
    if metric == "delta" and released[0] != released[1]:
        return "one run has δ as the paper defines it, the other as the released program does (compat)"
    return too_thin(n, labels, "the two runs share", pooled=pooled) if metric in ("mu", "eta") else None


# --- several models side by side: intensities, shifts, ranks of subjects, shared attributes (Figures 3-6, Table 3)
# Arrays are (model, …); NaN stands for what a model has no number for. `aligned` makes them from names and numbers.

TOP = 10  # Table 3: attributes among the ten strongest of every model

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
