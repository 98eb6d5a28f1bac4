"""What debiasing costs: a model's scores on data of its task."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.errors import UsageError
from assay.lab.training import evaluate, kind_of
from assay.lab.training.data_files import existing
from assay.models import find_model
from assay.models.base import Options
from assay.progress import Progress


@dataclass(frozen=True)
class EvaluateOn:
    """Scores on data of the task that a model's head is for: accuracy, or EM and F1, or how likely hidden words are."""

    data: Path
    device: str = "auto"
    seed: int = 0
    progress: Progress | None = None

    def __post_init__(self) -> None:
        existing(self.data)

    def __call__(self, folder: Path) -> Mapping[str, float]:
        name = f"hf:{folder.absolute()}"
        kind = kind_of(find_model(name, Options(device=self.device)).abilities)
        if kind is None:
            raise UsageError(
                f"{folder} has no head that could be evaluated.",
                "Leave --eval out.",
                code="missing-ability",
                key="eval",
            )
        scores = evaluate(kind.name, name, self.data, seed=self.seed, device=self.device, progress=self.progress)
        return dict(_higher_is_better(scores.estimates))


def _higher_is_better(estimates: Any) -> Iterator[tuple[str, float]]:
    for each in estimates:
        if each.value is not None and not each.group:
            yield (
                ("log_likelihood", -math.log(each.value)) if each.metric == "perplexity" else (each.metric, each.value)
            )
