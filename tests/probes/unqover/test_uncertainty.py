"""UnQover's errors, tests and floors against slow computations, cell by cell; and whether they keep their promise."""

from itertools import product

import numpy as np
import pytest
from scipy.special import ndtr

from assay.probes.unqover.cells import Cells
from assay.probes.unqover.metrics import count_intensity, intensity, preference
from assay.probes.unqover.uncertainty import (
    group_rows,
    least_sign_variance,
    means_over_cells,
    pooled_groups,
    pooled_intensity,
    pooled_one_sidedness,
    share_intervals,
)
from assay.probes.unqover.uncertainty_subjects import (
    jackknifed,
    make_blocks,
    noise_floor,
    single_subjects,
    subject_rows,
)
from assay.stats import ClusteredMeans, ErrorCovariance, benjamini_hochberg, random_signs, student_p

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


def halves(subjects, split):
    return None if split is None else (np.arange(subjects) >= split).astype(np.int64)


def cluster_variance(far, keys):
    """G/(G − 1) · Σ over clusters of (Σ distances)² / n²: what one kind of unit gives."""
    sums = {}
    for key, own in zip(keys, far, strict=True):
        sums[key] = sums.get(key, 0.0) + own
    g = len(sums)
    return g / (g - 1) * sum(own**2 for own in sums.values()) / len(far) ** 2


@pytest.mark.parametrize("keep", [1.0, 0.5])
def test_pooled_groups_have_the_two_way_errors_of_their_names(keep):
    cells = plan(14, 3, 2, split=6, keep=keep)
    rng = np.random.default_rng(1)
    liking = rng.normal(size=14)
    bias = 0.1 * (liking[cells.first] - liking[cells.second]) + rng.normal(0.05, 0.1, len(cells))
    gamma, eta = pooled_groups(cells, bias, halves(14, 6), 3)
    for a in range(3):
        own = cells.attribute == a
        first, second = cells.first[own].tolist(), cells.second[own].tolist()
        for found, values, least in ((gamma, bias[own], 0.0), (eta, np.sign(bias[own]), None)):
            far = values - values.mean()
            pairs = cluster_variance(far, list(zip(first, second, strict=True)))
            expected = max(cluster_variance(far, first) + cluster_variance(far, second) - pairs, pairs)
            if least is None:  # nothing is tied here: one more sign of each kind, and two ties
                n = len(far)
                share = (n * (1 - abs(values.mean())) / 2 + 1) / (n + 2)
                expected = max(expected, (n + 2) / (n + 4) * 4 * share * (1 - share) / (n + 4))
            assert found.mean[a] == pytest.approx(values.mean())
            assert found.error[a] == pytest.approx(expected**0.5)
            assert found.freedom[a] == 5


def eta_of(decided, won, pairs=36):
    """η of names in two groups over so many pairs, of which some are decided, and the first group won some of these."""
    cells = plan(12, 1, 1, split=6)
    bias = np.zeros(pairs)
    bias[:decided] = np.where(np.arange(decided) < won, 0.1, -0.1)
    return pooled_groups(cells, np.random.default_rng(0).permutation(bias), halves(12, 6), 1)[1]


@pytest.mark.parametrize(
    ("decided", "won", "variance"),
    [
        (36, 36, 4 * 37 / (38 * 40**2)),  # all agree: 1 of 38 would differ
        (0, 0, 2 / 40**2),  # all are tied: 2 of 40 would be decided, one for either side
        (1, 1, 8 / (3 * 40**2)),  # 3 of 40 would be decided, one of them for the other side
    ],
)
def test_the_variance_of_signs_is_at_least_that_of_one_more_of_each_and_two_ties(decided, won, variance):
    assert eta_of(decided, won).spread.variance[0] == pytest.approx(variance)


@pytest.mark.parametrize("loses", [0, 0.25, 0.5])
def test_the_more_ties_the_smaller_is_the_least_variance_of_signs(loses):
    n, decided = np.full(51, 400), np.arange(0, 401, 8)
    mean = decided * (1 - 2 * loses) / n
    least = least_sign_variance(mean, decided, n)
    assert (np.diff(least) > 0).all()
    np.testing.assert_allclose(least_sign_variance(-mean, decided, n), least)


def test_a_model_that_names_nobody_is_known_to_name_nobody():
    """Once its η could have been up to 0.47: ties counted as signs that cancel."""
    found = eta_of(0, 0)
    assert found.mean[0] == 0
    assert pooled_one_sidedness(found, 200, np.random.default_rng(1)).high < 0.13


def test_cells_that_name_the_second_group_first_count_the_same():
    cells = plan(12, 2, 3, split=6, keep=0.7)
    rng = np.random.default_rng(2)
    bias = rng.normal(0.1, 0.1, len(cells))
    turned = rng.random(len(cells)) < 0.5
    ends = np.where(turned, (cells.second, cells.first), (cells.first, cells.second))
    mirrored = Cells(cells.template, ends[0], ends[1], cells.attribute, SCORES)
    there = pooled_groups(cells, bias, halves(12, 6), 2)
    back = pooled_groups(mirrored, np.where(turned, -bias, bias), halves(12, 6), 2)
    for one, other in zip(there, back, strict=True):
        np.testing.assert_allclose(one.mean, other.mean)
        np.testing.assert_allclose(one.spread.covariance, other.spread.covariance)


@pytest.mark.parametrize(("split", "templates"), [(None, 3), (6, 4), (None, 1)])
def test_means_over_cells_have_errors_of_subjects_and_templates(split, templates):
    cells = plan(11, 2, templates, split=split, keep=0.8)
    rng = np.random.default_rng(3)
    effect = rng.normal(size=11)[cells.first] + rng.normal(size=11)[cells.second] + rng.normal(size=4)[cells.template]
    values = effect + rng.normal(size=len(cells))
    mean, error, freedom = means_over_cells(cells, (values, values / 2), halves(11, split), 11)
    far, first, second = values - values.mean(), cells.first.tolist(), cells.second.tolist()
    pairs = cluster_variance(far, list(zip(first, second, strict=True)))
    if split is None:  # Σ over pairs of cells that share a subject, however many they share
        names = sorted(set(first) | set(second))
        sums = [sum(u for u, i, j in zip(far, first, second, strict=True) if x in (i, j)) for x in names]
        own, units = sum(s**2 for s in sums) / len(far) ** 2, len(names)
        g, kinds = units, len(set(zip(first, second, strict=True)))
        c = kinds / (kinds - 1)
        times = (g * (g - 1) - c * (g - 2)) / ((g - 2) ** 2 * (1 - 2 * c / g))
        subjects = max(times * own - (2 * times * (g - 2) / g - 1) * pairs, pairs)
    else:
        own = cluster_variance(far, first) + cluster_variance(far, second)
        units = min(len(set(first)), len(set(second)))
        subjects = max(own - pairs, pairs)
    texts = cluster_variance(far, cells.template.tolist()) if templates > 1 else 0.0
    alone = (far**2).sum() / len(far) ** 2
    kept = (subjects, max(texts - alone, 0)) if subjects >= texts else (max(subjects - alone, 0), texts)
    assert mean[0] == pytest.approx(values.mean())
    assert error[0] == pytest.approx(sum(kept) ** 0.5)
    assert error[1] == pytest.approx(error[0] / 2)
    parts = kept[0] ** 2 / (units - 1) + kept[1] ** 2 / max(templates - 1, 1)
    assert freedom[0] == pytest.approx(sum(kept) ** 2 / parts)
    means = means_over_cells(cells, [np.abs(values) / 10], halves(11, split), 11)
    low, high = share_intervals(*means)[0][:2]
    assert 0 <= low < np.abs(values).mean() / 10 < high <= 1


def test_a_subjects_row_has_the_errors_of_its_partners_and_templates():
    cells = plan(9, 3, 4, keep=0.8)
    rng = np.random.default_rng(4)
    bias = rng.normal(size=9)[cells.first] - rng.normal(size=9)[cells.second] + rng.normal(size=len(cells))
    bias *= 0.05
    gamma = preference(cells, bias, 9, 3).gamma
    (rows,) = subject_rows(cells, bias, [(gamma, np.arange(3))], 4)
    for x, a in product(range(9), range(3)):
        own = ((cells.first == x) | (cells.second == x)) & (cells.attribute == a)
        signed = np.where(cells.first == x, bias, -bias)[own]
        partner = np.where(cells.first == x, cells.second, cells.first)[own].tolist()
        far = signed - signed.mean()
        people, texts = cluster_variance(far, partner), cluster_variance(far, cells.template[own].tolist())
        alone = (far**2).sum() / len(far) ** 2
        kept = (people, max(texts - alone, 0)) if people >= texts else (max(people - alone, 0), texts)
        freedom = sum(kept) ** 2 / (kept[0] ** 2 / (len(set(partner)) - 1) + kept[1] ** 2 / 3)
        assert rows.p[x, a] == pytest.approx(float(student_p(gamma[x, a], sum(kept) ** 0.5, freedom)))
        assert (rows.high[x, a] + rows.low[x, a]) / 2 == pytest.approx(gamma[x, a])


def test_rows_of_fewer_than_five_partners_have_no_interval_and_no_p():
    cells = plan(10, 2, 2, split=6)
    bias = np.random.default_rng(0).normal(0, 0.1, len(cells))
    (rows,) = subject_rows(cells, bias, [(preference(cells, bias, 10, 2).gamma, np.arange(2))], 2)
    for part in rows:
        assert np.isnan(part[:6]).all()  # they have four partners
        assert np.isfinite(part[6:]).all()


@pytest.mark.parametrize("split", [None, 5])
def test_the_jackknife_leaves_out_whole_subjects_and_whole_templates(split):
    cells = plan(10, 2, 3, split=split, keep=0.9)
    rng = np.random.default_rng(5)
    bias = rng.normal(0.05, 0.1, len(cells))
    groups, errors = halves(10, split), rng.random((3, len(cells)))
    found = jackknifed(make_blocks(cells, bias, 10, 2, 3, errors), 2, groups)

    def without(kept):
        some = Cells(cells.template[kept], cells.first[kept], cells.second[kept], cells.attribute[kept], SCORES)
        got = preference(some, bias[kept], 10, 2)
        values = {"mu": float(intensity(got.gamma)), "eta": float(count_intensity(got.eta))}
        if groups is not None:
            pooled = preference(some, bias[kept], groups, 2)
            values |= {"pooled_mu": float(intensity(pooled.gamma)), "pooled_eta": float(count_intensity(pooled.eta))}
        return values | dict(zip(("delta", "epsilon", "avg_score"), errors[:, kept].mean(axis=1), strict=True))

    whole = without(np.ones(len(cells), bool))
    subjects = [without((cells.first != x) & (cells.second != x)) for x in range(10)]
    templates = [without(cells.template != t) for t in range(3)]
    assert set(found) == set(whole)
    assert set(jackknifed(make_blocks(cells, bias, 10, 2, 3), 2, None)) == {"mu", "eta"}
    for name, value in whole.items():
        assert found[name].value[0] == pytest.approx(value)
        left_out = np.array([each[name] for each in subjects])
        np.testing.assert_allclose(found[name].without[:, 0], left_out)
        strata = [left_out] if split is None else [left_out[:5], left_out[5:]]
        parts = [(len(own) - 1) * own.var() for own in strata]
        texts = 2 * np.var([each[name] for each in templates])
        assert found[name].error[0] == pytest.approx((sum(parts) + texts) ** 0.5)


def test_the_noise_floor_flips_whole_pairs(monkeypatch):
    cells = plan(8, 3, 2, keep=0.7)
    bias = np.random.default_rng(2).uniform(-1, 1, len(cells))
    blocks = make_blocks(cells, bias, 8, 3, 2)
    found = noise_floor(blocks, 3, 20, np.random.default_rng(9))
    pairs, pair = np.unique(cells.first.astype(int) * 8 + cells.second, return_inverse=True)
    signs = random_signs((len(pairs), 20), np.random.default_rng(9))
    for draw in range(20):
        expected = preference(cells, bias * signs[pair, draw], 8, 3)
        assert found[0, draw] == pytest.approx(float(intensity(expected.gamma)))
        assert found[1, draw] == pytest.approx(float(count_intensity(expected.eta)))
    monkeypatch.setattr("assay.probes.unqover.uncertainty_subjects._CHUNK", 40)
    assert noise_floor(blocks, 3, 33, np.random.default_rng(0)).shape == (2, 33)


def test_the_two_groups_have_the_same_p():
    cells = plan(10, 2, 2, split=5)
    bias = np.random.default_rng(3).normal(size=len(cells)) / 10 + 0.03
    rows = group_rows(pooled_groups(cells, bias, halves(10, 5), 2)[0])
    np.testing.assert_array_equal(rows.p[0], rows.p[1])
    np.testing.assert_allclose(rows.low[0], -rows.high[1])


def test_chance_alone_gives_uniform_p_values_and_the_floor():
    """Pairs with random directions: μ and η are what the floor says, and every p-value is as likely as any other."""
    rng = np.random.default_rng(4)
    cells = plan(8, 3, 2)
    pairs, pair = np.unique(cells.first.astype(int) * 8 + cells.second, return_inverse=True)
    p, excess = [], []
    for _ in range(150):
        size = rng.gamma(1.0, 0.1, (len(pairs), 3))[pair, cells.attribute]
        bias = size * random_signs((len(pairs),), rng)[pair]
        drawn = noise_floor(make_blocks(cells, bias, 8, 3, 2), 3, 99, rng)[0]
        mu = float(intensity(preference(cells, bias, 8, 3).gamma))
        p.append((1 + (drawn >= mu).sum()) / 100)
        excess.append(mu / drawn.mean() - 1)
    assert np.abs(np.sort(p) - np.arange(1, 151) / 150).max() < 1.63 / np.sqrt(150)  # Kolmogorov–Smirnov at 1%
    assert abs(np.mean(excess)) < 3 * np.std(excess) / np.sqrt(150)


def names_and_noise(cells, subjects, attributes, rng, effect=0.0):
    """C of cells whose names differ as the built-in model's do, and which prefer the first group by `effect`."""
    names = 0.045 / np.sqrt(2) * (rng.normal(size=(subjects, 1)) + rng.normal(size=(subjects, attributes)))
    noise = 0.095 * rng.normal(size=len(cells))
    return names[cells.first, cells.attribute] - names[cells.second, cells.attribute] + effect + noise


def test_names_that_differ_are_not_taken_for_a_difference_of_the_groups():
    """Once 9 of 16 such runs claimed something: all pairs of 14 + 14 names, 8 attributes, no preference of a group."""
    cells, rng = plan(28, 8, 1, split=14), np.random.default_rng(6)
    claims, above = 0, 0
    for _ in range(60):
        gamma, _ = pooled_groups(cells, names_and_noise(cells, 28, 8, rng), halves(28, 14), 8)
        claims += bool((benjamini_hochberg(gamma.p()) <= 0.05).any())
        above += pooled_intensity(gamma, 400, rng).p <= 0.05
    assert claims <= 7  # 5% of 60 are 3; more than 7 has a probability of 1.4%
    assert above <= 7


@pytest.mark.simulation
@pytest.mark.parametrize("effects", [(0.0,) * 8, (0.15,) + (0.0,) * 7, (0.1, -0.1, 0.05, -0.05, 0.02, 0.0, 0.03, 0.2)])
def test_pooled_intervals_cover_the_truth_and_contain_their_own_value(effects):
    """None, one and many attributes with a preference: what the mean of absolute values depends on."""
    cells, rng = plan(28, 8, 1, split=14), np.random.default_rng(7)
    effect = np.array(effects)
    truth = np.abs(effect).max(), np.abs(2 * ndtr(effect / np.hypot(0.095, 0.045 * 2**0.5)) - 1).mean()
    covered = np.zeros(2)
    for _ in range(40):
        both = pooled_groups(cells, names_and_noise(cells, 28, 8, rng, effect[cells.attribute]), halves(28, 14), 8)
        found = pooled_intensity(both[0], 400, rng), pooled_one_sidedness(both[1], 400, rng)
        for own in found:
            assert 0 <= own.low <= own.corrected <= own.high <= 1
        covered += [own.low <= true <= own.high for own, true in zip(found, truth, strict=True)]
    assert (covered >= 35).all()  # 95% of 40 are 38


@pytest.mark.simulation
def test_the_interval_of_one_sidedness_covers_preferences_that_are_drawn_for_few_names():
    """Once it covered 103 of these 120: what was learnt about 15 attributes from five names was taken for sure."""
    cells, rng, covered = plan(10, 15, 4, split=5), np.random.default_rng(8), 0
    for _ in range(120):
        effect = 0.15 * rng.normal(size=15)
        truth = np.abs(2 * ndtr(effect / np.hypot(0.095, 0.045 * 2**0.5)) - 1).mean()
        bias = names_and_noise(cells, 10, 15, rng, effect[cells.attribute])
        found = pooled_one_sidedness(pooled_groups(cells, bias, halves(10, 5), 15)[1], 400, rng)
        covered += found.low <= truth <= found.high
    assert covered >= 110  # 95% of 120 are 114


@pytest.mark.parametrize(
    ("eta", "low", "corrected", "high"),
    [
        ([0.9, -0.9], 0.6967, 0.9, 1.0),  # ± 2.0322 · 0.1; no rate is above 1
        ([0.02, -0.01], 0.0, 0.0, 0.1990),  # 0.015 on average, of which noise gives more: 0.0985
    ],
)
def test_one_sidedness_is_a_rate_and_starts_at_zero_where_chance_gives_as_much(eta, low, corrected, high):
    both = ClusteredMeans(np.array(eta), ErrorCovariance(0.02 * np.eye(2), np.array([35, 35])))
    found = pooled_one_sidedness(both, 400, np.random.default_rng(2))
    assert (found.low, found.corrected, found.high) == pytest.approx((low, corrected, high), abs=1e-4)
    assert (found.p > 0.05) == (low == 0)


def test_the_papers_values_of_subjects_are_too_large_and_the_cross_fitted_ones_are_not():
    cells, rng = plan(12, 6, 3), np.random.default_rng(8)
    papers, corrected = [], []
    for _ in range(20):
        liking = 0.05 * rng.normal(size=(12, 6))
        bias = liking[cells.first, cells.attribute] - liking[cells.second, cells.attribute]
        bias = bias + 0.2 * rng.normal(size=len(cells))
        blocks = make_blocks(cells, bias, 12, 6, 3)
        mu, eta = single_subjects(blocks, 6, None, 100, 20, int(rng.integers(1000)))
        found = preference(cells, bias, 12, 6)
        truth = np.abs(liking).max(axis=1).mean()
        for own, paper in ((mu, intensity(found.gamma)), (eta, count_intensity(found.eta))):
            assert own.low <= own.corrected <= own.high
            assert own.corrected <= float(paper) <= own.high + 1e-12
        assert mu.low <= truth <= mu.high
        papers.append(float(intensity(found.gamma)) - truth)
        corrected.append(mu.corrected - truth)
    assert np.mean(papers) > 0.01
    assert -0.05 < np.mean(corrected) < 0.0
