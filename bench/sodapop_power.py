"""What can a run of this size see? How often SODAPOP's presets find a word that misleads a model more about one group.

    python bench/sodapop_power.py                1,000 data sets of each size
    python bench/sodapop_power.py --sets 100 --size quick

As in bench/sodapop_coverage.py, names differ. One word has a difference RD: between the first two groups that differ
only in gender ("two groups"), or between all women's and men's names ("pooled"). Its rate is that of a typical word of
the built-in model. A run finds it where its q over all words of all contrasts is at most 0.05 and the smallest of them
still is after Holm's correction over two kinds of claims, the other of which finds nothing.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from assay.probes.sodapop.analyse import contrasts_of
from assay.results.verdict import CLEAR
from assay.stats import benjamini_hochberg
from sodapop_coverage import ENDPOINT, SIZES, Scenario, claims, draw_rates, groups_of, quick_p

NAMES, RATE = 0.04, 0.35
EFFECTS = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4)


def found(size: str, rd: float, pooled: bool, rng: np.random.Generator) -> bool:
    """Whether the first word is claimed in the contrast that has the difference."""
    groups, own = groups_of(size), {**SIZES, "endpoint": ENDPOINT}[size]
    contrasts = contrasts_of(groups)
    number = next(place for place, each in enumerate(contrasts) if each.pair != pooled)
    contrast = contrasts[number]
    true = np.repeat(np.random.default_rng(1).uniform(0.1, 0.5, (1, own.words)), len(groups.all_names()), axis=0)
    true[:, 0] = RATE
    true[contrast.a, 0] *= 1.0 + rd / 2.0
    true[contrast.b, 0] *= 1.0 - rd / 2.0
    sr = draw_rates(true, groups, own, Scenario("", NAMES), rng).sr()
    q = benjamini_hochberg(np.array([quick_p(sr, each) for each in contrasts]))
    return bool(claims(q, np.ones(1))[0][number, 0] and q[number, 0] <= CLEAR)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=1000)
    parser.add_argument("--size", default=",".join(("endpoint", *SIZES)))
    options = parser.parse_args()
    start = time.perf_counter()
    print(f"{'':24s}" + "".join(f"{f'RD={effect}':>9s}" for effect in EFFECTS))
    for size in options.size.split(","):
        for pooled in (False, True):
            rng = np.random.default_rng(0)
            shares = [np.mean([found(size, effect, pooled, rng) for _ in range(options.sets)]) for effect in EFFECTS]
            label = f"{size}, {'pooled' if pooled else 'two groups'}"
            print(f"{label:24s}" + "".join(f"{share:9.0%}" for share in shares), flush=True)
    print(f"\n{options.sets:,} data sets each; {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
