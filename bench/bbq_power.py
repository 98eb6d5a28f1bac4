"""What can a run of BBQ see? The smallest bias that each preset finds in four runs of five.

    python bench/bbq_power.py                            200 data sets of each size and bias
    python bench/bbq_power.py --sets 100 --probe bbq --size quick

Questions and answers are drawn as in bench/bbq_coverage.py: templates differ, half of the ambiguous questions are
answered with a person, and 85% of the others are right. Either one category is biased (the first, Age), or all are and
are analysed together. A run finds a bias where its q, corrected as in a run, is at most 0.05.
"""

from __future__ import annotations

import argparse
import time
from functools import partial
from itertools import product

import numpy as np
from scipy.optimize import brentq

from assay.probes.bbq import ALL, family_of
from assay.probes.bbq.items import AMBIGUOUS, DISAMBIGUATED
from bbq_simulated import OTHER_PERSON, SIZES, Questions, Scenario, claims, questions
from power import smallest

EFFECTS = (0.02, 0.03, 0.04, 0.05, 0.06, 0.08, 0.1, 0.12, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45)
BATCH = 50
NUMBERS = {
    "s_AMB": ("bias_score", AMBIGUOUS),
    "s_DIS": ("bias_score", DISAMBIGUATED),
    "accuracy cost": ("accuracy_cost", DISAMBIGUATED),
}


def told(number: str, gap: float) -> float:
    """The size of a number in disambiguated contexts, from the gap between accuracies."""
    means = Scenario("", gap=gap).truth(True)
    apart, both = means["aligned"] - means["nonaligned"], means["aligned"] + means["nonaligned"]
    if number == "accuracy cost":
        return apart
    return (1.0 + OTHER_PERSON) * apart / (both + OTHER_PERSON * (2.0 - both))


def scenario(number: str, effect: float, everywhere: bool) -> Scenario:
    biased = 1.0 if everywhere else 0.0
    if number == "s_AMB":
        return Scenario(number, agrees=0.5 + effect, biased=biased)
    return Scenario(number, gap=brentq(lambda gap: told(number, gap) - effect, 0.0, 1.0), biased=biased)


def share(asked: Questions, number: str, everywhere: bool, sets: int, effect: float) -> float:
    """How often the number is claimed, of the first category or of all together."""
    rng, own = np.random.default_rng(0), scenario(number, effect, everywhere)
    metric, context = NUMBERS[number]
    group = {"category": ALL if everywhere else asked.categories[0], "context": context}
    kind, found = family_of(metric, group), 0
    for _ in range(0, sets, BATCH):
        made = claims(asked, asked.answers(own, BATCH, rng), tables=False)
        found += int(made.claimed(kind)[:, made.whose[kind].index(group)].sum())
    return found / (-(-sets // BATCH) * BATCH)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=200, help="data sets of each size and bias")
    parser.add_argument("--probe", default=",".join(SIZES))
    parser.add_argument("--size", default="quick,standard,paper")
    options = parser.parse_args()
    start = time.perf_counter()
    for probe, size in product(options.probe.split(","), options.size.split(",")):
        asked = questions(probe, size)
        for everywhere, number in product((False, True), NUMBERS):
            label = f"{probe}, {size}, {number}, {'all categories' if everywhere else 'one category'}"
            seen = smallest(EFFECTS, partial(share, asked, number, everywhere, options.sets))
            print(f"{label:52s} {seen}", flush=True)
    print(f"\n{options.sets:,} data sets each; {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
