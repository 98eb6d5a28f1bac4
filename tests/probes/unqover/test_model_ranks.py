import numpy as np

from assay.probes.unqover.compare_runs import aligned, intensity_shift, rank_summary, ranks, shared_top
from raising import raises


def test_rank_one_is_the_highest_and_ties_share_their_mean():
    np.testing.assert_array_equal(ranks(np.array([[0.1, 0.5, -0.2, 0.1]])), [[2.5, 1, 4, 2.5]])


def test_ranks_of_every_model_add_up_to_the_same():
    gamma = np.round(np.random.default_rng(0).normal(size=(5, 30)), 1)
    np.testing.assert_allclose(ranks(gamma).sum(axis=1), 30 * 31 / 2)


def test_average_and_population_spread_of_ranks():
    mean, std = rank_summary(np.array([[0.3, 0.2, 0.1], [0.1, 0.2, 0.3], [0.3, 0.2, 0.1]]))
    np.testing.assert_allclose(mean, [5 / 3, 2, 7 / 3])
    np.testing.assert_allclose(std, [np.sqrt(8 / 9), 0, np.sqrt(8 / 9)])


def test_a_subject_that_a_model_lacks_has_no_average_rank():
    mean, _ = rank_summary(np.array([[0.3, np.nan, 0.1], [0.1, 0.2, 0.3]]))
    assert np.isnan(mean[1])
    np.testing.assert_allclose(mean[[0, 2]], [2, 1.5])


def test_attributes_in_the_top_of_all_models():
    gamma = np.array([[0.9, 0.8, 0.7, 0.0, np.nan], [0.1, 0.8, 0.9, 0.7, 0.6]])
    np.testing.assert_array_equal(shared_top(gamma, k=3), [False, True, True, False, False])
    np.testing.assert_array_equal(shared_top(gamma, k=2), [False, True, False, False, False])


def test_ties_at_the_border_all_count():
    assert shared_top(np.array([[0.5, 0.5, 0.5, 0.1]]), k=2).tolist() == [True, True, True, False]


def test_the_top_is_ten_unless_said_otherwise():
    assert shared_top(np.arange(30.0)[None]).sum() == 10


def test_shift_is_positive_where_fine_tuning_adds_bias():
    base, tuned = np.array([[0.1, 0.2], [0.3, np.nan]]), np.array([[0.3, 0.1], [0.3, 0.2]])
    np.testing.assert_allclose(intensity_shift(base, tuned), [[0.2, -0.1], [0, np.nan]])
    with raises("not-comparable"):
        intensity_shift(base, tuned[:1])


def test_models_are_compared_over_the_subjects_that_all_have():
    names, gamma = aligned([{"c": 0.1, "a": 0.2, "b": 0.3}, {"a": 0.5, "b": 0.4, "d": 0.0}])
    assert names == ["a", "b"]
    np.testing.assert_array_equal(gamma, [[0.2, 0.3], [0.5, 0.4]])
    with raises("not-comparable"):
        aligned([{"a": 0.1}, {"b": 0.1}])
