"""Do vectors fall into two groups by themselves? Two clusters against the groups, and a picture in the plane.

scikit-learn runs on one thread here. With a few hundred vectors, several threads mostly wait for each other, which
takes 25 to 100 times as long if another program needs a core. With one thread, results do not depend on the number of
cores.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.stats.p_values import TIE

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ClusterSeparation:
    """How well two clusters agree with two groups, and how well they would by chance."""

    accuracy: float  # in [0.5, 1]
    floor: float  # in [0.5, 1]: the mean accuracy of groups that do not differ
    p: float  # in (0, 1]: how often chance gives at least this accuracy


UNEQUAL = 1.5
"""Groups differ in spread if one has at least so many times that of the other."""

_STARTS, _STEPS = 10, 50  # of KMeans in every resample
_AT_ONCE = 1 << 21  # numbers held at once for resamples


def kmeans_separation(
    vectors: Array, first: NDArray[np.bool_], *, seed: int = 0, permutations: int = 1000
) -> ClusterSeparation:
    """How well KMeans with K = 2, which knows nothing of groups, finds who of `vectors` (name, feature) is in `first`.

    With a = the share of names whose cluster is that of their group when cluster 1 stands for the first group,
    accuracy = max(a, 1 − a): clusters have no names. In [0.5, 1]; 1 means that the clusters are the groups. The chance
    level is not 0.5 but `floor`, because the better of two matches is taken: the mean of the same accuracy of groups
    that do not differ. p = (1 + #{accuracy† >= accuracy}) / (1 + draws), never 0.

    Groups of one size whose spreads differ by less than half are relabelled: names are exchangeable, and the clusters
    stay. Of other groups, one that spreads more than the other is partly a cluster by itself, though their means are
    equal. There the groups are made alike in their means only: each is centred, resampled within itself, times
    √(n/(n − 1)), which such resampling lacks, and clustered again.

    Vectors that are equal up to rounding are one cluster, and their accuracy, the share of the larger group, is its own
    chance level, with p = 1.
    """
    vectors, first = np.asarray(vectors, dtype=np.float64), np.asarray(first, dtype=np.bool_)
    if vectors.ndim != 2 or first.shape != vectors.shape[:1]:
        raise ValueError(f"first must have one entry per vector (name, feature), not {first.shape}, {vectors.shape}")
    names, inside = len(first), int(first.sum())
    if not 0 < inside < names:
        raise ValueError(f"each group needs a name; of {names}, {inside} are in the first group")
    if permutations < 1:
        raise ValueError(f"permutations must be at least 1, not {permutations}")
    cluster = two_clusters(vectors, seed)
    observed, rng = _agreeing(cluster, first), np.random.default_rng(seed)
    if not cluster.any() or (2 * inside == names and _spread_ratio(vectors, first) < UNEQUAL):
        by_chance = _relabelled(int(cluster.sum()), inside, names, permutations, rng)
    else:
        by_chance = _resampled(vectors, first, permutations, rng)
    return ClusterSeparation(
        accuracy=observed / names,
        floor=float(by_chance.mean() / names),
        p=(1 + int((by_chance >= observed).sum())) / (1 + permutations),
    )


def _agreeing(cluster: NDArray[np.bool_], first: NDArray[np.bool_]) -> int:
    """Names in the cluster of their group, matched the better way."""
    same = int((cluster == first).sum())
    return max(same, len(first) - same)


def _spread_ratio(vectors: Array, first: NDArray[np.bool_]) -> float:
    """The larger of the groups' standard deviations, over all features, divided by the smaller."""
    larger, smaller = sorted((float(vectors[side].var(axis=0).sum()) for side in (first, ~first)), reverse=True)
    return float(np.sqrt(larger / smaller)) if smaller > 0 else float("inf") if larger > 0 else 1.0


def _relabelled(size: int, inside: int, names: int, draws: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """How many names agree in random groups of the same sizes, with the same clusters.

    A relabeling matters only by how many names of the first group fall into cluster 1, which has `size` names: a
    hypergeometric number, which is drawn directly.
    """
    same = 2 * rng.hypergeometric(inside, names - inside, size, draws) + names - inside - size  # in both, or in neither
    return np.maximum(same, names - same)


def _resampled(vectors: Array, first: NDArray[np.bool_], draws: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """How many names agree where the groups have equal means and their own spreads."""
    sides = [vectors[first], vectors[~first]]
    centred = np.concatenate(
        [(side - side.mean(axis=0)) * np.sqrt(len(side) / max(len(side) - 1, 1)) for side in sides]
    )
    inside, names = len(sides[0]), len(vectors)
    labels = np.arange(names) < inside
    agreeing = np.empty(draws, np.int64)
    step = max(1, _AT_ONCE // centred.size)
    for lo in range(0, draws, step):
        n = min(step, draws - lo)
        rows = np.concatenate(
            [rng.integers(0, inside, (n, inside)), rng.integers(inside, names, (n, names - inside))], 1
        )
        same = (_clusters(centred[rows], rng) == labels).sum(axis=1)
        agreeing[lo : lo + n] = np.maximum(same, names - same)
    return agreeing


def _clusters(vectors: Array, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Which of (set, vector, feature) are in cluster 1 of their set: Lloyd's algorithm from ten random pairs of
    vectors, and of these the clusters with the smallest sum of squares.

    scikit-learn's KMeans takes far longer for a thousand small sets, one by one.
    """
    sets, names, _ = vectors.shape
    pairs = rng.random((sets, _STARTS, names)).argpartition(1, axis=2)[:, :, :2]
    first, second = (vectors[np.arange(sets)[:, None], pairs[:, :, side]] for side in (0, 1))  # (set, start, feature)
    total, one = vectors.sum(axis=1)[:, None], np.zeros((sets, _STARTS, names), np.bool_)
    for _ in range(_STEPS):
        border = ((second**2).sum(axis=2) - (first**2).sum(axis=2)) / 2.0
        before, one = one, (second - first) @ vectors.transpose(0, 2, 1) > border[:, :, None]
        if (one == before).all():
            break
        size = one.sum(axis=2)[:, :, None]
        inside = one.astype(np.float64) @ vectors
        second = inside / np.maximum(size, 1)
        first = (total - inside) / np.maximum(names - size, 1)
    size = one.sum(axis=2)
    between = size * (second**2).sum(axis=2) + (names - size) * (first**2).sum(axis=2)
    best: NDArray[np.bool_] = one[np.arange(sets), between.argmax(axis=1)]
    return best


def two_clusters(vectors: Array, seed: int) -> NDArray[np.bool_]:
    """Which vectors are in cluster 1; none if all are equal up to rounding."""
    if vectors.size == 0 or np.ptp(vectors, axis=0).max() <= TIE * np.abs(vectors).max():
        return np.zeros(len(vectors), dtype=np.bool_)
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer than two clusters found: then they say nothing
        clusters = KMeans(n_clusters=2, n_init=10, random_state=seed).fit_predict(vectors)
    return np.asarray(clusters == 1)


def tsne_projection(vectors: Array, *, seed: int = 10, perplexity: float = 30.0) -> Array:
    """Places in the plane (name, 2) where names with similar `vectors` (name, feature) are neighbours (t-SNE).

    The settings are those of Figure 4 of An et al. (2023): a random start, an automatic learning rate. Perplexity,
    about how many neighbours a name has, is at most (n − 1)/3. Axes, the origin, distances between far places and the
    sizes of clumps mean nothing. The same seed gives the same places on the same machine.
    """
    vectors = np.asarray(vectors, dtype=np.float64)
    if vectors.ndim != 2 or len(vectors) < 4:
        raise ValueError(f"t-SNE needs at least 4 vectors (name, feature), not an array of shape {vectors.shape}")
    from sklearn.manifold import TSNE
    from threadpoolctl import threadpool_limits

    tsne = TSNE(
        n_components=2,
        init="random",
        learning_rate="auto",
        random_state=seed,
        perplexity=min(perplexity, (len(vectors) - 1) / 3),
    )
    with threadpool_limits(1):
        return np.asarray(tsne.fit_transform(vectors), dtype=np.float64)
