"""Changes with their names: q within a family, and what is clear of chance."""

from __future__ import annotations

import json

import numpy as np

from assay.compare.differences import Difference, differences_of
from assay.probes.bbq import PROBE as BBQ
from assay.probes.contrast import PairedChange, change_of
from assay.probes.unqover import PROBE as UNQOVER
from assay.results.findings import Table
from assay.stats import percentile_interval


def ends(value: float, replicates: np.ndarray, bounds: tuple[float, float]) -> tuple[float, float]:
    low, high = percentile_interval(value, replicates, 20, bounds=bounds)
    return float(low), float(high)


def test_p_is_corrected_within_a_family() -> None:
    def change(p: float, family: str | None) -> PairedChange:
        return change_of(UNQOVER.metric("mu"), {}, (0.1, 0.2), n=1, p=p, family=family)

    found, _ = differences_of(
        "unqover", "a", {"b": [change(0.01, "x"), change(0.04, "x"), change(0.04, "y"), change(0.04, None)]}, {}
    )
    assert [each.change.q for each in found] == [0.02, 0.04, 0.04, None]
    assert [each.clear for each in found] == [True] * 4  # Holm: 0.02 · 2 and 0.04 · 1, which both hold
    assert (found[0].model, found[0].baseline, found[0].probe) == ("b", "a", "unqover")


def test_what_is_claimed_is_corrected_over_families_and_tables() -> None:
    def change(p: float, family: str) -> PairedChange:
        return change_of(UNQOVER.metric("mu"), {}, (0.1, 0.2), n=1, p=p, family=family)

    table = Table(("word", "p", "q"), [("a", 0.001, None), ("b", 0.9, None), ("c", None, None)])
    found, tables = differences_of("unqover", "a", {"b": [change(0.03, "x"), change(0.04, "y")]}, {"words": table})
    assert [each.change.q for each in found] == [0.03, 0.04]
    assert not any(each.clear for each in found)  # Holm: 0.002 · 3 holds, 0.03 · 2 does not, nor what follows
    assert tables["words"].columns == ["word", "p", "q", "claimed"]
    assert [row[3] for row in tables["words"].rows] == [1, 0, None]


def test_all_models_that_are_compared_are_one_family() -> None:
    def change(p: float) -> PairedChange:
        return change_of(UNQOVER.metric("mu"), {}, (0.1, 0.2), n=1, p=p, family="x")

    found, _ = differences_of("unqover", "a", {"b": [change(0.04)], "c": [change(0.03), change(0.5)]}, {})
    assert [(each.model, each.change.q) for each in found] == [("b", 0.06), ("c", 0.06), ("c", 0.5)]
    assert not any(each.clear for each in found)


def test_an_interval_with_0_in_it_is_not_clear_whatever_p_says() -> None:
    about = {"category": "Age", "context": "ambig"}
    wide = np.linspace(-0.5, 0.5, 101)
    found = change_of(
        BBQ.metric("bias_score"), about, (0, 0.1), n=1, replicates=(wide * 0, wide), interval=ends, p=0.001
    )
    (made,), _ = differences_of("bbq", "a", {"b": [found]}, {})
    assert not made.clear
    told = json.loads(json.dumps(made.as_json()))
    assert told["clear"] is False
    assert Difference.from_json(told) == made
