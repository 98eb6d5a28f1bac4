"""From the scores of cells to estimates and tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, zip_longest
from math import isfinite
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.errors import DataError, ModelError, UsageError
from assay.probes.claims import corrected, corrected_table
from assay.probes.unqover import family_of, metrics
from assay.probes.unqover.cells import CellLabels, Cells
from assay.probes.unqover.choose_examples import Wording, showcase
from assay.probes.unqover.metrics import Preference
from assay.probes.unqover.settings import UnqoverSettings
from assay.probes.unqover.slots import Contents
from assay.probes.unqover.uncertainty import (
    CHANCE,
    HEADLINE,
    POOLED,
    TableUncertainty,
    Uncertainty,
    drawn_floors,
    group_rows,
    means_over_cells,
    pooled_groups,
    pooled_intensity,
    pooled_one_sidedness,
    share_intervals,
)
from assay.probes.unqover.uncertainty_subjects import make_blocks, single_subjects, subject_rows
from assay.results.examples import MOST, Example
from assay.results.findings import NEAR_TIE, Cell, Estimate, Findings, Table
from assay.stats import MIN_UNITS

MIN_CELLS = 5  # in a sample: cells per (subject, attribute) without which μ and η only measure noise

Result = tuple[list[Estimate], dict[str, Table]]
Array = NDArray[np.float64]
Indices = NDArray[np.int64]

_COLUMNS = {
    "gamma": ("subject", "attribute", "gamma", "low", "high", "eta", "p", "q", "n"),
    "subjects": ("subject", "gamma", "low", "high", "eta", "p", "q", "n"),
    "groups": ("group", "attribute", "gamma", "low", "high", "eta", "p", "q", "n", "attribute_class"),
    "classes": ("subject", "region", "attribute_class", "gamma", "low", "high", "eta", "p", "q", "n"),
}


def analyse(
    cells: Cells,
    labels: CellLabels,
    *,
    cls: str,
    form: str,
    seed: int,
    draws: int = 1000,
    resamples: int = 1000,
    released: bool = False,
    samples: int = 0,
) -> Result:
    """All estimates and tables of one class of subjects asked in one form.

    Tables hold the subjects and attributes that were asked about, by falling γ; their `q` is left to `merged`. `draws`
    is for what chance gives, `resamples` for the halves of cross-fitting; the same seed gives the same result.
    `samples` is how many answers were drawn to each question, where scores are shares of such.
    """
    _check(cells, labels)
    if draws < 1 or resamples < 1:
        problem = f"draws is {draws} and resamples is {resamples}; expected at least 1 of each."
        raise UsageError(problem, "Use 1000.", code="bad-setting", key="draws" if draws < 1 else "resamples")
    about = {"class": cls, "form": form}
    listed = metrics.listed_errors(cells.listed)
    names = (*HEADLINE, *listed)
    if not len(cells):
        note = "nothing was asked" if cells.listed is None else "no comparison has an answer to each of its questions"
        empty = [Estimate(name, about, None, note=note) for name in names]
        return empty, {name: _table(name, about, []) for name in _COLUMNS if name != "groups" or labels.groups}
    cells, labels = only_asked(cells, labels)
    subjects, attributes = len(labels.subjects), len(labels.attributes)
    class_names, attribute_class = numbered(labels.attribute_classes)
    group_names, groups = ([], None) if labels.groups is None else numbered(labels.groups)

    bias = metrics.of_cells(metrics.comparative_bias, cells.scores)  # (cell,)
    attribute_indices = np.arange(attributes)
    pools: dict[str, tuple[Indices, Sequence[str] | None]] = {  # the column of each attribute, and the columns' names
        "gamma": (attribute_indices, labels.attributes),
        "subjects": (np.zeros_like(attribute_indices), None),
        "classes": (attribute_class, class_names),
    }
    preferences = {name: metrics.preference(cells, bias, subjects, column) for name, (column, _) in pools.items()}
    errors = chain(metrics.errors(cells.scores, released=released), listed.values())
    mean, error, freedom = means_over_cells(cells, errors, groups, subjects)
    headline = dict(zip(names, (*_intensities(preferences["gamma"]), *mean.tolist()), strict=True))
    uncertainties: dict[str, Uncertainty] = {}
    has_enough_subjects = fewest(labels) >= MIN_UNITS
    if has_enough_subjects:
        uncertainties |= zip(names[2:], share_intervals(mean, error, freedom), strict=True)
        if samples and cells.listed is not None:
            floors = drawn_floors(cells.listed.shares, samples, np.random.default_rng([seed, 2]))
            uncertainties |= {name: uncertainties[name]._replace(floor=floor) for name, floor in floors.items()}
    if has_enough_subjects and not too_thin(len(cells), labels):
        singles = single_subjects(
            make_blocks(cells, bias, subjects, attributes, labels.templates), attributes, groups, draws, resamples, seed
        )
        uncertainties |= zip(HEADLINE[:2], singles, strict=True)
    all_rows = subject_rows(
        cells, bias, [(preferences[name].gamma, pools[name][0]) for name in pools], labels.templates
    )
    tables = {
        name: _rows(labels.subjects, columns, preferences[name], rows)
        for (name, (_, columns)), rows in zip(pools.items(), all_rows, strict=True)
    }
    tables["classes"] = [[row[0], labels.regions.get(str(row[0])), *row[1:]] for row in tables["classes"]]

    if groups is not None:
        by_group = metrics.preference(cells, bias, groups, attributes)
        headline |= dict(zip(POOLED, _intensities(by_group), strict=True))
        gamma, eta = pooled_groups(cells, bias, groups, attributes)
        if has_enough_subjects:
            rng = np.random.default_rng([seed, 1])
            of_groups = pooled_intensity(gamma, draws, rng), pooled_one_sidedness(eta, draws, rng)
            uncertainties |= zip(POOLED, of_groups, strict=True)
        of_attribute = dict(zip(labels.attributes, labels.attribute_classes, strict=True))
        pooled_rows = _rows(group_names, labels.attributes, by_group, group_rows(gamma))
        tables["groups"] = [[*row, of_attribute[str(row[1])]] for row in pooled_rows]

    estimates = [
        _estimate(key, value, uncertainties.get(key), about, len(cells), labels) for key, value in headline.items()
    ]
    return estimates, {name: _table(name, about, tables[name]) for name in _COLUMNS if name in tables}


class ScoredCells(NamedTuple):
    """One class of subjects in one form, with its scores."""

    cls: str
    form: str
    cells: Cells
    labels: CellLabels
    wording: Wording | None = None  # where the texts are known
    contents: Callable[[], Contents] = dict  # what each (template, attribute) says, to know the same cells elsewhere
    released: bool = False
    samples: int = 0  # answers drawn to each question, where scores are shares of such
    rounded: float = 0.0  # to what probabilities are rounded by who gives them
    notes: Sequence[str] = ()
    lost: Mapping[str, int] = MappingProxyType({})  # answers that name no option, by why
    given: int = 0  # answers of a language model that were asked for

    @property
    def label(self) -> str:
        return f"{self.cls} ({self.form})"

    @property
    def near(self) -> float:
        """Of preferences below this, rounding may decide the sign.

        A preference is an eighth of a sum of 16 probabilities, each off by at most half of what it is rounded to.
        """
        return self.rounded * (1 + 1e-6) + NEAR_TIE


def findings_of(parts: Iterable[ScoredCells], settings: UnqoverSettings, seed: int) -> Findings:
    """The findings of everything that was asked, one class and form after the other."""
    results, near_ties = [], {}
    notes: list[str] = []
    examples: list[list[Example]] = []
    for part in parts:
        results.append(
            analyse(
                part.cells,
                part.labels,
                cls=part.cls,
                form=part.form,
                seed=seed,
                draws=settings.draws,
                resamples=settings.resamples,
                released=settings.released,
                samples=part.samples,
            )
        )
        near = metrics.near_ties(part.cells.scores, part.near)
        near_ties[part.label if not part.rounded else f"{part.label}, below {part.rounded:g}"] = near
        notes += part.notes
        if part.rounded:
            rounds = f"the endpoint rounds probabilities to {part.rounded:g}, which may decide the sign of a preference"
            ties = f"of up to {part.rounded:g}: {near:,} of {len(part.cells):,} comparisons; η counts these signs"
            notes.append(f"{part.label}: {rounds} {ties}")
        if part.wording and len(part.cells):
            about = {"class": part.cls, "form": part.form}
            examples.append(showcase(part.cells, part.labels, results[-1][1], about, part.wording, MOST))
    in_turn = (example for part_examples in zip_longest(*examples) for example in part_examples)
    shown_examples = [example for example in in_turn if example is not None][:MOST]
    estimates, tables = merged(results)
    return Findings("unqover", "", estimates, tables, near_ties, shown_examples, notes)


def merged(results: Iterable[Result]) -> Result:
    """The results of several classes and forms as one: estimates in the order given, tables one below the other.

    q is corrected over all rows of a table, and over all values of μ and of η: one may look at any of them.
    """
    estimates: list[Estimate] = []
    tables: dict[str, Table] = {}
    for part_estimates, part_tables in results:
        estimates += part_estimates
        for name, table in part_tables.items():
            rows = [*tables[name].rows, *table.rows] if name in tables else table.rows
            tables[name] = Table(table.columns, rows)
    estimates = corrected(estimates, [family_of(estimate.metric, estimate.group) for estimate in estimates])
    return estimates, {name: corrected_table(tables[name]) for name in _COLUMNS if name in tables}


def _estimate(
    key: str, value: float, uncertainty: Uncertainty | None, about: dict[str, str], n: int, labels: CellLabels
) -> Estimate:
    pooled, name = key in POOLED, key.removeprefix("pooled_")
    about = {**about, "subjects": "pooled"} if pooled else about
    thin = too_thin(n, labels, pooled=pooled) if name in HEADLINE[:2] else None
    if thin is not None:
        return Estimate(name, about, None, n=n, note=thin)
    if uncertainty is None:
        return Estimate(name, about, _tidied(np.array([value]))[0], n=n, note=f"no interval: {too_few(labels)}")
    numbers = np.array((value, *uncertainty[:4]), dtype=np.float64)  # None is NaN there
    tidy_value, low, high, corrected, floor = _tidied(numbers)
    (p,) = _rounded(np.array([uncertainty.p], dtype=np.float64))
    note = "not distinguishable from chance, so the interval starts at 0" if p is not None and p > CHANCE else None
    if p is None and floor is not None and low is not None and low <= floor:
        note = "no larger than the chance level of drawn answers"
    return Estimate(name, about, tidy_value, low, high, n=n, p=p, floor=floor, note=note, corrected=corrected)


def too_thin(n: int, labels: CellLabels, having: str = "the sample has", *, pooled: bool = False) -> str | None:
    """Why μ and η of n cells are undefined; None where they are defined."""
    per_pair = n / len(labels.attributes) if pooled else 2 * n / (len(labels.subjects) * len(labels.attributes))
    if not labels.sampled or per_pair >= MIN_CELLS:
        return None
    unit = "group" if pooled else "subject"
    return (
        f"too few questions: {having} {per_pair:.1f} comparisons per {unit} and attribute, and "
        f"with fewer than {MIN_CELLS} the maximum and the absolute values measure noise"
    )


def too_few(labels: CellLabels, which: str = "") -> str:
    """Why there is no interval; `which` says more about the subjects."""
    whose = f"{which}subjects{'' if labels.groups is None else ' in a group'}"
    return f"{fewest(labels)} {whose}, and at least {MIN_UNITS} are needed"


def fewest(labels: CellLabels) -> int:
    """How many subjects there are, or are in the group that has fewer."""
    return len(labels.subjects) if labels.groups is None else int(np.bincount(numbered(labels.groups)[1]).min())


def _intensities(preference: Preference) -> tuple[float, float]:
    return float(metrics.intensity(preference.gamma)), float(metrics.count_intensity(preference.eta))


def _rows(
    names: Sequence[str], columns: Sequence[str] | None, preference: Preference, uncertainty: TableUncertainty
) -> list[list[Cell]]:
    """A row for each entry of `found` (name, column) that was asked about, by falling γ and then by name.

    Its q is not known before all tables of the run are.
    """
    is_defined = preference.n > 0
    row, column = (indices.tolist() for indices in np.nonzero(is_defined))
    labels = [[names[i] for i in row]] + ([] if columns is None else [[columns[k] for k in column]])
    arrays = preference.gamma, uncertainty.low, uncertainty.high, preference.eta
    numbers = [_tidied(array[is_defined]) for array in arrays]
    p, n = _rounded(uncertainty.p[is_defined]), preference.n[is_defined].tolist()
    rows: list[list[Cell]] = [list(row) for row in zip(*labels, *numbers, p, [None] * len(n), n, strict=True)]
    n_labels = len(labels)
    return sorted(rows, key=lambda row: (-float(row[n_labels] or 0), row[:n_labels]))


def _table(name: str, about: dict[str, str], rows: Iterable[Sequence[Cell]]) -> Table:
    return Table((*about, *_COLUMNS[name]), [(*about.values(), *row) for row in rows])


def _rounded(values: Array) -> list[float | None]:
    """Ten significant digits, so that the last bits of a sum do not change a file; None where undefined."""
    return [float(f"{value:.10g}") if isfinite(value) else None for value in values.tolist()]


def _tidied(values: Array) -> list[float | None]:
    """As `_rounded`, and 0 for what is 0 up to the rounding of sums; not for p-values, which may be that small."""
    return _rounded(np.where(np.abs(values) < 1e-12, 0.0, values))


def numbered(names: Sequence[str]) -> tuple[list[str], Indices]:
    """The different names in order of appearance, and the number of each."""
    indices = {name: number for number, name in enumerate(dict.fromkeys(names))}
    return list(indices), np.array([indices[name] for name in names], dtype=np.int64)


def only_asked(cells: Cells, labels: CellLabels) -> tuple[Cells, CellLabels]:
    """Cells and labels without the subjects, attributes and templates that no cell has, numbered anew."""
    subjects, subject = _renumbered((cells.first, cells.second), len(labels.subjects))
    attributes, attribute = _renumbered((cells.attribute,), len(labels.attributes))
    templates, template = _renumbered((cells.template,), labels.templates)
    sizes = len(labels.subjects), len(labels.attributes), labels.templates
    if (len(subjects), len(attributes), len(templates)) == sizes:
        return cells, labels
    used_labels = CellLabels(
        [labels.subjects[k] for k in subjects],
        [labels.attributes[k] for k in attributes],
        [labels.attribute_classes[k] for k in attributes],
        len(templates),
        None if labels.groups is None else [labels.groups[k] for k in subjects],
        labels.sampled,
        labels.regions,
    )
    columns = (template[cells.template], subject[cells.first], subject[cells.second], attribute[cells.attribute])
    return Cells(*columns, cells.scores, cells.listed), used_labels


def _renumbered(columns: Sequence[NDArray[np.int32]], size: int) -> tuple[list[int], NDArray[np.int32]]:
    """Which of `size` numbers occur in the columns, and each number's place among those."""
    occurs = np.zeros(size, dtype=np.bool_)
    for column in columns:
        occurs[column] = True
    return np.flatnonzero(occurs).tolist(), (np.cumsum(occurs) - 1).astype(np.int32)


def _check(cells: Cells, labels: CellLabels) -> None:
    """Raise an error for cells that no plan makes, and for scores that are not probabilities."""
    n, subjects = len(cells), len(labels.subjects)
    if cells.scores.shape != (n, 2, 2, 2):
        problem = f"scores have the shape {cells.scores.shape}, expected {(n, 2, 2, 2)}."
        raise DataError(problem, "Score every question.", code="bad-value", key="scores")
    sizes = (labels.templates, subjects, subjects, len(labels.attributes))
    for key, size in zip(("template", "first", "second", "attribute"), sizes, strict=True):
        column = getattr(cells, key)
        if len(column) != n or (n and not 0 <= column.min() <= column.max() < size):
            problem = f"a column of the cells is not {n} numbers from 0 to {size - 1}."
            raise DataError(problem, "Make the plan again.", code="bad-value", key=key)
    group = np.arange(subjects) if labels.groups is None else numbered(labels.groups)[1]
    if (group[cells.first] == group[cells.second]).any():
        kind = "itself" if labels.groups is None else "one of its own group"
        raise DataError(f"a comparison pairs a subject with {kind}.", "Pair different subjects.", code="bad-row")
    low, high = (pick(cells.first, cells.second).astype(np.int64) for pick in (np.minimum, np.maximum))
    cell = np.sort(
        ((low * subjects + high) * labels.templates + cells.template) * len(labels.attributes) + cells.attribute
    )
    if (cell[1:] == cell[:-1]).any():
        raise DataError("a comparison occurs twice.", "Ask every (template, pair, attribute) once.", code="duplicate")
    if n and not (float(cells.scores.min()) >= 0 and float(cells.scores.max()) <= 1 + 1e-6):
        raise ModelError(
            f"a score is outside 0 to 1 or not a number (least {cells.scores.min()}, greatest {cells.scores.max()}).",
            "UnQover's scores are probabilities; check the weights and precision that the model was loaded with.",
            code="bad-scores",
        )
