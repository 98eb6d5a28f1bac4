"""Directions that are removed, the projection without them, and linear probes of what is left: arrays in, arrays out.

INLP and SentenceDebias both give an orthogonal projection P = I − BᵀB, where the rows of B are an orthonormal basis of
what is removed. What only a curved boundary can tell stays: "linear" is all that is promised.
"""

from __future__ import annotations

import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]
Labels = NDArray[np.integer]

_ZERO = 1e-10  # relative to the largest: directions with less are rounding errors


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
