"""How often the 95% intervals of UnQover's numbers contain the truth, in data whose truth is known.

    python bench/coverage.py            500 data sets of each scenario (about a quarter of an hour)
    python bench/coverage.py --quick    40 of each

Every data set draws its subjects anew from a population (and its templates, unless they are said to be fixed), and
gives them preferences for 10 attributes, with noise per pair and per cell. The truth is what an endless number of
subjects and templates would give: γ(x, a) and γ(x) of the subject at hand, pooled γ of groups, and for μ and η the mean
over subjects of the maximum (or mean) over attributes of the absolute *true* γ and η. Estimates of those two take
maxima and absolute values of noisy numbers, so that they are too large: the column `bias` says by how much.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.findings import Table
from assay.probes.unqover.analyse import analyse
from assay.probes.unqover.metrics import Cells, Labels

ATTRIBUTES = 10
DRAWS = 199  # of random signs: they decide whether an interval of μ or η reaches down to 0
HEADLINE = ("mu", "eta", "delta", "epsilon", "avg_score", "pooled mu", "pooled eta")
ROWS = ("gamma(x, a)", "gamma(x)", "pooled gamma(a)")

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Scenario:
    """A population of subjects and templates, and how much of it one data set sees."""

    name: str
    subjects: int  # in each group, where there are two
    templates: int
    grouped: bool = False
    new_templates: bool = True  # False: templates have no effects, as if these were all there are
    spread: float = 0.06  # of the subjects' preferences
    pair_noise: float = 0.02  # of a pair for an attribute, in all templates
    cell_noise: float = 0.02
    sample: int | None = None  # cells asked, of all there are

    def group_effect(self) -> Array:
        """How much the first group is preferred for each attribute: (attribute,)."""
        return np.linspace(-0.08, 0.04, ATTRIBUTES) if self.grouped and self.spread else np.zeros(ATTRIBUTES)


SCENARIOS = (
    Scenario("like religion: 11 subjects, 14 templates", 11, 14),
    Scenario("30 subjects, 10 templates", 30, 10),
    Scenario("30 subjects, 10 templates, weak preferences: a third of a cell's noise", 30, 10, spread=0.01),
    Scenario("30 subjects, 10 templates, no preference at all", 30, 10, spread=0.0),
    Scenario("30 subjects, 10 templates, a sample of 1,000 of the 43,500 cells", 30, 10, sample=1_000),
    Scenario("like gender: 2 x 20 subjects, 4 fixed templates", 20, 4, grouped=True, new_templates=False),
    Scenario("the same, but about any templates", 20, 4, grouped=True),
)


@dataclass(frozen=True)
class Effects:
    """What subjects and templates do to the scores; one draw from the population."""

    liking: Array  # (subject, attribute) preference
    place: Array  # (subject,) how much the order matters
    level: Array  # (subject,) of the scores
    scale: Array  # (template,) of preferences
    order: Array  # (template,)
    shift: Array  # (template,) of the negated question's scores


def draw_effects(scenario: Scenario, subjects: int, templates: int, rng: np.random.Generator) -> Effects:
    spread = scenario.spread / np.sqrt(2)
    liking = spread * (rng.uniform(-1, 1, (subjects, 1)) + rng.uniform(-1, 1, (subjects, ATTRIBUTES))) * np.sqrt(3)
    if scenario.new_templates:
        scale, order, shift = (rng.uniform(*ends, templates) for ends in ((0.5, 1.5), (0.5, 1.5), (0.05, 0.15)))
    else:
        scale, order, shift = np.ones(templates), np.ones(templates), np.full(templates, 0.1)
    place, level = rng.uniform(0.01, 0.05, subjects), rng.uniform(0.15, 0.25, subjects)
    return Effects(liking, place, level, scale, order, shift)


def make_scores(
    scenario: Scenario, effects: Effects, columns: tuple[NDArray[np.int64], ...], pair: Array, rng: np.random.Generator
) -> NDArray[np.float32]:
    """Scores (cell, order, polarity, subject) with C = what the effects say; `pair` is each cell's pair noise."""
    t, i, j, a = columns
    noise = scenario.cell_noise * rng.normal(size=len(t))
    group = scenario.group_effect()[a]  # i is of the first group, j of the second
    wanted = effects.scale[t] * (effects.liking[i, a] - effects.liking[j, a] + group) + pair + noise
    place = effects.order[t] * (effects.place[i] + effects.place[j])
    scores = np.zeros((len(t), 2, 2, 2))
    scores += (effects.level[i] + effects.level[j])[:, None, None, None]
    scores += (wanted / 2)[:, None, None, None] * np.array([[1.0, -1.0], [-1.0, 1.0]])  # (polarity, subject)
    scores += place[:, None, None, None] * np.array([[[1.0, -1.0]], [[-1.0, 1.0]]])  # (order, 1, subject)
    scores[:, :, 1, :] -= effects.shift[t][:, None, None]
    return np.clip(scores, 0.0, 1.0).astype(np.float32)


def make_data(scenario: Scenario, rng: np.random.Generator) -> tuple[Cells, Labels, Effects]:
    count = scenario.subjects * (2 if scenario.grouped else 1)
    if scenario.grouped:
        pairs = np.array([(i, j) for i in range(scenario.subjects) for j in range(scenario.subjects, count)])
    else:
        pairs = np.stack(np.triu_indices(count, 1), axis=1)
    grid = np.meshgrid(np.arange(len(pairs)), np.arange(scenario.templates), np.arange(ATTRIBUTES), indexing="ij")
    chosen = slice(None) if scenario.sample is None else rng.permutation(grid[0].size)[: scenario.sample]
    pair, t, a = (axis.ravel()[chosen] for axis in grid)
    i, j = pairs[pair].T
    effects = draw_effects(scenario, count, scenario.templates, rng)
    pair_noise = scenario.pair_noise * rng.normal(size=(len(pairs), ATTRIBUTES))
    scores = make_scores(scenario, effects, (t, i, j, a), pair_noise[pair, a], rng)
    template, first, second, attribute = (column.astype(np.int32) for column in (t, i, j, a))
    labels = Labels(
        subjects=[str(k) for k in range(count)],
        attributes=[str(k) for k in range(ATTRIBUTES)],
        attribute_classes=["all"] * ATTRIBUTES,
        templates=scenario.templates,
        groups=["first" if k < scenario.subjects else "second" for k in range(count)] if scenario.grouped else None,
        sampled=scenario.sample is not None,
    )
    return Cells(template, first, second, attribute, scores), labels, effects


def population_truth(scenario: Scenario, rng: np.random.Generator, size: int = 200_000) -> dict[str, float]:
    """The headline numbers of the population, by drawing `size` subjects, pairs and templates."""
    effects = draw_effects(scenario, size, size, rng)
    liking = effects.liking + scenario.group_effect()  # true γ(x, a) of the first group's subjects
    # η(x, a) is a rising function of the true γ: the mean sign of scale · (γ − a partner's liking) + noise.
    noise = np.hypot(scenario.pair_noise, scenario.cell_noise) * rng.normal(size=size)
    some, won = slice(None, -size // 20, -1), []
    for x in range(1_000):
        gained = (
            effects.scale[some, None] * (liking[x] - effects.liking[some]) + noise[some, None]
        )  # (partner, attribute)
        won.append(np.abs(np.sign(gained).mean(axis=0)).mean())
    mine = 2.0 * effects.order * (effects.place + effects.place[::-1])
    truth = {
        "mu": float(np.abs(liking).max(axis=1).mean()),
        "eta": float(np.mean(won)) if scenario.spread else 0.0,
        "delta": float(mine.mean()),
        "epsilon": float(np.maximum(mine, effects.shift).mean()),
        "avg_score": float((2 * effects.level).mean() - effects.shift.mean() / 2),
    }
    if scenario.grouped:
        gained = effects.scale[:, None] * (liking - effects.liking[::-1]) + noise[:, None]
        truth["pooled mu"] = float(np.abs(scenario.group_effect()).max())
        truth["pooled eta"] = float(np.abs(np.sign(gained).mean(axis=0)).mean())
    return truth


@dataclass(frozen=True)
class Outcome:
    covered: float  # the share of the data set's intervals for this number that contain the truth
    error: float  # mean of estimate − truth
    above: float  # share of intervals that lie below their own estimate
    width: float


def outcome(estimates: Array, low: Array, high: Array, truth: Array) -> Outcome:
    tiny = 1e-9
    covered = (low <= truth + tiny) & (truth <= high + tiny)
    return Outcome(
        float(covered.mean()),
        float((estimates - truth).mean()),
        float((high < estimates).mean()),
        float((high - low).mean()),
    )


def table_outcome(table: Table, keys: tuple[str, ...], truth: Array) -> Outcome:
    rows = [row for row in table.records() if row["low"] is not None]
    at = tuple(np.array([int(str(row[key])) for row in rows]) for key in keys)
    numbers = [np.array([float(str(row[name])) for row in rows]) for name in ("gamma", "low", "high")]
    return outcome(numbers[0], numbers[1], numbers[2], truth[at])


def simulate(
    scenario: Scenario, resamples: int, truth: dict[str, float], rng: np.random.Generator
) -> dict[str, Outcome]:
    cells, labels, effects = make_data(scenario, rng)
    seed = int(rng.integers(2**32))
    estimates, tables = analyse(cells, labels, cls="any", form="span", seed=seed, draws=DRAWS, resamples=resamples)
    found = {}
    for estimate in estimates:
        if estimate.low is None:
            continue
        name = f"pooled {estimate.metric}" if "subjects" in estimate.group else estimate.metric
        value, low, high = (np.array([float(str(x))]) for x in (estimate.value, estimate.low, estimate.high))
        found[name] = outcome(value, low, high, np.array([truth[name]]))
    effect = scenario.group_effect()
    side = np.where(np.arange(len(labels.subjects)) < scenario.subjects, 1.0, -1.0)[:, None]
    gamma = effects.liking + side * effect  # (subject, attribute)
    found["gamma(x, a)"] = table_outcome(tables["gamma"], ("subject", "attribute"), gamma)
    found["gamma(x)"] = table_outcome(tables["subjects"], ("subject",), gamma.mean(axis=1))
    if scenario.grouped:
        first = Table(tables["groups"].columns, [row for row in tables["groups"].rows if row[2] == "first"])
        found["pooled gamma(a)"] = table_outcome(first, ("attribute",), effect)
    return found


def report(scenario: Scenario, truth: dict[str, float], results: dict[str, list[Outcome]]) -> None:
    print(f"\n{scenario.name}")
    print(f"  {'':16s} {'truth':>7s} {'bias':>8s} {'width':>7s} {'below own estimate':>19s} {'coverage (95%)':>15s}")
    for name in (*HEADLINE, *ROWS):
        if name not in results:
            continue
        covered = np.array([one.covered for one in results[name]])
        share = covered.mean()
        # A binomial standard error for one interval a data set; the spread between data sets for rows.
        error = max(covered.std(ddof=1), np.sqrt(max(share * (1 - share), 1 / len(covered)))) / np.sqrt(len(covered))
        if name in ROWS:
            error = covered.std(ddof=1) / np.sqrt(len(covered))
        bias, above, width = (
            float(np.mean([getattr(one, key) for one in results[name]])) for key in ("error", "above", "width")
        )
        verdict = "" if abs(share - 0.95) <= max(0.02, 2 * error) else "  too low" if share < 0.95 else "  too high"
        shown = f"{truth[name]:7.4f}" if name in truth else " " * 7
        print(
            f"  {name:16s} {shown} {bias:+8.4f} {width:7.4f} {above:19.1%} {share:15.1%} ± {error:.1%}{verdict}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="40 data sets a scenario, 200 resamples")
    parser.add_argument("--sets", type=int, help="data sets a scenario (500)")
    parser.add_argument("--resamples", type=int, help="resamples of each data set (500)")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    sets = options.sets or (40 if options.quick else 500)
    resamples = options.resamples or (200 if options.quick else 500)
    print(f"{sets} data sets a scenario, {resamples} resamples each; ± is one standard error of the simulation")
    start = time.perf_counter()
    for number, scenario in enumerate(SCENARIOS):
        rng = np.random.default_rng([options.seed, number])
        truth = population_truth(scenario, rng)
        results: dict[str, list[Outcome]] = defaultdict(list)
        for _ in range(sets):
            for name, one in simulate(scenario, resamples, truth, rng).items():
                results[name].append(one)
        report(scenario, truth, results)
    print(f"\n{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
