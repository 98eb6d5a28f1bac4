"""What all `hf:` models share: loading, tokenising, and the errors of memory, weights and tokenizers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.errors import ModelError
from assay.models.base import BatchTooLargeError, ModelSpec, unable
from assay.models.encode import Encoder
from assay.models.encode_prompts import PromptEncoder
from assay.models.hf_files import libraries
from assay.models.hf_load import load_tokenizer, load_weights, max_length
from assay.queries import OF_THE_TOKENIZER, QueryColumns, Tokens

Tensor = Any  # torch's; torch is imported only when a model is loaded


class HFModel(ABC):
    """A transformers model on its device, with its tokenizer. Each kind of model says how it tokenises and answers."""

    def __init__(self, spec: ModelSpec) -> None:
        self.spec = spec
        self._transformers, self._torch = libraries()
        if spec.threads:
            self._torch.set_num_threads(spec.threads)
        self._model = load_weights(spec)
        self._tokenizer = load_tokenizer(spec)
        self._known_tokens = self._model.get_input_embeddings().num_embeddings
        pads = (
            self._tokenizer.pad_token_id,
            self._tokenizer.eos_token_id,
            0,
        )  # some models do not know their pad token
        self._pad = next(pad for pad in pads if pad is not None and pad < self._known_tokens)
        self._encoder = self._new_encoder(self._tokenizer, max_length(self._tokenizer, self._model))

    @abstractmethod
    def _new_encoder(self, tokenizer: Any, window: int) -> Encoder | PromptEncoder: ...

    @abstractmethod
    def _answer(self, tokens: Tokens) -> dict[str, NDArray[Any]]:
        """Answers to one batch of anything but words."""

    def encode(self, columns: QueryColumns) -> Tokens:
        if columns.ability not in self.spec.abilities:
            raise unable(self.spec.name, columns.ability)
        tokens = self._encoder.encode(columns)
        if tokens.ids.max(initial=0) >= self._known_tokens:
            raise ModelError(
                f"the tokenizer of {self.spec.name} has tokens beyond the {self._known_tokens} that the model knows.",
                "It is another model's tokenizer: put the right one into the folder.",
                code="bad-tokenizer",
                key="vocab_size",
            )
        return tokens

    def forward(self, tokens: Tokens) -> dict[str, NDArray[Any]]:
        """Answers to one batch."""
        if tokens.ability in OF_THE_TOKENIZER:
            return dict(tokens.marks)
        with self._torch.inference_mode(), self._memory_errors():
            return self._answer(tokens)

    def token_text(self, ids: NDArray[np.int32]) -> list[str]:
        """The text of tokens, one by one, without surrounding blanks."""
        return self._encoder.tokeniser.token_text(ids)

    def _tensor(self, values: NDArray[Any]) -> Tensor:
        """An array on the device; whole numbers as torch wants its indices."""
        return self._torch.from_numpy(values).to(self.spec.device).long()

    def _close(self, one: Any, other: Any) -> bool:
        """Whether two ways to compute some scores give the same, as far as the number type can tell."""
        tolerance = 1e-3 if self.spec.dtype == "float32" else 0.1
        return bool(np.allclose(one, other, rtol=tolerance, atol=tolerance))

    def _finite(self, values: Tensor) -> Tensor:
        if not bool(self._torch.isfinite(values).all()):
            raise ModelError(
                f"{self.spec.name} gave scores that are not numbers (NaN or infinite).",
                "Try --dtype float32; if that does not help, the weights are damaged.",
                code="bad-scores",
            )
        return values

    @contextmanager
    def _memory_errors(self) -> Iterator[None]:
        try:
            yield
        except (MemoryError, self._torch.OutOfMemoryError) as error:
            self._torch.cuda.empty_cache()
            raise BatchTooLargeError(str(error)) from error
        except RuntimeError as error:
            if "can't allocate memory" in str(error):
                raise BatchTooLargeError(str(error)) from error
            raise
