"""How much faster the engine scores options by their log probability than a loop over whole sequences.

    python bench/causal.py            about four minutes on two cores
    python bench/causal.py --quick    fewer questions and rounds

A random GPT-2 of MiniLM's size (6 layers, 384 wide, 8,000 tokens) answers questions with three options, half of them
with a short and half with a long context: through the engine, which computes what a question's options share only once,
and in a loop of 8 questions at a time that scores three full sequences each, padded to the longest. They take turns;
the ratio is the median over rounds. The sums of log probabilities must agree to 1e-4. Exit code 1 where the engine is
not twice as fast.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from assay.asking.queries import ChoiceQuery
from sized import Scores, against_loop


def loop(model: Any, queries: tuple[ChoiceQuery, ...], size: int = 8) -> Scores:
    """What people write: prompt and option as one text, forward, log softmax, the option's tokens; `size` at a time."""
    import torch

    tokenizer, network = model._tokenizer, model._model
    tokenizer.pad_token = tokenizer.eos_token
    results = []
    with torch.inference_mode():
        for lo in range(0, len(queries), size):
            prompts = [
                f"{q.context}\nQuestion: {q.question}\nAnswer:" for q in queries[lo : lo + size] for _ in q.options
            ]
            options = [option for query in queries[lo : lo + size] for option in query.options]
            begins = [len(ids) for ids in tokenizer(prompts)["input_ids"]]
            texts = [f"{prompt} {option}" for prompt, option in zip(prompts, options, strict=True)]
            inputs = tokenizer(texts, padding=True, padding_side="right", return_tensors="pt")
            logs = network(**inputs, use_cache=False).logits.log_softmax(-1)[:, :-1]
            picked = logs.gather(-1, inputs["input_ids"][:, 1:, None])[..., 0]
            for row, begin in enumerate(begins):
                end = int(inputs["attention_mask"][row].sum())
                results.append(float(picked[row, begin - 1 : end - 1].sum()))
    return np.array(results, np.float32).reshape(len(queries), -1)


if __name__ == "__main__":
    against_loop(__doc__, "causal", loop, claim=2.0, tolerance=1e-4)
