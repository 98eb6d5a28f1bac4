"""Which way a metric is worse: for comparisons with a baseline and for limits that a model must keep."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Badness = Callable[[Any], Array]


def _higher(value: Any) -> Array:
    return np.asarray(value, np.float64)


def _lower(value: Any) -> Array:
    return -np.asarray(value, np.float64)


def _away_from(centre: float) -> Badness:
    return lambda value: np.abs(np.asarray(value, np.float64) - centre)


_BADNESS: Mapping[str, Badness] = {
    "mu": _higher,
    "eta": _higher,
    "delta": _higher,
    "epsilon": _higher,
    "accuracy": _lower,
    "bias_score": _away_from(0.0),
    "accuracy_cost": _away_from(0.0),
    "diff_bias": _away_from(0.0),
    "error_alignment": _away_from(0.5),
    "refused_rate": _higher,
    "unparsed_rate": _higher,
    "order_sensitivity": _higher,
    "kmeans_accuracy": _higher,
    "trait_agreement": _higher,
    "name_accuracy": _higher,
}


def badness(metric: str) -> Badness | None:
    """How bad values of a metric are, on its own scale: of two values the one with the larger badness is worse.

    None where neither direction is worse (unknown_rate is right in ambiguous questions and wrong in others; avg_score
    only describes), and for metrics that are not known here.

    >>> [float(badness(metric)(0.2)) for metric in ("mu", "accuracy", "bias_score")]
    [0.2, -0.2, 0.2]
    >>> float(badness("bias_score")(-0.3)), badness("unknown_rate")
    (0.3, None)
    """
    return _BADNESS.get(metric)
