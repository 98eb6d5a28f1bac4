"""Causal models' scores of options: sums over tokens, or means, since options differ in length."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.errors import UsageError
from assay.queries import Answers, Status


def option_scores(answers: Answers, how: str, options: Callable[[int], Sequence[str]]) -> NDArray[np.float64]:
    """The options' scores (row, option), normalised by the setting `likelihood`; NaN in rows that are unclear.

    `options` returns the texts that a row has scores for. "sum" takes the scores of any model as they are.
    """
    scores: NDArray[np.float64] = answers["score"].astype(np.float64)
    scores[answers.status == Status.UNCLEAR] = np.nan
    if how == "sum":
        return scores
    if "tokens" not in answers.arrays:
        problem = f"likelihood={how} is for causal language models; this model gives no likelihoods."
        remedy = "Leave it out, or use --set likelihood=sum."
        raise UsageError(problem, remedy, code="unsupported", key="likelihood")
    lengths: Any = answers["tokens"]
    if how == "byte":
        lengths = [[len(option.encode()) for option in options(row)] for row in range(len(answers))]
    normalised: NDArray[np.float64] = scores / np.array(lengths)
    return normalised
