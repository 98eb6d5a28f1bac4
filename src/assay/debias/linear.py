"""Directions that tell an attribute, and the projection that removes them: arrays in, arrays out.

INLP (Ravfogel et al. 2020): train a linear classifier of the attribute, remove the directions that it used, and again.
SentenceDebias (Liang et al. 2020): remove the first principal component of the differences that swapping words makes.
Both give an orthogonal projection P = I − BᵀB, where the rows of B are an orthonormal basis of what is removed. What
only a curved boundary can tell stays: "linear" is all that is promised.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from assay.errors import ModelError, UsageError

Floats = NDArray[np.floating]
Labels = NDArray[np.integer]

_ZERO = 1e-10  # relative to the largest: directions with less are rounding errors
_NOISE = 1e-12  # the same for variances
_ONE_SIDED_95 = 1.645


@dataclass(frozen=True)
class Removed:
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
    kept: Floats = basis[: int((sizes > _ZERO * max(sizes.max(initial=0.0), _ZERO)).sum())]
    return kept


def inlp(
    features: Floats,
    labels: Labels,
    dev_features: Floats,
    dev_labels: Labels,
    *,
    rounds: int = 80,
    stop_at_chance: bool = False,
    told: Callable[[], None] = lambda: None,
) -> Removed:
    """Iterative nullspace projection with linear support vector machines, as bias-bench runs it.

    Round i trains a classifier on the features P_i x and adds the directions W_i that it uses (one for two classes, one
    for each of more) to those removed; one that uses nothing ends it. P_{i+1} projects onto the intersection of the
    null spaces of W_1 … W_i, which is the null space of the sum of their row spaces' projections (Ben-Israel), so of
    the rows of all W together.

    features (sentence, width). There is no test of accuracy by default: all rounds are run. `stop_at_chance` ends as
    soon as the probe's accuracy on the dev features is not above `majority` by more than chance allows (one-sided 95%).
    `told` is called after each round.
    """
    width, classes = features.shape[1], len(np.unique(labels))
    if classes < 2:
        raise UsageError("there is one class only, so there is nothing to tell apart.", "Give sentences of two.")
    if not stop_at_chance:
        require_some_left(rounds, classes, width)
    majority = majority_rate(dev_labels)
    enough = majority + _ONE_SIDED_95 * sqrt(majority * (1 - majority) / len(dev_labels))
    train, dev = (np.asarray(each, np.float64) for each in (features, dev_features))
    basis: Floats = np.zeros((0, width))
    accuracy, ranks, unfinished = [], [0], 0
    for number in range(rounds + 1):
        projection = projection_without(basis)
        probe = train_probe(train @ projection, labels)
        accuracy.append(probe.score(dev @ projection, dev_labels))
        if number == rounds or (stop_at_chance and accuracy[-1] <= enough):
            break
        unfinished += not probe.converged
        wider = row_space(np.concatenate([basis, row_space(probe.weights)]))
        if len(wider) == len(basis):  # the classifier's weights are 0: it found nothing, and never will
            break
        if len(wider) >= width:
            problem = f"after {number + 1} rounds all {width} directions of the model are removed."
            raise UsageError(problem, f"Nothing would be left: --set rounds={max(number // 2, 1)}")
        basis = wider
        ranks.append(len(basis))
        told()
    return Removed(basis, tuple(accuracy), tuple(ranks), majority, unfinished=unfinished)


def require_some_left(rounds: int, classes: int, width: int) -> None:
    """Refuse so many rounds that no direction of the model could be left."""
    directions = 1 if classes == 2 else classes  # that one classifier uses
    if rounds * directions >= width:
        problem = f"{rounds} rounds remove up to {rounds * directions} directions, and the model has {width}."
        raise UsageError(problem, f"Nothing would be left: --set rounds={max((width - 1) // (2 * directions), 1)}")


def sentence_debias(features: Floats, components: int = 1) -> tuple[Floats, float]:
    """The first principal components of what tells counterparts apart, and their share of the variance.

    features (tuple, class, width): vectors of sentences that differ in their attribute word alone. Each is made one
    long, then each tuple is centred; the directions (component, width) are those of most variance of all these vectors.
    """
    long = np.linalg.norm(features, axis=-1, keepdims=True)
    if not long.all():
        raise ModelError("some sentences have the vector 0.", "The model's encoder is damaged; choose another.")
    unit = np.asarray(features, np.float64) / long
    centred = (unit - unit.mean(axis=1, keepdims=True)).reshape(-1, features.shape[-1])
    sizes, vectors = np.linalg.eigh(centred.T @ centred)  # the least first
    most = int((sizes > _NOISE * sizes[-1]).sum())
    if sizes[-1] < _NOISE * len(centred):
        problem = "the model has the same vector for a sentence and for its counterparts."
        raise ModelError(problem, "Its tokenizer does not know the attribute words: give others with --words.")
    if components > most or components >= features.shape[-1]:
        problem = f"{components} components are wanted, but counterparts differ in {most} directions"
        raise UsageError(f"{problem} of {features.shape[-1]}.", "--set components=1")
    basis = vectors[:, ::-1][:, :components].T
    signs = np.sign(basis[np.arange(components), np.abs(basis).argmax(axis=1)])  # the same on every machine
    return basis * signs[:, None], float(sizes[::-1][:components].sum() / sizes.sum())


@dataclass(frozen=True)
class Probe:
    """A linear classifier of the attribute without intercept: `weights` (1 or class, width)."""

    weights: Floats
    classes: Labels
    converged: bool

    def score(self, features: Floats, labels: Labels) -> float:
        """The share of features whose class it tells."""
        decisions = features @ self.weights.T
        told = (decisions[:, 0] > 0).astype(np.int64) if len(self.weights) == 1 else decisions.argmax(axis=1)
        return float((self.classes[told] == labels).mean())


def train_probe(features: Floats, labels: Labels) -> Probe:
    """The classifier that scikit-learn's LinearSVC is; more than two classes are each told from the rest, side by side.

    That is what LinearSVC does with them itself, one after the other.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import LinearSVC

    def fit(wanted: NDArray[np.bool_]) -> tuple[Floats, bool]:
        machine = LinearSVC(fit_intercept=False, dual=False, random_state=0).fit(features, wanted)
        return machine.coef_[0], bool(np.max(machine.n_iter_) < machine.max_iter)

    classes = np.unique(labels)
    tasks = [labels == each for each in (classes[1:] if len(classes) == 2 else classes)]
    with warnings.catch_warnings(), ThreadPoolExecutor(len(tasks)) as threads:
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = list(threads.map(fit, tasks))
    weights, converged = zip(*fitted, strict=True)
    return Probe(np.array(weights), classes, all(converged))


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
