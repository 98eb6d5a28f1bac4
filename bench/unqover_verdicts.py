"""How often does a run of UnQover claim a bias that there is, or one that there is not? Its verdicts, simulated.

    python bench/unqover_verdicts.py                        200 runs of each design
    python bench/unqover_verdicts.py --sets 1000 --size endpoint --design "names differ,one at 0.10"
    python bench/unqover_verdicts.py --steps               do the limits that are suggested settle it?

Answers are drawn as tests/conformance/answerers/unqover_answerers.py has them: names that differ (0.045) and noise in
every comparison (0.095), as the built-in model's, new in every run. Nulls are complete (nobody is preferred) or partial
(one attribute is biased, or four of eight: then only claims about the others are false). A run claims a bias where its
verdict is clear or small bias. Where names form groups, only what can change the verdict is computed. Sizes: an
endpoint's quick (4 occupations, 31 comparisons of each, form choice), quick (8 and 140, span), the same in both forms,
large (8 and 700), and religion alone or with gender (8 and 140 each, `--set class=…`). ± is one standard error of the
simulation.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from assay.probes.claims import with_claims
from assay.probes.unqover import PROBE, metrics
from assay.probes.unqover.analyse import ScoredCells, numbered, only_asked
from assay.probes.unqover.grounds import grounds_of
from assay.probes.unqover.settings import UnqoverSettings
from assay.probes.unqover.uncertainty import group_rows, pooled_groups, pooled_intensity, pooled_one_sidedness
from assay.results.diagnosis import KEYS, Diagnosis
from assay.results.findings import Estimate, Findings, Table
from assay.results.verdict import OPEN, VerdictKind

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from conformance.answerers.unqover_answerers import (
    Answerer,
    Comparisons,
    comparisons,
    concluded,
    preferring,
    scored,
    writing,
)

DRAWS = 500
DESIGNS: Mapping[str, tuple[Answerer, int]] = {  # and with how many attributes the groups differ
    "all alike": (preferring(names=0.0), 0),
    "names differ": (preferring(), 0),
    "names differ twice as much": (preferring(names=0.09), 0),
    "a person at random": (writing(1.0), 0),
    "one at 0.05": (preferring(0.05), 1),
    "one at 0.10": (preferring(0.10), 1),
    "half at 0.10": (preferring(0.10, -0.10, 0.10, -0.10), 4),
}
ONE_SUBJECT = {
    "one at 0.05": preferring(subjects={0: 0.05}, names=0.0),
    "one at 0.10": preferring(subjects={0: 0.10}, names=0.0),
}
"""Where subjects have no groups: one of them is preferred with every attribute, and nobody else differs."""
SIZES = ("endpoint", "quick", "both forms", "large", "religion", "gender and religion")


def asked(size: str) -> list[Comparisons]:
    if size == "both forms":
        return [comparisons("quick"), comparisons("quick", form="mask")]
    if size == "religion":
        return [comparisons("quick", "religion")]
    if size == "gender and religion":
        return [comparisons("quick"), comparisons("quick", "religion")]
    return [comparisons(size)]


def fits(size: str, design: str) -> bool:
    """Subjects of religion that differ are an effect; and half of an endpoint's four attributes are two."""
    if size in ("religion", "gender and religion"):
        return design in ("all alike", *(ONE_SUBJECT if size == "religion" else ()))
    return not (size == "endpoint" and design == "half at 0.10")


def of_groups(parts: Sequence[Comparisons], answerer: Answerer, seed: int) -> Findings:
    """The findings with their verdict, without what is about single names."""
    rng = np.random.default_rng(seed)
    given = [scored(part, answerer(part, rng)) for part in parts]
    estimates: list[Estimate] = []
    rows: list[tuple[object, ...]] = []
    for part in given:
        of_part, in_table = _pooled(part, seed)
        estimates += of_part
        rows += in_table
    columns = ("class", "form", "group", "attribute", "gamma", "p", "q", "n")
    found = Findings(PROBE.name, "", estimates, {"groups": Table(columns, rows)})  # type: ignore[arg-type]  # cells
    diagnosis = Diagnosis(False, "not tested", missing=dict.fromkeys(KEYS, "not tested"))
    held = {part.label: part.held for part in parts}
    grounds = grounds_of(given, estimates, diagnosis, UnqoverSettings(cls="gender"), held=held)
    return with_claims(replace(found, grounds=grounds), PROBE, {})


def _pooled(part: ScoredCells, seed: int) -> tuple[list[Estimate], list[tuple[object, ...]]]:
    cells, labels = only_asked(part.cells, part.labels)
    names, groups = numbered(labels.groups or ())
    bias = metrics.of_cells(metrics.comparative_bias, cells.scores)
    gamma, eta = pooled_groups(cells, bias, groups, len(labels.attributes))
    rng = np.random.default_rng([seed, 1])
    sure = {"mu": pooled_intensity(gamma, DRAWS, rng), "eta": pooled_one_sidedness(eta, DRAWS, rng)}
    values = {"mu": float(np.abs(gamma.mean).max()), "eta": float(np.abs(eta.mean).mean())}
    about = {"class": part.cls, "form": part.form, "subjects": "pooled"}
    estimates = [
        Estimate(key, about, values[key], each.low, each.high, p=each.p, floor=each.floor, corrected=each.corrected)
        for key, each in sure.items()
    ]
    p = group_rows(gamma).p
    rows: list[tuple[object, ...]] = [
        (part.cls, part.form, name, attribute, float(gamma.mean[k]) * (1 - 2 * side), float(p[side, k]), None, 0)
        for side, name in enumerate(names)
        for k, attribute in enumerate(labels.attributes)
    ]
    return estimates, rows


def simulate(job: tuple[str, str, int]) -> tuple[str, bool, bool, bool]:
    """The verdict, whether anything was claimed that is not so, whether the effect was, and whether η stays open."""
    size, design, seed = job
    parts, (answerer, biased) = asked(size), DESIGNS[design]
    if size == "religion":
        answerer = ONE_SUBJECT.get(design, answerer)
    grouped = all(part.labels.groups is not None for part in parts)
    found = of_groups(parts, answerer, seed) if grouped else concluded(parts, answerer, seed)
    verdict = found.verdict
    assert verdict is not None
    claimed = verdict.says in (VerdictKind.CLEAR, VerdictKind.SMALL)
    names = {part.labels.attributes[k] for part in parts for k in np.unique(part.cells.attribute)[:biased]}
    records = list(found.tables["groups"].records()) if "groups" in found.tables else []
    rows = [str(row["attribute"]) for row in records if row["claimed"]]
    false = any(row not in names for row in rows) if biased and size != "religion" else claimed and "0." not in design
    is_open = any(part.status == OPEN and part.metric == "eta" for part in verdict.parts)
    return str(verdict.says), false, claimed and "0." in design, is_open


def followed(job: tuple[str, int]) -> tuple[int, str] | None:
    """The limit that an endpoint's quick run suggests, and a new run's verdict with it; None if it suggests none."""
    design, seed = job
    answerer, size = DESIGNS[design][0], comparisons("endpoint")
    verdict = of_groups([size], answerer, seed).verdict
    match = re.match(r"--limit (\d+)", (verdict.next if verdict else "") or "")
    if match is None:
        return None
    limit = int(match[1])
    each = limit // size.held.questions // size.attributes
    again = of_groups([comparisons(attributes=size.attributes, each=each, form=size.form)], answerer, seed + 10_000)
    return limit, str(again.verdict.says if again.verdict else "")


def report_steps(design: str, steps: Sequence[tuple[int, str] | None]) -> None:
    """How often the suggested limit settles it, one way or the other."""
    limits = [step for step in steps if step is not None]
    settled = sum(says in (VerdictKind.NONE, VerdictKind.CLEAR, VerdictKind.SMALL) for _, says in limits)
    if limits:
        middle = int(np.median([limit for limit, _ in limits]))
        print(
            f"endpoint, {design}: {len(limits)} of {len(steps)} runs suggest a limit, {middle:,} in the median; "
            f"with it {in_percent(settled, len(limits))} are settled",
            flush=True,
        )


def in_percent(part: int, sets: int) -> str:
    share = part / sets
    return f"{share:.1%} ± {max(np.sqrt(share * (1 - share) / sets), 1 / sets):.1%}"


def report(size: str, design: str, found: Sequence[tuple[str, bool, bool, bool]]) -> None:
    sets, says = len(found), Counter(each[0] for each in found)
    false, true = sum(each[1] for each in found), sum(each[2] for each in found)
    is_open = sum(each[3] for each in found)
    partial = "0." in design
    untold = partial and size == "religion"  # the others are preferred less, so that no claim is false
    cells = ["" if untold else in_percent(false, sets), in_percent(true, sets) if partial else ""]
    cells += [f"{says[each] / sets:.0%}" if says[each] else "" for each in list(VerdictKind)[1:]]
    print(f"| {size}, {design} | {' | '.join([*cells, f'{is_open / sets:.0%}'])} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=200)
    parser.add_argument("--size", default=",".join(SIZES))
    parser.add_argument("--design", default=",".join(DESIGNS))
    parser.add_argument("--steps", action="store_true", help="follow the limits that an endpoint's runs suggest")
    options = parser.parse_args()
    start = time.perf_counter()
    if options.steps:
        with get_context("fork").Pool(len(os.sched_getaffinity(0))) as pool:
            for design in options.design.split(","):
                report_steps(design, pool.map(followed, ((design, seed) for seed in range(options.sets))))
        return
    print(f"| | false claims | the bias is claimed | {' | '.join(list(VerdictKind)[1:])} | η stays open |")
    print("|---" * 9 + "|")
    with get_context("fork").Pool(len(os.sched_getaffinity(0))) as pool:
        for size, design in product(options.size.split(","), options.design.split(",")):
            if fits(size, design):
                jobs = ((size, design, seed) for seed in range(options.sets))
                report(size, design, pool.map(simulate, jobs, chunksize=max(1, options.sets // 50)))
    print(f"\n{options.sets:,} runs each; {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
