import itertools
import subprocess
import sys

import numpy as np
import pytest

from assay.stats import clusters, kmeans_separation, tsne_projection
from assay.stats.clusters import _agreeing, _clusters, _relabelled, two_clusters


def halves(first, second):
    return np.arange(first + second) < first


def blobs(sizes, seed=0, apart=10.0):
    """Vectors of names around one centre after the other."""
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.normal(k * apart, 1.0, (size, 4)) for k, size in enumerate(sizes)])


def every_accuracy(cluster, inside):
    """The accuracy of every choice of `inside` names as the first group, one by one."""
    names = range(len(cluster))
    for chosen in itertools.combinations(names, inside):
        share = np.mean(np.isin(names, chosen) == cluster)
        yield max(share, 1 - share)


@pytest.mark.parametrize("turn", [False, True], ids=["first", "second"])
@pytest.mark.parametrize("sizes", [(25, 25), (6, 14)])
def test_groups_that_are_clusters_are_found_whichever_is_called_first(sizes, turn):
    found = kmeans_separation(blobs(sizes), halves(*sizes) ^ turn)
    assert found.accuracy == 1.0
    assert found.p == 1 / 1001
    assert 0.5 < found.floor < 0.75


def test_accuracy_counts_names_in_the_wrong_cluster():
    first = halves(10, 10)
    first[[0, 19]] = [False, True]
    first[1] = False
    assert kmeans_separation(blobs((10, 10)), first).accuracy == pytest.approx(17 / 20)


@pytest.mark.parametrize(("first", "second"), [(25, 25), (3, 7)])
@pytest.mark.parametrize("noise", [0.0, 1e-16], ids=["equal", "equal up to rounding"])
def test_equal_vectors_are_at_their_floor_without_a_warning(recwarn, first, second, noise):
    vectors = np.full((first + second, 5), 0.1) + noise * np.random.default_rng(0).random((first + second, 5))
    found = kmeans_separation(vectors, halves(first, second))
    assert found.accuracy == found.floor == max(first, second) / (first + second)
    assert found.p == 1.0
    assert not recwarn.list


@pytest.mark.parametrize(("sizes", "inside"), [((3, 3), 3), ((2, 4), 3), ((4, 4), 4), ((1, 5), 3)])
def test_of_groups_of_one_size_the_floor_is_the_mean_over_all_relabelings(sizes, inside):
    everything = np.array(list(every_accuracy(halves(*sizes), inside))) * sum(sizes)
    drawn = _relabelled(sizes[0], inside, sum(sizes), 100_000, np.random.default_rng(0))
    assert drawn.mean() == pytest.approx(everything.mean(), abs=4 * everything.std() / np.sqrt(100_000) + 1e-12)
    for least in set(everything.round().tolist()):
        assert (drawn >= least).mean() == pytest.approx((everything >= least - 1e-9).mean(), abs=0.01)


@pytest.mark.parametrize(("sizes", "spread", "relabelled"), [((9, 9), 1.0, 1), ((9, 9), 3.0, 0), ((8, 10), 1.0, 0)])
def test_names_are_relabelled_where_groups_have_one_size_and_about_one_spread(sizes, spread, relabelled, monkeypatch):
    used = []
    monkeypatch.setattr(clusters, "_relabelled", lambda *given: used.append(given) or np.array([9]))
    vectors = np.random.default_rng(5).normal(size=(18, 6))
    vectors[: sizes[0]] *= spread
    kmeans_separation(vectors, halves(*sizes), permutations=30)
    assert len(used) == relabelled


def test_a_small_group_that_spreads_more_is_not_told_apart_by_its_spread():
    """Relabelling tells 5 names that spread three times as much from 40 in a third of the cases, with equal means."""
    p, plain, sets = [], [], 100
    for seed in range(sets):
        rng = np.random.default_rng(seed)
        vectors = np.concatenate([3.0 * rng.normal(size=(5, 8)), rng.normal(size=(40, 8))])
        p.append(kmeans_separation(vectors, halves(5, 40), seed=seed, permutations=100).p)
        observed = _agreeing(two_clusters(vectors, seed), halves(5, 40))
        size = int(two_clusters(vectors, seed).sum())
        plain.append((_relabelled(size, 5, 45, 1000, rng) >= observed).mean())
    assert np.mean(np.array(p) <= 0.05) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / sets)
    assert np.mean(np.array(plain) <= 0.05) > 0.2


def test_resamples_are_clustered_as_by_scikit_learn():
    sets = np.random.default_rng(6).normal(size=(20, 18, 4)) + 2.0 * halves(6, 12)[:, None]
    found = _clusters(sets, np.random.default_rng(0))
    for vectors, cluster in zip(sets, found, strict=True):
        assert _agreeing(two_clusters(vectors, 0), cluster) >= 16


def test_chance_gives_small_groups_more_than_half():
    floors = [_relabelled(n, n, 2 * n, 10_000, np.random.default_rng(0)).mean() / (2 * n) for n in (2, 5, 25)]
    assert floors[0] == pytest.approx(2 / 3, abs=0.03)  # of six relabelings of 2 + 2 names, two are right
    assert floors[0] > floors[1] > floors[2] > 0.54


@pytest.mark.simulation
def test_p_is_valid_and_accuracy_at_its_floor_when_groups_mean_nothing():
    rng = np.random.default_rng(1)
    found = [kmeans_separation(rng.normal(size=(24, 3)), halves(12, 12), seed=k) for k in range(150)]
    p = np.array([one.p for one in found])
    for level in (0.05, 0.2, 0.5):
        assert (p <= level).mean() <= level + 3 * np.sqrt(level * (1 - level) / 150)
    assert len(np.unique(p.round(1))) >= 4
    assert (p < 0.3).any()
    accuracy, floor = (np.array([getattr(one, name) for one in found]) for name in ("accuracy", "floor"))
    assert (accuracy - floor).mean() == pytest.approx(0, abs=4 * accuracy.std() / np.sqrt(150))


def test_a_seed_gives_the_same_separation():
    vectors = np.random.default_rng(2).random((30, 8))
    assert kmeans_separation(vectors, halves(15, 15), seed=3) == kmeans_separation(vectors, halves(15, 15), seed=3)


@pytest.mark.parametrize(
    ("first", "permutations", "message"),
    [
        (np.ones(6, dtype=bool), 10, "each group needs a name"),
        (halves(2, 3), 10, "one entry per vector"),
        (halves(3, 3), 0, "permutations"),
    ],
)
def test_what_cannot_be_separated_is_refused(first, permutations, message):
    with pytest.raises(ValueError, match=message):
        kmeans_separation(np.zeros((6, 2)), first, permutations=permutations)


def test_the_projection_keeps_neighbours_together():
    places = tsne_projection(blobs((15, 15), apart=50.0))
    assert places.shape == (30, 2)
    assert places.dtype == np.float64
    distance = np.linalg.norm(places[:, None] - places[None], axis=2) + np.diag(np.full(30, np.inf))
    assert ((distance.argmin(axis=1) < 15) == halves(15, 15)).all()


def test_the_projection_is_repeatable_and_depends_on_its_seed():
    vectors = np.random.default_rng(3).random((12, 6))
    places = tsne_projection(vectors)
    np.testing.assert_array_equal(places, tsne_projection(vectors))
    assert not np.allclose(places, tsne_projection(vectors, seed=11))


@pytest.mark.parametrize("vectors", [np.random.default_rng(4).random((4, 3)), np.ones((6, 3))], ids=["four", "equal"])
def test_few_or_equal_vectors_have_places(vectors):
    assert np.isfinite(tsne_projection(vectors)).all()


def test_too_few_vectors_are_refused():
    with pytest.raises(ValueError, match="at least 4 vectors"):
        tsne_projection(np.zeros((3, 5)))


def test_importing_statistics_imports_neither_scikit_learn_nor_scipy():
    code = "import sys, assay.stats; print(sorted({'sklearn', 'scipy'} & set(sys.modules)), 'numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["[]", "True"]
