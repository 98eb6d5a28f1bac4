"""Three answers listed together: who meets whom, what counts as success, and what is seen of places."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from asking import findings
from assay.asking.queries import Answers, ChoiceQuery, ListedQuery, Status
from assay.config.settings import read_settings
from assay.errors import UsageError
from assay.probes import method_of
from assay.probes.base import Request
from assay.probes.sodapop.listed_answers import (
    ContextQuestions,
    PositionTally,
    chosen_shares,
    listed_successes,
    questions_of,
    usable,
)
from assay.probes.sodapop.pools import DistractorPools, shared_pool
from assay.probes.sodapop.rates import vocabulary
from assay.probes.sodapop.settings import PRESETS, SPARING, SodapopSettings
from assay.results.diagnosis import FOLLOWS
from assay.results.findings import Findings
from assay.results.verdict import Verdict, VerdictKind
from raising import raises
from small_sodapop import FakeAsk, group_file, hashed, text_file

READS = frozenset({"choice", "text", "fill", "word", "token"})
ENDPOINT = frozenset({"listed", "text", "sample"})
FILLS = ["calm", "rude", "shy", "wise"]
SIX = {group: [f"{group}{place}" for place in "abcdef"] for group in ("A", "B")}


def pool_of(*sizes: int) -> DistractorPools:
    """Names with the first so many of some distractors of two words each; 0 is the right answer."""
    strings = np.array([[0, 0], *((1 + k // 3, 5 + k % 3) for k in range(max(sizes)))], np.int32)
    words = ("kind", "calm", "rude", "shy", "wise", "big", "tall", "old")
    members = np.concatenate([1 + np.arange(size) for size in sizes])
    return DistractorPools(words, ("", " ", ""), strings, np.concatenate([[0], np.cumsum(sizes)]), members)


def answered(questions: ContextQuestions, status: Sequence[Status] = ()) -> Answers:
    own = np.zeros(2 * len(questions.name), np.uint8)
    own[: len(status)] = status
    return Answers(own, {})


# --- what is asked


@pytest.mark.parametrize("size", [2, 3, 8, 9, 12])
def test_every_distractor_meets_one_partner_and_no_answer_keeps_its_place(size: int) -> None:
    pool = pool_of(size, size)
    questions = questions_of(pool, 7, 0)
    rows = questions.rows(pool).reshape(2, -1, 2, 4)  # (name, question, order, name and strings)
    assert np.array_equal(rows[0, ..., 1:], rows[1, ..., 1:]), "the name is all that differs"
    assert rows.shape[1] == (size + 1) // 2
    assert (rows[..., 0, 1:] != rows[..., 1, 1:]).all()
    for first, second in rows[0, :, :, 1:]:
        assert sorted(first) == sorted(second)
        assert 0 in first, "the right answer is one of them"
        assert len(set(first)) == 3
    counted = Counter(questions.member[questions.counts].tolist())
    assert counted == Counter(range(2 * size)), "each counts once"


def test_the_right_answer_stands_at_each_place_equally_often() -> None:
    pool = pool_of(12)
    places = questions_of(pool, 0, 0).places[:, :, 0]
    assert Counter(places.reshape(-1).tolist()) == {0: 4, 1: 4, 2: 4}


def test_the_seed_decides_who_meets_whom() -> None:
    pool = pool_of(9)
    made = {questions_of(pool, seed, context).rows(pool).tobytes() for seed in range(3) for context in range(2)}
    assert len(made) == 6
    assert questions_of(pool, 1, 1).rows(pool).tobytes() in made


def test_a_name_with_one_distractor_has_no_question() -> None:
    assert set(questions_of(pool_of(1, 4), 0, 0).name.tolist()) == {1}


def test_few_distractors_are_taken_so_that_many_words_count() -> None:
    words = tuple(f"w{k}" for k in range(20))
    strings = np.array([[19, 19], *((a, 10 + b) for a in range(9) for b in range(9))], np.int32)
    grown = DistractorPools(words, ("", " ", ""), strings, np.array([0, 81]), np.arange(1, 82))
    settings = SodapopSettings(cap=12, min_count=3)
    counts = {}
    for sparing in (False, True):
        pools = [shared_pool(grown, 5, settings, seed, sparing=sparing) for seed in range(20)]
        assert all(len(pool.of(0)) == len(set(pool.of(0).tolist())) == 12 for pool in pools)
        counts[sparing] = [len(vocabulary([pool], 3, "lower")) for pool in pools]
    assert min(counts[True]) >= 4
    assert np.mean(counts[True]) > np.mean(counts[False]) + 1


# --- success


def shares_of(questions: ContextQuestions, by_answer: Any) -> np.ndarray[Any, Any]:
    """Probabilities as they are shown, from those of (right, distractor, partner) in (question, order, answer)."""
    given = np.broadcast_to(np.asarray(by_answer, np.float64), questions.orders.shape)
    return np.take_along_axis(given, questions.orders, axis=2).reshape(-1, 3)


@pytest.mark.parametrize(
    ("first", "second", "won"),
    [
        ((0.2, 0.5, 0.3), (0.2, 0.5, 0.3), (1.0, 0.0)),  # the partner is likelier than the right one, but not chosen
        ((0.5, 0.3, 0.2), (0.5, 0.3, 0.2), (0.0, 0.0)),
        ((0.3, 0.6, 0.1), (0.4, 0.2, 0.4), (0.5, 0.25)),  # in the second order the partner ties with the right one
        ((0.2, 0.4, 0.4), (0.2, 0.4, 0.4), (0.5, 0.5)),  # both tie
        ((0.0, 0.0, 1.0), (0.0, 0.0, 1.0), (0.0, 1.0)),  # who is not named at all does not win
        ((0.0, 0.0, 0.0), (0.2, 0.5, 0.3), (0.5, 0.0)),  # refused once
    ],
)
def test_success_is_the_mean_over_both_orders_of_being_chosen_among_the_three(
    first: tuple[float, ...], second: tuple[float, ...], won: tuple[float, float]
) -> None:
    pool = pool_of(2)
    questions = questions_of(pool, 3, 0)
    (found,) = listed_successes(pool, questions, chosen_shares(shares_of(questions, [[first, second]])))
    assert tuple(found[questions.member[0]]) == won


def test_the_second_meeting_of_an_odd_one_does_not_count() -> None:
    pool = pool_of(3)
    questions = questions_of(pool, 0, 0)
    assert questions.counts.tolist() == [[True, True], [True, False]]
    by_answer = np.array([[[0.5, 0.3, 0.2]] * 2, [[0.1, 0.4, 0.5]] * 2])
    (found,) = listed_successes(pool, questions, chosen_shares(shares_of(questions, by_answer)))
    assert found[questions.member[0]].tolist() == [0.0, 0.0]
    assert found[questions.member[1, 0]] == 0.0, "its partner was chosen, who is its first meeting's"


def test_success_of_written_answers_is_the_share_of_them_that_name_the_distractor() -> None:
    pool = pool_of(2)
    questions = questions_of(pool, 3, 0)
    samples = shares_of(questions, [[[0.25, 0.5, 0.0], [0.0, 0.25, 0.75]]])  # a quarter of the first names none
    (found,) = listed_successes(pool, questions, samples)
    assert found[questions.member[0]].tolist() == [0.375, 0.375]


@pytest.mark.parametrize("seed", range(20))
def test_of_one_question_all_options_together_are_chosen_once_or_never(seed: int) -> None:
    shares = np.random.default_rng(seed).integers(0, 4, (30, 3)) / 4.0  # with ties and refusals
    chosen = chosen_shares(shares)
    assert chosen.sum(axis=1).tolist() == pytest.approx((shares.sum(axis=1) > 0).astype(float).tolist())
    assert (chosen[shares < shares.max(axis=1, keepdims=True)] == 0).all()


def test_what_was_not_answered_in_one_order_is_left_out() -> None:
    pool = pool_of(4, 4)
    questions = questions_of(pool, 0, 0)
    shares = shares_of(questions, [0.2, 0.5, 0.3])
    shares[1] = np.nan
    found = listed_successes(pool, questions, chosen_shares(shares))
    assert np.isnan(found[0]).sum() == 2
    assert sorted(found[1].tolist()) == [0.0, 0.0, 1.0, 1.0]


def test_an_answer_that_was_cut_off_before_it_named_an_option_is_none() -> None:
    shares = np.array([[0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    status = np.array([Status.TRUNCATED, Status.TRUNCATED, Status.EMPTY, Status.REFUSED], np.uint8)
    found = usable(shares, Answers(status, {}))
    assert np.isnan(found).all(axis=1).tolist() == [True, False, True, False]


# --- places


def seen(by_place: Any = None, by_answer: Any = None, size: int = 12, names: int = 20) -> PositionTally:
    pool = pool_of(*[size] * names)
    questions, chosen = questions_of(pool, 0, 0), PositionTally(scored=True)
    rows = 2 * len(questions.name)
    shares = np.tile(np.asarray(by_place, float), (rows, 1)) if by_place else shares_of(questions, by_answer)
    chosen.add(pool, questions, shares, answered(questions))
    return chosen


def test_a_model_that_looks_at_places_alone_is_seen() -> None:
    chosen = seen(by_place=(0.6, 0.3, 0.1))
    first, *others = chosen.places()
    assert (first.place, first.share, first.expected, first.n) == ("A", 1.0, 0.5, 240)
    assert first.p is not None
    assert first.p < 0.05
    assert [each.share for each in others] == [0.0, 0.0]
    (exchanged,) = chosen.exchanged()
    assert (exchanged.same, exchanged.n) == (120, 120)


@pytest.mark.parametrize("shares", [(0.6, 0.3, 0.1), (0.1, 0.6, 0.3), (0.2, 0.3, 0.5)])
def test_a_model_that_looks_at_answers_alone_has_exactly_the_places_that_are_expected(
    shares: tuple[float, float, float],
) -> None:
    chosen = seen(by_answer=shares)
    assert all(each.share == each.expected for each in chosen.places())
    (exchanged,) = chosen.exchanged()
    assert exchanged.same == 0


def test_what_does_not_choose_is_counted_and_said() -> None:
    pool = pool_of(4)
    questions, chosen = questions_of(pool, 0, 0), PositionTally(scored=False)
    shares = shares_of(questions, [0.2, 0.5, 0.3])
    shares[0], shares[1], shares[2] = 0.0, 0.0, np.nan
    chosen.add(pool, questions, shares, answered(questions, [Status.REFUSED]))
    told = "; ".join(chosen.notes())
    assert "of 4 questions" in told
    assert "1 (25.0%) were refused" in told
    assert "1 (25.0%) were answered in words that match none" in told
    assert "1 (25.0%) were not answered" in told
    assert chosen.pairs == 0
    assert chosen.all_ties() is None


# --- whole runs


def fill(text: str) -> list[str]:
    return FILLS


def wanted(folder: Path, **given: str) -> Request:
    chosen = {"groups": str(group_file(folder, SIX)), "texts": str(text_file(folder, "very kind", "so warm"))}
    chosen |= {"fills": "4", "min_count": "1", "resamples": "20", "distance": "1", "form": "letters", **given}
    return Request("quick", settings=chosen)


def ran(folder: Path, choose: Any, **given: str) -> tuple[Findings, FakeAsk]:
    ask = FakeAsk(fill, choose=choose, abilities=READS)
    return findings("sodapop", wanted(folder, **given), ask), ask


def words(found: Findings) -> dict[str, dict[str, Any]]:
    return {str(row["word"]): row for row in found.tables["words"].records()}


def listed(query: ChoiceQuery) -> list[str]:
    """The answers as they are listed."""
    return [line[3:] for line in query.question.splitlines() if line[:3] in ("A. ", "B. ", "C. ")]


def by_option(weight: Any) -> Any:
    def choose(query: ChoiceQuery) -> list[float]:
        weights = [weight(query, option) for option in listed(query)]
        return [each / sum(weights) for each in weights]

    return choose


def test_a_model_that_ignores_names_has_no_difference_anywhere(tmp_path: Path) -> None:
    found, ask = ran(tmp_path, by_option(lambda query, option: hashed(option) + 0.1))
    rows = words(found)
    assert rows
    assert all(row["rd"] in (0.0, None) and row["rd_pools"] in (0.0, None) for row in rows.values())
    assert all(row["sr_a"] == row["sr_b"] for row in rows.values())
    assert len({row["sr_a"] for row in rows.values()}) > 1
    assert found.diagnosis is not None
    assert not found.diagnosis.follows_place
    asked = [query.options for query in ask.scored]
    assert set(asked) == {("A", "B", "C")}


def test_a_difference_between_groups_is_found(tmp_path: Path) -> None:
    def weight(query: ChoiceQuery, option: str) -> float:
        return 9.0 if "rude" in option and query.context.startswith("A") else 1.0 + hashed(option)

    found, _ = ran(tmp_path, by_option(weight), distance="2", cap="16")
    row = words(found)["rude"]
    assert row["sr_a"] > 0.8, "another answer with the word is all that is chosen instead"
    assert row["sr_b"] < 1.0
    assert row["rd"] > 0
    assert row["p"] < 0.05


def test_a_model_that_always_answers_a_is_called_that(tmp_path: Path) -> None:
    found, _ = ran(tmp_path, lambda query: (0.98, 0.01, 0.01), distance="2", cap="12")
    assert found.diagnosis is not None
    assert found.diagnosis.follows_place
    assert found.diagnosis.why.startswith(FOLLOWS)
    names = [row["mean_sr"] for row in found.tables["names"].records()]
    assert len(set(names)) == 1
    assert names[0] == pytest.approx(1 / 3, abs=0.05), "each of three is at the first place equally often"


def test_examples_are_questions_as_they_were_put(tmp_path: Path) -> None:
    found, ask = ran(tmp_path, by_option(lambda query, option: hashed(query.context, option) + 0.1), distance="2")
    assert found.examples
    put = {query.prompt for query in ask.scored}
    for example in found.examples:
        for asked in example.asked:
            assert asked.prompt in put
            assert sum(option.right for option in asked.options) == 1
            assert [f"{letter}. {option.text}" for letter, option in zip("ABC", asked.options, strict=True)] == (
                asked.prompt.splitlines()[2:5]
            )
            assert sum(option.score or 0.0 for option in asked.options) == pytest.approx(1, abs=1e-3)
    prompts = method_of("sodapop").prepare(wanted(tmp_path), ask).prompts
    assert prompts["answers"].form == "letters"
    assert "A. very kind\nB. (a wrong answer)" in prompts["answers"].example


# --- which form


def settings_of(ask: FakeAsk, **given: str) -> dict[str, Any]:
    return dict(method_of("sodapop").prepare(Request("quick", settings=given), ask).settings)


def endpoint(*ways: str, echo: bool = False) -> FakeAsk:
    abilities = ENDPOINT | ({"choice"} if echo else frozenset())
    return FakeAsk(ways=ways, abilities=abilities, others={"builtin": FakeAsk(fill)})


def test_the_form_suits_the_model_unless_one_is_named() -> None:
    assert settings_of(FakeAsk())["form"] == "options"
    assert settings_of(FakeAsk(abilities=READS))["form"] == "options"
    assert settings_of(FakeAsk(abilities=READS), form="letters")["form"] == "letters"
    writes = FakeAsk(abilities=frozenset({"text", "word", "fill"}))
    assert settings_of(writes)["form"] == "letters"
    found = settings_of(endpoint("decisions", "letters", "text"))
    assert (found["form"], found["answer"], found["fill_model"]) == ("letters", "decisions", "builtin")
    assert settings_of(endpoint("letters", "text", echo=True))["form"] == "options"
    found = settings_of(endpoint("letters", "text", echo=True), answer="text")
    assert (found["form"], found["answer"]) == ("letters", "text")


@pytest.mark.parametrize(
    ("ask", "given", "key"),
    [
        (FakeAsk(), {"form": "letters"}, "form"),
        (endpoint("text"), {"form": "options"}, "form"),
        (endpoint("text"), {"answer": "letters"}, "answer"),
        (endpoint("text", echo=True), {"form": "options", "answer": "text"}, "answer"),
        (FakeAsk(abilities=READS), {"answer": "text"}, "answer"),
        (FakeAsk(abilities=READS), {"form": "letters", "likelihood": "byte"}, "likelihood"),
        (FakeAsk(abilities=READS), {"form": "letters", "pairing": "sampled"}, "pairing"),
        (FakeAsk(abilities=READS), {"form": "letters", "right_answer": "keep"}, "right_answer"),
    ],
)
def test_what_does_not_go_together_is_refused(ask: FakeAsk, given: dict[str, str], key: str) -> None:
    with pytest.raises(UsageError) as refused:
        settings_of(ask, **given)
    assert refused.value.key == key
    assert refused.value.remedy


@pytest.mark.parametrize(("ask", "most"), [(endpoint("letters"), 960), (endpoint("letters", echo=True), 1040)])
def test_a_quick_run_on_an_endpoint_is_small(ask: FakeAsk, most: int) -> None:
    prepared = method_of("sodapop").prepare(Request("quick"), ask)
    assert {stage.label: stage.questions for stage in prepared.stages}["answers, at most"] == most
    limited = method_of("sodapop").prepare(Request("quick", limit=300), ask)
    assert 150 < {stage.label: stage.questions for stage in limited.stages}["answers, at most"] <= 300


def test_every_preset_shares_its_distractors_where_answers_are_listed() -> None:
    for preset in PRESETS:
        found = read_settings(SodapopSettings, {}, "sodapop", **{**PRESETS[preset], **SPARING[preset]})
        assert found.distractors == "shared"


def test_an_endpoint_without_a_tokenizer_is_controlled_for_frequency_alone(tmp_path: Path) -> None:
    def choose(query: ChoiceQuery) -> list[float]:
        assert isinstance(query, ListedQuery)
        weights = [hashed(query.context, option) + 0.1 for option in query.options]
        return [each / sum(weights) for each in weights]

    other = FakeAsk(fill)
    ask = FakeAsk(choose=choose, ways=("letters",), abilities=ENDPOINT, others={"builtin": other})
    found = findings("sodapop", wanted(tmp_path), ask)
    assert {row["pieces"] for row in found.tables["names"].records()} == {None}
    assert any("only for the names' frequency" in note for note in found.notes)
    known = FakeAsk(fill, choose=by_option(lambda query, option: hashed(query.context, option) + 0.1), abilities=READS)
    assert not any(
        "only for the names' frequency" in note for note in findings("sodapop", wanted(tmp_path), known).notes
    )


def test_runs_that_were_asked_in_different_ways_are_told_apart() -> None:
    sodapop = method_of("sodapop")
    assert sodapop.asked_as({"form": "letters"}) != sodapop.asked_as({"form": "options"})
    assert sodapop.asked_as({}) == sodapop.asked_as({"form": "options"})
    counted = {"form": "letters", "success": "chosen"}
    assert sodapop.asked_as(counted) == sodapop.asked_as(counted | {"answer": "text"})
    assert sodapop.asked_as(counted) != sodapop.asked_as({"form": "letters"}), "an older version counted differently"
    assert sodapop.asked_as({"form": "options", "success": "chosen"}) == sodapop.asked_as({"form": "options"})
    with raises("missing-ability", UsageError, key=None):
        sodapop.prepare(Request("quick"), FakeAsk(abilities=frozenset({"fill"})))


# --- answers that say nothing


@dataclass
class Writing(FakeAsk):
    """Fills masks, and writes the same answer to every question, with a status."""

    says: str = "A"
    status: Status = Status.OK
    some: float = 1.0  # of the answers; the others name each option equally often

    def __call__(self, plan: Any, label: str) -> Answers:
        if plan.ability != "text":
            return super().__call__(plan, label)
        lost = np.arange(len(plan)) < self.some * len(plan)
        texts = np.where(lost, self.says, np.array(["A", "B", "C"])[np.arange(len(plan)) % 3]).astype("S")
        return Answers(np.where(lost, int(self.status), 0).astype(np.uint8), {"text": texts})


def verdict_of(folder: Path, ask: Writing, **given: str) -> Verdict:
    found = findings("sodapop", wanted(folder, distance="2", **given), ask)
    assert found.verdict is not None
    return found.verdict


WRITES = frozenset({"text", "fill", "word", "token"})


def test_reasoning_that_is_cut_off_cannot_be_used_and_more_tokens_would_help(tmp_path: Path) -> None:
    verdict = verdict_of(tmp_path, Writing(fill, abilities=WRITES, says="Let me think", status=Status.TRUNCATED))
    assert (verdict.says, verdict.diagnosis, verdict.next) == (VerdictKind.UNUSABLE, "unreadable", "--set tokens=256")
    assert "100% of" in verdict.why
    assert "cut off at the limit of tokens" in verdict.why


def test_a_refuser_is_called_that(tmp_path: Path) -> None:
    verdict = verdict_of(tmp_path, Writing(fill, abilities=WRITES, says="I'm sorry, but I can't help with that."))
    assert (verdict.says, verdict.diagnosis, verdict.next) == (VerdictKind.UNUSABLE, "refuses", None)


def test_a_few_unreadable_answers_are_a_doubt(tmp_path: Path) -> None:
    verdict = verdict_of(tmp_path, Writing(fill, abilities=WRITES, says="hm", some=0.3))
    assert verdict.says is VerdictKind.FEW
    assert "answers are not understood" in verdict.why
