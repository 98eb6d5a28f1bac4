"""`hf:` models: whatever transformers' Auto classes load, from a folder or from the hub.

| questions                     | class of transformers         | here            |
|-------------------------------|-------------------------------|-----------------|
| span                          | AutoModelForQuestionAnswering | `hf_encoder.py` |
| masked                        | AutoModelForMaskedLM          | `hf_encoder.py` |
| with options                  | AutoModelForMultipleChoice    | `hf_encoder.py` |
| prompts                       | AutoModelForSeq2SeqLM         | `hf_text.py`    |
| with options, and prompts     | AutoModelForCausalLM          | `hf_text.py`    |

`hf_files.py` finds models, `hf_load.py` loads them; here is what all of them share. Weights are read from safetensors
and no code of the model's author runs, unless that is asked for.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.errors import ModelError
from assay.models.base import BatchTooLargeError, ModelSpec, TokenModel
from assay.models.encode import Encoder
from assay.models.encode_prompts import PromptEncoder
from assay.models.hf_files import find, libraries
from assay.models.hf_load import load_tokenizer, load_weights, max_length
from assay.queries import QueryColumns, Tokens

HELP = "hf:ORG/NAME[@REVISION] or hf:./folder: any model that transformers loads"

__all__ = ["HELP", "HFModel", "Tensor", "find", "load"]

Tensor = Any  # torch's; torch is imported only when a model is loaded


def load(spec: ModelSpec) -> HFModel:
    """Load weights and tokenizer onto the device."""
    from assay.models.hf_encoder import EncoderModel
    from assay.models.hf_text import CausalModel, TextModel

    if "text" not in spec.abilities:
        return EncoderModel(spec)
    return CausalModel(spec) if "choice" in spec.abilities else TextModel(spec)


class HFModel(TokenModel):
    """A transformers model on its device, with its tokenizer. Each kind of model says how it answers."""

    def __init__(self, spec: ModelSpec) -> None:
        self.spec = spec
        self._transformers, self._torch = libraries()
        self.out_of_memory = (MemoryError, self._torch.OutOfMemoryError)
        if spec.threads:
            self._torch.set_num_threads(spec.threads)
        self._model = load_weights(spec)
        self._tokenizer = load_tokenizer(spec)
        self._known_tokens = self._model.get_input_embeddings().num_embeddings
        pads = (self._tokenizer.pad_token_id, self._tokenizer.eos_token_id, 0)  # some models do not know their own
        self._pad = next(pad for pad in pads if pad is not None and pad < self._known_tokens)
        window = max_length(self._tokenizer, self._model)
        if "text" in spec.abilities:
            self.encoder = PromptEncoder(self._tokenizer, window, spec.name, causal="choice" in spec.abilities)
        else:
            self.encoder = Encoder(self._tokenizer, window, spec.name)

    def encode(self, columns: QueryColumns) -> Tokens:
        tokens = super().encode(columns)
        if tokens.ids.max(initial=0) >= self._known_tokens:
            known, remedy = self._known_tokens, "It is another model's tokenizer: put the right one into the folder."
            problem = f"the tokenizer of {self.spec.name} has tokens beyond the {known} that the model knows."
            raise ModelError(problem, remedy, code="bad-tokenizer", key="vocab_size")
        return tokens

    def forward(self, tokens: Tokens) -> dict[str, NDArray[Any]]:
        try:
            with self._torch.inference_mode():
                return super().forward(tokens)
        except BatchTooLargeError:
            self._torch.cuda.empty_cache()
            raise

    def _tensor(self, values: NDArray[Any]) -> Tensor:
        """An array on the device; whole numbers as torch wants its indices."""
        return self._torch.from_numpy(values).to(self.spec.device).long()

    def _close(self, one: Any, other: Any) -> bool:
        """Whether two ways to compute some scores give the same, as far as the number type can tell."""
        tolerance = 1e-3 if self.spec.dtype == "float32" else 0.1
        return bool(np.allclose(one, other, rtol=tolerance, atol=tolerance))

    def _finite(self, values: Tensor) -> Tensor:
        if not bool(self._torch.isfinite(values).all()):
            problem = f"{self.spec.name} gave scores that are not numbers (NaN or infinite)."
            remedy = "Try --dtype float32; if that does not help, the weights are damaged."
            raise ModelError(problem, remedy, code="bad-scores")
        return values
