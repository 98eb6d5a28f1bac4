"""What models score on the task that they are made for, from what they say about themselves (assay.json)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from assay.blocks import TaskScore
from assay.findings import Estimate

PREFERRED = ("accuracy", "f1", "em", "log_likelihood")
"""Of several scores of a model, the one that stands for its task."""


def scores_of(scores: Any) -> dict[str, Estimate]:
    """The scores over everything by metric, as a trained or as a debiased model has them; higher is better.

    >>> scores_of({"before": {"accuracy": 0.6}, "after": {"accuracy": 0.5}})["accuracy"].value
    0.5
    """
    if not isinstance(scores, Mapping):
        return {}
    if isinstance(scores.get("after"), Mapping):
        after = scores["after"]
        return {name: Estimate(name, {}, float(value)) for name, value in after.items() if _is_number(value)}
    listed = scores.get("estimates")
    every = [Estimate(**each) for each in listed] if isinstance(listed, Sequence) else []
    kept = [_higher_is_better(each) for each in every if not each.group and each.value is not None]
    return {each.metric: each for each in kept}


def _higher_is_better(estimate: Estimate) -> Estimate:
    """Perplexity as the logarithm of a hidden word's mean probability, so that less is worse for every score."""
    if estimate.metric != "perplexity":
        return estimate
    value, low, high = (None if x is None else -math.log(x) for x in (estimate.value, estimate.high, estimate.low))
    return replace(estimate, metric="log_likelihood", value=value, low=low, high=high, floor=None)


def task_score(scores: Mapping[str, Estimate], before: Mapping[str, Estimate]) -> TaskScore | None:
    """A model's task score beside its baseline's, where it has one."""
    metrics = [*(name for name in PREFERRED if name in scores), *scores]
    return TaskScore(metrics[0], scores[metrics[0]], before.get(metrics[0])) if metrics else None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
