import itertools
import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.stats import permutation, permutation_test, studentised_difference

RANDOM = {"enumerate_up_to": 0}


def generator(seed=0):
    return np.random.default_rng(seed)


def halves(first, second):
    return np.arange(first + second) < first


def every_division(first, strata):
    """All labelings with the observed group sizes in every stratum, by trying every subset of the names."""
    names = range(len(first))
    for chosen in itertools.combinations(names, int(first.sum())):
        labels = np.isin(names, chosen)
        if all(labels[strata == s].sum() == first[strata == s].sum() for s in set(strata.tolist())):
            yield labels


def brute_force(values, first, strata=None, *, strict=False):
    """p of every word: one division, one word, one difference of means at a time."""
    strata = np.zeros(len(first), dtype=int) if strata is None else strata
    results = []
    for word in values.T:
        size = plain_difference if strict else t_of
        observed = size(word, first, strata)
        found = [size(word, labels, strata) for labels in every_division(first, strata)]
        results.append(np.mean([d > observed + 1e-12 if strict else d >= observed * (1 - 1e-8) - 1e-12 for d in found]))
    return np.array(results)


def plain_difference(word, labels, strata):
    return abs(word[labels].mean() - word[~labels].mean())


def t_of(word, labels, strata):
    """|t| of the difference within strata, term by term; a variance below a millionth of the largest is that."""
    d, shares, squares, freedom = 0.0, [0.0, 0.0], [0.0, 0.0], [0, 0]
    largest = 0.0
    for s in set(strata.tolist()):
        sides = [word[(strata == s) & side] for side in (labels, ~labels)]
        if min(map(len, sides)) == 0:
            continue
        weight = len(sides[0]) * len(sides[1]) / (len(sides[0]) + len(sides[1]))
        d += weight * (sides[0].mean() - sides[1].mean())
        largest += ((word[strata == s] - word[strata == s].mean()) ** 2).sum()
        for side, rates in enumerate(sides):
            shares[side] += weight**2 / len(rates)
            squares[side] += ((rates - rates.mean()) ** 2).sum()
            freedom[side] += len(rates) - 1
    if min(freedom) == 0:
        squares, freedom = [sum(squares)] * 2, [max(sum(freedom), 1)] * 2
    variance = sum(share * square / free for share, square, free in zip(shares, squares, freedom, strict=True))
    least = 1e-6 * sum(share * largest / free for share, free in zip(shares, freedom, strict=True))
    return 0.0 if abs(d) < 1e-12 else abs(d) / np.sqrt(max(variance, least))


# Success rates of Ann, Amy, Bob and Ben; p with ties counted, and p by Eq. 5.
WORKED = {
    "kind": ([2 / 4, 2 / 4, 1 / 4, 1 / 4], 1 / 3, 0.0),
    "rude": ([1 / 4, 0, 3 / 4, 2 / 4], 1 / 3, 0.0),
    "Happy": ([0, 1, 0, 0], 1.0, 0.0),
    "person": ([2 / 3, 0, 2 / 3, 1 / 3], 1.0, 1 / 3),
}


@pytest.mark.parametrize("word", WORKED)
@pytest.mark.parametrize("strict", [False, True])
def test_the_worked_example(word, strict):
    rates, with_ties, without = WORKED[word]
    test = permutation_test(np.array([rates]).T, halves(2, 2), generator(), strict=strict)
    np.testing.assert_allclose(test.p, [without if strict else with_ties])
    assert test.draws.tolist() == [6]
    assert test.exact


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(("first", "second"), [(5, 5), (2, 6), (7, 3), (1, 4), (9, 1)])
def test_exact_p_is_the_share_of_all_divisions(first, second, strict):
    rng = generator(first)
    groups = rng.permutation(halves(first, second))
    rates = rng.integers(0, 4, (first + second, 6)) / 3  # many ties
    values = np.concatenate((rates, rng.random((first + second, 6))), axis=1)
    test = permutation_test(values, groups, generator(), strict=strict)
    np.testing.assert_allclose(test.p, brute_force(values, groups, strict=strict), rtol=1e-12)
    assert (test.draws == math.comb(first + second, first)).all()


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(
    ("strata", "groups"),
    [
        ([0, 0, 0, 0, 1, 1, 1, 1], [1, 1, 0, 0, 1, 1, 0, 0]),
        ([5, 2, 5, 2, 5, 2, 5, 7, 7], [1, 1, 1, 0, 1, 0, 0, 0, 1]),  # unequal shares, in no order
        ([0, 0, 0, 1, 1, 2, 2, 2], [1, 1, 1, 0, 0, 1, 0, 1]),  # two strata have one group only
    ],
)
def test_strata_keep_their_group_sizes(strata, groups, strict):
    strata, groups = np.array(strata), np.array(groups, dtype=bool)
    values = generator(1).integers(0, 5, (len(strata), 8)) / 4 + strata[:, None] * 0.1
    test = permutation_test(values, groups, generator(), strata=strata, strict=strict)
    np.testing.assert_allclose(test.p, brute_force(values, groups, strata, strict=strict), rtol=1e-12)
    assert (test.draws == len(list(every_division(groups, strata)))).all()


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 5), st.integers(1, 5))
def test_exact_p_agrees_with_brute_force_on_anything(seed, first, second):
    rng = generator(seed)
    groups = rng.permutation(halves(first, second))
    strata = rng.integers(0, 2, first + second)
    values = rng.choice([0.0, 0.1, 0.2, 0.3, 1 / 3, 0.7, 1.0], (first + second, 3))
    test = permutation_test(values, groups, rng, strata=strata)
    np.testing.assert_allclose(test.p, brute_force(values, groups, strata), rtol=1e-12)


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("strata", [None, np.arange(12) % 2, np.arange(12) % 3])
def test_random_divisions_agree_with_all_of_them(strata, strict):
    rng = generator(2)
    groups = rng.permutation(halves(6, 6))
    values = rng.random((12, 60)) + rng.uniform(0, 0.8, 60) * groups[:, None]
    options = {"strata": strata, "strict": strict}
    exact = permutation_test(values, groups, generator(), **options)
    drawn = permutation_test(values, groups, generator(), **options, **RANDOM, few=40_000, many=0)
    assert exact.exact
    assert not drawn.exact
    error = np.sqrt(exact.p * (1 - exact.p) / 40_000)
    assert (np.abs(drawn.p - exact.p) <= 4.5 * error + 1 / 40_000).all()


def test_every_division_is_as_likely_as_every_other():
    """The value of one word in each of the ten divisions of 2 + 3 names is its own, so each has its own p."""
    values = np.array([1.0, 2.0, 4.0, 8.5, 17.0])
    words = np.array([np.roll(values, shift) for shift in range(5)]).T
    drawn = permutation_test(words, halves(2, 3), generator(3), **RANDOM, few=200_000, many=0)
    np.testing.assert_allclose(drawn.p, brute_force(words, halves(2, 3)), atol=4.5 * 0.5 / np.sqrt(200_000))


def test_a_difference_between_strata_is_not_one_between_groups():
    """Everybody's value is that of the stratum, and one group has more of the high stratum."""
    strata = np.repeat([0, 1], 20)
    groups = np.concatenate((halves(4, 16), halves(16, 4)))
    values = np.where(strata == 1, 0.9, 0.2)[:, None] * np.ones(3)
    assert (permutation_test(values, groups, generator(), strata=strata, few=500).p == 1).all()
    assert (permutation_test(values, groups, generator(), few=500, many=5000).p < 0.01).all()


def test_a_difference_between_groups_is_found_below_one_between_strata():
    rng = generator(4)
    strata = np.repeat(np.arange(4), 20)
    groups = np.tile(halves(10, 10), 4)
    values = (strata * 5.0 + groups + rng.normal(0, 0.3, 80))[:, None]
    assert permutation_test(values, groups, generator(), strata=strata, few=2000, many=0).p[0] == 1 / 2001
    assert permutation_test(values, groups, generator(), few=2000, many=0).p[0] > 0.2


def test_only_promising_words_get_many_draws_and_their_p_is_made_from_those_alone():
    rng = generator(5)
    groups = halves(15, 15)
    values = rng.normal(size=(30, 200)) + np.linspace(0, 2, 200) * groups[:, None]
    options = {"few": 1000, "below": 0.05}
    screened = permutation_test(values, groups, generator(), **options, many=0)
    test = permutation_test(values, groups, generator(), **options, many=20_000)
    promising = screened.p < 0.05
    assert 20 < promising.sum() < 180
    np.testing.assert_array_equal(test.draws, np.where(promising, 20_000, 1000))
    np.testing.assert_array_equal(test.p[~promising], screened.p[~promising])
    counts = test.p[promising] * 20_001  # (1 + count): whole numbers, and not those of 21,000 draws together
    np.testing.assert_allclose(counts, np.rint(counts), atol=1e-6)
    assert test.p[promising].min() < 1 / 1001  # what the first draws could not say


def test_no_word_gets_fresh_draws_that_are_no_more_than_the_first():
    values = generator(5).normal(size=(30, 50)) + halves(15, 15)[:, None]
    one, other = (permutation_test(values, halves(15, 15), generator(), few=500, many=many) for many in (0, 500))
    assert (one.p < 0.02).any()
    np.testing.assert_array_equal(one.p, other.p)


def test_the_second_draws_are_not_the_first_ones():
    """None of 500 draws reached these words: with one draw more instead of 501 fresh ones, p would be 2/502 at most."""
    values = generator(6).normal(size=(30, 4000))
    test = permutation_test(values, halves(15, 15), generator(), few=500, many=501, below=1.5 / 501)
    again = test.draws == 501
    assert again.sum() >= 5
    assert test.p[again].max() >= 3 / 502


@pytest.mark.parametrize("strata", [None, np.arange(16) % 2])
def test_p_is_uniform_when_groups_mean_nothing(strata):
    values = generator(7).normal(size=(16, 4000))
    p = np.sort(permutation_test(values, np.arange(16) % 4 < 2, generator(), strata=strata).p)
    assert np.abs(p - np.arange(1, 4001) / 4000).max() < 1.63 / np.sqrt(4000)  # Kolmogorov–Smirnov at 1%


def test_adaptive_p_is_uniform_when_groups_mean_nothing():
    values = generator(8).normal(size=(40, 4000))
    test = permutation_test(values, halves(13, 27), generator(), few=2000, many=20_000)
    assert 30 < (test.draws == 20_000).sum() < 140
    p = np.sort(test.p)
    assert np.abs(p - np.arange(1, 4001) / 4000).max() < 1.63 / np.sqrt(4000)
    assert (p < 0.01).sum() < 40 + 4 * np.sqrt(40)


def test_ties_count_as_reached_whatever_rounding_does():
    """Rates in thirds and tenths: equal differences differ in the last bit, depending on the order of summation."""
    rates = np.array([0.1, 0.2, 0.3, 0.1 + 0.2, 1 / 3, 2 / 3, 0.7, 1 - 0.3, 0.6, 0.1 * 6])
    values = np.array([np.roll(rates, shift) for shift in range(10)]).T
    whole = np.rint(values * 30)  # the same rates in thirtieths, which are summed without rounding
    counted = [brute_force(word, halves(5, 5)) for word in (whole[:, [k]] for k in range(10))]
    np.testing.assert_allclose(permutation_test(values, halves(5, 5), generator()).p, np.concatenate(counted))
    strict = permutation_test(values, halves(5, 5), generator(), strict=True).p
    np.testing.assert_allclose(strict, brute_force(whole, halves(5, 5), strict=True))
    assert (strict < np.concatenate(counted)).all()


def test_scale_shift_sign_and_the_other_group_first_change_nothing():
    rng = generator(9)
    values, groups = rng.integers(0, 6, (11, 30)) / 5, halves(4, 7)
    p = permutation_test(values, groups, generator()).p
    for same in (values * 1e-6, values * 1e6, values + 3, -values):
        np.testing.assert_allclose(permutation_test(same, groups, generator()).p, p)
    np.testing.assert_allclose(permutation_test(values, ~groups, generator()).p, p)


@pytest.mark.parametrize("options", [{}, RANDOM], ids=["exact", "random"])
def test_p_is_never_0_unless_strict(options):
    values = np.concatenate((np.ones((6, 2)), np.zeros((6, 2))))
    values[:, 1] = 0.4  # no difference at all
    test = permutation_test(values, halves(6, 6), generator(), **options, few=100, many=200)
    assert test.p[0] == (2 / 924 if not options else pytest.approx(1 / 201, abs=4 / 201))
    assert test.p[1] == 1
    strict = permutation_test(values, halves(6, 6), generator(), **options, few=100, many=200, strict=True)
    assert (strict.p == 0).all()


def test_a_division_into_a_few_names_and_many_others_is_exact():
    """The subsets are written down by the three names, not by the hundred."""
    values = generator(10).random((103, 1))
    values[:3] += 5
    test = permutation_test(values, ~halves(3, 100), generator())
    assert test.exact
    assert test.p[0] == pytest.approx(1 / math.comb(103, 3))


def test_the_number_of_divisions_decides_what_is_exact():
    values, groups = generator(11).random((10, 2)), halves(5, 5)
    assert permutation_test(values, groups, generator(), enumerate_up_to=252).exact
    assert not permutation_test(values, groups, generator(), enumerate_up_to=251, few=10, many=10).exact


def test_a_seed_gives_the_same_result_and_another_seed_another():
    values = generator(12).random((30, 20))
    one, same, other = (permutation_test(values, halves(15, 15), generator(s), few=500, many=2000) for s in (1, 1, 2))
    np.testing.assert_array_equal(one.p, same.p)
    assert (one.p != other.p).any()


@pytest.mark.parametrize("options", [{}, RANDOM], ids=["exact", "random"])
@pytest.mark.parametrize("strata", [None, np.arange(14) % 3])
def test_chunks_do_not_change_the_result(monkeypatch, strata, options):
    values = generator(13).integers(0, 8, (14, 9)) / 7
    results = []
    for chunk in (1, 100, 2345, 1 << 20):
        monkeypatch.setattr(permutation, "_CHUNK", chunk)
        results.append(
            permutation_test(values, halves(7, 7), generator(), strata=strata, few=301, many=1009, below=0.5, **options)
        )
    for result in results[1:]:
        np.testing.assert_array_equal(result.p, results[0].p)
        np.testing.assert_array_equal(result.draws, results[0].draws)


def test_memory_does_not_grow_with_draws():
    values = generator(14).random((50, 100))

    def peak(draws):
        tracemalloc.start()
        permutation_test(values, halves(25, 25), generator(), few=draws, many=draws)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    assert peak(200_000) < 1.05 * peak(40_000) < 32 * 2**20  # at once: 200,000 x 150 numbers are 229 MiB


def test_a_word_with_an_undefined_value_has_no_p_and_disturbs_no_other():
    values = generator(15).random((10, 3))
    holes = values.copy()
    holes[4, 1] = np.nan
    for options in ({}, RANDOM):
        whole = permutation_test(values, halves(5, 5), generator(), few=50, many=0, **options)
        test = permutation_test(holes, halves(5, 5), generator(), few=50, many=0, **options)
        assert np.isnan(test.p[1])
        assert test.draws[1] == 0
        np.testing.assert_array_equal(test.p[[0, 2]], whole.p[[0, 2]])


def test_no_words_have_no_p():
    for options in ({}, RANDOM):
        assert permutation_test(np.zeros((6, 0)), halves(3, 3), generator(), few=10, **options).p.shape == (0,)


@pytest.mark.parametrize(
    ("first", "options", "message"),
    [
        (np.ones(4, dtype=bool), {}, "each group needs a name"),
        (np.zeros(4, dtype=bool), {}, "each group needs a name"),
        (halves(2, 3), {}, "one entry per row"),
        (halves(2, 2), {"strata": np.zeros(3, dtype=int)}, "strata"),
        (halves(2, 2), {"few": 0}, "few must be at least 1"),
    ],
)
def test_what_cannot_be_tested_is_refused(first, options, message):
    with pytest.raises(ValueError, match=message):
        permutation_test(np.zeros((4, 2)), first, generator(), **options)


# --- t


def test_with_groups_of_one_size_p_is_that_of_the_plain_difference():
    rng = generator(12)
    values = rng.integers(0, 5, (10, 40)) / 4
    test = permutation_test(values, halves(5, 5), generator())
    plain = [
        np.mean([plain_difference(word, a, None) >= plain_difference(word, halves(5, 5), None) - 1e-12 for a in every])
        for word in values.T
        for every in [list(every_division(halves(5, 5), np.zeros(10, int)))]
    ]
    np.testing.assert_allclose(test.p, plain)


@pytest.mark.parametrize("strata", [None, np.arange(18) % 3, np.arange(18) % 2])
def test_the_difference_and_its_error_are_those_of_a_regression_on_the_strata_and_of_welch(strata):
    rng = generator(13)
    groups = rng.permutation(halves(6, 12))
    values = rng.random((18, 5))
    d, error = studentised_difference(values, groups, strata)
    if strata is None:
        a, b = values[groups], values[~groups]
        np.testing.assert_allclose(d, a.mean(axis=0) - b.mean(axis=0))
        np.testing.assert_allclose(error, np.sqrt(a.var(axis=0, ddof=1) / 6 + b.var(axis=0, ddof=1) / 12))
    else:
        t = [t_of(word, groups, strata) for word in values.T]
        np.testing.assert_allclose(np.abs(d) / error, t)


LEVELS = [  # names, and their spreads
    (25, 25, 1.0, 3.0),
    (15, 45, 3.0, 1.0),
    (40, 15, 1.0, 3.0),
    (15, 30, 2.0, 1.0),
]


@pytest.mark.parametrize(("first", "second", "spread", "other"), LEVELS)
def test_groups_with_equal_means_and_unequal_spreads_differ_in_a_twentieth_of_the_cases(first, second, spread, other):
    """The plain difference does so in twice or four times as many, where the smaller group spreads more."""
    rng, words = generator(first), 1500
    values = np.concatenate((spread * rng.normal(size=(first, words)), other * rng.normal(size=(second, words))))
    p = permutation_test(values, halves(first, second), generator(), few=1000, many=0, below=0.0).p
    assert (p <= 0.05).mean() <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / words)
    if first != second and spread > other:
        plain = permutation_test(values, halves(first, second), generator(), few=1000, many=0, strict=True).p
        assert (plain <= 0.05).mean() > 0.09


@pytest.mark.parametrize(("first", "second"), [(3, 9), (5, 40), (2, 6)])
def test_where_names_are_exchangeable_p_is_exact_whatever_their_distribution(first, second):
    """Skewed rates with many ties: P(p <= α) is at most α for every α."""
    rng, words = generator(first), 2000
    values = rng.binomial(3, 0.15, (first + second, words)) / 3
    p = permutation_test(values, halves(first, second), generator(), few=1000, many=0, below=0.0).p
    for level in (0.01, 0.05, 0.2, 0.5):
        assert (p <= level).mean() <= level + 4 * np.sqrt(level * (1 - level) / words)
