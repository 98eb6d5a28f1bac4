"""Asking a trained model about its task's own data, as audits ask it: from its folder, in the engine's batches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.engine.executor import Settings as Engine
from assay.engine.executor import forward_all
from assay.models.base import BatchTooLargeError, ModelSpec, Padded
from assay.models.hf import has_types, load_weights
from assay.models.hf_files import libraries
from assay.models.tokenise import Tokeniser
from assay.progress import Progress
from assay.queries import Tokens

_ROWS = 2048  # asked between two signs of progress

Array = NDArray[Any]


class Asker:
    """A model in the engine's batches; `answer` says what a batch's answers are."""

    def __init__(self, spec: ModelSpec, progress: Progress) -> None:
        self.spec = spec
        self.transformers, self.torch = libraries()
        self._progress = progress

    def load(self) -> None:
        """The network with the head that was trained, and what it needs of its tokenizer."""
        self.network = load_weights(self.spec)
        tokenizer = self.transformers.AutoTokenizer.from_pretrained(self.spec.place, local_files_only=True)
        self.pad = tokenizer.pad_token_id or 0
        self.typed = Tokeniser(tokenizer).typed and has_types(self.network.config)

    def ask(self, tokens: Tokens, answer: Callable[[Tokens], dict[str, Array]]) -> dict[str, Array]:
        return self.ask_model(tokens, _Answering(self.spec, answer, self.torch))

    def ask_model(self, tokens: Tokens, model: Any) -> dict[str, Array]:
        budget, parts = Engine().budget_for(self.spec), []
        self._progress.start("evaluating", len(tokens), "rows")
        for lo in range(0, len(tokens), _ROWS):
            rows = np.arange(lo, min(lo + _ROWS, len(tokens)))
            answers, budget = forward_all(model, tokens.take(rows), budget)
            parts.append(answers.arrays)
            self._progress.advance(len(rows))
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def outputs(self, rows: Padded) -> Any:
        arrays = {"input_ids": rows.ids}
        if not rows.there.all():
            arrays["attention_mask"] = rows.there
        if self.typed:
            arrays["token_type_ids"] = rows.types
        tensors = {name: self.torch.from_numpy(values).to(self.spec.device) for name, values in arrays.items()}
        return self.network(**tensors)

    def tensor(self, values: Array) -> Any:
        return self.torch.from_numpy(np.ascontiguousarray(values)).to(self.spec.device)


@dataclass(frozen=True)
class _Answering:
    """A function as the engine's model: without gradients, and memory that runs out as the engine knows it."""

    spec: ModelSpec
    answer: Callable[[Tokens], dict[str, Array]]
    torch: Any

    def forward(self, tokens: Tokens) -> dict[str, Array]:
        with self.torch.inference_mode():
            try:
                return self.answer(tokens)
            except (MemoryError, self.torch.OutOfMemoryError) as error:
                self.torch.cuda.empty_cache()
                raise BatchTooLargeError(str(error)) from error
