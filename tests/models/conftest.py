"""Tiny models of every family, loaded by assay and by plain transformers, once for all tests of a process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from assay.engine.executor import forward_all
from assay.models import load_model
from assay.models.tokenise import Tokeniser
from assay.queries import QueryColumns
from tiny_models import FAMILIES, make_choice_model
from unusual_tokenizers import UNUSUAL, unusual, wrapped

Answer = Callable[..., dict[str, NDArray[Any]]]


@pytest.fixture(scope="session")
def choice_folder(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """`choice_folder(family, **options)`: the folder of a tiny multiple-choice model, as `model_folder` has others."""
    import torch

    torch.set_num_threads(1)
    made: dict[str, Path] = {}

    def folder(family: Any = "bert", **options: Any) -> Path:
        key = repr((family, sorted(options.items())))
        if key not in made:
            made[key] = make_choice_model(tmp_path_factory.mktemp(f"{family}-choice"), family, **options)
        return made[key]

    return folder


@pytest.fixture(scope="session")
def tokenisers(model_folder: Callable[..., Path]) -> dict[str, Tokeniser]:
    """Those of the tiny models and the unusual ones, by name."""
    import transformers

    real = {name: transformers.AutoTokenizer.from_pretrained(model_folder("span", name)) for name in FAMILIES}
    return {name: Tokeniser(each) for name, each in (real | {name: wrapped(unusual(name)) for name in UNUSUAL}).items()}


@pytest.fixture(scope="session")
def model(model_folder: Callable[..., Path], choice_folder: Callable[..., Path]) -> Callable[..., Any]:
    """`model(kind, family)`: the tiny model as assay loads it."""
    loaded: dict[tuple[str, str], Any] = {}

    def load(kind: str, family: str) -> Any:
        if (kind, family) not in loaded:
            folder = choice_folder(family) if kind == "choice" else model_folder(kind, family)
            loaded[kind, family] = load_model(f"hf:{folder}", device="cpu")
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
