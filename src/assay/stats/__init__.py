"""How sure we are: intervals, tests, clusters, corrections. Arrays in, arrays out; no probe is named here."""

from assay.stats.clusters import Separation, kmeans_separation, tsne_projection
from assay.stats.contributions import contribution_p
from assay.stats.corrections import benjamini_hochberg
from assay.stats.intervals import MIN_UNITS, basic_interval, percentile_interval
from assay.stats.permutation import Permuted, permutation_test
from assay.stats.resampling import monte_carlo_p, multinomial_weights, random_signs
from assay.stats.signflip import sign_flip_p

__all__ = [
    "MIN_UNITS",
    "Permuted",
    "Separation",
    "basic_interval",
    "benjamini_hochberg",
    "contribution_p",
    "kmeans_separation",
    "monte_carlo_p",
    "multinomial_weights",
    "percentile_interval",
    "permutation_test",
    "random_signs",
    "sign_flip_p",
    "tsne_projection",
]
