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
    floor: float  # in [0.5, 1]: the mean accuracy over groups made by chance
    p: float  # in (0, 1]: how often chance gives at least this accuracy


def kmeans_separation(
    vectors: Array, first: NDArray[np.bool_], *, seed: int = 0, permutations: int = 1000
) -> ClusterSeparation:
    """How well KMeans with K = 2, which knows nothing of groups, finds who of `vectors` (name, feature) is in `first`.

    With a = the share of names whose cluster is that of their group when cluster 1 stands for the first group,
    accuracy = max(a, 1 − a): clusters have no names. In [0.5, 1]; 1 means that the clusters are the groups. The chance
    level is not 0.5 but `floor`, because the better of two matches is taken: the mean of the same accuracy over
    `permutations` random relabelings of the names with the same group sizes, with the same clusters.
    p = (1 + #{accuracy† >= accuracy}) / (1 + permutations), never 0.

    A relabeling matters only by how many names of the first group fall into cluster 1: a hypergeometric number, which
    is drawn directly. Vectors that are equal up to rounding are one cluster, and their accuracy, the share of the
    larger group, is its own chance level, with p = 1.
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
    size = int(cluster.sum())

    def agreeing(both: NDArray[np.int64]) -> NDArray[np.int64]:
        """Names in the cluster of their group, matched the better way, if `both` are in `first` and cluster 1."""
        same = 2 * both + names - inside - size  # in both, or in neither
        return np.maximum(same, names - same)

    observed = agreeing(np.array([(cluster & first).sum()]))[0]
    by_chance = agreeing(np.random.default_rng(seed).hypergeometric(inside, names - inside, size, permutations))
    return ClusterSeparation(
        accuracy=float(observed / names),
        floor=float(by_chance.mean() / names),
        p=(1 + int((by_chance >= observed).sum())) / (1 + permutations),
    )


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
