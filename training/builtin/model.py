"""The built-in model in torch: one BERT encoder with three heads, under the names that transformers gives them.

Because the names are those of BertForQuestionAnswering, BertForMaskedLM and BertForMultipleChoice, each of these loads
its own head from the one file of weights.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from transformers import BertConfig, BertModel

WIDTH = 384
LAYERS = 6


class BuiltIn(nn.Module):
    """The encoder and its heads: span (start and end of the answer), mask (the word at a place), choice (an option)."""

    def __init__(self, attention: str = "sdpa", dropout: float = 0.1) -> None:
        super().__init__()
        config = BertConfig(
            hidden_size=WIDTH,
            num_hidden_layers=LAYERS,
            num_attention_heads=12,
            intermediate_size=4 * WIDTH,
            hidden_dropout_prob=dropout,
            attention_probs_dropout_prob=dropout,
            attn_implementation=attention,
        )
        self.bert = BertModel(config)
        self.qa_outputs = nn.Linear(WIDTH, 2)
        self.cls = nn.ModuleDict({"predictions": _MaskHead(config.vocab_size)})
        self.classifier = nn.Linear(WIDTH, 1)
        self.dropout = nn.Dropout(dropout)

    def encode(self, ids: Tensor, there: Tensor | None = None, types: Tensor | None = None) -> Tensor:
        """Hidden states (row, position, width) of rows; `there` is false, or 0, at padding."""
        if there is not None and there.dtype == torch.bool:
            there = there[:, None, None, :]  # taken as it is: nothing looks into it and waits for the device
        return self.bert(input_ids=ids, attention_mask=there, token_type_ids=types).last_hidden_state

    def span(self, hidden: Tensor) -> tuple[Tensor, Tensor]:
        """Logits (row, position) of being the answer's first token, and its last."""
        start, end = self.qa_outputs(hidden).unbind(-1)
        return start, end

    def mask(self, hidden: Tensor) -> Tensor:
        """Logits (place, token) of the words at some places, given the hidden states (place, width) there."""
        return self.cls["predictions"](hidden, self.bert.embeddings.word_embeddings.weight)

    def choice(self, hidden: Tensor) -> Tensor:
        """The logit (row,) of each row's option."""
        return self.classifier(self.dropout(self.bert.pooler(hidden))).squeeze(-1)


class _MaskHead(nn.Module):
    """BERT's head for masked words; its decoder is the matrix of word embeddings."""

    def __init__(self, tokens: int) -> None:
        super().__init__()
        self.transform = nn.ModuleDict({"dense": nn.Linear(WIDTH, WIDTH), "LayerNorm": nn.LayerNorm(WIDTH, eps=1e-12)})
        self.bias = nn.Parameter(torch.zeros(tokens))

    def forward(self, hidden: Tensor, words: Tensor) -> Tensor:
        hidden = nn.functional.gelu(self.transform["dense"](hidden))
        return nn.functional.linear(self.transform["LayerNorm"](hidden), words, self.bias)


def from_base(folder: Path, **options: Any) -> BuiltIn:
    """The base encoder with heads that have learnt nothing yet."""
    model = BuiltIn(**options)
    weights = {name: value.float() for name, value in load_file(folder / "model.safetensors").items()}
    weights.pop("embeddings.position_ids", None)
    model.bert.load_state_dict(weights)
    return model


def from_weights(file: Path, **options: Any) -> BuiltIn:
    """The finished model from its weights, in float32."""
    model = BuiltIn(**options)
    model.load_state_dict({name: value.float() for name, value in load_file(file).items()})
    return model


def device_of(model: BuiltIn) -> torch.device:
    return next(model.parameters()).device


def fast(device: torch.device) -> torch.autocast:
    """bfloat16 on a GPU, float32 elsewhere."""
    return torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda")
