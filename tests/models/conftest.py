"""Tiny models of every family, loaded by assay and by plain transformers, once for all tests of a process."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from assay.asking.queries import QueryColumns
from assay.engine.executor import forward_all
from assay.models import load_model
from assay.models.tokenise import Tokeniser
from tiny_models import FAMILIES, ModelFolder
from unusual_tokenizers import UNUSUAL, unusual, wrapped

Answer = Callable[..., dict[str, NDArray[Any]]]


@pytest.fixture(scope="session")
def tokenisers(model_folder: Callable[..., Path]) -> dict[str, Tokeniser]:
    """Those of the tiny models and the unusual ones, by name."""
    import transformers

    real = {name: transformers.AutoTokenizer.from_pretrained(model_folder("span", name)) for name in FAMILIES}
    return {name: Tokeniser(each) for name, each in (real | {name: wrapped(unusual(name)) for name in UNUSUAL}).items()}


@pytest.fixture
def folder(model_folder: ModelFolder, tmp_path: Path) -> Path:
    """A tiny span model that the test may change."""
    return Path(shutil.copytree(model_folder("span", "bert"), tmp_path / "span"))


@pytest.fixture(scope="session")
def model(model_folder: Callable[..., Path]) -> Callable[..., Any]:
    """`model(kind, family)`: the tiny model as assay loads it."""
    loaded: dict[tuple[str, str], Any] = {}

    def load(kind: str, family: str) -> Any:
        if (kind, family) not in loaded:
            loaded[kind, family] = load_model(f"hf:{model_folder(kind, family)}", device="cpu")
        return loaded[kind, family]

    return load


@pytest.fixture(scope="session")
def reference(model_folder: Callable[..., Path]) -> Callable[..., Any]:
    """`reference(kind, family)`: the same model as plain transformers has it."""
    from reference_scores import MaskReference, SpanReference

    loaded: dict[tuple[str, str], Any] = {}

    def load(kind: str, family: str) -> Any:
        if (kind, family) not in loaded:
            kinds = {"span": SpanReference, "mask": MaskReference}
            loaded[kind, family] = kinds[kind](model_folder(kind, family))
        return loaded[kind, family]

    return load


@pytest.fixture(scope="session")
def answer() -> Answer:
    """`answer(model, columns)`: what the engine makes of some questions: arrays by name."""

    def ask(model: Any, columns: QueryColumns, *, budget: int = 4096) -> dict[str, NDArray[Any]]:
        answers, _ = forward_all(model, model.encode(columns), budget)
        assert np.array_equal(answers.status, np.zeros(len(columns)))
        return dict(answers.arrays)

    return ask
