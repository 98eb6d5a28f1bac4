"""Who does a study's work: training, debiasing, auditing, finding models. Tests put others in their places."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.models.base import ModelSpec, Options

if TYPE_CHECKING:
    from assay.compare import Comparison


def _train(kind: str, base: str, data: Path, out: Path, **more: Any) -> Any:
    from assay.training import train

    return train(kind, base, data, out, **more)  # type: ignore[arg-type] # the file's reader has checked the kind


def _debias(method: str, model: str, out: Path, **more: Any) -> Any:
    from assay.debias import debias

    return debias(method, model, out, **more)


def _audit(model: str, probe: str, **more: Any) -> Any:
    from assay.audit import audit

    return audit(model, probe, **more)


def _compare(baseline: Path, run: Path) -> Comparison:
    from assay.compare import compare

    return compare([baseline, run], common=True)


def _find(name: str, options: Options) -> ModelSpec:
    from assay.models import find_model

    return find_model(name, options)


def _check_train(kind: str, preset: str | None, settings: Mapping[str, str]) -> None:
    from assay.training.settings import read

    read(kind, preset, settings)  # type: ignore[arg-type] # as above


def _check_debias(
    method: str, settings: Mapping[str, str], attribute: str | None = None, words: Path | None = None
) -> None:
    from assay.debias import further_training
    from assay.debias.settings import SETTINGS, settings_of
    from assay.debias.words import read_attribute

    if attribute is not None:
        read_attribute(attribute, words)
    if method in SETTINGS:
        settings_of(method, settings)
    else:
        further_training.settings_of(method, settings)


def _evaluate(kind: str, folder: Path, data: Path, device: str) -> Mapping[str, Any]:
    from assay.training import evaluate

    return evaluate(kind, f"hf:{folder}", data, device=device).as_json()  # type: ignore[arg-type] # as above


@dataclass(frozen=True)
class Makers:
    """`check_train(kind, preset, settings)` and `check_debias(method, settings, attribute, words)` raise a UsageError
    where these do not exist; `evaluate(kind, folder, data, device)` gives a model's scores on task data as assay.json
    has them.
    """

    train: Callable[..., Any] = _train
    debias: Callable[..., Any] = _debias
    audit: Callable[..., Any] = _audit
    compare: Callable[[Path, Path], Comparison] = _compare
    find: Callable[[str, Options], ModelSpec] = _find
    check_train: Callable[[str, str | None, Mapping[str, str]], None] = _check_train
    check_debias: Callable[[str, Mapping[str, str], str | None, Path | None], None] = _check_debias
    evaluate: Callable[[str, Path, Path, str], Mapping[str, Any]] = _evaluate
