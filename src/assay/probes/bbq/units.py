"""The templates: what is resampled for intervals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.probes.bbq.examples import Dataset
from assay.probes.bbq.metrics import Tally
from assay.stats import multinomial_weights


@dataclass(frozen=True)
class Units:
    """The templates, which are what is resampled, within each category (names apart)."""

    of: NDArray[np.int64]  # (example,)
    weights: NDArray[np.float64]  # (resample, unit)

    @staticmethod
    def make(dataset: Dataset, resamples: int, seed: int) -> Units:
        cells = cell_names(dataset)
        templates: dict[tuple[str, str], int] = {}
        of = [
            templates.setdefault((cell, example.question_index), len(templates))
            for cell, example in zip(cells, dataset.examples, strict=True)
        ]
        _, strata = np.unique([cell for cell, _ in templates], return_inverse=True)
        weights = multinomial_weights(strata, resamples, np.random.default_rng(seed))
        return Units(np.array(of, np.int64), weights)

    def sums(self, values: NDArray[np.float64], rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], Tally]:
        """The units that some examples belong to, and the sums of the examples' values over each (unit, …)."""
        units, place = np.unique(self.of[rows], return_inverse=True)
        return units, by_unit(values[rows], place, len(units))


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
