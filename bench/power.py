"""What can a run of this size see? The preferences that UnQover's presets find in four runs of five.

    python bench/power.py                1,000 data sets of each size
    python bench/power.py --sets 100

Gender, as bench/coverage.py draws it: names that differ (0.045) and noise in every cell (0.095). One attribute, or
every one, has a preference γ of the first group. It is found where its q, corrected over both forms of the question, is
at most 0.05. For the other classes one subject is preferred for one attribute, or for all of them, by γ.
"""

from __future__ import annotations

import argparse
import time
from itertools import product

import numpy as np

from assay.probes.unqover.metrics import preference
from assay.probes.unqover.settings import CLASSES
from assay.probes.unqover.uncertainty_groups import group_rows, pooled_groups
from assay.probes.unqover.uncertainty_subjects import subject_rows
from assay.stats import benjamini_hochberg
from coverage import NAMES, NOISE, Array, Design, design

EFFECTS = (0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3)
FORMS = 2  # of the question: both are corrected together


def draw_bias(own: Design, effect: float, everywhere: bool, rng: np.random.Generator) -> Array:
    """C of every cell (cell,): the first group, or the first subject, is preferred by `effect`."""
    subjects, attributes, _ = own.shape
    cells = own.cells
    names = NAMES / np.sqrt(2) * (rng.normal(size=(subjects, 1)) + rng.normal(size=(subjects, attributes)))
    where = np.ones(len(cells), bool) if everywhere else cells.attribute == 0
    liked = np.zeros(len(cells))
    if own.grouped:
        liked[where] = effect
    else:
        names[:] = 0.0
        liked[where] = effect * ((cells.first[where] == 0).astype(float) - (cells.second[where] == 0))
    apart = names[cells.first, cells.attribute] - names[cells.second, cells.attribute]
    bias: Array = apart + liked + NOISE * rng.normal(size=len(cells))
    return bias


def found(own: Design, effect: float, everywhere: bool, rng: np.random.Generator) -> bool:
    """Whether the first attribute of the first group, or subject, is claimed."""
    subjects, attributes, templates = own.shape
    forms = FORMS if own.grouped else 1
    p = []
    for _ in range(forms):
        bias = draw_bias(own, effect, everywhere, rng)
        if own.grouped:
            groups = np.unique(np.array(own.labels.groups), return_inverse=True)[1]
            groups = np.where(groups == groups[0], 0, 1)
            rows = group_rows(pooled_groups(own.cells, bias, groups, attributes)[0]).p
        else:
            gamma = preference(own.cells, bias, subjects, attributes).gamma
            rows = subject_rows(own.cells, bias, [(gamma, np.arange(attributes))], templates)[0].p
        p.append(rows)
    q = benjamini_hochberg(np.concatenate([each.ravel() for each in p]))
    return bool(q[0] <= 0.05)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=1000)
    parser.add_argument("--class", dest="classes", default=",".join(CLASSES))
    parser.add_argument("--size", default="quick,standard")
    options = parser.parse_args()
    start = time.perf_counter()
    print(f"{'':38s}" + "".join(f"{f'γ={effect}':>9s}" for effect in EFFECTS))
    for cls, size, everywhere in product(options.classes.split(","), options.size.split(","), (False, True)):
        own, rng = design(cls, size), np.random.default_rng(0)
        shares = [np.mean([found(own, effect, everywhere, rng) for _ in range(options.sets)]) for effect in EFFECTS]
        label = f"{cls}, {size}, {'every' if everywhere else 'one'} attribute"
        print(f"{label:38s}" + "".join(f"{share:9.0%}" for share in shares), flush=True)
    print(f"\n{options.sets:,} data sets each; {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
