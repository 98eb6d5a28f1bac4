"""Pools: which fills stay in them, who has which, and that a cap is a fair, repeatable sample."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from assay.asking.queries import MASK
from assay.probes.sodapop.contexts import NAME
from assay.probes.sodapop.plans import FillPlan, ScorePlan, answers_of
from assay.probes.sodapop.pools import DistractorPools, grow, shared_pool
from assay.probes.sodapop.settings import SodapopSettings
from fake_models import MemoryArrays
from small_sodapop import PIECE, SPECIAL, FakeAsk, Fill, Token, context, hashed

WORDS = [f"{first}{second}" for first in "bcdfghklmn" for second in ("a", "e", "i", "o", "u")]


def texts_of(pools: DistractorPools, name: int = 0) -> list[str]:
    return answers_of(pools.strings[pools.of(name)], pools.words, pools.glue)


def pool(
    fill: Fill, answer: str = "very kind", names: Sequence[str] = ("Ann",), seed: int = 0, **given: Any
) -> DistractorPools:
    return grow(
        FakeAsk(fill), context(answer), names, SodapopSettings(**{"distance": 1, "fills": 5, **given}), "one", seed
    )


# --- what stays

MIXED: list[str | Token] = [SPECIAL, "!", PIECE, "kind", "so-so"]
ALWAYS = {"so-so"}


@pytest.mark.parametrize(
    ("given", "more"),
    [
        ({}, set()),
        ({"punctuation": "keep"}, {"!"}),
        ({"pieces": "keep"}, {"ly"}),
        ({"right_answer": "keep"}, {"kind"}),
        ({"punctuation": "keep", "pieces": "keep", "right_answer": "keep"}, {"!", "ly", "kind"}),
    ],
)
def test_what_is_no_word_stays_only_when_asked(given: dict[str, Any], more: set[str]) -> None:
    found = pool(lambda text: MIXED, "kind", **given)
    assert set(texts_of(found)) == ALWAYS | more
    assert answers_of(found.strings[:1], found.words, found.glue) == ["kind"]


def test_a_piece_of_punctuation_needs_both_settings() -> None:
    fills: list[str | Token] = [Token("-y", whole=False), "b", "c", "d", "f"]
    alone: list[dict[str, Any]] = [{}, {"pieces": "keep"}, {"punctuation": "keep"}]
    for given in alone:
        assert "-y" not in texts_of(pool(lambda text: fills, "kind", **given))
    assert "-y" in texts_of(pool(lambda text: fills, "kind", pieces="keep", punctuation="keep"))


def test_the_right_answer_is_in_the_pool_only_if_a_fill_brought_it_back() -> None:
    assert "kind" not in texts_of(pool(lambda text: ["b", "c", "d", "f", "g"], "kind", right_answer="keep"))


def test_dropped_fills_are_not_gone_on_from() -> None:
    ask = FakeAsk(lambda text: MIXED)
    grow(ask, context("very kind"), ["Ann"], SodapopSettings(distance=2, fills=5), "one", 0)
    assert not [text for text in ask.filled if "!" in text or "ly" in text]


def test_a_model_that_gives_no_word_leaves_an_empty_pool() -> None:
    ask = FakeAsk(lambda text: [SPECIAL] * 5)
    assert texts_of(grow(ask, context(), ["Ann"], SodapopSettings(distance=3, fills=5), "one", 0)) == []
    assert len(ask.filled) == 2


# --- glue


def test_what_stands_between_words_stays_and_the_name_is_put_in() -> None:
    answer = f"a friend of {NAME}'s (really), {NAME}!"
    ask = FakeAsk(lambda text: ["foe"])
    found = grow(ask, context(answer), ["Ann", "Bob"], SodapopSettings(distance=1, fills=1), "one", 0)
    assert set(ask.filled) == {
        f"{name} came home. {name} is {text}"
        for name in ("Ann", "Bob")
        for text in (
            f"? friend of {name}'s (really), {name}!",
            f"a ? of {name}'s (really), {name}!",
            f"a friend ? {name}'s (really), {name}!",
            f"a friend of {name}'s (?), {name}!",
        )
    }
    assert set(texts_of(found)) == {
        f"foe friend of {NAME}'s (really), {NAME}!",
        f"a foe of {NAME}'s (really), {NAME}!",
        f"a friend foe {NAME}'s (really), {NAME}!",
        f"a friend of {NAME}'s (foe), {NAME}!",
    }


# --- whose pool


def by_name(text: str) -> list[str | Token]:
    """Fills that depend on the whole text, the name in it included."""
    return [*sorted(WORDS, key=lambda word: hashed(text, word))[:5]]


def test_every_name_has_its_own_pool_and_no_text_is_asked_twice() -> None:
    ask = FakeAsk(by_name)
    names = ["Ann", "Bob", "Cy"]
    together = grow(ask, context(), names, SodapopSettings(distance=2, fills=5), "one", 0)
    for place, name in enumerate(names):
        alone = pool(by_name, names=[name], distance=2)
        assert texts_of(together, place) == texts_of(alone)
        assert len(texts_of(alone)) > 20
    assert set(Counter(ask.filled).values()) == {1}
    assert texts_of(together, 0) != texts_of(together, 1)


def test_strings_are_sorted_by_text_but_for_the_right_answer() -> None:
    found = pool(by_name, distance=2, names=["Ann", "Bob"])
    texts = answers_of(found.strings, found.words, found.glue)
    assert texts[0] == "very kind"
    assert [text.split() for text in texts[1:]] == sorted(text.split() for text in texts[1:])
    assert len(set(texts)) == len(texts)
    assert set(found.members.tolist()) == set(range(1, len(texts))), "no string that is in no pool"


# --- the cap


def capped(
    names: Sequence[str] = ("Ann", "Bob", "Cy"), seed: int = 0, answer: str = "very kind"
) -> dict[str, list[str]]:
    found = pool(by_name, answer, names, seed, distance=2, cap=8)
    return {name: texts_of(found, place) for place, name in enumerate(names)}


def test_a_cap_is_a_sample_that_the_seed_decides() -> None:
    first = capped()
    whole = {name: texts_of(pool(by_name, names=[name], distance=2)) for name in first}
    for name, texts in first.items():
        assert len(set(texts)) == len(texts) == 8
        assert set(texts) < set(whole[name])
    assert capped() == first
    assert capped(seed=1) != first


def test_a_sample_depends_neither_on_the_order_of_names_nor_on_the_other_names() -> None:
    first = capped()
    assert capped(["Cy", "Ann", "Bob"]) == first
    assert capped(["Bob"])["Bob"] == first["Bob"]


def test_names_and_contexts_have_samples_of_their_own() -> None:
    def same(text: str) -> list[str | Token]:
        return [*WORDS[:5]]

    found = pool(same, names=["Ann", "Bob"], distance=2, cap=8)
    assert texts_of(found, 0) != texts_of(found, 1)
    other = grow(
        FakeAsk(same), context(text=f"{NAME} left."), ["Ann"], SodapopSettings(distance=2, fills=5, cap=8), "one", 0
    )
    assert texts_of(other) != texts_of(found, 0)


def test_a_cap_takes_every_string_equally_often() -> None:
    seeds = 200
    counts = Counter(text for seed in range(seeds) for text in capped(["Ann"], seed)["Ann"])
    whole = texts_of(pool(by_name, distance=2))
    expected = seeds * 8 / len(whole)
    assert set(counts) == set(whole)
    assert max(abs(count - expected) for count in counts.values()) < 5 * np.sqrt(expected)


def test_a_pool_below_the_cap_is_whole() -> None:
    assert len(texts_of(pool(by_name, cap=10))) == 10
    assert len(texts_of(pool(by_name, cap=9))) == 9


# --- shared pools


def test_a_shared_pool_is_what_all_hold_together_for_everybody() -> None:
    own = pool(by_name, names=["Ann", "Bob"], distance=2)
    shared = shared_pool(own, 5, SodapopSettings(), 0)
    together = set(texts_of(own, 0)) | set(texts_of(own, 1))
    assert all(set(texts_of(shared, name)) == together for name in range(5))
    assert all(len(shared.of(name)) == len(together) for name in range(5))
    few = [texts_of(shared_pool(own, 3, SodapopSettings(cap=9), seed), name) for seed in (0, 0, 1) for name in (0, 2)]
    assert few[0] == few[1] == few[2]
    assert few[0] != few[4]
    assert len(few[0]) == 9


# --- plans


ARRAYS = MemoryArrays()


def fill_plan(rows: list[list[int]], owners: list[int], **changed: Any) -> FillPlan:
    arrays = ARRAYS.keep({"strings": np.array(rows, np.int32), "name": np.array(owners, np.int32)})
    texts = (("Ann came.", "Ann is"), ("Bob came.", "Bob is"))
    given = {"names": ("Ann", "Bob"), "texts": texts, "words": ("very", "kind"), "glue": ("", " ", "."), "top": 3}
    return FillPlan(**{**given, "arrays": arrays, "rows": len(rows), **changed})


def texts_asked(plan: FillPlan, lo: int, hi: int) -> list[str]:
    columns = plan.columns_from(ARRAYS.load(plan.arrays), lo, hi)
    return [columns.row(row).text for row in range(hi - lo)]


def test_any_part_of_a_plan_is_the_same_part_of_the_whole() -> None:
    plan = fill_plan([[-1, 1], [0, -1], [0, -1]], [0, 0, 1])
    whole = texts_asked(plan, 0, 3)
    assert whole == [
        f"Ann came. Ann is {MASK} kind.",
        f"Ann came. Ann is very {MASK}.",
        f"Bob came. Bob is very {MASK}.",
    ]
    assert [texts_asked(plan, row, row + 1) for row in range(3)] == [[text] for text in whole]
    assert plan.columns_from(ARRAYS.load(plan.arrays), 1, 3).top == 3


def test_whatever_changes_a_question_changes_the_plans_digest() -> None:
    rows, owners = [[-1, 1], [0, -1]], [0, 1]
    plans = [
        fill_plan(rows, owners),
        fill_plan(rows[::-1], owners),
        fill_plan(rows, owners[::-1]),
        fill_plan(rows, owners, names=("Ann", "Ben")),
        fill_plan(rows, owners, texts=(("Ann left.", "Ann is"), ("Bob came.", "Bob is"))),
        fill_plan(rows, owners, words=("very", "rude")),
        fill_plan(rows, owners, glue=("", " ", "!")),
        fill_plan(rows, owners, top=4),
    ]
    assert len({plan.digest for plan in plans}) == len(plans)
    assert fill_plan(rows, owners).digest == plans[0].digest


@pytest.mark.parametrize("glue", [("", " ", ""), ("", " ", f" to {NAME}")])
def test_every_answer_about_every_name_is_scored_with_its_own_name(glue: tuple[str, ...]) -> None:
    strings = np.array([[0, 1], [0, 2], [3, 1]], np.int32)
    row = np.array([[0, 0], [0, 2], [1, 0], [1, 1], [1, 2]], np.int32)
    arrays = ARRAYS.keep({"strings": strings, "row": row})
    texts = (("Ann came.", "Who is Ann?"), ("Bob came.", "Who is Bob?"))
    plan = ScorePlan(("Ann", "Bob"), texts, ("so", "good", "bad", "not"), glue, arrays, len(row))
    behind = glue[2].replace
    said = ["so good", "so bad", "not good"]
    expected = [(*texts[name], (said[string] + behind(NAME, ("Ann", "Bob")[name]),)) for name, string in row.tolist()]
    for lo, hi in ((0, 5), (1, 4), (4, 5)):
        columns = plan.columns_from(ARRAYS.load(arrays), lo, hi)
        found = [columns.row(place) for place in range(hi - lo)]
        assert [(query.context, query.question, query.options) for query in found] == expected[lo:hi]


def test_plans_are_small_whatever_they_ask() -> None:
    plan = fill_plan([[-1, 1]] * 5000, [0] * 5000)
    assert len(pickle.dumps(plan)) < 1000
    assert len(ARRAYS.load(plan.arrays)["name"]) == 5000
