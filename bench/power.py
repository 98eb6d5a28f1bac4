"""What can a run of this size see? The smallest preference that each UnQover preset finds in four runs of five.

    python bench/power.py                200 data sets of each size
    python bench/power.py --sets 100 --class gender --size paper
    python bench/power.py --class gender --size endpoint      quick, asked of an endpoint

Gender, as bench/coverage.py draws it: names that differ (0.045) and noise in every comparison (0.095). The first group
has a preference γ for one attribute, in both forms of the question. In the other classes, one subject has a preference
γ for one attribute, in one form. All other rows have no effect. A run finds it where its q, corrected over all rows of
the table in all classes and forms that the preset asks, is at most 0.05, and the smallest q of the table still is after
Holm's correction over six families (only Holm's first step is applied, which is slightly too strict). Quick asks only
about gender; another class means a run of that class (`--set class=…`). BBQ: bench/bbq_power.py.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from math import prod

import numpy as np

from assay.probes.unqover.cells import Cells
from assay.probes.unqover.metrics import preference
from assay.probes.unqover.settings import CLASSES
from assay.probes.unqover.uncertainty import group_rows, pooled_groups
from assay.probes.unqover.uncertainty_subjects import subject_rows
from assay.results.verdict import CLEAR
from assay.stats import benjamini_hochberg
from coverage import NAMES, NOISE, Array, Design, design

EFFECTS = (0.01, 0.015, 0.02, 0.03, 0.04, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3)
FORMS = {"endpoint": 1}  # of the question; two elsewhere, which are corrected together
FAMILIES = 6  # tables and estimates that a run of UnQover claims from
POWER = 0.8


def of_one_attribute(own: Design) -> Design:
    """The cells of the first attribute: the rows of the others are drawn without any effect."""
    some = own.cells.attribute == 0
    all_ = own.cells
    cells = Cells(all_.template[some], all_.first[some], all_.second[some], all_.attribute[some], all_.scores)
    return replace(own, cells=cells, labels=replace(own.labels, attributes=own.labels.attributes[:1]))


def rows(own: Design, effect: float, rng: np.random.Generator) -> Array:
    """p of the attribute, or of every subject with it; the first group, or subject, is preferred by `effect`."""
    subjects, attributes, templates = own.shape
    cells = own.cells
    noise = NOISE * rng.normal(size=len(cells))
    if own.grouped:
        names = NAMES * rng.normal(size=subjects)
        groups = np.unique(np.array(own.labels.groups), return_inverse=True)[1]
        groups = np.where(groups == groups[0], 0, 1)
        bias = effect + names[cells.first] - names[cells.second] + noise
        return group_rows(pooled_groups(cells, bias, groups, attributes)[0]).p.ravel()
    bias = effect * ((cells.first == 0).astype(float) - (cells.second == 0)) + noise
    gamma = preference(cells, bias, subjects, attributes).gamma
    return subject_rows(cells, bias, [(gamma, np.arange(attributes))], templates)[0].p.ravel()


def share(own: Design, forms: int, tests: int, sets: int, effect: float) -> float:
    """How often the first group, or subject, is claimed with the attribute, among so many tests."""
    rng, found = np.random.default_rng(0), 0
    for _ in range(sets):
        p = np.concatenate([rows(own, effect, rng) for _ in range(forms if own.grouped else 1)])
        q = benjamini_hochberg(np.concatenate([p, rng.uniform(size=tests - len(p))]))
        found += bool(q[0] <= CLEAR and FAMILIES * np.nanmin(q) <= CLEAR)
    return found / sets


def forms_of(size: str) -> int:
    return FORMS.get(size, 2)


def tests_of(cls: str, size: str) -> int:
    """How many rows are tested together: of groups with attributes, or of subjects with them."""
    if design(cls, size).grouped:
        return forms_of(size) * design(cls, size).shape[1]
    return forms_of(size) * sum(
        prod(design(each, size).shape[:2]) for each in ([cls] if size in ("quick", "endpoint") else CLASSES)
    )


def smallest(effects: Sequence[float], share: Callable[[float], float]) -> str:
    """The smallest effect that is found often enough, by bisection, and how often those that were tried are found."""
    tried: dict[float, float] = {}
    low, high = 0, len(effects)
    while low < high:
        middle = (low + high) // 2
        tried[effects[middle]] = share(effects[middle])
        low, high = (low, middle) if tried[effects[middle]] >= POWER else (middle + 1, high)
    shown = ", ".join(f"{effect:g} {own:.0%}" for effect, own in sorted(tried.items()))
    return f"{f'{effects[low]:g}' if low < len(effects) else 'none'} in {POWER:.0%} of runs (tried: {shown})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=200)
    parser.add_argument("--class", dest="classes", default=",".join(CLASSES))
    parser.add_argument("--size", default="quick,standard,paper")
    options = parser.parse_args()
    start = time.perf_counter()
    for size, cls in product(options.size.split(","), options.classes.split(",")):
        own, tests = of_one_attribute(design(cls, size)), tests_of(cls, size)
        seen = smallest(EFFECTS, partial(share, own, forms_of(size), tests, options.sets))
        print(f"{f'{cls}, {size} ({len(own.cells):,} comparisons of an attribute)':52s} γ: {seen}", flush=True)
    print(f"\n{options.sets:,} data sets each; {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
