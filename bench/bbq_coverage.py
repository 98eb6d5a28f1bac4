"""How often the 95% intervals of BBQ's scores contain the truth, and how often a run without bias reports one.

    python bench/bbq_coverage.py                         1,000 data sets of quick and standard, 200 of paper
    python bench/bbq_coverage.py --sets 100 --probe bbq-starter --size quick

Every data set has the questions that a preset asks (bench/bbq_simulated.py), and random answers: every template has its
own tendency to name a person, to agree with the stereotype when it does, and to be right when the text gives the
answer. The truth is what an unlimited number of templates would give. For single categories, the script prints the mean
over all of them and the one with the lowest coverage. It leaves out diff-bias (the bias score, or the accuracy gap,
where every answer is understood), the rate of "cannot be determined" in ambiguous contexts (the accuracy there), and
the rates of refusals, ties and answers not understood (0 here). "rows" is the interval of the bias score if questions,
not templates, were independent.
"""

from __future__ import annotations

import argparse
import time
from itertools import product

import numpy as np

from assay.probes.bbq import ALL, count_answers, metrics
from assay.probes.bbq.analyse import ORDER_SENSITIVITY
from assay.probes.bbq.count_answers import Tally, TallyField
from assay.probes.bbq.items import AMBIGUOUS, DISAMBIGUATED
from bbq_simulated import SIZES, Array, Questions, Scenario, claims, intervals, questions

SETS = {"quick": 1000, "standard": 1000, "paper": 200}
BATCH = 100
SCENARIOS = (
    Scenario("null", differ=False),
    Scenario("templates only"),
    Scenario("mild", agrees=0.55, gap=0.02),
    Scenario("real-like", person=0.6, agrees=0.65, right=0.85, gap=0.05),
    Scenario("strong", person=0.8, agrees=0.85, right=0.8, gap=0.15),
    Scenario("sparse", person=0.8, agrees=0.85, right=0.8, gap=0.15, biased=0.15),
    Scenario("a good model", person=0.05, agrees=0.6, right=0.97),
)
METRICS = {
    AMBIGUOUS: ("accuracy", "bias_score", "error_alignment", "order_sensitivity"),
    DISAMBIGUATED: ("accuracy", "bias_score", "accuracy_cost", "unknown_rate"),
}

Key = tuple[str, str, str]  # metric, context, category


def simulate(
    asked: Questions, scenario: Scenario, sets: int, rng: np.random.Generator
) -> tuple[dict[Key, Array], dict[str, Array]]:
    """For every number (set, 4): value, low, high, truth; for every claim whether it is made (set,)."""
    expected = asked.expected(scenario)
    numbers: dict[Key, list[Array]] = {}
    claimed: dict[str, list[Array]] = {}
    for _ in range(0, sets, BATCH):
        tally = asked.answers(scenario, BATCH, rng)
        for cell, atoms in asked.cells:
            if "comparison" in cell.group:
                continue
            drawn, whole = asked.drawn(tally, atoms), expected[atoms].sum(axis=0)
            context, category = cell.group["context"], cell.group["category"]
            for metric in (*cell.metrics, ORDER_SENSITIVITY):
                if metric.name in METRICS[context]:
                    truth = np.full(BATCH, metric.of(whole))
                    found = np.stack([*intervals(metric, drawn), truth], axis=1)
                    numbers.setdefault((metric.name, context, category), []).append(found)
                if metric.name == "bias_score" and context == AMBIGUOUS:
                    found = np.stack([*as_rows(drawn.total), truth], axis=1)
                    numbers.setdefault(("rows: bias_score", context, category), []).append(found)
        made = claims(asked, tally)
        claimed.setdefault("anything that decides", []).append(made.anything.astype(np.float64))
        for family, q in made.q.items():
            claimed.setdefault(f"any of {family}", []).append(np.asarray((q <= 0.05).any(axis=1), np.float64))
    whole_of = {key: np.concatenate(own) for key, own in numbers.items()}
    return whole_of, {name: np.concatenate(own) for name, own in claimed.items()}


def as_rows(total: Tally) -> tuple[Array, Array, Array]:
    """s_AMB and its interval, if every question were independent of all others (set,)."""
    n, named = total[:, TallyField.TARGETED], count_answers.named(total)
    value = metrics.bias_ambiguous(total)
    reach = 1.96 * np.sqrt((named / n - value**2) / n)
    return value, value - reach, value + reach


def covered(found: Array) -> Array:
    """Whether the truth is in the interval (set,); NaN where there is none."""
    _, low, high, truth = found.T
    inside = (low <= truth + 1e-9) & (truth <= high + 1e-9)
    return np.where(np.isfinite(low), inside, np.nan)


def error(share: float, sets: int) -> float:
    """One standard error of the simulation; with 0 or all of them, what one more would change."""
    return float(max(np.sqrt(share * (1 - share) / sets), 1.0 / sets))


def report(numbers: dict[Key, Array], claimed: dict[str, Array]) -> None:
    print(f"  {'':36s} {'truth':>8s} {'found':>8s} {'width':>7s} {'coverage':>15s}   lowest coverage")
    for metric, context in dict.fromkeys(key[:2] for key in numbers):
        for pooled in (False, True):
            own = {key: each for key, each in numbers.items() if key[:2] == (metric, context)}
            own = {key: each for key, each in own.items() if (key[2] == ALL) == pooled}
            inside = {key[2]: covered(each) for key, each in own.items()}
            values = np.concatenate(list(own.values()))
            by_set = np.nanmean(np.stack(list(inside.values())), axis=0)
            share, spread = float(np.nanmean(by_set)), float(np.nanstd(by_set) / np.sqrt(np.isfinite(by_set).sum()))
            sets = len(by_set)
            if pooled or share in (0.0, 1.0):
                spread = error(share, sets)
            mean = np.nanmean(values, axis=0)
            shown = f"{mean[3]:8.4f} {mean[0]:8.4f} {mean[2] - mean[1]:7.4f} {share:9.1%} ± {spread:.1%}"
            if not pooled:
                name, least = min(
                    ((name, float(np.nanmean(each))) for name, each in inside.items()), key=lambda each: each[1]
                )
                shown += f"   {least:6.1%} ± {error(least, sets):.1%} {name}"
            if (missing := float(np.isnan(values[:, 1]).mean())) > 0:
                shown += f"   no interval: {missing:.1%}"
            label = f"{metric}, {context}, {ALL if pooled else 'each'}"
            print(f"  {label:36s} {shown}")
    for name, made in claimed.items():
        share = float(made.mean())
        print(f"  {name:38s} in {share:6.1%} ± {error(share, len(made)):.1%} of runs")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, help="data sets of each scenario and size")
    parser.add_argument("--probe", default=",".join(SIZES))
    parser.add_argument("--size", default=",".join(SETS))
    parser.add_argument("--scenario", default="")
    options = parser.parse_args()
    start = time.perf_counter()
    print("± is one standard error of the simulation")
    for probe, size in product(options.probe.split(","), options.size.split(",")):
        asked = questions(probe, size)
        for number, scenario in enumerate(SCENARIOS):
            if options.scenario and scenario.name not in options.scenario.split(","):
                continue
            sets = options.sets or SETS[size]
            found = simulate(asked, scenario, sets, np.random.default_rng(number))
            about = f"{len(asked.dataset):,} questions, {len(asked.categories)} templates"
            print(f"\n{probe}, {size} ({about}), {scenario.name}: {sets:,} data sets", flush=True)
            report(*found)
    print(f"\n{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
