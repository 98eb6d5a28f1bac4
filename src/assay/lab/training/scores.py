"""How good a trained model is: asked as audits ask it, from its folder and in the engine's batches.

Scores are by the field's own definitions, with intervals that resample what belongs together.
"""

from __future__ import annotations

import math
import re
import string
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.asking.progress import Progress
from assay.asking.queries import Answers
from assay.asking.tokens import Tokens
from assay.config.settings import RESAMPLES
from assay.engine.executor import EngineSettings as Engine
from assay.engine.executor import forward_all
from assay.errors import is_out_of_memory
from assay.lab.training.batches import inputs_of
from assay.models.base import BatchTooLargeError, ModelSpec, PaddedBatch
from assay.models.hf import has_types, load_tokenizer, load_weights
from assay.models.hf_files import libraries
from assay.models.tokenise import Tokeniser
from assay.results.findings import Estimate
from assay.stats import MIN_UNITS, multinomial_weights, percentile_interval

Array = NDArray[Any]
Floats = NDArray[np.float64]
Units = NDArray[np.int64]

_ROWS = 2048  # asked between two signs of progress
_AT_ONCE = 100  # resamples whose weights are in memory together
_ARTICLES = re.compile(r"\b(a|an|the)\b")
_PUNCTUATION = set(string.punctuation)


@dataclass(frozen=True)
class TaskScores:
    """What a model scored on some data. `unit` is what was resampled for the intervals, `units` how many there are."""

    digests: Mapping[str, str]
    unit: str
    units: int
    estimates: tuple[Estimate, ...]
    notes: tuple[str, ...] = ()

    def __getitem__(self, metric: str) -> Estimate:
        """The estimate of a metric over everything."""
        return next(estimate for estimate in self.estimates if estimate.metric == metric and not estimate.group)

    def as_json(self) -> dict[str, Any]:
        return {
            "data": dict(self.digests),
            "unit": self.unit,
            "units": self.units,
            "estimates": [estimate.as_json() for estimate in self.estimates],
            "notes": list(self.notes),
        }


def normalised(answer: str) -> str:
    """An answer as SQuAD compares it: lower case, without punctuation, articles and surplus blanks.

    >>> normalised("The  Queen's (old) an hat.")
    'queens old hat'
    """
    bare = "".join(letter for letter in answer.lower() if letter not in _PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", bare).split())


def exact_match(answer: str, right: Sequence[str]) -> float:
    """1 if the answer is one of the right ones (SQuAD's EM), else 0; no right answers means that none is right."""
    return float(any(normalised(answer) == normalised(gold) for gold in _gold(right)))


def token_f1(answer: str, right: Sequence[str]) -> float:
    """The best F1 of shared words with a right answer (SQuAD's F1), in [0, 1]; "" is the answer that there is none.

    >>> token_f1("a small red house", ["red house", "the barn"])
    0.8
    """
    return max(_f1(normalised(answer).split(), normalised(gold).split()) for gold in _gold(right))


def _gold(right: Sequence[str]) -> list[str]:
    """Right answers that hold a word, as SQuAD's program has it; otherwise the empty one."""
    return [answer for answer in right if normalised(answer)] or [""]


def _f1(answer: list[str], right: list[str]) -> float:
    if not answer or not right:
        return float(answer == right)
    shared = sum((Counter(answer) & Counter(right)).values())
    return 2 * shared / (len(answer) + len(right))


def mean_estimate(
    metric: str, group: Mapping[str, str], values: ArrayLike, units: Units, *, seed: int, floor: float | None = None
) -> Estimate:
    """A mean of values in [0, 1] with a 95% interval over `units`, which number what each value belongs to."""
    sums = np.asarray(values, np.float64)
    value, low, high, note = _ratio(sums, np.ones_like(sums), units, seed, (0.0, 1.0))
    return Estimate(metric, dict(group), value, low, high, n=len(sums), floor=floor, note=note)


def perplexity_estimate(losses: Floats, counts: Floats, units: Units, *, seed: int) -> Estimate:
    """exp(mean loss over all labels) from sums of losses and numbers of labels, with a 95% interval over `units`.

    At least 1; the size of the vocabulary is what a uniform guess has.
    """
    value, low, high, note = _ratio(losses, counts, units, seed, (0.0, 100.0))
    value, low, high = (None if bound is None else math.exp(bound) for bound in (value, low, high))
    return Estimate("perplexity", {}, value, low, high, n=int(counts.sum()), note=note)


def _ratio(
    sums: Floats, counts: Floats, units: Units, seed: int, bounds: tuple[float, float]
) -> tuple[float | None, float | None, float | None, str | None]:
    """Σ sums / Σ counts, its interval over resampled units, and a note where one of them cannot be had."""
    if not counts.sum():
        return None, None, None, "nothing to score"
    _, unit_of = np.unique(units, return_inverse=True)
    above, below = np.bincount(unit_of, sums), np.bincount(unit_of, counts)
    value, many = float(above.sum() / below.sum()), len(above)
    if many < MIN_UNITS:
        return value, None, None, f"no interval: {many} units are too few to resample"
    rng, even = np.random.default_rng(seed), np.zeros(many, np.int64)
    replicates: list[Floats] = []
    for _ in range(RESAMPLES // _AT_ONCE):
        weights = multinomial_weights(even, _AT_ONCE, rng)
        replicates.append((weights @ above) / np.maximum(weights @ below, 1e-300))
    low, high = percentile_interval(value, np.concatenate(replicates), many, bounds=bounds)
    return value, float(low), float(high), None


class TrainedModelAsk:
    """A trained model in the engine's batches; it is the engine's model itself, whose answers `ask` is told."""

    def __init__(self, spec: ModelSpec, progress: Progress) -> None:
        self.spec = spec
        _, self.torch = libraries()
        self._progress = progress

    def ask(self, tokens: Tokens, answer: Callable[[Tokens], dict[str, Array]]) -> dict[str, Array]:
        """What `answer` says about batches; it may use the network with the head that was trained (`outputs`)."""
        self.network, self._answer = load_weights(self.spec), answer
        tokenizer = load_tokenizer(self.spec)
        self.pad = tokenizer.pad_token_id or 0
        self._typed = Tokeniser(tokenizer).typed and has_types(self.network.config)
        return self.ask_model(tokens, self)

    def ask_model(self, tokens: Tokens, model: Any) -> dict[str, Array]:
        budget, parts = Engine().budget_for(self.spec), []
        self._progress.start("evaluating", len(tokens), "rows")
        for lo in range(0, len(tokens), _ROWS):
            rows = np.arange(lo, min(lo + _ROWS, len(tokens)))
            answers, budget = forward_all(model, tokens.take(rows), budget)
            parts.append(answers)
            self._progress.advance(len(rows))
        return dict(Answers.joined(parts).arrays)

    def forward(self, tokens: Tokens) -> dict[str, Array]:
        """Without gradients, and with memory that runs out as the engine knows it."""
        with self.torch.inference_mode():
            try:
                return self._answer(tokens)
            except Exception as error:
                if not is_out_of_memory(error):
                    raise
                self.torch.cuda.empty_cache()
                raise BatchTooLargeError(str(error)) from error

    def outputs(self, rows: PaddedBatch) -> Any:
        return self.network(**{name: self.tensor(values) for name, values in inputs_of(rows, self._typed).items()})

    def tensor(self, values: Array) -> Any:
        return self.torch.from_numpy(np.ascontiguousarray(values)).to(self.spec.device)
