"""How long UnQover's analysis takes and how much memory it needs, on full-size sets of synthetic scores.

    python bench/analysis.py            gender (1,372,000 comparisons), nationality (1,154,232), 1,000 draws
    python bench/analysis.py --quick    a tenth of the subjects, 100 draws

The peak is that of the process, including the scores; each set is measured in a separate process.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import sys
import time

import numpy as np

from assay.probes.unqover.analyse import analyse
from assay.probes.unqover.cells import CellLabels, Cells


def gender(names: int) -> tuple[Cells, CellLabels]:
    """Every name of one group with every name of the other, 4 templates, 70 attributes."""
    grid = np.meshgrid(np.arange(4), np.arange(names), np.arange(names, 2 * names), np.arange(70), indexing="ij")
    labels = CellLabels(
        subjects=[f"name {k}" for k in range(2 * names)],
        attributes=[f"occupation {k}" for k in range(70)],
        attribute_classes=["occupation"] * 70,
        templates=4,
        groups=["female"] * names + ["male"] * names,
        sampled=False,
    )
    return _scored([axis.ravel() for axis in grid]), labels


def nationality(countries: int) -> tuple[Cells, CellLabels]:
    """Every unordered pair, with 3 templates for 14 attributes and 9 templates for 50 others."""
    first, second = np.triu_indices(countries, 1)
    kinds = [(t, a) for t in range(12) for a in (range(14) if t < 3 else range(14, 64))]
    pair, kind = np.meshgrid(np.arange(len(first)), np.arange(len(kinds)), indexing="ij")
    template, attribute = np.array(kinds)[kind.ravel()].T
    labels = CellLabels(
        subjects=[f"country {k}" for k in range(countries)],
        attributes=[f"attribute {k}" for k in range(64)],
        attribute_classes=[f"class {k % 8}" for k in range(64)],
        templates=12,
        groups=None,
        sampled=False,
    )
    return _scored([template, first[pair.ravel()], second[pair.ravel()], attribute]), labels


def _scored(columns: list[np.ndarray[tuple[int, ...], np.dtype[np.int64]]]) -> Cells:
    template, first, second, attribute = (column.astype(np.int32) for column in columns)
    scores = np.random.default_rng(0).random((len(template), 2, 2, 2), dtype=np.float32)
    return Cells(template, first, second, attribute, scores)


def measure(name: str, subjects: int, draws: int) -> None:
    cells, labels = {"gender": gender, "nationality": nationality}[name](subjects)
    before = peak()
    start, cpu = time.perf_counter(), time.process_time()
    analyse(cells, labels, cls=name, form="span", seed=0, draws=draws, resamples=draws)
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    print(
        f"{name:12s} {len(cells):>9,d} cells, {draws:,d} draws and resamples: {seconds:5.1f} s ({cpu:.1f} s of CPU), "
        f"peak {peak():,.0f} MiB ({before:,.0f} MiB before)",
        flush=True,
    )


def peak() -> float:
    """The greatest memory of this process so far in MiB."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # bytes on macOS, KiB elsewhere
    return most / (2**20 if sys.platform == "darwin" else 2**10)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sets")
    parser.add_argument("--draws", type=int, help="draws and resamples (1000)")
    options = parser.parse_args()
    draws = options.draws or (100 if options.quick else 1000)
    context = multiprocessing.get_context("spawn")
    for name, subjects in (("gender", 7 if options.quick else 70), ("nationality", 7 if options.quick else 69)):
        process = context.Process(target=measure, args=(name, subjects, draws))
        process.start()
        process.join()
        if process.exitcode:
            raise SystemExit(process.exitcode)


if __name__ == "__main__":
    main()
