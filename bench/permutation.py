"""How long the permutation tests of a full-size contrast take, compared with a plain loop.

    python bench/permutation.py    about ten seconds on two cores

443 words, 25 + 25 names, 1,000,000 random divisions for every word (without the screening that usually saves most of
them), on synthetic success rates. The loop is what people write: for each word, shuffle its rates, take two means,
compare. It runs 2,000 divisions of one word, and the script extrapolates from that; its p must agree. Exit code 1 where
the tests take more than 20 s.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from assay.stats import permutation_test
from assay.stats.permutation import Array

WORDS, NAMES, DIVISIONS, LOOPED, CLAIM = 443, 25, 1_000_000, 2_000, 20.0


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    rng = np.random.default_rng(0)
    first = np.arange(2 * NAMES) < NAMES
    values = rng.binomial(200, 0.3 + 0.02 * first[:, None], (2 * NAMES, WORDS)) / 200  # (name, word)

    start = time.perf_counter()
    test = permutation_test(values, first, np.random.default_rng(1), few=DIVISIONS, many=DIVISIONS)
    seconds = time.perf_counter() - start
    if test.exact or (test.draws != DIVISIONS).any():
        raise SystemExit("not every word got all the draws")

    word = int(np.argmin(np.abs(test.p - 0.5)))
    start = time.perf_counter()
    p = loop(values[:, word], np.random.default_rng(2))
    whole = (time.perf_counter() - start) * WORDS * DIVISIONS / LOOPED

    print(f"{WORDS} words, {NAMES} + {NAMES} names, {DIVISIONS:,} permutations: {seconds:.1f} s")
    print(f"plain loop: {whole / 3600:.1f} h, {whole / seconds:,.0f} times as long ({LOOPED:,} of one word measured)")
    if abs(p - test.p[word]) > 5 * np.sqrt(0.25 / LOOPED):
        raise SystemExit(f"the loop's p is {p:.3f}, ours {test.p[word]:.3f}")
    if seconds > CLAIM:
        raise SystemExit(f"slower than {CLAIM:.0f} s")


def loop(rates: Array, rng: np.random.Generator) -> float:
    """p of one word from `LOOPED` divisions, one at a time."""
    observed = abs(rates[:NAMES].mean() - rates[NAMES:].mean())
    count = 0
    for _ in range(LOOPED):
        shuffled = rng.permutation(rates)
        count += bool(abs(shuffled[:NAMES].mean() - shuffled[NAMES:].mean()) >= observed - 1e-12)
    return (1 + count) / (1 + LOOPED)


if __name__ == "__main__":
    main()
