"""How often the 95% intervals of UnQover's numbers contain the truth, and how often a run without bias reports one.

    python bench/coverage.py                         1,000 data sets of quick and standard, 200 of paper
    python bench/coverage.py --sets 20 --class gender --size standard

Every data set has the comparisons that a preset makes with assay's own word lists. It draws new preferences of the two
groups of names and new subjects from a population (and new effects of templates on δ, ε and the confidence in either
person), with noise in every comparison. The last lines name the scenario in which a number is covered least.
The truth is what an unlimited number of subjects and templates would give: for μ and η the maxima and means of the
*true* γ and η, which the paper's values exceed, since they are maxima and absolute values of noisy numbers. Scenarios
set how much the subjects, and the two groups of names, really differ; the built-in model's names and comparisons have
0.045 and 0.095. Templates differ normally, as Student's t assumes; with four that differ uniformly, it covers 93%.
"""

from __future__ import annotations

import argparse
import os
import time
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from itertools import product
from multiprocessing import get_context
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from assay.probes.claims import with_claims
from assay.probes.unqover import PROBE
from assay.probes.unqover.analyse import Result, analyse, merged, only_asked
from assay.probes.unqover.cells import CellLabels, Cells
from assay.probes.unqover.lists import read_lists
from assay.probes.unqover.plan import cell_table
from assay.probes.unqover.settings import CLASSES, QUICK_ATTRIBUTES, QUICK_CELLS, QUICK_OF_ENDPOINTS, STANDARD_CELLS
from assay.results.findings import Findings, Table

SIZES = {"quick": 1000, "standard": 1000, "paper": 200}  # data sets of each
NAMES, NOISE = 0.045, 0.095
DRAWS, HALVES = 1000, 50

Array = NDArray[np.float64]
Numbers = dict[str, tuple[float, ...]]


@dataclass(frozen=True)
class Scenario:
    """How much people differ in truth."""

    name: str
    subjects: float  # sd of a subject's preference for an attribute
    groups: tuple[float, float] = (0.0, 0.0)  # sd of the groups' preferences, and the share of attributes that have one
    level: float = 0.15  # of a person's scores, at least

    def group_effect(self, attributes: int, rng: np.random.Generator) -> Array:
        """γ(a) of the first group, in truth: (attribute,)."""
        sd, share = self.groups
        effect = np.zeros(attributes)
        biased = rng.permutation(attributes)[: max(round(share * attributes), 1)]
        effect[biased] = sd * rng.normal(size=len(biased))
        return effect


GROUPED = (
    Scenario("null", 0.0),
    Scenario("names only", NAMES),
    Scenario("mild", NAMES, (0.02, 1.0)),
    Scenario("real-like", NAMES, (0.06, 1.0)),
    Scenario("strong", NAMES, (0.15, 1.0), level=0.25),  # lower, many scores would be cut off at 0
    Scenario("sparse", NAMES, (0.15, 0.07)),
)
SINGLE = (
    Scenario("null", 0.0),
    Scenario("mild", 0.02),
    Scenario("real-like", 0.06),
    Scenario("strong", 0.12),
)


@dataclass(frozen=True)
class Design:
    """The cells that a preset asks about one class, and their names."""

    cls: str
    cells: Cells  # without scores
    labels: CellLabels

    @property
    def grouped(self) -> bool:
        return self.labels.groups is not None

    @property
    def shape(self) -> tuple[int, int, int]:
        return len(self.labels.subjects), len(self.labels.attributes), self.labels.templates


@cache
def design(cls: str, size: str) -> Design:
    lists = read_lists(cls, masked=False, header=False)
    wanted = int(size) if size.isdigit() else {"standard": STANDARD_CELLS}.get(size)
    few, each = {"quick": (QUICK_ATTRIBUTES, QUICK_CELLS), "endpoint": QUICK_OF_ENDPOINTS}.get(size, (None, 0))
    table = cell_table(lists, each * few if few else wanted, 0, attributes=few)
    first, second, template, attribute = table.rows(np.arange(len(table), dtype=np.int64))
    labels = CellLabels(
        [subject.name for subject in lists.subjects],
        [own.text for own in lists.attributes],
        [own.cluster for own in lists.attributes],
        len(lists.templates),
        None if lists.split is None else [subject.cluster for subject in lists.subjects],
        sampled=table.sample is not None,
    )
    return Design(
        cls, *only_asked(Cells(template, first, second, attribute, np.zeros((0, 2, 2, 2), np.float32)), labels)
    )


@dataclass(frozen=True)
class Effects:
    """What subjects and templates do; one draw from the population."""

    liking: Array  # (subject, attribute): half of it is the subject's own, half its own for the attribute
    place: Array  # (subject,) how much the order matters
    level: Array  # (subject,) of the scores
    order: Array  # (template,) how much the order matters
    shift: Array  # (template,) of the negated question's scores


def draw_effects(
    scenario: Scenario, subjects: int, attributes: int, templates: int, rng: np.random.Generator
) -> Effects:
    spread = scenario.subjects / np.sqrt(2)
    return Effects(
        spread * (rng.normal(size=(subjects, 1)) + rng.normal(size=(subjects, attributes))),
        rng.uniform(0.01, 0.05, subjects),
        scenario.level + rng.uniform(0.0, 0.05, subjects),
        1.0 + 0.29 * rng.normal(size=templates),
        0.1 + 0.029 * rng.normal(size=templates),
    )


def draw_scores(own: Design, effects: Effects, effect: Array, rng: np.random.Generator) -> NDArray[np.float32]:
    """Scores (cell, order, polarity, subject) with the C that the effects and noise give."""
    t, i, j, a = own.cells.template, own.cells.first, own.cells.second, own.cells.attribute
    wanted = effects.liking[i, a] - effects.liking[j, a] + effect[a] + NOISE * rng.normal(size=len(t))
    place = effects.order[t] * (effects.place[i] + effects.place[j])
    scores = np.empty((len(t), 2, 2, 2), np.float32)
    for order, polarity, subject in product((0, 1), (0, 1), (0, 1)):
        scores[:, order, polarity, subject] = (
            effects.level[i]
            + effects.level[j]
            + wanted / 2 * (1 if polarity == subject else -1)
            + place * (1 if order == subject else -1)
            - effects.shift[t] * polarity
        )
    return scores


def outside(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    """Scores are probabilities: the few that chance puts outside are moved to the end."""
    return np.clip(scores, 0.0, 1.0, out=scores)


@cache
def population(attributes: int, scenario: Scenario) -> Effects:
    """Many subjects and templates, whose means stand for those of an endless number."""
    count = 10_000
    return draw_effects(scenario, count, attributes, count, np.random.default_rng(1))


def truth(scenario: Scenario, effect: Array, *, grouped: bool) -> dict[str, float]:
    """What an endless number of subjects and templates would give with these preferences of the first group."""
    effects = population(len(effect), scenario)
    noise = np.hypot(NOISE, scenario.subjects)  # of a cell and the other subject
    liking = effects.liking + effect
    place = effects.order * (effects.place + effects.place[::-1])
    found = {
        "mu": float(np.abs(liking).max(axis=1).mean()),
        "eta": float(np.abs(2.0 * ndtr(liking / noise) - 1.0).mean()),
        "delta": float(2.0 * place.mean()),
        "avg_score": float((2.0 * effects.level).mean() - effects.shift.mean() / 2),
        # |S(x1|a) − S(x2|ā)| of the four (order, subject): the order's effect with either sign, and the shift
        "epsilon": float(np.maximum(2.0 * place, effects.shift).mean()),
    }
    if grouped:
        far = effect / np.hypot(NOISE, np.sqrt(2) * scenario.subjects)
        found |= {"pooled mu": float(np.abs(effect).max()), "pooled eta": float(np.abs(2.0 * ndtr(far) - 1.0).mean())}
    return found


def simulate(job: tuple[str, str, Scenario, int]) -> Numbers:
    """One data set: for every number (value, corrected, low, high, truth); for every claim (1 or 0,)."""
    cls, size, scenario, seed = job
    own, rng = design(cls, size), np.random.default_rng([seed, len(scenario.name)])
    subjects, attributes, templates = own.shape
    effect = scenario.group_effect(attributes, rng) if own.grouped else np.zeros(attributes)
    effects = draw_effects(scenario, subjects, attributes, templates, rng)
    scores = outside(draw_scores(own, effects, effect, rng))
    cells = Cells(own.cells.template, own.cells.first, own.cells.second, own.cells.attribute, scores)
    result = analyse(cells, own.labels, cls=cls, form="span", seed=seed, draws=DRAWS, resamples=HALVES)
    known = truth(scenario, effect, grouped=own.grouped)
    return {**_intervals(result, known), **_rows(result, own, effects, effect), **_claims(result)}


def _intervals(result: Result, known: dict[str, float]) -> Numbers:
    found: Numbers = {}
    for estimate in result[0]:
        name = f"pooled {estimate.metric}" if "subjects" in estimate.group else estimate.metric
        if estimate.value is not None and estimate.low is not None and estimate.high is not None:
            middle = estimate.value if estimate.corrected is None else estimate.corrected
            found[name] = (estimate.value, middle, estimate.low, estimate.high, known[name])
    return found


def _rows(result: Result, own: Design, effects: Effects, effect: Array) -> Numbers:
    """The share of a table's intervals that contain the truth, and their mean width."""
    groups = own.labels.groups or ["all"] * own.shape[0]
    side = np.where(np.array(groups) == groups[0], 1, -1)
    gamma = effects.liking + side[:, None] * effect
    subjects = {name: k for k, name in enumerate(own.labels.subjects)}
    attributes = {name: k for k, name in enumerate(own.labels.attributes)}

    def true(row: dict[str, Any], table: str) -> float:
        if table == "groups":
            return float(effect[attributes[row["attribute"]]])
        mine = gamma[subjects[row["subject"]]]
        return float(mine[attributes[row["attribute"]]] if table == "gamma" else mine.mean())

    found: Numbers = {}
    for name, table in (("gamma(x, a)", "gamma"), ("gamma(x)", "subjects"), ("pooled gamma(a)", "groups")):
        records = result[1].get(table, Table((), ())).records()
        rows: list[dict[str, Any]] = [row for row in records if row["low"] is not None]
        rows = [row for row in rows if row.get("group", groups[0]) == groups[0]]  # the other group is the same, turned
        if rows:
            low, high = (np.array([row[end] for row in rows], float) for end in ("low", "high"))
            known = np.array([true(row, table) for row in rows])
            found[name] = (float(((low <= known) & (known <= high)).mean()), float((high - low).mean()))
    return found


def _claims(result: Result) -> Numbers:
    """Whether anything is claimed: 1 or 0. What a run claims is corrected over its families, too."""
    estimates, tables = merged([result])
    verdict = with_claims(Findings(PROBE.name, "", estimates, tables), PROBE, {}).verdict
    found = {f"any {name} row": _any_row(table) for name, table in tables.items()}
    claimed = {each.of for each in verdict.families if each.claimed and each.family} if verdict else set()
    found["anything, over all families"] = float(bool(claimed))
    found["a group's preference, likewise"] = float(bool(claimed & {"groups", "mu", "eta"}))
    for estimate in result[0]:
        if estimate.p is not None:
            name = f"pooled {estimate.metric}" if "subjects" in estimate.group else estimate.metric
            found[f"{name} above chance"] = float(estimate.p <= 0.05)
    return {name: (claimed,) for name, claimed in found.items()}


def _any_row(table: Table) -> float:
    return float(any(row["q"] is not None and float(row["q"]) <= 0.05 for row in table.records()))


def report(results: dict[str, list[tuple[float, ...]]]) -> dict[str, float]:
    """Prints what one scenario gave, and returns the coverage of each number."""
    coverage: dict[str, float] = {}
    print(f"  {'':22s} {'truth':>7s} {'paper’s':>8s} {'corrected':>9s} {'width':>7s} {'coverage':>9s}")
    for name, rows in results.items():
        found = np.array(rows)
        if found.shape[1] == 5:
            value, middle, low, high, true = found.T
            inside = ((low <= true + 1e-9) & (true <= high + 1e-9)).mean()
            apart = (middle < low - 1e-9) | (middle > high + 1e-9)
            numbers = (
                f"{true.mean():7.4f} {value.mean():8.4f} {middle.mean():9.4f} {(high - low).mean():7.4f} {inside:9.1%}"
            )
            wrong = "  OUTSIDE ITS INTERVAL" if apart.any() else ""
            coverage[name] = float(inside)
            print(f"  {name:22s} {numbers} ± {_error(inside, len(found)):.1%}{wrong}")
        elif found.shape[1] == 2:
            error = found[:, 0].std(ddof=1) / np.sqrt(len(found))
            coverage[name] = float(found[:, 0].mean())
            print(f"  {name:22s} {'':26s} {found[:, 1].mean():7.4f} {found[:, 0].mean():9.1%} ± {error:.1%}")
    for name, rows in results.items():
        if len(rows[0]) == 1:
            share = float(np.mean(rows))
            print(f"  {name:34s} in {share:6.1%} ± {_error(share, len(rows)):.1%} of runs")
    return coverage


def _error(share: float, sets: int) -> float:
    """One standard error of the simulation; with 0 or all of them, what one more would change."""
    return float(max(np.sqrt(share * (1 - share) / sets), 1.0 / sets))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, help="data sets of each scenario and size")
    parser.add_argument("--class", dest="classes", default=",".join(CLASSES))
    parser.add_argument("--size", default=",".join(SIZES), help="presets, or numbers of comparisons")
    parser.add_argument("--scenario", default="")
    options = parser.parse_args()
    print("± is one standard error of the simulation")
    start = time.perf_counter()
    with get_context("fork").Pool(len(os.sched_getaffinity(0))) as pool:
        for cls, size in product(options.classes.split(","), options.size.split(",")):
            least: dict[str, tuple[float, str]] = {}
            for scenario in GROUPED if design(cls, size).grouped else SINGLE:
                if options.scenario and scenario.name not in options.scenario.split(","):
                    continue
                sets = options.sets or SIZES.get(size, 200)
                results: dict[str, list[tuple[float, ...]]] = defaultdict(list)
                population(design(cls, size).shape[1], scenario)  # before the processes begin
                jobs = ((cls, size, scenario, seed) for seed in range(sets))
                for found in pool.imap_unordered(simulate, jobs, chunksize=max(1, sets // 200)):
                    for name, numbers in found.items():
                        results[name].append(numbers)
                cells = len(design(cls, size).cells)
                print(f"\n{cls}, {size} ({cells:,} comparisons), {scenario.name}: {sets:,} data sets", flush=True)
                for name, share in report(results).items():
                    least[name] = min(least.get(name, (2.0, "")), (share, scenario.name))
            for name, (share, scenario_name) in least.items():
                print(f"{cls}, {size}: {name} is covered least, {share:.1%}, in {scenario_name}", flush=True)
    print(f"\n{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
