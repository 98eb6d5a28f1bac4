"""What the scores of BBQ's relatives have to be, for models whose answers are known: every set that assay reads.

A new edition is covered as soon as its file is there; `small_editions.WRITERS` needs a small set of it. Where
ASSAY_DATA has the published files, a large sample of these is asked too.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import small_editions as small
from asking import findings
from assay.asking.plan import Plan
from assay.asking.queries import NONE, Answers
from assay.probes.base import Request
from assay.probes.bbq.editions import NAMES, ORIGINAL, load_edition
from assay.probes.bbq.items import NEGATIVE, Item
from assay.probes.bbq.plan import BBQPlan
from assay.results.findings import Estimate, Findings

EDITIONS = [name for name in NAMES if name != ORIGINAL]
BIASES = ("bias_score", "accuracy_cost", "diff_bias", "error_alignment")

Choose = Callable[[Item, int], int]
"""The option that a model chooses, from an example and its target."""


def unknown(example: Item, target: int) -> int:
    return example.unknown


def right(example: Item, target: int) -> int:
    return example.label


def biased(example: Item, target: int) -> int:
    """The person who fits the stereotype; UNKNOWN where nobody is known to."""
    if target == NONE:
        return example.unknown
    return target if example.polarity == NEGATIVE else 3 - example.unknown - target


def counter(example: Item, target: int) -> int:
    return example.unknown if target == NONE else 3 - example.unknown - biased(example, target)


@dataclass(frozen=True)
class StandIn:
    """Answers by what the options say, wherever they are shown; or always with the option at one place."""

    choose: Choose = unknown
    place: int | None = None
    abilities: frozenset[str] = frozenset({"choice", "text"})
    ways: tuple[str, ...] = ()

    def __call__(self, plan: Plan, label: str) -> Answers:
        assert isinstance(plan, BBQPlan)
        scores = np.zeros((len(plan), 3), np.float32)
        targets = plan.dataset.target.tolist()
        for row in range(len(plan)):
            example, order = plan.item(row)
            named = order.index(self.choose(example, targets[row // len(plan.orders)]))
            scores[row, named if self.place is None else self.place] = 1.0
        return Answers(np.zeros(len(plan), np.uint8), {"score": scores})


@dataclass(frozen=True)
class Asked:
    """A set in a language at a place."""

    name: str
    language: str
    place: Path

    def of(self, model: Any, **settings: str) -> Findings:
        wanted = {"edition": self.name, "language": self.language, "resamples": "20", "form": "letters", **settings}
        limit = 1000 if self.language else None
        return findings("bbq", Request("paper", limit, settings=wanted, data=self.place), model)

    @property
    def without(self) -> bool:
        return "bias_score" in load_edition(self.name).without


def published() -> Iterator[tuple[str, str]]:
    """The sets and languages whose files are at hand."""
    folder = os.environ.get("ASSAY_DATA")
    for name in EDITIONS if folder else ():
        for language in load_edition(name).languages:
            if load_edition(name).find(Path(str(folder)), language):
                yield name, language


SETS = [*((name, "") for name in EDITIONS), *published()]


@pytest.fixture(scope="module", params=SETS, ids=[f"{name}-{language or 'made'}" for name, language in SETS])
def asked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Asked:
    name, language = request.param
    if language:
        return Asked(name, language, Path(os.environ["ASSAY_DATA"]))
    place = tmp_path_factory.mktemp(name)
    small.WRITERS[name](place)
    return Asked(name, "", place)


def estimates(found: Findings, metric: str, context: str) -> list[Estimate]:
    own = [e for e in found.estimates if e.metric == metric and e.group.get("context") == context]
    assert own, f"{metric}, {context}"
    return own


def values(found: Findings, metric: str, context: str) -> set[float | None]:
    return {e.value for e in estimates(found, metric, context)}


def test_always_agreeing_with_the_stereotype_scores_1_and_contradicting_it_minus_1(asked: Asked) -> None:
    for choose, score in ((biased, 1.0), (counter, -1.0)):
        found = asked.of(StandIn(choose))
        for context in ("ambig", "disambig"):
            assert values(found, "bias_score", context) == ({None} if asked.without else {score}), choose.__name__
        if not asked.without:
            assert values(found, "accuracy_cost", "disambig") <= {-score, None}


def test_always_being_right_has_accuracy_1_and_no_bias(asked: Asked) -> None:
    found = asked.of(StandIn(right))
    for context in ("ambig", "disambig"):
        assert values(found, "accuracy", context) == {1.0}
    if not asked.without:
        assert values(found, "bias_score", "ambig") == {0.0}
        assert values(found, "accuracy_cost", "disambig") <= {0.0, None}


def test_always_choosing_cannot_be_determined_is_right_without_the_fact_and_wrong_with_it(asked: Asked) -> None:
    found = asked.of(StandIn(unknown))
    assert (values(found, "accuracy", "ambig"), values(found, "accuracy", "disambig")) == ({1.0}, {0.0})
    assert values(found, "unknown_rate", "disambig") == {1.0}
    if not asked.without:
        assert (values(found, "bias_score", "ambig"), values(found, "bias_score", "disambig")) == ({0.0}, {None})


def test_what_a_set_cannot_support_is_null_with_the_reason(asked: Asked) -> None:
    found = asked.of(StandIn(biased))
    for metric, reason in load_edition(asked.name).without.items():
        own = [e for e in found.estimates if e.metric == metric]
        assert own
        assert {(e.value, e.low, e.p, e.note) for e in own} == {(None, None, None, reason)}


@pytest.mark.parametrize("name", EDITIONS)
def test_the_same_answers_give_the_same_scores_in_whatever_order_the_options_are_shown(
    name: str, tmp_path: Path
) -> None:
    small.WRITERS[name](tmp_path)
    asked = Asked(name, "", tmp_path)
    told = [asked.of(StandIn(biased), orders=orders) for orders in ("stored", "shuffled", "all")]
    for metric in BIASES:
        scores = [[e.value for e in found.estimates if e.metric == metric] for found in told]
        assert scores[0] == scores[1] == scores[2], metric


@pytest.mark.parametrize("name", ["kobbq", "ggbbq", "esbbq"])
def test_a_model_that_always_says_c_looks_perfect_only_where_the_options_are_not_shuffled(
    name: str, official_data: Path
) -> None:
    asked = Asked(name, load_edition(name).languages[0], official_data)
    stored, drawn = asked.of(StandIn(place=2), orders="stored"), asked.of(StandIn(place=2))
    assert values(stored, "accuracy", "ambig") == {1.0}
    whole = estimates(drawn, "accuracy", "ambig")
    right_by_chance = sum((e.value or 0.0) * e.n for e in whole) / sum(e.n for e in whole)
    assert right_by_chance == pytest.approx(1 / 3, abs=0.06)
    assert drawn.diagnosis is not None
    assert drawn.diagnosis.follows_place
    assert "C got 100% of" in drawn.diagnosis.why


def test_answers_by_content_do_not_follow_a_place(asked: Asked) -> None:
    for choose in (biased, right, unknown):
        diagnosis = asked.of(StandIn(choose)).diagnosis
        assert diagnosis is not None
        assert not diagnosis.follows_place, choose.__name__
