"""Vectors of sentences: the mean of the encoder's last hidden states over all tokens of a sentence.

bias-bench takes that mean over single sentences for INLP, and over the tokens that are no padding for SentenceDebias:
both are what is computed here, in batches of sentences of like length. The special tokens at both ends count. The first
token's vector comes beside it: heads that choose read that one, which may tell what the mean no longer does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.engine.executor import batches
from assay.errors import ModelError
from assay.models.hf_files import libraries
from assay.progress import Progress

Tensor = Any  # torch's; torch is imported only when a model is loaded

_BUDGET = {"cuda": 65_536}
_CPU_BUDGET = 4096
_AT_ONCE = 8192  # texts that are tokenised together


def sentence_vectors(
    model: Any, tokenizer: Any, texts: Sequence[str], length: int, progress: Progress, label: str
) -> NDArray[np.float32]:
    """The mean vector of every text's first `length` tokens, and that of its first one: (2, text, width).

    Equal texts are computed once.
    """
    _, torch = libraries()
    distinct = list(dict.fromkeys(texts))
    place = {text: index for index, text in enumerate(distinct)}
    ids = [
        each
        for lo in range(0, len(distinct), _AT_ONCE)
        for each in _ids(tokenizer, distinct[lo : lo + _AT_ONCE], length)
    ]
    vectors = np.zeros((2, len(distinct), model.config.hidden_size), np.float32)
    progress.start(label, len(distinct), "sentences")
    budget = _BUDGET.get(model.device.type, _CPU_BUDGET)
    waiting = batches(np.array([len(each) for each in ids], np.int64), budget)
    while waiting:
        rows = waiting.pop()  # the longest first: where memory is short, that shows at once
        try:
            vectors[:, rows] = _means_and_firsts(
                model, padded_inputs([ids[row] for row in rows], tokenizer, model.device)
            )
        except torch.OutOfMemoryError:
            if len(rows) == 1:
                problem = f"there is not enough memory for one sentence of {len(ids[rows[0]])} tokens."
                raise ModelError(
                    problem,
                    "Use --device cpu, or read less of it: --set length=128",
                    code="out-of-memory",
                    key="length",
                ) from None
            torch.cuda.empty_cache()
            waiting += [rows[: len(rows) // 2], rows[len(rows) // 2 :]]
            continue
        progress.advance(len(rows))
    if not np.isfinite(vectors).all():
        raise ModelError(
            "the model gave vectors that are not numbers (NaN or infinite).",
            "Its weights are damaged.",
            code="bad-scores",
        )
    return vectors[:, [place[text] for text in texts]]


def padded_inputs(ids: Sequence[Sequence[int]], tokenizer: Any, device: Any) -> dict[str, Tensor]:
    """Token ids of several texts as one batch."""
    _, torch = libraries()
    width = max(map(len, ids))
    pad = tokenizer.pad_token_id or 0
    there = torch.tensor([[1] * len(each) + [0] * (width - len(each)) for each in ids], device=device)
    rows = torch.tensor([[*each, *[pad] * (width - len(each))] for each in ids], device=device)
    return {"input_ids": rows, "attention_mask": there}


def head_inputs(tokenizer: Any, device: Any, *, options: bool) -> dict[str, Tensor]:
    """A few short texts for a whole model with its head; with `options` for one that chooses."""
    texts = ["She read a letter.", "The man at the door was her brother, and he laughed.", "Who are they?", "A dog."]
    inputs = padded_inputs(_ids(tokenizer, texts, 64), tokenizer, device)
    if options:
        return {name: values.view(2, 2, -1) for name, values in inputs.items()}  # (row, option, token)
    return inputs


def _ids(tokenizer: Any, texts: Sequence[str], length: int) -> list[list[int]]:
    encoded: Mapping[str, Any] = tokenizer(list(texts), truncation=True, max_length=length, add_special_tokens=True)
    ids: list[list[int]] = encoded["input_ids"]
    return ids


def _means_and_firsts(model: Any, inputs: Mapping[str, Tensor]) -> NDArray[np.float32]:
    _, torch = libraries()
    with torch.inference_mode():
        states = model.base_model(**inputs).last_hidden_state.float()  # (text, token, width)
        there = inputs["attention_mask"][..., None].to(states)
        found = torch.stack([(states * there).sum(1) / there.sum(1), states[:, 0]])
    vectors: NDArray[np.float32] = found.cpu().numpy()
    return vectors
