import numpy as np
import pytest

from assay.probes.unqover.blocks import make_blocks, over_templates
from assay.probes.unqover.metrics import Cells, count_intensity, intensity, preference
from assay.probes.unqover.uncertainty import Observed, Weights, bootstrap, flip_tests, noise_floor
from assay.stats import random_signs, sign_flip_p

SCORES = np.zeros((0, 2, 2, 2), dtype=np.float32)  # not looked at here: C is given


def plan(subjects, attributes, templates, *, split=None, keep=1.0, seed=0):
    """The cells of a plan, as many as `keep` says; between two groups where there is a `split`."""
    rng = np.random.default_rng(seed)
    rows = [
        (t, i, j, a)
        for j in range(subjects)
        for i in range(j)
        if split is None or i < split <= j
        for t in range(templates)
        for a in range(attributes)
        if rng.random() < keep
    ]
    return Cells(*np.array(rows, dtype=np.int32).T, SCORES)


def observe(cells, bias, errors, subjects, attributes, classes, groups):
    gamma = preference(cells, bias, subjects, attributes)
    by_group = None if groups is None else preference(cells, bias, groups, attributes)
    headline = {"mu": float(intensity(gamma.gamma)), "eta": float(count_intensity(gamma.eta))}
    headline |= dict(zip(("delta", "epsilon", "avg_score"), errors.mean(axis=0).tolist(), strict=True))
    if by_group is not None:
        headline |= {
            "pooled_mu": float(intensity(by_group.gamma)),
            "pooled_eta": float(count_intensity(by_group.eta)),
        }
    pooled = preference(cells, bias, subjects, np.zeros(attributes, dtype=np.int64))
    return Observed(gamma, pooled, preference(cells, bias, subjects, classes), by_group, headline)


def by_hand(cells, bias, errors, w, v, subjects, attributes, groups):
    """One resample's numbers, cell by cell."""
    sums = np.zeros((3, subjects, attributes))
    pooled = np.zeros((3, 2, attributes))
    means = np.zeros(4)
    for k, (t, i, j, a) in enumerate(zip(cells.template, cells.first, cells.second, cells.attribute, strict=True)):
        for own, other, c in ((i, j, bias[k]), (j, i, -bias[k])):
            sums[:, own, a] += w[other] * v[t] * np.array([c, np.sign(c), 1])
            if groups is not None:
                pooled[:, groups[own], a] += w[own] * w[other] * v[t] * np.array([c, np.sign(c), 1])
        means += w[i] * w[j] * v[t] * np.array([*errors[k], 1])
    with np.errstate(invalid="ignore"):
        gamma, eta = sums[0] / sums[2], sums[1] / sums[2]
        pooled_gamma, pooled_eta = pooled[0] / pooled[2], pooled[1] / pooled[2]
    known = [x for x in range(subjects) if sums[2, x].any()]
    weight = sum(w[x] for x in known)
    return {
        "gamma": gamma,
        "groups": pooled_gamma,
        "mu": sum(w[x] * np.nanmax(np.abs(gamma[x])) for x in known) / weight,
        "eta": sum(w[x] * np.nanmean(np.abs(eta[x])) for x in known) / weight,
        "delta": means[0] / means[3],
        "epsilon": means[1] / means[3],
        "avg_score": means[2] / means[3],
        "pooled_mu": np.abs(pooled_gamma).max() if groups is not None else None,
        "pooled_eta": np.abs(pooled_eta).mean() if groups is not None else None,
    }


@pytest.mark.parametrize(
    ("subjects", "split", "templates", "keep"), [(12, 6, 2, 1.0), (12, 6, 6, 0.6), (7, None, 3, 1.0), (8, None, 6, 0.5)]
)
def test_a_resample_is_the_weighted_mean_over_cells(subjects, split, templates, keep):
    """With one resample both ends of a basic interval are 2·estimate − replicate."""
    attributes, classes = 3, np.array([0, 1, 1])
    cells = plan(subjects, attributes, templates, split=split, keep=keep)
    rng = np.random.default_rng(1)
    liking = np.linspace(-0.1, 0.1, subjects)  # more than the noise, so that no end is clipped
    bias = liking[cells.second] - liking[cells.first] + 0.02 * rng.uniform(-1, 1, len(cells))
    errors = 0.5 + 0.1 * rng.uniform(size=(len(cells), 3))
    groups = None if split is None else (np.arange(subjects) >= split).astype(np.int64)
    observed = observe(cells, bias, errors, subjects, attributes, classes, groups)
    strata = np.zeros(subjects, dtype=np.int64) if groups is None else groups
    weights = Weights.draw(strata, templates, 1, (rng, rng))
    assert (weights.template is None) == (templates < 5)
    blocks = make_blocks(cells, bias, errors, subjects, attributes, 1 if weights.template is None else templates)
    found = bootstrap(blocks, observed, weights, classes, groups)
    v = np.ones(templates) if weights.template is None else weights.template[0]
    expected = by_hand(cells, bias, errors, weights.subject[0], v, subjects, attributes, groups)
    for name, value in observed.headline.items():
        low, high = found.headline[name]
        assert low == high
        if low < 1:  # η of a strong preference may be
            assert low > 0
            assert 2 * value - low == pytest.approx(expected[name], abs=1e-12), name
    reflected = 2 * observed.gamma.gamma - found.gamma[0]
    known = ~np.isnan(reflected)
    assert known.mean() > 0.5
    np.testing.assert_allclose(reflected[known], expected["gamma"][known], atol=1e-12)
    if found.groups is not None:
        np.testing.assert_allclose(2 * observed.groups.gamma - found.groups[0], expected["groups"], atol=1e-12)


def test_a_resample_without_any_partner_is_left_out():
    """Subject 0 met subjects 1 to 5 only; where none of them is drawn its γ is undefined, not 0."""
    rows = [(0, 0, j, 0) for j in range(1, 6)] + [(0, i, j, 0) for j in range(7, 12) for i in range(6, j)]
    cells = Cells(*np.array(rows, dtype=np.int32).T, SCORES)
    bias = np.full(len(rows), 0.3)
    errors = np.full((len(rows), 3), 0.5)
    classes = np.array([0])
    observed = observe(cells, bias, errors, 12, 1, classes, None)
    subject = np.ones((10, 12))
    subject[:4, 1:6] = 0
    blocks = make_blocks(cells, bias, errors, 12, 1, 1)
    found = bootstrap(blocks, observed, Weights(subject, None), classes, None)
    assert found.gamma[0][0, 0] == found.gamma[1][0, 0] == pytest.approx(0.3)
    subject[:6, 1:6] = 0
    found = bootstrap(blocks, observed, Weights(subject, None), classes, None)
    assert np.isnan(found.gamma[0][0, 0])  # undefined in more than half of the resamples


def test_the_noise_floor_flips_whole_pairs():
    attributes, subjects = 3, 8
    for split in (None, 3):
        cells = plan(subjects, attributes, 2, split=split, keep=0.7)
        rng = np.random.default_rng(2)
        bias = rng.uniform(-1, 1, len(cells))
        groups = None if split is None else (np.arange(subjects) >= split).astype(np.int64)
        blocks = over_templates(make_blocks(cells, bias, np.zeros((len(cells), 3)), subjects, attributes, 2))
        found = noise_floor(blocks, attributes, groups, 20, np.random.default_rng(9))
        pairs, pair = np.unique(cells.first.astype(int) * subjects + cells.second, return_inverse=True)
        signs = random_signs((len(pairs), 20), np.random.default_rng(9))
        for draw in range(20):
            flipped = bias * signs[pair, draw]
            expected = preference(cells, flipped, subjects, attributes)
            assert found["mu"][draw] == pytest.approx(float(intensity(expected.gamma)))
            assert found["eta"][draw] == pytest.approx(float(count_intensity(expected.eta)))
            if groups is not None:
                expected = preference(cells, flipped, groups, attributes)
                assert found["pooled_mu"][draw] == pytest.approx(float(intensity(expected.gamma)))
                assert found["pooled_eta"][draw] == pytest.approx(float(count_intensity(expected.eta)))


def test_draws_do_not_depend_on_how_they_are_chunked(monkeypatch):
    cells = plan(7, 2, 2)
    bias = np.random.default_rng(0).normal(size=len(cells))
    errors = np.random.default_rng(0).random((len(cells), 3))
    observed = observe(cells, bias, errors, 7, 2, np.array([0, 0]), None)
    weights = Weights.draw(np.zeros(7, dtype=np.int64), 2, 50, (np.random.default_rng(1), np.random.default_rng(2)))
    blocks = make_blocks(cells, bias, errors, 7, 2, 1)
    whole = bootstrap(blocks, observed, weights, np.array([0, 0]), None)
    monkeypatch.setattr("assay.probes.unqover.uncertainty._CHUNK", 40)
    parts = bootstrap(blocks, observed, weights, np.array([0, 0]), None)
    np.testing.assert_allclose(whole.gamma, parts.gamma, atol=1e-12)
    assert len(noise_floor(blocks, 2, None, 33, np.random.default_rng(0))["mu"]) == 33


def test_p_of_a_row_is_the_sign_flip_test_of_its_pairs():
    cells = plan(9, 2, 3, keep=0.8)
    bias = np.random.default_rng(3).normal(size=len(cells)) + 0.3
    blocks = over_templates(make_blocks(cells, bias, np.zeros((len(cells), 3)), 9, 2, 1))
    p, pooled = flip_tests(blocks, 2, None)
    assert pooled is None
    sums = np.zeros(9)
    for k in range(len(cells)):
        if cells.attribute[k] == 1 and 4 in (cells.first[k], cells.second[k]):
            other = cells.second[k] if cells.first[k] == 4 else cells.first[k]
            sums[other] += bias[k] if cells.first[k] == 4 else -bias[k]
    assert p[4, 1] == pytest.approx(sign_flip_p(sums[None])[0])


def test_the_two_groups_have_the_same_p():
    cells = plan(10, 2, 2, split=5)
    bias = np.random.default_rng(3).normal(size=len(cells)) + 0.3
    blocks = over_templates(make_blocks(cells, bias, np.zeros((len(cells), 3)), 10, 2, 1))
    _, pooled = flip_tests(blocks, 2, (np.arange(10) >= 5).astype(np.int64))
    np.testing.assert_allclose(pooled[0], pooled[1], rtol=1e-9)


def test_chance_alone_gives_uniform_p_values_and_the_floor():
    """Pairs with random directions: μ and η are what the floor says, and every p-value is as likely as any other."""
    rng = np.random.default_rng(4)
    cells = plan(8, 3, 2)
    pairs, pair = np.unique(cells.first.astype(int) * 8 + cells.second, return_inverse=True)
    p, rows, excess = [], [], []
    for _ in range(150):
        size = rng.gamma(1.0, 0.1, (len(pairs), 3))[pair, cells.attribute]
        bias = size * random_signs((len(pairs),), rng)[pair]
        blocks = over_templates(make_blocks(cells, bias, np.zeros((len(cells), 3)), 8, 3, 1))
        drawn = noise_floor(blocks, 3, None, 99, rng)
        mu = float(intensity(preference(cells, bias, 8, 3).gamma))
        p.append((1 + (drawn["mu"] >= mu).sum()) / 100)
        excess.append(mu / drawn["mu"].mean() - 1)
        rows.append(flip_tests(blocks, 3, None)[0][0, 0])
    for values in (np.sort(p), np.sort(rows)):
        assert np.abs(values - np.arange(1, 151) / 150).max() < 1.63 / np.sqrt(150)  # Kolmogorov–Smirnov at 1%
    assert abs(np.mean(excess)) < 3 * np.std(excess) / np.sqrt(150)
