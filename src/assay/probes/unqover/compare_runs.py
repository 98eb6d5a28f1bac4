"""Two models on the same cells: by how much μ, η, δ and ε change.

Two cells are the same if their content is: the template's text, both questions with the attribute, and the two
subjects. Interval and p come from leaving out each subject and each template: Student's t with the jackknife's error. A
test that exchanges the two models' answers pair by pair would be wrong here. For two models that prefer different
subjects equally strongly, it mixes them into one without a preference, and any difference in μ looks clear.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from assay.probes.base import Probe
from assay.probes.contrast import Common, Contrast, PairedChange, change_of
from assay.probes.unqover import metrics
from assay.probes.unqover.analyse import ScoredCells, fewest, numbered, only_asked, too_few, too_thin
from assay.probes.unqover.metrics import CellLabels, Cells
from assay.probes.unqover.slots import Content
from assay.probes.unqover.subject_sums import Indices, make_blocks
from assay.probes.unqover.uncertainty import POOLED
from assay.probes.unqover.uncertainty_subjects import jackknifed
from assay.stats import MIN_UNITS, student_p, student_reach


@dataclass(frozen=True)
class _SharedCells:
    """The cells that two runs share, as the first has them, with both models' scores.

    What the other's options got is as it has them: what is made of that does not depend on who is called first.
    """

    cells: Cells
    other: metrics.Scores
    other_listed: metrics.ListedShares | None
    labels: CellLabels

    @staticmethod
    def of(one: ScoredCells, other: ScoredCells) -> _SharedCells:
        subjects: dict[tuple[str, str], int] = {}
        contents: dict[Content, int] = {}
        for side in (one, other):
            for key in _people(side.labels):
                subjects.setdefault(key, len(subjects))
            for said in side.contents().values():
                contents.setdefault(said, len(contents))
        (first, turned), (second, turned_too) = (_numbers(side, subjects, contents) for side in (one, other))
        if np.array_equal(first, second):
            here = there = np.arange(len(first))
        else:
            _, here, there = np.intersect1d(first, second, return_indices=True)
            here, there = (places[np.argsort(here, kind="stable")] for places in (here, there))
        flipped = turned[here] != turned_too[there]
        theirs = other.cells.take(there)
        scores = theirs.scores
        scores[flipped] = scores[flipped][:, ::-1, :, ::-1]  # the other order is the first, and the other subject
        cells, labels = only_asked(*_by_name(one.cells.take(here), one.labels))
        pairs = len(np.unique(_pair(cells, len(labels.subjects))))
        grid = pairs * len(
            np.unique(cells.template.astype(np.int64) * max(len(labels.attributes), 1) + cells.attribute)
        )
        sampled = one.labels.sampled or other.labels.sampled or len(cells) < grid
        return _SharedCells(cells, scores, theirs.listed, replace(labels, sampled=sampled))


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
    for place, said in side.contents().items():
        table[place] = contents[said]
    cells = side.cells
    named = replace(cells, first=number[cells.first], second=number[cells.second])
    key = _pair(named, len(subjects)) * len(contents) + table[cells.template, cells.attribute]
    return key, (named.first > named.second).astype(np.int64)


def _by_name(cells: Cells, labels: CellLabels) -> tuple[Cells, CellLabels]:
    """The same with the subjects by name, whoever named them first."""
    order = np.argsort(np.array(labels.subjects), kind="stable")
    place = np.argsort(order, kind="stable").astype(np.int32)
    groups = None if labels.groups is None else [labels.groups[k] for k in order]
    named = replace(labels, subjects=[labels.subjects[k] for k in order], groups=groups)
    return replace(cells, first=place[cells.first], second=place[cells.second]), named


def contrast(probe: Probe, one: Sequence[ScoredCells], other: Sequence[ScoredCells]) -> Contrast:
    """The changes from one model to the other on the cells of every class and form that both were asked."""
    theirs = {(side.cls, side.form): side for side in other}
    found = [changes(probe, side, theirs[side.cls, side.form]) for side in one if (side.cls, side.form) in theirs]
    notes = [*_apart(one, other)] if not found else []
    return Contrast([change for some, _ in found for change in some], [counts for _, counts in found], notes=notes)


def _apart(one: Sequence[ScoredCells], other: Sequence[ScoredCells]) -> Iterator[str]:
    """Which classes are in both runs, but in forms that cannot be compared."""
    forms = [{cls: [side.form for side in run if side.cls == cls] for cls in _classes(run)} for run in (one, other)]
    for cls in (each for each in forms[0] if each in forms[1]):
        ours, theirs = (" and ".join(form[cls]) for form in forms)
        yield f"{cls} was asked as “{ours}” in one run and as “{theirs}” in the other; their numbers differ in meaning"


def _classes(run: Sequence[ScoredCells]) -> list[str]:
    return [*dict.fromkeys(side.cls for side in run)]


def changes(probe: Probe, one: ScoredCells, other: ScoredCells) -> tuple[list[PairedChange], Common]:
    """The changes from one model to the other on the cells of a class and form that both were asked."""
    both = _SharedCells.of(one, other)
    n = len(both.cells)
    counts = Common(f"{one.cls} ({one.form}), comparisons", len(one.cells), len(other.cells), n)
    if not n:
        return [], counts
    labels, released = both.labels, (one.released, other.released)
    subjects, attributes = len(labels.subjects), len(labels.attributes)
    groups = None if labels.groups is None else numbered(labels.groups)[1]
    scores = both.cells.scores, both.other
    bias = np.stack([metrics.of_cells(metrics.comparative_bias, score) for score in scores])  # (model, cell)
    listed = [metrics.listed_errors(each) for each in (both.cells.listed, both.other_listed)]
    errors = np.stack(
        [
            error
            for each, own, more in zip(scores, released, listed, strict=True)
            for error in (*metrics.errors(each, released=own), *more.values())
        ]
    )
    blocks = make_blocks(both.cells, bias, subjects, attributes, labels.templates, errors)
    few = _few(n, labels)
    made = []
    for name, found in jackknifed(blocks, attributes, groups, models=2, more=[*listed[0]]).items():
        pooled, metric = name in POOLED, name.removeprefix("pooled_")
        why = _undefined(metric, n, labels, pooled, released)
        before, after, change = found.value.tolist()
        made.append(
            change_of(
                probe.metric(metric),
                {"class": one.cls, "form": one.form, **({"subjects": "pooled"} if pooled else {})},
                (np.nan, np.nan) if why else (before, after),
                n=n,
                replicates=None if few else (found.without[:, 0], found.without[:, 1]),
                interval=partial(_around, reach=float(student_reach(found.error, found.freedom)[2])),
                p=None if few else float(student_p(change, found.error[2], found.freedom[2])),
                family=name,
                undefined=why,
                note=few,
            )
        )
    return made, counts


def _around(
    value: float, replicates: metrics.Array, bounds: tuple[float, float], *, reach: float
) -> tuple[float, float]:
    """The interval of a change, within what is possible."""
    return max(value - reach, bounds[0]), min(value + reach, bounds[1])


def _few(n: int, labels: CellLabels) -> str | None:
    """Why n common comparisons give no interval and no p, if so."""
    if fewest(labels) < MIN_UNITS:
        return f"no interval and no p: {too_few(labels, 'common ')}"
    if n < MIN_UNITS:
        return f"no interval and no p: the two runs share {n} comparisons, and at least {MIN_UNITS} are needed"
    return None


def _undefined(metric: str, n: int, labels: CellLabels, pooled: bool, released: tuple[bool, bool]) -> str | None:
    """Why a change is undefined; None where it is defined."""
    if metric == "delta" and released[0] != released[1]:
        return "one run has δ as the paper defines it, the other as the released program does (compat)"
    return too_thin(n, labels, "the two runs share", pooled=pooled) if metric in ("mu", "eta") else None
