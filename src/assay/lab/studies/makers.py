"""Who does a study's work: training, debiasing, auditing, finding models. Tests put others in their places."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.compare import compare
from assay.compare.runs import Comparison
from assay.lab.debiasing import debias
from assay.lab.training import evaluate, train
from assay.models import find_model
from assay.models.base import ModelSpec, Options
from assay.runs.audit import audit


def _compare(baseline: Path, run: Path) -> Comparison:
    return compare([baseline, run], common=True)


def _evaluate(kind: str, folder: Path, data: Path, device: str) -> Mapping[str, Any]:
    return evaluate(kind, f"hf:{folder}", data, device=device).as_json()


@dataclass(frozen=True)
class Makers:
    """`evaluate(kind, folder, data, device)` gives a model's scores on task data as assay.json has them."""

    train: Callable[..., Any] = train
    debias: Callable[..., Any] = debias
    audit: Callable[..., Any] = audit
    compare: Callable[[Path, Path], Comparison] = _compare
    find: Callable[[str, Options], ModelSpec] = find_model
    evaluate: Callable[[str, Path, Path, str], Mapping[str, Any]] = _evaluate
