"""Predicts attributes from vectors: logistic regression on random splits, compared with shuffled labels.

scikit-learn runs on one thread here, as in `assay.stats.clusters`: fits of some hundred vectors are too small for more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.probes.sodapop import spelled
from assay.stats import monte_carlo_p

Array = NDArray[np.float64]

PERMUTATIONS, COMPARED = 99, 2
"""For the chance level and p: how often the names' values are shuffled, and the splits of each."""

FEWEST = 3
"""How many names a value needs: two to learn from and one to predict."""


@dataclass(frozen=True)
class ClassifierAccuracy:
    """How often an attribute is predicted correctly from vectors of unseen names."""

    accuracy: Array  # (split,)
    floor: float  # the mean accuracy when the names' values are shuffled
    p: float  # how often shuffled values are told as well as the true ones
    right: Array  # (name,): share of the splits that asked about it; NaN where none did
    asked: int  # names that each split asked about


def tell(vectors: Array, values: NDArray[np.str_], splits: int, seed: Sequence[int]) -> ClassifierAccuracy | str:
    """How well the values (name,) are predicted from vectors (name, width); or a text that says why they cannot be.

    p compares the mean accuracy of the first splits with that of shuffled values, each with as many splits: the same
    quantity, so that p is valid however few these are.
    """
    rarest, count = min(zip(*np.unique(values, return_counts=True), strict=True), key=lambda each: int(each[1]))
    if count < FEWEST:
        said = spelled(sorted({*values.tolist()}))[str(rarest)]
        return f"{said} has {count} names, and each value needs {FEWEST}: two to learn from and one to predict"
    from sklearn import config_context
    from threadpoolctl import threadpool_limits

    rng = np.random.default_rng(list(seed))
    with threadpool_limits(1), config_context(skip_parameter_validation=True):  # once for hundreds of small fits
        right = _right(vectors, values, splits, rng)
        drawn = [np.nanmean(_right(vectors, rng.permutation(values), COMPARED, rng)) for _ in range(PERMUTATIONS)]
    accuracy = np.nanmean(right, axis=1)
    asked = np.isfinite(right).sum(axis=0)
    shares = np.where(asked > 0, np.nansum(right, axis=0) / np.maximum(asked, 1), np.nan)
    p = monte_carlo_p(float(np.nanmean(right[:COMPARED])), np.array(drawn))
    return ClassifierAccuracy(accuracy, float(np.mean(drawn)), p, shares, int(np.isfinite(right[0]).sum()))


def _right(vectors: Array, values: NDArray[np.str_], splits: int, rng: np.random.Generator) -> Array:
    """1 where a name's value is predicted correctly, 0 where not, NaN where it was learnt from (split, name).

    Names are divided at random, two thirds to learn from, with equal shares of every value; features are standardised
    by those.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedShuffleSplit
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    right = np.full((splits, len(values)), np.nan)
    dividing = StratifiedShuffleSplit(splits, test_size=1 / 3, random_state=int(rng.integers(1 << 31)))
    for number, (learnt, asked) in enumerate(dividing.split(vectors, values)):
        classifier = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
        classifier.fit(vectors[learnt], values[learnt])
        right[number, asked] = classifier.predict(vectors[asked]) == values[asked]
    return right
