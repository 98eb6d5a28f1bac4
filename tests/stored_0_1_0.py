"""Three small plans and who answers them: what tests/engine/store_of_0_1_0 holds was written by 0.1.0 from these."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.engine.executor import Settings
from assay.models.base import ModelSpec
from assay.plan import TokenPlan, WordPlan
from assay.queries import QueryColumns
from assay.tokens import Tokens

SPEC = ModelSpec("stand-in", "none", "memory", "5" * 64, frozenset({"word", "token", "fill"}), "cpu", "float32")
SETTINGS = Settings(block_size=2)
WORDS, TOKENS = WordPlan(("Anne", "Zoë", "met")), TokenPlan((7, 3, 11))
ARRAYS: dict[str, NDArray[Any]] = {
    "strings": np.array([[-1, 1], [0, -1], [0, -1]], np.int32),
    "name": np.array([0, 0, 1], np.int32),
}
FILLS: dict[str, Any] = {
    "names": ("Ann", "Bob"),
    "texts": (("Ann came.", "Ann is"), ("Bob came.", "Bob is")),
    "words": ("very", "kind"),
    "glue": ("", " ", "."),
    "rows": 3,
    "top": 2,
}
ANSWERS: dict[str, dict[str, NDArray[Any]]] = {
    "word": {"pieces": np.array([1, 2, 1], np.int32), "key": np.array([2**63, 5, 6], np.uint64)},
    "token": {"text": np.array([b"a", "Zoë".encode(), b""]), "whole": np.array([1, 1, 0], np.uint8)},
    "fill": {
        "token": np.array([[5, 6], [7, 8], [9, 4]], np.int32),
        "probability": np.array([[0.5, 0.25], [0.75, 0.125], [1.0, 0.0]], np.float32),
    },
}


@dataclass
class StandIn:
    """Answers from the table above, block by block in the plan's order."""

    spec: ModelSpec = SPEC
    at: int = 0

    def encode(self, columns: QueryColumns) -> Tokens:
        rows, lo = len(columns), self.at
        self.at = (lo + rows) % 3
        marks = {"row": np.arange(lo, lo + rows)}
        return Tokens(
            columns.ability, np.zeros(rows, np.int32), np.arange(rows + 1, dtype=np.int64), np.zeros(rows), marks
        )

    def forward(self, tokens: Tokens) -> dict[str, NDArray[Any]]:
        return {name: values[tokens.marks["row"]] for name, values in ANSWERS[tokens.ability].items()}
