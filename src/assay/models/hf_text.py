"""`hf:` models that write: text-to-text ones here, and what causal ones share with them (`hf_causal.py`)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.models.base import ModelSpec
from assay.models.encode_prompts import PromptEncoder
from assay.models.hf_base import HFModel, Tensor
from assay.models.padding import padded
from assay.queries import Tokens

_KEPT = ("bos_token_id", "eos_token_id", "decoder_start_token_id", "forced_bos_token_id")
"""What a folder's generation_config.json may say: which tokens begin and end a text."""


class TextModel(HFModel):
    """A text-to-text model (T5, BART): an encoder reads the prompt, a decoder writes the answer.

    It writes the likeliest token each time until it ends the text itself, or has written as many as are wanted.
    Whatever else its folder says about writing (sampling, beams, penalties, lengths) does not count: answers are to be
    the model's own, and the same every time.
    """

    def __init__(self, spec: ModelSpec) -> None:
        super().__init__(spec)
        found = self._model.generation_config
        kept = {name: getattr(found, name, None) for name in _KEPT}
        if kept["eos_token_id"] is None:
            kept["eos_token_id"] = self._tokenizer.eos_token_id
        self._greedy = {"do_sample": False, "num_beams": 1, "pad_token_id": self._pad, **kept}
        self._model.generation_config = self._transformers.GenerationConfig(**self._greedy)
        self._ends = np.array(kept["eos_token_id"] if kept["eos_token_id"] is not None else [], np.int64).reshape(-1)

    def _new_encoder(self, tokenizer: Any, window: int) -> PromptEncoder:
        return PromptEncoder(tokenizer, window, self.spec.name, causal=False)

    def _answer(self, tokens: Tokens) -> dict[str, NDArray[Any]]:
        return {"text": self._written(tokens)}

    def _written(self, tokens: Tokens, *, left: bool = False) -> NDArray[np.bytes_]:
        """What the model writes behind the prompts, padded behind them or before them (`left`): (row,)."""
        prompts = padded(tokens, self._pad, left=left)
        most = int(tokens.marks["tokens"][0])
        ids = self._model.generate(
            input_ids=self._tensor(prompts.ids),
            attention_mask=self._tensor(prompts.there),
            generation_config=self._transformers.GenerationConfig(**self._greedy, max_new_tokens=most),
            logits_processor=[self._checked],
        )
        given = 1 if self._model.config.is_encoder_decoder else prompts.ids.shape[1]  # a first token, or the prompt
        return np.array([self._text(row) for row in ids[:, given:].cpu().numpy()], np.bytes_)

    def _checked(self, _: Tensor, logits: Tensor) -> Tensor:
        """A step of `generate`, which would go on from scores that are not numbers."""
        self._finite(logits.amax(-1))
        return logits

    def _text(self, ids: NDArray[np.int64]) -> bytes:
        end = np.flatnonzero(np.isin(ids, self._ends))
        written = ids[: end[0]] if len(end) else ids
        text: str = self._tokenizer.decode(written, skip_special_tokens=True, clean_up_tokenization_spaces=False)
        return text.strip().encode()
