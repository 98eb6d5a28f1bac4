"""Random models of usual sizes with real tokenizers, for the other scripts."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import tiny_models

SIZES = {
    "mini": {"hidden_size": 384, "num_hidden_layers": 6, "num_attention_heads": 12, "intermediate_size": 1536},
    "base": {"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072},
}


def sized(folder: Path, form: str, size: dict[str, int]) -> Path:
    """A random BERT of this size with a real tokenizer."""
    from transformers import AutoConfig, AutoModelForMaskedLM, AutoModelForQuestionAnswering

    make = tiny_models.make_span_model if form == "span" else tiny_models.make_mask_model
    make(folder, "bert")
    config = AutoConfig.from_pretrained(folder, vocab_size=30522, initializer_range=0.02, **size)
    auto = AutoModelForQuestionAnswering if form == "span" else AutoModelForMaskedLM
    auto.from_config(config).save_pretrained(folder)
    return folder
