"""How much faster the engine asks multiple-choice questions on this machine than a usual loop over the same model.

    python bench/choice.py            about four minutes on two cores
    python bench/choice.py --quick    fewer questions and rounds

A random BERT of MiniLM's size (6 layers, 384 wide) answers questions with three options, half of them with a short and
half with a long context: through the engine, and in a loop of 8 questions at a time, padded to the longest. They take
turns; the ratio is the median over rounds. The logits must agree to 1e-5. Exit code 1 where the engine is not 1.3 times
as fast.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from assay.asking.queries import ChoiceQuery
from sized import Scores, against_loop


def loop(model: Any, queries: tuple[ChoiceQuery, ...], size: int = 8) -> Scores:
    """What people write: tokenizer call, forward, logits; `size` questions at a time."""
    import torch

    tokenizer, network = model._tokenizer, model._model
    results = []
    with torch.inference_mode():
        for lo in range(0, len(queries), size):
            pairs = [(each, option) for each in queries[lo : lo + size] for option in each.options]
            contexts, seconds = [each.context for each, _ in pairs], [f"{each.question} {text}" for each, text in pairs]
            inputs = tokenizer(contexts, seconds, padding=True, return_tensors="pt")
            rows = {name: values.view(-1, 3, values.shape[-1]) for name, values in inputs.items()}
            results.append(network(**rows).logits.numpy())
    return np.concatenate(results)


if __name__ == "__main__":
    against_loop(__doc__, "choice", loop, claim=1.3, tolerance=1e-5)
