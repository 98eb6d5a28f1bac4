"""How often the 95% interval of η, grouped by gender, contains the truth, whatever the groups' preferences are.

    python bench/eta_coverage.py                        300 data sets of each kind
    python bench/eta_coverage.py --ties 0.9             nine comparisons of ten are tied
    python bench/eta_coverage.py --size 70,70,19600     names in a group, attributes, and comparisons of each
    python bench/eta_coverage.py --prior "none" --size 14,4,400 --size 70,4,400 --sets 1000

bench/coverage.py has the presets' own comparisons. Here every data set draws the preferences for its attributes anew,
from one of nine distributions, and new names. A group has 5 to 70 names; there are 4 to 70 attributes, each with up to
400 comparisons in four templates. The quick preset has 70 names in a group and 8 attributes with 140 comparisons;
standard is nearly the last of these sizes, paper the one above. Names and comparisons differ as in bench/coverage.py;
half of a name's preference is the same for all attributes. The truth is what an unlimited number of names would give
for the preferences that were drawn. A cell of the table has the same numbers whichever other cells are asked for.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import cache
from itertools import product

import numpy as np
from scipy.special import ndtr

from assay.probes.unqover.cells import Cells
from assay.probes.unqover.uncertainty import pooled_groups, pooled_one_sidedness
from coverage import NAMES, NOISE, Array

Size = tuple[int, int, int]  # names in a group, attributes, and the most comparisons of an attribute
SIZES: list[Size] = [*((*size, 400) for size in product((5, 14, 70), (4, 15, 70))), (70, 8, 140)]
TEMPLATES, DRAWS = 4, 500

Prior = Callable[[np.random.Generator, int], Array]
PRIORS: dict[str, Prior] = {
    "none": lambda rng, count: np.zeros(count),
    "sd 0.02": lambda rng, count: 0.02 * rng.normal(size=count),
    "sd 0.06": lambda rng, count: 0.06 * rng.normal(size=count),
    "sd 0.15": lambda rng, count: 0.15 * rng.normal(size=count),
    "half of them sd 0.06": lambda rng, count: 0.06 * rng.normal(size=count) * (rng.random(count) < 0.5),
    "7% of them sd 0.15": lambda rng, count: 0.15 * rng.normal(size=count) * (rng.random(count) < 0.07),
    "one of them 0.15": lambda rng, count: 0.15 * (np.arange(count) == 0),
    "all of them ±0.04": lambda rng, count: 0.04 * rng.choice([-1.0, 1.0], count),
    "a common one, sd 0.05, and sd 0.02": lambda rng, count: 0.05 * rng.normal() + 0.02 * rng.normal(size=count),
}


@cache
def design(names: int, attributes: int, most: int) -> Cells:
    """Comparisons of every first with every second name, or a sample of so many of them."""
    rng, whole = np.random.default_rng(0), TEMPLATES * names**2
    number = np.concatenate([rng.permutation(whole)[:most] for _ in range(attributes)])
    template, pair = np.divmod(number.astype(np.int32), np.int32(names**2))
    first, second = np.divmod(pair, np.int32(names))
    attribute = np.repeat(np.arange(attributes, dtype=np.int32), min(whole, most))
    return Cells(template, first, second + np.int32(names), attribute, np.zeros((0, 2, 2, 2), np.float32))


def simulate(prior: Prior, size: Size, ties: float, rng: np.random.Generator) -> tuple[float, ...]:
    """One data set: the paper's η, the corrected one, both ends of its interval, and the truth."""
    names, attributes, _ = size
    cells = design(*size)
    groups = np.repeat(np.arange(2), names)
    effect = prior(rng, attributes)
    liking = NAMES / np.sqrt(2) * (rng.normal(size=(2 * names, 1)) + rng.normal(size=(2 * names, attributes)))
    bias = effect[cells.attribute] + NOISE * rng.normal(size=len(cells))
    bias += liking[cells.first, cells.attribute] - liking[cells.second, cells.attribute]
    bias *= rng.random(len(cells)) >= ties
    _, eta = pooled_groups(cells, bias, groups, attributes)
    sure = pooled_one_sidedness(eta, DRAWS, rng)
    true = (1.0 - ties) * np.abs(2.0 * ndtr(effect / np.hypot(NOISE, np.sqrt(2) * NAMES)) - 1.0).mean()
    return float(np.abs(eta.mean).mean()), float(sure.corrected or 0.0), sure.low, sure.high, float(true)


def read_size(text: str) -> Size:
    names, attributes, most = map(int, text.split(","))
    return names, attributes, most


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=300, help="data sets of each prior and size")
    parser.add_argument("--ties", type=float, default=0.0, help="the share of comparisons that are tied")
    size_help = "a size: names in a group, attributes, comparisons of an attribute; may be repeated"
    parser.add_argument("--size", action="append", type=read_size, help=size_help)
    parser.add_argument("--prior", action="append", choices=PRIORS, help="preferences, by name; may be repeated")
    options = parser.parse_args()
    start, least = time.perf_counter(), 1.0
    sizes: list[Size] = options.size or SIZES
    heads = [f"{names} names, {attributes}{f' × {most}' if most != 400 else ''}" for names, attributes, most in sizes]
    print(f"| preferences | {' | '.join(heads)} | η, paper’s, corrected |")
    print("|---" * (len(sizes) + 2) + "|")
    for number, (name, prior) in enumerate(PRIORS.items()):
        if options.prior and name not in options.prior:
            continue
        row, levels = [], []
        for size in sizes:
            rng = np.random.default_rng([number, *size])
            sets = np.array([simulate(prior, size, options.ties, rng) for _ in range(options.sets)])
            value, corrected, low, high, true = sets.T
            covered = float(((low <= true + 1e-9) & (true <= high + 1e-9)).mean())
            least = min(least, covered)
            row.append(f"{covered:.1%} ({(high - low).mean():.2f})")
            levels.append((true.mean(), value.mean(), corrected.mean()))
        means = ", ".join(f"{level:.2f}" for level in np.mean(levels, axis=0))
        print(f"| {name} | {' | '.join(row)} | {means} |", flush=True)
    error, seconds = np.sqrt(0.93 * 0.07 / options.sets), time.perf_counter() - start
    print(f"\n{options.sets:,} data sets each (± {error:.1%} at 93%); at least {least:.1%} covered; {seconds:.0f} s")


if __name__ == "__main__":
    main()
