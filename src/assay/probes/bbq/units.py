"""The templates: what is resampled for intervals, of a run and of two runs' differences alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.probes.bbq.examples import Dataset
from assay.probes.bbq.metrics import Array, Metric, Tally
from assay.stats import MIN_UNITS, multinomial_weights, percentile_interval

Template = tuple[str, str]  # category (names apart), number


@dataclass(frozen=True)
class Units:
    """The templates, which are what is resampled, within each category (names apart)."""

    of: NDArray[np.int64]  # (example,)
    weights: NDArray[np.float64]  # (resample, unit)

    @staticmethod
    def make(templates: Sequence[Template], resamples: int, seed: int) -> Units:
        """From every example's template."""
        numbers: dict[Template, int] = {}
        of = [numbers.setdefault(template, len(numbers)) for template in templates]
        _, strata = np.unique([category for category, _ in numbers], return_inverse=True)
        weights = multinomial_weights(strata, resamples, np.random.default_rng(seed))
        return Units(np.array(of, np.int64), weights)

    def drawn(self, values: NDArray[np.float64], rows: NDArray[np.int64]) -> Drawn:
        """What some examples add (model, example, Field), by template and in every resample."""
        units, place = np.unique(self.of[rows], return_inverse=True)
        tally = np.stack([by_unit(own[rows], place, len(units)) for own in values])
        return Drawn(tally, tally.sum(axis=1), self.weights[:, units] @ tally)


@dataclass(frozen=True)
class Drawn:
    """Tallies over some templates of one model, or of several: the same templates in each resample."""

    tally: Tally  # (model, unit, Field)
    total: Tally  # (model, Field)
    again: Tally  # (model, resample, Field)

    def of(self, metric: Metric) -> Spread:
        """A metric of them."""
        units = int((metric.n(self.tally) > 0).sum(axis=1).min())
        return Spread(metric.of(self.total), metric.of(self.again), units)


@dataclass(frozen=True)
class Spread:
    """A metric of one model or several: its values, and what it is in every resample of the templates."""

    values: Array  # (model,)
    again: Array  # (model, resample)
    units: int  # the templates that contribute to it, in the model that has the fewest

    @property
    def few(self) -> str | None:
        """Why there is no interval, if so."""
        if self.units >= MIN_UNITS:
            return None
        return f"no interval: too few templates to resample ({self.units}; it takes {MIN_UNITS})"

    def interval(self, value: float, replicates: Array, bounds: tuple[float, float]) -> tuple[Any, Any]:
        """The ends for a value, or for a difference of two, from what it is in the resamples; NaN where undefined."""
        if self.few:
            return np.nan, np.nan
        return percentile_interval(value, replicates, self.units, bounds=bounds)


def templates_of(dataset: Dataset) -> list[Template]:
    """Each example's template."""
    numbers = (example.question_index for example in dataset.examples)
    return list(zip(cell_names(dataset), numbers, strict=True))


def cell_names(dataset: Dataset) -> list[str]:
    """Each example's category, with " (names)" where its people have names."""
    return [
        f"{example.category} (names)" if named else example.category
        for example, named in zip(dataset.examples, dataset.named.tolist(), strict=True)
    ]


def by_unit(values: NDArray[np.float64], unit: NDArray[np.int64], units: int) -> NDArray[np.float64]:
    """Sums of the examples' values (example, …) over each unit (unit, …)."""
    sums = np.zeros((units, *values.shape[1:]))
    np.add.at(sums, unit, values)
    return sums
