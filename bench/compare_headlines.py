"""How often a comparison of two models of BBQ has a headline where there is nothing to report.

    python bench/compare_headlines.py                     200 pairs of models of each kind
    python bench/compare_headlines.py --pairs 50 --size quick

Both models answer as bench/bbq_simulated.py draws them, independently of each other. "same": both have the same
tendencies, so any clear difference is false. "fewer errors": neither leans, and the baseline makes fewer errors or
names somebody less often; a clear difference of a bias is false, one of accuracies and rates is not. A headline is a
difference that `assay compare` calls clear.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from dataclasses import replace
from itertools import product

import numpy as np

from assay.compare.differences import Difference, changed, differences_of, tested_and_clear
from assay.probes import probe_named
from assay.probes.bbq import compare_runs
from assay.probes.bbq.items import AMBIGUOUS, DISAMBIGUATED
from bbq_simulated import Questions, Scenario, questions

GOOD = Scenario("good", person=0.05, right=0.97)
BETTER = replace(GOOD, person=0.004, right=0.995)
KINDS = {
    "same, few errors": (GOOD, GOOD),
    "same, hardly any errors": (BETTER, BETTER),
    "same, templates alike": (replace(GOOD, differ=False), replace(GOOD, differ=False)),
    "same, many errors": (Scenario(""), Scenario("")),
    "fewer errors": (BETTER, GOOD),
    "fewer errors, of many": (BETTER, Scenario("", person=0.4)),
    "fewer persons named": (GOOD, Scenario("", person=0.4, right=0.97)),
}
BIAS = {"bias_score", "accuracy_cost", "error_alignment", "diff_bias"}
EXCHANGES, RESAMPLES = 999, 400  # fewer than a comparison makes: enough for p <= 0.05


def headlines(asked: Questions, kind: str, pairs: int) -> list[list[Difference]]:
    """The clear differences of simulated pairs; those of biases where only the numbers of errors differ."""
    rng, models = np.random.default_rng(len(kind)), KINDS[kind]
    unit, told, _, _ = asked.atoms
    keys = [
        (asked.categories[own], str(own), DISAMBIGUATED if fact else AMBIGUOUS, "", str(atom), 0)
        for atom, (own, fact) in enumerate(zip(unit.tolist(), told.tolist(), strict=True))
    ]
    answers = [asked.answers(scenario, pairs, rng) for scenario in models]
    found = []
    for pair in range(pairs):
        tallies = np.stack([own[pair] for own in answers])
        changes = compare_runs._changes(probe_named("bbq"), keys, tallies, RESAMPLES, EXCHANGES, None, ())
        made, _ = differences_of("bbq", "one", {"other": changes}, {})
        clear = tested_and_clear(changed(made))[1]
        found.append([each for each in clear if kind.startswith("same") or each.change.metric in BIAS])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=200, help="pairs of models of each kind")
    parser.add_argument("--probe", default="bbq,bbq-starter")
    parser.add_argument("--size", default="quick,standard")
    options = parser.parse_args()
    start = time.perf_counter()
    for probe, size in product(options.probe.split(","), options.size.split(",")):
        asked = questions(probe, size)
        print(f"\n{probe}, {size}, {options.pairs:,} pairs of each kind", flush=True)
        for kind in KINDS:
            found = headlines(asked, kind, options.pairs)
            share = np.mean([bool(own) for own in found])
            error = np.sqrt(max(share * (1 - share), 0.01) / options.pairs)
            which = Counter(f"{each.change.metric} {each.change.group['context']}" for own in found for each in own)
            told = ", ".join(f"{name} {count}" for name, count in which.most_common(3))
            print(f"  {kind:26s} {share:6.1%} ± {error:.1%}  {told}", flush=True)
    print(f"\n{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
