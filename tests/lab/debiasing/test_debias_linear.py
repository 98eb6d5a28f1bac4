"""INLP and SentenceDebias on synthetic vectors: what is planted is removed, what is beside it stays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from assay.errors import ModelError, UsageError
from assay.lab.debiasing.inlp import inlp
from assay.lab.debiasing.sentence_debias import sentence_debias
from assay.lab.debiasing.vectors import (
    RemovedDirections,
    majority_rate,
    probe_accuracy,
    projection_without,
    row_space,
    train_probe,
)
from raising import raises

WIDTH = 24
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def planted(
    seed: int, classes: int = 2, rows: int = 600, size: float = 4.0
) -> tuple[Floats, Ints, Ints, Floats, Floats]:
    """Noise with an attribute along some directions and another property along one orthogonal to them.

    Returns features, attribute, property, the attribute's directions and the property's direction.
    """
    rng = np.random.default_rng(seed)
    axes = np.linalg.qr(rng.normal(size=(WIDTH, WIDTH)))[0].T
    own, beside = axes[: max(classes - 1, 1)], axes[-1]
    labels, other = rng.integers(classes, size=rows), rng.integers(2, size=rows)
    places = np.eye(classes)[:, : len(own)] if classes > 2 else np.array([[-1.0], [1.0]])
    features = rng.normal(size=(rows, WIDTH)) + size * (places[labels] - places.mean(axis=0)) @ own
    features += size * np.outer(2 * other - 1, beside)
    return features, labels, other, own, beside


def removed_by_inlp(features: Floats, labels: Ints, rounds: int, **options: Any) -> RemovedDirections:
    half = len(features) // 2
    return inlp(features[:half], labels[:half], features[half:], labels[half:], rounds=rounds, **options)


def probed(features: Floats, labels: Ints, projection: Floats) -> float:
    half = len(features) // 2
    return probe_accuracy(features[:half], labels[:half], features[half:], labels[half:], projection)


# --- INLP


@pytest.mark.parametrize(("classes", "seed"), [(2, 0), (2, 1), (3, 0), (3, 1)])
def test_a_planted_attribute_is_removed_and_an_orthogonal_property_stays(classes: int, seed: int) -> None:
    features, labels, other, _, _ = planted(seed, classes)
    removed = removed_by_inlp(features, labels, rounds=3)
    assert removed.accuracy[0] > 0.9
    chance = removed.majority + 3 * np.sqrt(removed.majority * (1 - removed.majority) / 300)
    assert removed.accuracy[-1] < chance
    assert probed(features, labels, removed.projection) < chance
    assert probed(features, other, np.eye(WIDTH)) > 0.99
    assert probed(features, other, removed.projection) > 0.99


def test_the_planted_direction_is_the_one_that_is_removed() -> None:
    features, labels, _, own, beside = planted(3, rows=20_000, size=1.0)
    removed = removed_by_inlp(features, labels, rounds=1)
    assert np.linalg.norm(removed.projection @ own[0]) < 0.1
    assert np.linalg.norm(removed.projection @ beside) > 0.99


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), classes=st.integers(2, 4), rounds=st.integers(1, 5))
def test_the_projection_is_symmetric_and_idempotent_and_its_rank_falls_with_every_round(
    seed: int, classes: int, rounds: int
) -> None:
    features, labels, _, _, _ = planted(seed, classes, rows=120)
    removed = removed_by_inlp(features, labels, rounds)
    projection = removed.projection
    assert np.array_equal(projection, projection.T)
    assert np.allclose(projection @ projection, projection, atol=1e-12)
    assert np.allclose(removed.basis @ removed.basis.T, np.eye(len(removed.basis)), atol=1e-12)
    assert np.linalg.matrix_rank(projection) == WIDTH - len(removed.basis)
    assert len(removed.ranks) == len(removed.accuracy) == rounds + 1
    assert all(low < high <= low + max(classes, 2) for low, high in zip(removed.ranks, removed.ranks[1:], strict=False))
    assert removed.ranks[0] == 0
    assert removed.ranks[-1] == len(removed.basis)


def test_it_is_the_intersection_of_null_spaces_by_ben_israels_formula() -> None:
    """The loop as the papers have it: projections of row spaces are summed, and the sum's row space is removed."""
    from scipy.linalg import orth
    from sklearn.svm import LinearSVC

    features, labels, _, _, _ = planted(5, classes=3)
    train, projection, spaces = features[:300], np.eye(WIDTH), np.zeros((WIDTH, WIDTH))
    for _ in range(4):
        probe = LinearSVC(fit_intercept=False, dual=False, random_state=0).fit(train @ projection, labels[:300])
        space = orth(probe.coef_.T)
        spaces += space @ space.T
        whole = orth(spaces)
        projection = np.eye(WIDTH) - whole @ whole.T
    assert np.allclose(removed_by_inlp(features, labels, rounds=4).projection, projection, atol=1e-6)


def test_the_accuracy_after_a_round_is_that_of_a_new_probe() -> None:
    features, labels, _, _, _ = planted(6, classes=3)
    removed = removed_by_inlp(features, labels, rounds=2)
    assert removed.accuracy[0] == probed(features, labels, np.eye(WIDTH))
    assert removed.accuracy[-1] == pytest.approx(probed(features, labels, removed.projection), abs=0.01)
    assert removed.accuracy[0] > removed.accuracy[-1]


def test_it_can_stop_when_the_probe_only_guesses() -> None:
    features, labels, _, _, _ = planted(7)
    stopped = removed_by_inlp(features, labels, rounds=20, stop_at_chance=True)
    assert 1 <= len(stopped.basis) < 10
    assert len(removed_by_inlp(features, labels, rounds=20).basis) > 2 * len(stopped.basis)
    at_chance = stopped.majority + 1.645 * np.sqrt(stopped.majority * (1 - stopped.majority) / 300)
    assert stopped.accuracy[-1] <= at_chance < min(stopped.accuracy[:-1])


def test_every_round_is_told() -> None:
    features, labels, _, _, _ = planted(8)
    told: list[int] = []
    removed_by_inlp(features, labels, rounds=3, on_round=lambda: told.append(1))
    assert len(told) == 3


@pytest.mark.parametrize(("classes", "rounds"), [(2, WIDTH), (3, WIDTH // 3)])
def test_rounds_that_would_leave_nothing_are_refused(classes: int, rounds: int) -> None:
    features, labels, _, _, _ = planted(9, classes)
    with raises("bad-setting", UsageError, key="rounds"):
        removed_by_inlp(features, labels, rounds)


def test_it_ends_when_no_direction_is_left_to_use() -> None:
    features, labels, _, own, _ = planted(10)
    flat = features @ own.T @ own  # nothing but the attribute's direction
    removed = removed_by_inlp(flat, labels, rounds=5)
    assert len(removed.basis) == 1
    assert np.allclose(np.abs(removed.basis @ own.T), 1)


def test_one_class_alone_is_refused() -> None:
    features, labels, _, _, _ = planted(11)
    with raises("bad-option", UsageError, key="labels"):
        removed_by_inlp(features, np.zeros_like(labels), 1)


@pytest.mark.parametrize("classes", [2, 3, 4])
def test_the_probe_is_scikit_learns_linear_svc(classes: int) -> None:
    from sklearn.svm import LinearSVC

    features, labels, _, _, _ = planted(12, classes, size=1.0)
    labels = 10 - 3 * labels  # any numbers will do
    reference = LinearSVC(fit_intercept=False, dual=False, random_state=0).fit(features[:300], labels[:300])
    probe = train_probe(features[:300], labels[:300])
    assert np.allclose(probe.weights, reference.coef_, rtol=1e-9, atol=1e-12)
    assert probe.score(features[300:], labels[300:]) == reference.score(features[300:], labels[300:])
    assert probe.converged


# --- SentenceDebias


def counterparts(seed: int, classes: int, rows: int = 200) -> tuple[Floats, Floats]:
    """Vectors that differ within a tuple mostly along one direction, and between tuples in everything."""
    rng = np.random.default_rng(seed)
    axis = np.linalg.qr(rng.normal(size=(WIDTH, WIDTH)))[0][0]
    shared = 3 * rng.normal(size=(rows, 1, WIDTH))
    steps = np.linspace(-1, 1, classes)[None, :, None] * axis
    return shared + steps + 0.05 * rng.normal(size=(rows, classes, WIDTH)), axis


@pytest.mark.parametrize("classes", [2, 3])
def test_it_removes_the_first_component_and_nothing_else(classes: int) -> None:
    from sklearn.decomposition import PCA

    features, _ = counterparts(0, classes)
    basis, share = sentence_debias(features)
    unit = features / np.linalg.norm(features, axis=-1, keepdims=True)
    centred = (unit - unit.mean(axis=1, keepdims=True)).reshape(-1, WIDTH)
    reference = PCA(n_components=WIDTH).fit(centred)
    assert basis.shape == (1, WIDTH)
    assert abs(basis[0] @ reference.components_[0]) == pytest.approx(1, abs=1e-9)
    assert share == pytest.approx(reference.explained_variance_ratio_[0], abs=1e-9)
    projection = projection_without(basis)
    assert np.allclose(projection @ reference.components_[0], 0, atol=1e-7)
    assert np.allclose(reference.components_[1:] @ projection, reference.components_[1:], atol=1e-7)


def test_the_projection_is_the_papers() -> None:
    features, _ = counterparts(1, 2)
    basis, _ = sentence_debias(features)
    v, x = 7.5 * basis[0], np.random.default_rng(0).normal(size=WIDTH)
    assert np.allclose(projection_without(basis) @ x, x - (x @ v) * v / (v @ v))


def test_it_finds_what_counterparts_differ_in() -> None:
    features, axis = counterparts(2, 2)
    basis, share = sentence_debias(features)
    assert abs(basis[0] @ axis) > 0.97
    assert share > 0.8


def test_more_components_begin_with_the_first() -> None:
    features, _ = counterparts(3, 3)
    first, less = sentence_debias(features, 1)
    three, more = sentence_debias(features, 3)
    assert np.allclose(three[0], first[0])
    assert np.allclose(three @ three.T, np.eye(3))
    assert more > less


def test_the_length_of_a_vector_does_not_matter() -> None:
    features, _ = counterparts(4, 2)
    longer = features * np.random.default_rng(1).uniform(0.5, 9, size=(*features.shape[:2], 1))
    assert np.allclose(sentence_debias(features)[0], sentence_debias(longer)[0])


def test_counterparts_with_the_same_vector_are_refused() -> None:
    features, _ = counterparts(5, 2)
    with raises("bad-tokenizer", ModelError):
        sentence_debias(np.repeat(features[:, :1], 2, axis=1))


def test_more_components_than_there_are_differences_are_refused() -> None:
    axis = np.eye(WIDTH)[0]
    one = np.stack([np.ones((5, WIDTH)) + axis, np.ones((5, WIDTH)) - axis], axis=1)
    with raises("bad-setting", UsageError, key="components"):
        sentence_debias(one, 4)


def test_a_vector_of_zeros_is_refused() -> None:
    features, _ = counterparts(6, 2)
    features[3, 1] = 0
    with raises("bad-model", ModelError):
        sentence_debias(features)


# --- small things


def test_the_row_space_of_nothing_is_empty() -> None:
    assert row_space(np.zeros((2, 5))).shape == (0, 5)
    assert np.allclose(np.abs(row_space(np.array([[0.0, 2.0], [0.0, -1.0]]))), [[0, 1]])


def test_guessing_means_the_commonest_class() -> None:
    assert majority_rate(np.array([2, 2, 0, 1])) == 0.5
