"""How good the built-in model is: the figures of its card.

    python training/builtin/evaluate.py WEIGHTS.safetensors --data DIR --base DIR [--part test|validation]

choice: accuracy on Social IQa. span: token F1 and exact match on QAMR sentences that were held out, against the first
annotator's answer, in QAMR's own words without any normalising. mask: perplexity of held-out prose, 15% of the tokens
of every window of 128 hidden; once as BERT was trained (of those 80% [MASK], 10% another token, 10% themselves), and
once with [MASK] for all of them.

Each figure comes with its 95% interval (percentiles of 2,000 resamples) over what was sampled: questions of Social IQa,
sentences of QAMR, stretches of prose.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import cross_entropy

from data import Choices, Data, Ints, Spans, read
from hidden import WINDOW, Hidden, framed
from model import BuiltIn, device_of, fast, from_weights
from tables import Table

Floats = NDArray[np.float64]

_LONGEST = 30  # tokens of an answer
_STRETCH = 15  # windows of prose that belong together: about what is held out in one place
_BATCH = 512


class Scores(NamedTuple):
    """What every item scored, and which sampled unit it belongs to; a figure is `of` the mean."""

    values: Floats
    unit: Ints
    of: Callable[[Floats], Floats] = np.asarray

    @property
    def figure(self) -> float:
        return float(self.of(self.values.mean()))

    def interval(self, resamples: int = 2000) -> tuple[float, float]:
        sums, counts = np.bincount(self.unit, self.values), np.bincount(self.unit)
        drawn = np.random.default_rng(0).multinomial(len(counts), np.full(len(counts), 1 / len(counts)), resamples)
        low, high = np.percentile(self.of(drawn @ sums / (drawn @ counts)), [2.5, 97.5])
        return float(low), float(high)


def scores(model: BuiltIn, data: Data, part: str) -> dict[str, Scores]:
    """All that is measured, on one part of the data."""
    model.eval()
    f1, exact = span_scores(span_logs(model, data.spans[part]), data.spans[part])
    return {
        "choice_accuracy": choice_scores(choice_logits(model, data.choices[part]), data.choices[part]),
        "span_f1": f1,
        "span_exact": exact,
        "mask_perplexity": mask_scores(model, data.prose[part], everywhere=False),
        "mask_perplexity_all_masked": mask_scores(model, data.prose[part], everywhere=True),
    }


def figures(model: BuiltIn, data: Data, part: str) -> dict[str, float]:
    """The figures alone, for the log of a training."""
    return {name: measured.figure for name, measured in scores(model, data, part).items()}


def choice_scores(logits: Tensor, choices: Choices) -> Scores:
    """Whether a question's right option has the largest logit (question, option)."""
    right = logits.argmax(1).numpy() == choices.right
    return Scores(right.astype(np.float64), np.arange(len(right), dtype=np.int32))


def choice_logits(model: BuiltIn, choices: Choices) -> Tensor:
    """(question, option)"""
    table = Table(choices.rows, device_of(model), choices.options)
    with torch.inference_mode(), fast(device_of(model)):
        parts = [model.choice(model.encode(*batch)) for _, batch in table.in_order(_BATCH)]
    return torch.cat(parts).float().cpu().reshape(-1, choices.options)


def span_logs(model: BuiltIn, spans: Spans) -> Tensor:
    """Log-probabilities (2, row, position) of being the answer's first token, and its last."""
    logs = torch.full((2, *spans.word.shape), -torch.inf)
    table = Table(spans.rows, device_of(model))
    for places, batch in table.in_order(_BATCH):
        with torch.inference_mode(), fast(device_of(model)):
            logits = torch.stack(model.span(model.encode(*batch))).float()
        logits = logits.masked_fill(~batch.there, -torch.inf).log_softmax(-1)
        logs[:, places, : logits.shape[2]] = logits.cpu()
    return logs


def span_scores(logs: Tensor, spans: Spans) -> tuple[Scores, Scores]:
    """Token F1 of every answer, and whether it is exactly right."""
    f1, exact = [], []
    rows = spans.rows
    sentences = [bytes(ids[low:high]) for ids, low, high in zip(rows.ids, rows.second, rows.length, strict=True)]
    unit = np.unique(np.array(sentences, object), return_inverse=True)[1].astype(np.int32)
    for row, (first, last) in enumerate(_best_spans(logs, spans.word)):
        right = spans.answers[row][0]
        answer = int(spans.word[row, first]), int(spans.word[row, last])
        common = min(answer[1], right[1]) - max(answer[0], right[0]) + 1
        lengths = (answer[1] - answer[0] + 1) + (right[1] - right[0] + 1)
        f1.append(2 * max(common, 0) / lengths)
        exact.append(answer == right)
    return Scores(np.array(f1), unit), Scores(np.array(exact, np.float64), unit)


def mask_scores(model: BuiltIn, stream: Ints, *, everywhere: bool) -> Scores:
    """The cross-entropy of every hidden token; the exponential of its mean is the perplexity."""
    device, inside = device_of(model), WINDOW - 2
    windows = torch.from_numpy(stream[: len(stream) // inside * inside].reshape(-1, inside)).long()
    losses, unit = [], []
    for part, window in enumerate(windows.split(_BATCH // 4)):
        hidden = Hidden.of(framed(window), torch.Generator().manual_seed(part), everywhere=everywhere).to(device)
        with torch.inference_mode(), fast(device):
            logits = model.mask(model.encode(hidden.ids).flatten(0, 1)[hidden.places])
        asked = hidden.words >= 0
        losses.append(cross_entropy(logits.float(), hidden.words, reduction="none")[asked])
        unit.append((part * (_BATCH // 4) + hidden.places[asked] // WINDOW) // _STRETCH)
    return Scores(torch.cat(losses).double().cpu().numpy(), torch.cat(unit).int().cpu().numpy(), np.exp)


def _best_spans(logs: Tensor, word: Ints) -> Iterator[tuple[int, int]]:
    """First and last token of the likeliest answer inside the sentence, at most _LONGEST tokens long."""
    place = torch.arange(word.shape[1])
    allowed = (place[None, :] >= place[:, None]) & (place[None, :] < place[:, None] + _LONGEST)
    start, end = logs.masked_fill(torch.from_numpy(word < 0), -torch.inf)
    for first, last in zip(start.split(_BATCH), end.split(_BATCH), strict=True):
        scores = (first[:, :, None] + last[:, None, :]).masked_fill(~allowed, -torch.inf).flatten(1)
        for flat in scores.argmax(1).tolist():
            yield divmod(flat, word.shape[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weights", type=Path)
    parser.add_argument("--data", type=Path, required=True, help="the folder with socialiqa/, qamr/ and text/")
    parser.add_argument("--base", type=Path, required=True, help="the folder that base.py wrote")
    parser.add_argument("--part", choices=("validation", "test"), default="test")
    arguments = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    data = read(arguments.data, arguments.base / "tokenizer.json")
    shown = {}
    for name, measured in scores(from_weights(arguments.weights).to(device), data, arguments.part).items():
        low, high = measured.interval()
        n = {"items": len(measured.values), "units": int(measured.unit.max()) + 1}
        shown[name] = {"value": measured.figure, "low": low, "high": high, **n}
    print(json.dumps(shown, indent=1))


if __name__ == "__main__":
    main()
