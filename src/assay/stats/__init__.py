"""How sure we are: intervals, sign-flip tests, corrections. Arrays in, arrays out; no probe is named here."""

from assay.stats.corrections import benjamini_hochberg
from assay.stats.intervals import MIN_UNITS, basic_interval, percentile_interval
from assay.stats.resampling import monte_carlo_p, multinomial_weights, random_signs
from assay.stats.signflip import sign_flip_p

__all__ = [
    "MIN_UNITS",
    "basic_interval",
    "benjamini_hochberg",
    "monte_carlo_p",
    "multinomial_weights",
    "percentile_interval",
    "random_signs",
    "sign_flip_p",
]
