"""How often the 95% intervals of BBQ's scores contain the truth, in data whose truth is known.

    python bench/bbq_coverage.py            1,000 data sets of each scenario (two minutes)
    python bench/bbq_coverage.py --sets 100

Every template has its own tendency to name a person, to agree with the stereotype when it does, and to be right when
the fact is told: each drawn from a beta distribution. The truth is what an endless number of templates would give.
Three ways are compared: templates resampled, as assay does (the expanded percentile interval); templates resampled with
the basic interval; and rows resampled as if they were independent, as other tools do.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.probes.bbq.metrics import FIELDS, Field, accuracy, accuracy_cost, bias_ambiguous, bias_disambiguated
from assay.stats import basic_interval, multinomial_weights, percentile_interval

RESAMPLES = 500
METRICS = {
    "ambiguous accuracy": (accuracy, (0.0, 1.0)),
    "s_AMB": (bias_ambiguous, (-1.0, 1.0)),
    "s_DIS": (bias_disambiguated, (-1.0, 1.0)),
    "accuracy cost": (accuracy_cost, (-1.0, 1.0)),
}
WAYS = ("assay", "basic", "rows")

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Scenario:
    """So many templates with so many ambiguous (and as many disambiguated) examples; means of the tendencies."""

    name: str
    templates: int
    examples: int
    person: float  # names somebody where the text does not tell
    agrees: float  # of those who are named
    right: float  # when the fact is told
    spread: float = 6.0  # a + b of the beta distributions: small means that templates differ much


SCENARIOS = (
    Scenario("BBQ's size, biased", 25, 60, 0.5, 0.65, 0.9),
    Scenario("BBQ's size, a good model", 25, 60, 0.05, 0.5, 0.97),
    Scenario("the starter set's quick size", 8, 6, 0.5, 0.65, 0.7),
)


def drawn(scenario: Scenario, rng: np.random.Generator) -> tuple[Array, Array]:
    """Tallies of every template (template, Field) in ambiguous and in disambiguated contexts."""

    def tendency(mean: float) -> Array:
        return rng.beta(mean * scenario.spread, (1 - mean) * scenario.spread, scenario.templates)

    n = scenario.examples
    named = rng.binomial(n, tendency(scenario.person))
    biased = rng.binomial(named, tendency(scenario.agrees))
    ambiguous = np.zeros((scenario.templates, FIELDS))
    ambiguous[:, [Field.COUNTED, Field.TARGETED]] = n
    ambiguous[:, [Field.CORRECT, Field.TARGETED_CORRECT]] = (n - named)[:, None]
    ambiguous[:, Field.BIASED], ambiguous[:, Field.COUNTER] = biased, named - biased
    told = np.zeros((scenario.templates, FIELDS))
    right = tendency(scenario.right)
    for side, correct, agreeing, contrary in (
        (Field.ALIGNED, Field.ALIGNED_CORRECT, Field.BIASED, Field.COUNTER),
        (Field.NONALIGNED, Field.NONALIGNED_CORRECT, Field.COUNTER, Field.BIASED),
    ):
        good = rng.binomial(n // 2, right)
        told[:, side], told[:, correct] = n // 2, good
        told[:, agreeing] += good
        told[:, contrary] += n // 2 - good  # a wrong answer names the other person
    return ambiguous, told


def truths(scenario: Scenario) -> dict[str, float]:
    """What an endless number of templates would give."""
    return {
        "ambiguous accuracy": 1 - scenario.person,
        "s_AMB": scenario.person * (2 * scenario.agrees - 1),
        "s_DIS": 0.0,
        "accuracy cost": 0.0,
    }


def intervals(way: str, tally: Array, metric: str, rng: np.random.Generator) -> tuple[float, float]:
    of, bounds = METRICS[metric]
    value = of(tally.sum(axis=0))
    if way == "rows":
        replicates = of(_rows_again(tally, rng))
        low, high = np.nanquantile(replicates, [0.025, 0.975])
        return float(low), float(high)
    replicates = of(multinomial_weights(np.zeros(len(tally), np.int64), RESAMPLES, rng) @ tally)
    if way == "basic":
        low, high = basic_interval(value, replicates, bounds=bounds)
    else:
        low, high = percentile_interval(value, replicates, len(tally), bounds=bounds)
    return float(low), float(high)


def _rows_again(tally: Array, rng: np.random.Generator) -> Array:
    """Tallies of resampled rows (resample, Field): each kind of row is drawn as often as chance has it."""
    total = tally.sum(axis=0)
    result = np.zeros((RESAMPLES, FIELDS))
    if total[Field.ALIGNED]:
        for side, correct in (
            (Field.ALIGNED, Field.ALIGNED_CORRECT),
            (Field.NONALIGNED, Field.NONALIGNED_CORRECT),
        ):
            n = int(total[side])
            result[:, side], result[:, correct] = n, rng.binomial(n, total[correct] / n, RESAMPLES)
        wrong = result[:, Field.NONALIGNED] - result[:, Field.NONALIGNED_CORRECT]
        result[:, Field.BIASED] = result[:, Field.ALIGNED_CORRECT] + wrong
        result[:, Field.COUNTER] = result[:, Field.ALIGNED] + result[:, Field.NONALIGNED] - result[:, Field.BIASED]
        return result
    n = int(total[Field.COUNTED])
    kinds = np.array([total[Field.CORRECT], total[Field.BIASED], total[Field.COUNTER]]) / n
    counts = rng.multinomial(n, kinds, RESAMPLES)
    result[:, [Field.COUNTED, Field.TARGETED]] = n
    result[:, [Field.CORRECT, Field.TARGETED_CORRECT]] = counts[:, :1]
    result[:, Field.BIASED], result[:, Field.COUNTER] = counts[:, 1], counts[:, 2]
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=1000, help="data sets of each scenario")
    sets: int = parser.parse_args().sets
    print(f"{'share of intervals with the truth':40}{''.join(f'{way:>9}' for way in WAYS)}")
    for number, scenario in enumerate(SCENARIOS):
        rng = np.random.default_rng(number)
        covered: dict[tuple[str, str], int] = defaultdict(int)
        truth = truths(scenario)
        for _ in range(sets):
            ambiguous, told = drawn(scenario, rng)
            for metric in METRICS:
                tally = ambiguous if metric in ("ambiguous accuracy", "s_AMB") else told
                for way in WAYS:
                    low, high = intervals(way, tally, metric, rng)
                    covered[metric, way] += low <= truth[metric] <= high
        print(f"\n{scenario.name} ({scenario.templates} templates)")
        for metric in METRICS:
            print(f"  {metric:38}" + "".join(f"{covered[metric, way] / sets:>9.1%}" for way in WAYS))


if __name__ == "__main__":
    main()
