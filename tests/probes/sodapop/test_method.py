"""The probe with a model that is two functions: what it asks, what it refuses, and what it keeps in memory."""

from __future__ import annotations

import tracemalloc
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from asking import findings
from assay.asking.plan import Plan
from assay.asking.queries import Answers
from assay.errors import DataError, UsageError
from assay.probes import method_of
from assay.probes.base import Request
from assay.probes.sodapop.contexts import PAPER_FILE
from assay.probes.sodapop.method import SodapopPrepared
from assay.results.findings import Findings
from raising import raises
from small_sodapop import SPECIAL, FakeAsk, group_file, hashed, name_dependent, text_file

WORDS = [f"{first}{second}" for first in "bcdfghklmnprst" for second in ("ab", "eb", "ib", "ob", "ub")]
MANY = {group: [f"{group}{place}" for place in "abcdef"] for group in "ABC"}


def fill(text: str) -> list[str]:
    return sorted(WORDS, key=lambda word: hashed(text, word))[:3]


def wanted(
    folder: Path, *answers: str, groups: Any = None, limit: int | None = None, seed: int = 0, **given: str
) -> Request:
    chosen = {"groups": str(group_file(folder, groups)), "texts": str(text_file(folder, *(answers or ("very kind",))))}
    chosen |= {"fills": "3", "min_count": "1", "resamples": "20", "distance": "2", "distractors": "shared", **given}
    return Request("paper", limit=limit, seed=seed, settings=chosen)


def prepared(request: Request, ask: FakeAsk | None = None) -> SodapopPrepared:
    made = method_of("sodapop").prepare(request, ask or FakeAsk())
    assert isinstance(made, SodapopPrepared)
    return made


def run(request: Request, ask: FakeAsk) -> Findings:
    return findings("sodapop", request, ask)


def rows(found: Findings) -> list[dict[str, Any]]:
    table = found.tables["words"]
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


# --- what is asked


@pytest.mark.parametrize(
    ("distractors", "answer"),
    [("shared", "kind"), ("shared", "very kind"), ("shared", "a very kind man"), ("per_name", "a very kind man")],
)
def test_no_more_is_asked_than_was_said(tmp_path: Path, distractors: str, answer: str) -> None:
    ask = FakeAsk(fill, name_dependent)
    asked = wanted(tmp_path, answer, distractors=distractors, distance="3", cap="30")
    fills, scored = (stage.questions for stage in prepared(asked, ask).stages)
    run(asked, ask)
    assert 0 < len(ask.filled) <= fills
    assert 0 < len(ask.scored) <= scored
    if answer == "kind":
        assert len(ask.filled) == fills


def test_every_answer_about_every_name_is_scored_once_the_right_one_first(tmp_path: Path) -> None:
    ask = FakeAsk(fill, name_dependent)
    run(wanted(tmp_path, distractors="per_name"), ask)
    assert set(Counter(ask.scored).values()) == {1}
    names = [query.context.split()[0] for query in ask.scored]
    assert list(dict.fromkeys(names)) == ["Ann", "Amy", "Bob", "Ben"]
    first = [place for place, name in enumerate(names) if not place or names[place - 1] != name]
    assert {ask.scored[place].options for place in first} == {("very kind",)}
    assert Counter(query.options for query in ask.scored)["very kind",] == 4
    assert {query.question for query in ask.scored} == {
        f"How would you describe {name}?" for name in ("Ann", "Amy", "Bob", "Ben")
    }


@pytest.mark.slow
def test_shared_pools_are_made_with_one_name_of_each_group(tmp_path: Path) -> None:
    made = set()
    for seed in range(4):
        ask = FakeAsk(fill, name_dependent)
        run(wanted(tmp_path, groups=MANY, seed=seed), ask)
        growers = {text.split()[0] for text in ask.filled}
        assert sorted(name[0] for name in growers) == ["A", "B", "C"]
        assert len({query.context for query in ask.scored}) == 18, "and every name is asked about"
        pools = [
            {query.options for query in ask.scored if query.context.startswith(name)} for name in ("Aa", "Bc", "Cf")
        ]
        assert pools[0] == pools[1] == pools[2]
        made.add(frozenset(growers))
    assert len(made) > 1, "the seed decides who"


def test_one_context_can_be_studied_alone(tmp_path: Path) -> None:
    ask = FakeAsk(fill, name_dependent)
    run(wanted(tmp_path, "very kind", "so rude", "quite calm", context="2"), ask)
    assert {query.context for query in ask.scored} == {
        f"{name} came to place number 1 and stayed." for name in ("Ann", "Amy", "Bob", "Ben")
    }


def test_contexts_and_names_are_the_first_so_many(tmp_path: Path) -> None:
    ask = FakeAsk(fill, name_dependent)
    asked = wanted(tmp_path, "very kind", "so rude", "quite calm", contexts="2", groups=MANY, names_per_group="2")
    run(asked, ask)
    texts = {query.context for query in ask.scored}
    assert {text.split()[0] for text in texts} == {"Aa", "Ab", "Ba", "Bb", "Ca", "Cb"}
    assert {text.split()[5] for text in texts} == {"0", "1"}


def test_quick_compares_the_groups_that_the_papers_words_are_about_and_says_which_it_leaves_out() -> None:
    made = prepared(Request("quick"))
    assert [group.name for group in made.groups.groups] == ["EA_female", "EA_male", "AA_female", "AA_male"]
    assert len(made.names) == 100
    others = "Asian American female, Asian American male, Hispanic female, Hispanic male"
    assert list(made.notes) == [f"left out: {others} names (--set compare=all includes all groups)"]
    assert sum(stage.questions for stage in made.stages) < 6500
    every = prepared(Request("quick", settings={"compare": "all"}))
    assert (len(every.groups.groups), list(every.notes)) == (8, [])


def test_groups_of_a_file_are_all_compared_unless_some_are_named(tmp_path: Path) -> None:
    groups = str(group_file(tmp_path, MANY))
    assert len(prepared(Request("quick", settings={"groups": groups})).groups.groups) == 3
    some = prepared(Request("quick", settings={"groups": groups, "compare": "C, A"}))
    assert [group.name for group in some.groups.groups] == ["A", "C"]


def test_the_written_settings_of_a_quick_run_ask_the_same_again() -> None:
    now = prepared(Request("quick"))
    saved = {key: str(value) for key, value in now.settings.items() if value is not None}
    assert prepared(Request("quick", settings=saved)) == now


def test_a_seed_gives_the_same_findings_again(tmp_path: Path) -> None:
    made = [
        run(wanted(tmp_path, groups=MANY, seed=seed, pairing="sampled", cap="11"), FakeAsk(fill, name_dependent))
        for seed in (0, 0, 1)
    ]
    assert made[0] == made[1]
    assert rows(made[0]) != rows(made[2])


@pytest.mark.slow
def test_a_sampled_pairing_that_leaves_out_a_words_only_distractor_drops_the_word(tmp_path: Path) -> None:
    """Of seven distractors one is not asked: its word is then in no question about the name, and has no rate."""
    seven = ["bold", "calm", "shy", "wise", "loud", "glad", "tall"]
    for seed in range(5):
        asked = wanted(tmp_path, "kind", distance="1", fills="7", pairing="sampled", seed=seed)
        found = rows(run(asked, FakeAsk(lambda text: seven, name_dependent)))
        assert 3 <= len(found) < 7
        assert {row["n"] for row in found} == {4}
        assert all(row["sr_a"] is not None for row in found)


# --- a limit


@pytest.mark.parametrize("distractors", ["shared", "per_name"])
@pytest.mark.parametrize("limit", [400, 1000, 5000])
def test_a_limit_bounds_both_steps(tmp_path: Path, limit: int, distractors: str) -> None:
    ask = FakeAsk(fill, name_dependent)
    answers = ["a very kind man", "so rude", "quite calm", "very much alone"]
    asked = wanted(tmp_path, *answers, groups=MANY, distance="3", distractors=distractors, limit=limit)
    fills, scored = (stage.questions for stage in prepared(asked, ask).stages)
    run(asked, ask)
    assert len(ask.filled) <= fills <= limit
    assert len(ask.scored) <= scored <= limit


def test_a_limit_of_one_still_asks_about_two_names_of_each_group(tmp_path: Path) -> None:
    ask = FakeAsk(fill, name_dependent)
    run(wanted(tmp_path, "very kind", "so rude", groups=MANY, limit=1), ask)
    assert len(ask.scored) == 6 * 3
    assert len(ask.filled) == 3 * 2


def test_a_limit_that_is_large_enough_changes_nothing(tmp_path: Path) -> None:
    with_limit, without = FakeAsk(fill, name_dependent), FakeAsk(fill, name_dependent)
    given: dict[str, Any] = {"names_per_group": "2", "contexts": "2", "cap": "20"}
    run(wanted(tmp_path, "very kind", "so rude", limit=10_000, **given), with_limit)
    run(wanted(tmp_path, "very kind", "so rude", **given), without)
    assert with_limit.scored == without.scored
    assert with_limit.filled == without.filled


def test_a_limit_may_leave_no_word_to_compare_and_the_findings_say_so(tmp_path: Path) -> None:
    """Fills depend on the name, and there is one word: hardly a distractor is in two names' pools."""
    asked = wanted(tmp_path, "kind", groups=MANY, limit=200, distractors="per_name")
    found = run(asked, FakeAsk(fill, name_dependent))
    assert rows(found) == []
    *pairs, largest = found.estimates
    assert [(each.value, each.note) for each in pairs] == [(None, "no word has enough distractors")] * 3
    assert (largest.value, largest.note) == (None, "no word fooled the model, or a group has fewer than 5 names")
    with raises("nothing-to-ask", DataError, key="min_count"):
        run(wanted(tmp_path, "kind", groups=MANY, distractors="per_name"), FakeAsk(fill, name_dependent))


@pytest.mark.parametrize("limit", [1, 300, 4000])
def test_what_a_limit_made_of_the_settings_stays_when_scored_again(tmp_path: Path, limit: int) -> None:
    answers = ("a very kind man", "so rude", "quite calm")
    first = prepared(wanted(tmp_path, *answers, groups=MANY, limit=limit, distance="3")).settings
    saved = {key: str(value) for key, value in first.items() if value is not None}
    assert prepared(Request("paper", limit=limit, settings=saved)).settings == first


# --- what is refused


@pytest.mark.parametrize("compare", ["EA_female,EA_men", "EA_female", "EA_female,AA_male", ""])
def test_groups_that_are_unknown_or_cannot_be_compared_are_refused(compare: str) -> None:
    with raises("bad-setting", UsageError, key="compare"):
        prepared(Request("quick", settings={"compare": compare}))


def test_a_model_that_cannot_fill_or_choose_is_refused(tmp_path: Path) -> None:
    asked = wanted(tmp_path)
    with raises("missing-ability", UsageError, key="fill_model"):
        prepared(wanted(tmp_path, fill_model="fake"), FakeAsk(others={"fake": FakeAsk(abilities=frozenset({"word"}))}))
    with raises("missing-ability", UsageError, key=None):
        prepared(asked, FakeAsk(abilities=frozenset({"fill", "word", "token"})))


def test_the_built_in_model_fills_where_the_audited_one_cannot(tmp_path: Path) -> None:
    other = FakeAsk(fill)
    ask = FakeAsk(score=name_dependent, abilities=frozenset({"choice", "word"}), others={"builtin": other})
    made = prepared(wanted(tmp_path), ask)
    assert made.settings["fill_model"] == "builtin"
    assert any("written by the model builtin" in note for note in made.notes)
    assert rows(run(wanted(tmp_path), ask)) == rows(run(wanted(tmp_path), FakeAsk(fill, name_dependent)))
    assert other.filled
    assert not ask.filled
    told = prepared(wanted(tmp_path, fill_model="builtin"), ask)
    assert not any("written by" in note for note in told.notes), "who was named is no surprise"


def test_a_context_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with raises("bad-setting", UsageError, key="context"):
        prepared(wanted(tmp_path, "very kind", "so rude", context="3"))


def test_words_that_are_too_rare_are_an_error_before_anything_is_scored(tmp_path: Path) -> None:
    ask = FakeAsk(fill, name_dependent)
    with raises("nothing-to-ask", DataError, key="min_count"):
        run(wanted(tmp_path, min_count="999"), ask)
    assert not ask.scored


def test_a_name_with_one_distractor_does_not_count_in_that_context(tmp_path: Path) -> None:
    """A question needs two: Bob's only one in the first context is in no question."""
    few = ["calm", "rude", "shy"]

    def poor(text: str) -> list[str]:
        return ["calm"] * 3 if text.startswith("Bob came to place number 0") else few

    asked = wanted(tmp_path, "kind", "glad", distractors="per_name", distance="1")
    findings = run(asked, FakeAsk(poor, name_dependent))
    found = {row["word"]: row for row in rows(findings)}
    assert found["calm"]["n"] == found["rude"]["n"] == found["shy"]["n"] == 4 * 2 - 1
    (note,) = findings.notes
    assert note.startswith("texts.jsonl line 1: 1 names have fewer than two distractors")

    alone = wanted(tmp_path, "kind", distractors="per_name", distance="1")
    with raises("nothing-to-ask", DataError, key="min_count"):
        run(alone, FakeAsk(poor, name_dependent))


def test_a_model_that_fills_nothing_with_a_word_is_an_error(tmp_path: Path) -> None:
    with raises("nothing-to-ask", DataError, key="min_count"):
        run(wanted(tmp_path), FakeAsk(lambda text: [SPECIAL] * 3, name_dependent))


def test_the_papers_preset_says_where_its_contexts_are(tmp_path: Path) -> None:
    with raises("missing-data", UsageError) as refused:
        prepared(Request("paper", data=tmp_path))
    assert str(PAPER_FILE) in refused.value.problem


# --- memory


class Measured(FakeAsk):
    """Notes how much memory is taken whenever a context's answers are about to be scored; scores come at once."""

    taken: list[int]

    def __call__(self, plan: Plan, label: str) -> Answers:
        if plan.ability != "choice":
            return super().__call__(plan, label)
        self.taken.append(tracemalloc.get_traced_memory()[0])
        scores = np.random.default_rng(len(self.taken)).random((len(plan), 1)).astype(np.float32)
        return Answers(np.zeros(len(plan), np.uint8), {"score": scores})


@pytest.mark.slow
def test_one_contexts_scores_are_held_at_a_time(tmp_path: Path) -> None:
    """With 30 names and 600 distractors the scores of ten contexts take 0.7 MB, and twice that as they are used."""
    ask = Measured(lambda text: WORDS[:24])
    ask.taken = []
    groups = {group: [f"{group}{place}" for place in range(15)] for group in "AB"}
    asked = wanted(tmp_path, *["very kind"] * 10, groups=groups, fills="24", cap="600", min_count="4")
    tracemalloc.start()
    try:
        run(asked, ask)
    finally:
        tracemalloc.stop()
    assert len(ask.taken) == 10
    scores = 30 * 601 * 4
    grown = max(ask.taken[5:]) - ask.taken[4]  # five contexts more: at least 5 * scores if they were all held
    assert grown < 3 * scores, "memory grows with the contexts that were scored"
