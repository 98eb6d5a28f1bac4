"""Uncertainty of UnQover's numbers, in one run and between two: the shared parts, and means over cells.

Cells share subjects and templates, so they are not independent: every error, test and chance level is clustered by them
(`assay.stats.clustered`). Subjects and templates are taken as samples of others like them, except that numbers for
names in two groups (gender) are about the given templates.

- γ of a group: the names of both groups repeat (`uncertainty_groups.py`).
- γ of a subject: its partners and the templates repeat; the subject is fixed (`uncertainty_subjects.py`).
- δ, ε and the mean score: all subjects and the templates repeat (here).
- μ and η are maxima and absolute values of noisy numbers, so they are too large. The interval belongs to a corrected
  value. μ of groups is corrected by shrinkage, η of groups for what noise adds on average, and both of subjects by
  cross-fitting.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from assay.probes.unqover.blocks import Array, Indices, sums_at
from assay.probes.unqover.metrics import Cells
from assay.stats import Spread, combined, paired_spread, student_reach, unit_spread

HEADLINE = ("mu", "eta", "delta", "epsilon", "avg_score")
POOLED = ("pooled_mu", "pooled_eta")  # of groups
CHANCE = 0.05  # a p above this: chance alone gives as much


class Sure(NamedTuple):
    """The uncertainty of a headline number: its interval and, for maxima and absolute values, its chance level."""

    low: float
    high: float
    corrected: float | None = None  # the number to which the interval belongs, if it is not the paper's
    floor: float | None = None
    p: float | None = None


class Rows(NamedTuple):
    """Both ends of the interval of every γ (row, column) of a table, and its p; NaN where subjects are too few."""

    low: Array
    high: Array
    p: Array


# --- means over all cells


class Means(NamedTuple):
    """Means over all cells (column,), their standard errors and degrees of freedom."""

    mean: Array
    error: Array
    freedom: Array

    def intervals(self) -> list[Sure]:
        """Of shares of 1: Student's t."""
        low, high = (self.mean + side * student_reach(self.error, self.freedom) for side in (-1, 1))
        return [*map(Sure, np.maximum(low, 0.0).tolist(), np.minimum(high, 1.0).tolist())]


def means_over_cells(cells: Cells, columns: Iterable[Array], groups: Indices | None, subjects: int) -> Means:
    """Of columns of values (cell,), of which only one has to be there at a time."""
    n, pairs, texts = len(cells), Pairs.of(cells, groups, subjects), np.bincount(cells.template)
    means, by_pair, by_template, alone = [], [], [], []
    for values in columns:
        means.append(values.mean())
        far = values - means[-1]
        by_pair.append(pairs.sums(far)[..., 0])
        by_template.append(np.bincount(cells.template, far))
        alone.append(far @ far / n**2)
    subject = pairs.spread(np.stack(by_pair, axis=-1), n)
    template = unit_spread(np.stack(by_template, axis=-1), n, np.count_nonzero(texts))
    found = subjects_and_templates(
        (subject.variance, subject.units), (template.variance, template.units), np.array(alone)
    )
    return Means(np.array(means), *found)


def subjects_and_templates(
    subjects: tuple[Array, ArrayLike], templates: tuple[Array, ArrayLike], alone: Array
) -> tuple[Array, Array]:
    """The standard error and its degrees of freedom, from the variance of two kinds of (variance, units).

    What cells have `alone` is in both; the smaller of the two gives it up, and stays at least 0.
    """
    (one, names), (two, texts) = subjects, templates
    less = one < two * (1 - 1e-9)  # equal but for rounding: the subjects keep it
    return combined(
        [
            (np.where(less, one - alone, one), np.maximum(np.asarray(names) - 1, 1)),
            (np.where(less, two, two - alone), np.maximum(np.asarray(texts) - 1, 1)),
        ]
    )


# --- cells that share subjects


@dataclass(frozen=True)
class Pairs:
    """Cells by their unordered pair and, where columns are told apart, by attribute.

    Of two groups the first's subject comes first, else that with the lower number.
    """

    place: Indices  # (cell,)
    asked: Array  # (one, other, column): how many cells there are
    grouped: bool

    @staticmethod
    def of(cells: Cells, groups: Indices | None, subjects: int, attributes: int | None = None) -> Pairs:
        if groups is None:
            turned, number, sizes = cells.first > cells.second, np.arange(subjects), (subjects, subjects)
        else:
            second = groups != 0
            turned, sizes = second[cells.first], (int((~second).sum()), int(second.sum()))
            number = np.where(second, np.cumsum(second), np.cumsum(~second)) - 1  # in its own group
        place = (number * sizes[1])[np.where(turned, cells.second, cells.first)]
        place += number[np.where(turned, cells.first, cells.second)]
        if attributes is not None:
            place *= attributes
            place += cells.attribute
        return Pairs(place, sums_at(place, None, (*sizes, attributes or 1)), groups is not None)

    def sums(self, values: Array) -> Array:
        """Sums (one, other, column) of values (cell,)."""
        return sums_at(self.place, values, self.asked.shape)

    def spread(self, far: Array, n: ArrayLike) -> Spread:
        """Of means (column,) over n cells, from Σ (value − mean) of every pair (one, other, column)."""
        names, asked = ([each.sum(axis=1), each.sum(axis=0)] for each in (far, self.asked))
        if not self.grouped:  # a subject may stand on either side
            names, asked = [names[0] + names[1]], [asked[0] + asked[1]]
        by_name = [
            unit_spread(own, n, np.count_nonzero(count, axis=0)) for own, count in zip(names, asked, strict=True)
        ]
        every = far[self.asked.any(axis=2)]  # (pair, column)
        return paired_spread(by_name, unit_spread(every, n, np.count_nonzero(self.asked, axis=(0, 1))))
