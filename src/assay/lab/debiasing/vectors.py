"""Vectors of sentences, linear probes of them, and the projection without the directions that are removed.

A sentence's vector is the mean of the encoder's last hidden states over its tokens. bias-bench takes that mean over
single sentences for INLP, and over the tokens that are no padding for SentenceDebias: both are what is computed here,
in batches of sentences of like length. The special tokens at both ends count. The first token's vector comes beside
it: heads that choose read that one, which may tell what the mean no longer does.

INLP and SentenceDebias both give an orthogonal projection P = I − BᵀB, where the rows of B are an orthonormal basis of
what is removed. What only a curved boundary can tell stays: "linear" is all that is promised.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.asking.progress import Progress
from assay.engine.executor import batches
from assay.errors import ModelError, is_out_of_memory
from assay.models.hf_files import libraries

Tensor = Any  # torch's; torch is imported only when a model is loaded
Floats = NDArray[np.floating]
Labels = NDArray[np.integer]
Places = NDArray[np.int64]

_BUDGET = {"cuda": 65_536}
_CPU_BUDGET = 4096
_AT_ONCE = 8192  # texts that are tokenised together
_ZERO = 1e-10  # relative to the largest: directions with less are rounding errors
_TEST_SHARE = 0.3


def sentence_vectors(
    model: Any, tokenizer: Any, texts: Sequence[str], length: int, progress: Progress, label: str
) -> NDArray[np.float32]:
    """The mean vector of every text's first `length` tokens, and that of its first one: (2, text, width).

    Equal texts are computed once.
    """
    _, torch = libraries()
    distinct = list(dict.fromkeys(texts))
    row_of = {text: index for index, text in enumerate(distinct)}
    starts = range(0, len(distinct), _AT_ONCE)
    ids = [text_ids for lo in starts for text_ids in _ids(tokenizer, distinct[lo : lo + _AT_ONCE], length)]
    vectors = np.zeros((2, len(distinct), model.config.hidden_size), np.float32)
    progress.start(label, len(distinct), "sentences")
    budget = _BUDGET.get(model.device.type, _CPU_BUDGET)
    waiting = batches(np.array([len(id_) for id_ in ids], np.int64), budget)
    while waiting:
        rows = waiting.pop()  # the longest first: where memory is short, that shows at once
        try:
            inputs = padded_inputs([ids[row] for row in rows], tokenizer, model.device)
            vectors[:, rows] = _means_and_firsts(model, inputs)
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            if len(rows) == 1:
                problem = f"not enough memory for one sentence of {len(ids[rows[0]])} tokens."
                remedy = "Use --device cpu, or read less of each sentence: --set length=128"
                raise ModelError(problem, remedy, code="out-of-memory", key="length") from None
            torch.cuda.empty_cache()
            waiting += [rows[: len(rows) // 2], rows[len(rows) // 2 :]]
            continue
        progress.advance(len(rows))
    if not np.isfinite(vectors).all():
        problem = "the model gave vectors that are not numbers (NaN or infinite)."
        raise ModelError(problem, "Its weights are damaged.", code="bad-scores")
    return vectors[:, [row_of[text] for text in texts]]


def padded_inputs(ids: Sequence[Sequence[int]], tokenizer: Any, device: Any) -> dict[str, Tensor]:
    """Token ids of several texts as one batch."""
    _, torch = libraries()
    width = max(map(len, ids))
    pad = tokenizer.pad_token_id or 0
    mask = torch.tensor([[1] * len(id_) + [0] * (width - len(id_)) for id_ in ids], device=device)
    rows = torch.tensor([[*id_, *[pad] * (width - len(id_))] for id_ in ids], device=device)
    return {"input_ids": rows, "attention_mask": mask}


def head_inputs(tokenizer: Any, device: Any, *, options: bool) -> dict[str, Tensor]:
    """A few short texts for a whole model with its head; with `options` for one that chooses."""
    texts = ["She read a letter.", "The man at the door was her brother, and he laughed.", "Who are they?", "A dog."]
    inputs = padded_inputs(_ids(tokenizer, texts, 64), tokenizer, device)
    shape = (2, 2, -1) if options else (4, -1)  # (row, option, token) or (row, token)
    return {name: values.view(*shape) for name, values in inputs.items()}


def _ids(tokenizer: Any, texts: Sequence[str], length: int) -> list[list[int]]:
    encoded: Mapping[str, Any] = tokenizer(list(texts), truncation=True, max_length=length, add_special_tokens=True)
    ids: list[list[int]] = encoded["input_ids"]
    return ids


def _means_and_firsts(model: Any, inputs: Mapping[str, Tensor]) -> NDArray[np.float32]:
    _, torch = libraries()
    with torch.inference_mode():
        states = model.base_model(**inputs).last_hidden_state.float()  # (text, token, width)
        mask = inputs["attention_mask"][..., None].to(states)
        pair = torch.stack([(states * mask).sum(1) / mask.sum(1), states[:, 0]])
    vectors: NDArray[np.float32] = pair.cpu().numpy()
    return vectors


@dataclass(frozen=True)
class RemovedDirections:
    """What is removed, and what a linear probe could tell before and after.

    basis: orthonormal rows (removed, width). accuracy: of the probe on sentences that it was not trained on, at first
    and after each round; `ranks` has the number of directions removed by then. majority: the share of the commonest
    class there, which is what guessing gives. share: for SentenceDebias, the part of the variance between
    counterparts that is removed. unfinished: how many classifiers had not converged.
    """

    basis: Floats
    accuracy: tuple[float, ...]
    ranks: tuple[int, ...]
    majority: float
    share: float | None = None
    unfinished: int = 0

    @property
    def projection(self) -> Floats:
        """P (width, width): symmetric, and P P = P."""
        return projection_without(self.basis)


def projection_without(basis: Floats) -> Floats:
    """I − BᵀB for orthonormal rows B: what is left when these directions are removed."""
    return np.eye(basis.shape[1]) - basis.T @ basis


def row_space(matrix: Floats) -> Floats:
    """An orthonormal basis, as rows, of what the rows of a matrix span; empty where all of them are 0.

    >>> row_space(np.array([[3.0, 0.0, 0.0], [6.0, 0.0, 0.0]])).shape
    (1, 3)
    """
    _, sizes, basis = np.linalg.svd(matrix, full_matrices=False)
    spanned: Floats = basis[: int((sizes > _ZERO * max(sizes.max(initial=0.0), _ZERO)).sum())]
    return spanned


@dataclass(frozen=True)
class LinearProbe:
    """A linear classifier of the attribute without intercept: `weights` (1 or class, width)."""

    weights: Floats
    classes: Labels
    converged: bool

    def score(self, features: Floats, labels: Labels) -> float:
        """The share of features whose class it tells."""
        decisions = features @ self.weights.T
        predicted = (decisions[:, 0] > 0).astype(np.int64) if len(self.weights) == 1 else decisions.argmax(axis=1)
        return float((self.classes[predicted] == labels).mean())


def train_probe(features: Floats, labels: Labels) -> LinearProbe:
    """The classifier that scikit-learn's LinearSVC is; more than two classes are each told from the rest, side by side.

    That is what LinearSVC does with them itself, one after the other.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import LinearSVC

    def fit(is_class: NDArray[np.bool_]) -> tuple[Floats, bool]:
        machine = LinearSVC(fit_intercept=False, dual=False, random_state=0).fit(features, is_class)
        return machine.coef_[0], bool(np.max(machine.n_iter_) < machine.max_iter)

    classes = np.unique(labels)
    tasks = [labels == label for label in (classes[1:] if len(classes) == 2 else classes)]
    with warnings.catch_warnings(), ThreadPoolExecutor(len(tasks)) as threads:
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = list(threads.map(fit, tasks))
    weights, converged = zip(*fitted, strict=True)
    return LinearProbe(np.array(weights), classes, all(converged))


def probe_accuracies(
    means: Floats, firsts: Floats, labels: Labels, train: Places, test: Places, basis: Floats
) -> dict[str, dict[str, float]]:
    """What a new linear probe tells on sentences that nothing was learnt or chosen with: before, after, by guessing.

    One of mean vectors, and one of the first tokens' vectors, which heads that choose read.
    """
    accuracies = {}
    for name, vectors in {"held_out": means, "first_token": firsts}.items():
        parts = vectors[train], labels[train], vectors[test], labels[test]
        accuracies[name] = {
            "before": probe_accuracy(*parts, projection_without(basis[:0])),
            "after": probe_accuracy(*parts, projection_without(basis)),
            "majority": majority_rate(labels[test]),
        }
    return accuracies


def probe_accuracy(
    features: Floats, labels: Labels, test_features: Floats, test_labels: Labels, projection: Floats
) -> float:
    """How often a new linear probe, trained on projected features, is right about other projected ones."""
    probe = train_probe(np.asarray(features, np.float64) @ projection, labels)
    return probe.score(np.asarray(test_features, np.float64) @ projection, test_labels)


def majority_rate(labels: Labels) -> float:
    """The share of the commonest label: what guessing gives.

    >>> majority_rate(np.array([0, 1, 1, 1]))
    0.75
    """
    _, counts = np.unique(labels, return_counts=True)
    return float(counts.max() / counts.sum())


def split(labels: Labels, seed: int) -> tuple[Places, Places]:
    """The places of 70% and of 30% of these, the same part of each class."""
    from sklearn.model_selection import train_test_split

    rows = np.arange(len(labels))
    first, second = train_test_split(rows, test_size=_TEST_SHARE, random_state=seed % 2**32, stratify=labels)
    return first, second
