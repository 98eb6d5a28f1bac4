"""Two models on the same cells: by how much μ, η, δ and ε change.

Two cells are the same if their content is: the template's text, both questions with the attribute, and the two
subjects. Interval and p come from leaving out each subject and each template: Student's t with the jackknife's error. A
test that exchanges the two models' answers pair by pair would be wrong here. For two models that prefer different
subjects equally strongly, it mixes them into one without a preference, and any difference in μ looks clear.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from assay.probes.base import Probe
from assay.probes.contrast import Common, Contrast, PairedChange, change_of
from assay.probes.unqover import metrics
from assay.probes.unqover.analyse import ScoredCells, fewest, numbered, only_asked, too_few, too_thin
from assay.probes.unqover.metrics import CellLabels, Cells
from assay.probes.unqover.slots import Content
from assay.probes.unqover.uncertainty import POOLED, Indices
from assay.probes.unqover.uncertainty_subjects import jackknifed, make_blocks
from assay.stats import MIN_UNITS, student_p, student_reach


def _shared_cells(
    first_run: ScoredCells, second_run: ScoredCells
) -> tuple[Cells, metrics.Scores, metrics.ListedShares | None, CellLabels]:
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
    value: float, replicates: metrics.Array, bounds: tuple[float, float], *, reach: float
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
