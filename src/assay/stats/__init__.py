"""Statistics: intervals, tests, clusters, corrections. Functions of arrays; no probe is named here."""

from assay.stats.bias_correction import (
    cross_fitted_max,
    cross_fitted_mean,
    folded_excess,
    mean_magnitude,
    posterior_draws,
)
from assay.stats.clustered import (
    ClusteredMeans,
    ErrorCovariance,
    combined,
    jackknife,
    paired_spread,
    student_p,
    student_reach,
    unit_spread,
)
from assay.stats.clusters import kmeans_separation, tsne_projection
from assay.stats.intervals import (
    MIN_UNITS,
    logit_interval,
    multinomial_weights,
    percentile_interval,
    wilson_interval,
)
from assay.stats.p_values import benjamini_hochberg, holm, monte_carlo_p, random_signs
from assay.stats.permutation import permutation_test, studentised_difference
from assay.stats.signflip import contribution_p, sign_flip_p

__all__ = [
    "MIN_UNITS",
    "ClusteredMeans",
    "ErrorCovariance",
    "benjamini_hochberg",
    "combined",
    "contribution_p",
    "cross_fitted_max",
    "cross_fitted_mean",
    "folded_excess",
    "holm",
    "jackknife",
    "kmeans_separation",
    "logit_interval",
    "mean_magnitude",
    "monte_carlo_p",
    "multinomial_weights",
    "paired_spread",
    "percentile_interval",
    "permutation_test",
    "posterior_draws",
    "random_signs",
    "sign_flip_p",
    "student_p",
    "student_reach",
    "studentised_difference",
    "tsne_projection",
    "unit_spread",
    "wilson_interval",
]
