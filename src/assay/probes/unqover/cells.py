"""The cells of UnQover with their scores, and what their indices stand for: what the metrics are computed from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.floating]  # (…, order 2, polarity 2, subject 2)


@dataclass(frozen=True)
class Cells:
    """The cells of one class of subjects asked in one form, as columns; any subset of all cells, in any order."""

    template: NDArray[np.int32]  # (cell,)
    first: NDArray[np.int32]  # (cell,) index of subject x1
    second: NDArray[np.int32]  # (cell,) index of subject x2
    attribute: NDArray[np.int32]  # (cell,)
    # (cell, order 2, polarity 2, subject 2): order 0 names x1 first, polarity 0 is the question as asked and 1 its
    # negation; the last axis is who (x1, x2), not where.
    scores: Scores
    listed: ListedShares | None = None  # of language models

    def __len__(self) -> int:
        return len(self.template)

    def take(self, cells: NDArray[np.integer]) -> Cells:
        """Some of them."""
        listed = None if self.listed is None else self.listed.take(cells)
        columns = self.template[cells], self.first[cells], self.second[cells], self.attribute[cells]
        return Cells(*columns, self.scores[cells], listed)


@dataclass(frozen=True)
class ListedShares:
    """What language models answered to cells: the probability of every option.

    Options are x1, x2 and, but in the form `forced`, UNKNOWN. Option order 0 lists x1 before x2; where options are not
    listed there is one order and no place.
    """

    shares: Scores  # (cell, order 2, option order 1 or 2, polarity 2, option 2 or 3)
    places: NDArray[np.int8] | None  # (cell, option order, option): where each stands

    def take(self, cells: NDArray[np.integer]) -> ListedShares:
        return ListedShares(self.shares[cells], None if self.places is None else self.places[cells])


@dataclass(frozen=True)
class CellLabels:
    """What the indices of `Cells` stand for, and how the cells were chosen."""

    subjects: Sequence[str]
    attributes: Sequence[str]
    attribute_classes: Sequence[str]  # the class of each attribute
    templates: int
    groups: Sequence[str] | None  # the group (female, male) of each subject where pairs are always between groups
    sampled: bool  # the cells are a sample of all there are
    regions: Mapping[str, str] = field(default_factory=dict)  # the UN geoscheme of a country, as in Table 4
