"""Algorithm 1 of the paper, with a filling model that is a table: the sets worked out by hand, and by recursion."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.probes.sodapop.plans import answers_of
from assay.probes.sodapop.pools import DistractorPools, grow
from assay.probes.sodapop.settings import SodapopSettings
from small_sodapop import BLANK, FakeAsk, context, hashed

# The answer is "very kind", and M = 2. Everything that a masked language model is asked, and what it says:
TABLE = {
    "? kind": ("so", "too"),
    "very ?": ("rude", "glad"),
    "so ?": ("rude", "calm"),
    "too ?": ("shy", "kind"),
    "? rude": ("so", "quite"),
    "? glad": ("quite", "very"),
    "? calm": ("most", "so"),
    "? shy": ("ever", "too"),
    "quite ?": ("good", "glad"),
}
ONE = {"so kind", "too kind", "very rude", "very glad"}
TWO = ONE | {"so rude", "so calm", "too shy", "quite rude", "quite glad"}
THREE = TWO | {"most calm", "ever shy", "quite good"}
ASKED_IN_TURN = [
    {"? kind", "very ?"},
    {"so ?", "too ?", "? rude", "? glad"},
    {"? calm", "? shy", "quite ?"},
]


def texts_of(pools: DistractorPools, name: int = 0) -> list[str]:
    return answers_of(pools.strings[pools.of(name)], pools.words, pools.glue)


def masked(text: str, name: str = "Ann") -> str:
    """The masked answer in a text that was filled; everything around it must be as the paper has it."""
    before = f"{name} came home. {name} is "
    assert text.startswith(before)
    return text.removeprefix(before)


@pytest.mark.parametrize(("distance", "expected"), [(1, ONE), (2, TWO), (3, THREE)])
def test_the_sets_are_those_worked_out_by_hand(distance: int, expected: set[str]) -> None:
    ask = FakeAsk(lambda text: TABLE[masked(text)])
    pools = grow(ask, context(), ["Ann"], SodapopSettings(distance=distance, fills=2), "one", 0)
    assert set(texts_of(pools)) == expected
    assert len(texts_of(pools)) == len(expected)
    assert Counter(map(masked, ask.filled)) == Counter(set[str]().union(*ASKED_IN_TURN[:distance]))


def test_the_sets_of_three_words_have_all_that_changes_at_most_k_of_them() -> None:
    """Where fills depend on the place alone: 6, 6 + 12 and 6 + 12 + 8 strings."""
    places = {"? old man": ("big", "sad"), "an ? man": ("odd", "ill"), "an old ?": ("cat", "dog")}

    def fill(text: str) -> Sequence[str]:
        words = masked(text).split()
        return next(fills for form, fills in places.items() if form.split().index(BLANK) == words.index(BLANK))

    for distance, size in ((1, 6), (2, 18), (3, 26)):
        pools = grow(
            FakeAsk(fill), context("an old man"), ["Ann"], SodapopSettings(distance=distance, fills=2, cap=99), "one", 0
        )
        found = texts_of(pools)
        assert len(set(found)) == len(found) == size
        changed = [sum(map(str.__ne__, text.split(), ["an", "old", "man"])) for text in found]
        assert max(changed) == distance


# --- any table

String = tuple[str, ...]


def gen(x: String, k: int, fill: Callable[[String], Sequence[str]]) -> set[String]:
    """GEN(x0, k) as Algorithm 1 has it, line by line."""
    if k >= 2:
        return {far for near in gen(x, 1, fill) for far in gen(near, k - 1, fill)}
    distract: set[String] = set()
    for i in range(len(x)):
        distract |= {(*x[:i], t, *x[i + 1 :]) for t in fill((*x[:i], BLANK, *x[i + 1 :]))}
    return distract


@settings(max_examples=150, deadline=None)
@given(
    table=st.integers(0, 10**6),
    answer=st.lists(st.sampled_from(["b", "c", "d"]), min_size=1, max_size=3),
    distance=st.integers(1, 3),
    fills=st.integers(1, 3),
    keep=st.booleans(),
)
def test_any_table_gives_what_the_recursion_gives(
    table: int, answer: list[str], distance: int, fills: int, keep: bool
) -> None:
    """Fills depend on the name, on all other words and on the place; now and then they bring a word back."""
    words = ["b", "c", "d", "f", "g", "h"]

    def fill(name: str, form: String) -> list[str]:
        return sorted(words, key=lambda word: hashed(table, name, form, word))[:fills]

    names = ["Ann", "Bob"]
    ask = FakeAsk(lambda text: fill(text.split()[0], tuple(masked(text, text.split()[0]).split())))
    chosen = SodapopSettings(distance=distance, fills=fills, right_answer="keep" if keep else "drop")
    pools = grow(ask, context(" ".join(answer)), names, chosen, "one", 0)
    for number, name in enumerate(names):
        expected = gen(tuple(answer), distance, partial(fill, name))
        found = texts_of(pools, number)
        assert {tuple(text.split()) for text in found} == (expected if keep else expected - {tuple(answer)})
        assert len(set(found)) == len(found)
    assert max(Counter(ask.filled).values()) == 1, "a masked text was asked twice"
