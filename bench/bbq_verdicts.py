"""What is said of BBQ's answers: how often which verdict, and how often a claim is false.

    python bench/bbq_verdicts.py                          100 runs of each answerer and size; 1,000 of each null
    python bench/bbq_verdicts.py --sets 20 --size quick --answers noisy,cautious
    python bench/bbq_verdicts.py --sets 0 --nulls 1000    the false claims alone

The answerers are those of tests/conformance/answerers, asked the questions of a preset (bench/bbq_simulated.py: the
structure of all 58,492 questions without their texts, or the starter set), each run drawn with a seed of its own.

False claims: answers as in bench/bbq_coverage.py. Templates differ, each with a tendency of its own, or they do not; no
category is biased, or the first one or four of thirteen are, and then only claims about the others count.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from itertools import product
from pathlib import Path

import numpy as np

from assay.probes.bbq.settings import BBQSettings
from assay.probes.bbq.source import ItemSample, ItemSource, selected
from assay.probes.bbq_starter.method import StarterSource
from assay.results.verdict import STANDS_OUT, Verdict, VerdictKind
from bbq_simulated import SIZES, Scenario, Structure, claims, questions

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from conformance.answerers.bbq_answerers import ANSWERERS, Questions, concluded

RESAMPLES = 200
BATCH = 100
WITHOUT_TEXTS = ("always first person",)
"""Answerers that need the texts of the questions."""
NULLS = (
    Scenario("no template differs", differ=False),
    Scenario("templates differ"),
    Scenario("a good model", person=0.05, right=0.97),
    Scenario("some are biased", agrees=0.85, gap=0.2, biased=1 / 13),
    Scenario("some are biased", agrees=0.85, gap=0.2, biased=4 / 13),
)


def verdict_of(name: str, probe: str, asked: Questions, held: ItemSource, seed: int) -> Verdict:
    chosen = ANSWERERS[name](asked, np.random.default_rng([seed, 7]))
    lost = {"cut off": len(chosen)} if name == "truncated" else None
    few = BBQSettings(resamples=RESAMPLES)
    found = concluded(probe, asked.dataset, chosen, held=held.read(), settings=few, lost=lost, seed=seed)
    assert found.verdict is not None
    return found.verdict


def verdicts(probe: str, size: str, names: list[str], sets: int) -> None:
    source: ItemSource = Structure() if probe == "bbq" else StarterSource()
    print(
        f"\n| {probe}, {size} | {' | '.join(VerdictKind)} | names what stands out |\n"
        f"|---|{'---:|' * (len(VerdictKind) + 1)}"
    )
    for name in names:
        if name in WITHOUT_TEXTS and probe == "bbq":
            continue
        said: Counter[str] = Counter()
        for seed in range(sets):
            asked = Questions(selected(source, ItemSample(per_template=SIZES[probe][size], seed=seed)))
            verdict = verdict_of(name, probe, asked, source, seed)
            said[verdict.says] += 1
            said["named"] += verdict.says is VerdictKind.CLEAR or any(
                part.status == STANDS_OUT for part in verdict.parts
            )
        shares = [f"{said[each] / sets:.0%}" if said[each] else "" for each in (*VerdictKind, "named")]
        print(f"| {name} | {' | '.join(shares)} |", flush=True)


def false_claims(probe: str, size: str, sets: int) -> None:
    asked = questions(probe, size)
    names = list(dict.fromkeys(asked.categories))
    print(f"\n| {probe}, {size} | runs with a false claim |\n|---|---:|")
    for number, scenario in enumerate(NULLS):
        biased = {name for name, own in zip(asked.categories, asked.is_biased(scenario).tolist(), strict=True) if own}
        partial = scenario.agrees != 0.5
        rng, found = np.random.default_rng(number), []
        for _ in range(0, sets, BATCH):
            made = claims(asked, asked.answers(scenario, BATCH, rng), tables=False)
            if not partial:
                found.append(made.anything)
                continue
            kinds = [kind for kind in made.q if kind.endswith(", category")]
            false = [
                made.claimed(kind)[:, [group["category"] not in biased for group in made.whose[kind]]].any(axis=1)
                for kind in kinds
            ]
            found.append(np.any(false, axis=0))
        share = float(np.concatenate(found).mean())
        error = np.sqrt(share * (1 - share) / (len(found) * BATCH))
        said = f"{len(biased)} of {len(names)} categories are biased" if partial else scenario.name
        print(f"| {said} | {share:.1%} ± {error:.1%} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=100, help="runs of each answerer and size")
    parser.add_argument("--nulls", type=int, default=1000, help="runs of each null, at quick size")
    parser.add_argument("--probe", default=",".join(SIZES))
    parser.add_argument("--size", default="quick,standard")
    parser.add_argument("--answers", default=",".join(ANSWERERS))
    options = parser.parse_args()
    start = time.perf_counter()
    for probe, size in product(options.probe.split(","), options.size.split(",")):
        if options.sets:
            verdicts(probe, size, options.answers.split(","), options.sets)
    for probe in options.probe.split(","):
        if options.nulls:
            false_claims(probe, "quick", options.nulls)
    print(f"\n{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
