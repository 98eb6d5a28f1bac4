"""UnQover over several models: shared sentiment (Figures 4 and 5), shared attributes (Table 3), shift of μ (Figure 3).

Arrays are (model, …); NaN stands for what a model has no number for. `aligned` makes them from names and numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.errors import DataError

TOP = 10  # Table 3: attributes among the ten strongest of every model

Array = NDArray[np.float64]


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
    place: Array = np.where(np.isnan(gamma), np.nan, higher + (equal + 1) / 2)
    return place


@dataclass(frozen=True)
class RankSummary:
    """The mean and the standard deviation of each subject's rank over models: (subject,)."""

    mean: Array
    std: Array


def rank_summary(gamma: Array) -> RankSummary:
    """Average and spread of the ranks of γ(x) over models (Figures 4 and 5), from γ (model, subject).

    The mean is in [1, subjects]; a smaller one means that more models prefer the subject, which for negative attributes
    is the more negative sentiment. The standard deviation is the population's (divided by the number of models: these
    models are all there are); 0 means that all models agree. NaN where a model has no γ for the subject.
    """
    places = ranks(gamma)
    return RankSummary(places.mean(axis=0), places.std(axis=0))


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
        raise DataError(
            f"{base.shape} numbers of language models do not pair with {tuned.shape} of fine-tuned ones.",
            "Give the same models and classes in the same order.",
            code="not-comparable",
        )
    shift: Array = tuned - base
    return shift
