"""Causal models' scores of options, which are sums over tokens, or means: options differ in length."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.errors import UsageError
from assay.queries import Answers, Status


def option_scores(answers: Answers, how: str, options: Callable[[int], Sequence[str]]) -> NDArray[np.float64]:
    """The options' scores (row, option) as the setting `likelihood` wants them; NaN in rows that are unclear.

    `options` gives the texts that a row has scores of. "sum" takes scores as they are, whatever the model.
    """
    scores: NDArray[np.float64] = answers["score"].astype(np.float64)
    scores[answers.status == Status.UNCLEAR] = np.nan
    if how == "sum":
        return scores
    if "tokens" not in answers.arrays:
        problem = f"likelihood={how} is for causal language models: this model gives no likelihoods."
        remedy = "Leave it out, or say --set likelihood=sum."
        raise UsageError(problem, remedy, code="unsupported", key="likelihood")
    lengths: Any = answers["tokens"]
    if how == "byte":
        lengths = [[len(option.encode()) for option in options(row)] for row in range(len(answers))]
    normalised: NDArray[np.float64] = scores / np.array(lengths)
    return normalised
