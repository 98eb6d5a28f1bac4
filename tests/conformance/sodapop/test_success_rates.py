"""SR, RD and p as the paper defines them (Eq. 1 to 5): an example worked out by hand, and what must always hold."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from asking import findings
from assay.asking.queries import ChoiceQuery
from assay.probes.base import Request
from assay.probes.sodapop.analyse import AnalysisInputs, findings_of
from assay.probes.sodapop.names import NameGroup, NameGroups
from assay.probes.sodapop.pools import DistractorPools
from assay.probes.sodapop.rates import SuccessCounter, SuccessRates, vocabulary
from assay.probes.sodapop.settings import SodapopSettings
from assay.probes.sodapop.traits import packaged_lexicon
from assay.results.findings import Findings
from small_sodapop import FakeAsk, group_file, hashed, name_blind, name_dependent, text_file

# --- the worked example: four names, their distractors, and whether each fooled the model

ANN = {
    "a kind kind man": 0,
    "a kind old person": 1,
    "a kind young person": 1,
    "a kind rude man": 0,
    "a rude old person": 0,
    "a rude young man": 1,
    "a rude old man": 0,
    "a Happy old man": 0,
}
OTHERS = (
    *("a kind kind man", "a kind old man", "a kind young person", "a kind old person", "a rude old person"),
    *("a rude young man", "a rude old man", "a rude rude man", "a Happy old man"),
)
EXAMPLE = {
    "Ann": ANN,
    "Amy": dict(zip(OTHERS, (1, 1, 0, 0, 0, 0, 0, 0, 1), strict=True)),
    "Bob": dict(zip(OTHERS, (0, 0, 1, 0, 1, 1, 1, 0, 0), strict=True)),
    "Ben": dict(zip(OTHERS, (0, 0, 1, 0, 0, 1, 1, 0, 0), strict=True)),
}
GROUPS = NameGroups((NameGroup("A", ("Ann", "Amy")), NameGroup("B", ("Bob", "Ben"))))


def pools_of(example: dict[str, dict[str, int]]) -> tuple[DistractorPools, list[NDArray[np.float64]]]:
    words: dict[str, int] = {}
    texts = sorted({text for own in example.values() for text in own})
    strings = np.array([[words.setdefault(word, len(words)) for word in text.split()] for text in texts], np.int32)
    members = [np.array([texts.index(text) for text in own], np.int64) for own in example.values()]
    offsets = np.concatenate([[0], np.cumsum([len(own) for own in members])])
    success = [np.array(list(own.values()), np.float64) for own in example.values()]
    return DistractorPools(tuple(words), ("", " ", " ", " ", ""), strings, offsets, np.concatenate(members)), success


def rates_of(min_count: int = 1, case: str = "lower") -> SuccessRates:
    pool, success = pools_of(EXAMPLE)
    counter = SuccessCounter(tuple(EXAMPLE), vocabulary([pool], min_count, case), 1, case)
    counter.add(0, pool, success)
    return counter.rates


def study(groups: NameGroups = GROUPS, p: str = "counted") -> AnalysisInputs:
    return AnalysisInputs(groups, SodapopSettings(resamples=50, p=p), packaged_lexicon())


def rows(findings: Findings, a: str = "A", b: str = "B") -> dict[str, dict[str, Any]]:
    table = findings.tables["words"]
    found: list[dict[str, Any]] = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    return {row["word"]: row for row in found if (row["group_a"], row["group_b"]) == (a, b)}


def test_a_word_counts_once_in_a_distractor() -> None:
    rates = rates_of()
    sr = dict(zip(rates.words, rates.sr().T.tolist(), strict=True))
    assert sr["kind"] == [2 / 4, 2 / 4, 1 / 4, 1 / 4]
    assert sr["rude"] == [1 / 4, 0, 3 / 4, 2 / 4]
    assert sr["happy"] == [0, 1, 0, 0]
    assert sr["person"] == [2 / 3, 0, 2 / 3, 1 / 3]


def test_relative_differences_and_p_are_those_worked_out_by_hand() -> None:
    found = rows(findings_of(rates_of(), study()))
    expected = {  # sr_a, sr_b, d, m, rd, p, n
        "kind": (1 / 2, 1 / 4, 1 / 4, 3 / 8, 2 / 3, 1 / 3, 16),
        "rude": (1 / 8, 5 / 8, -1 / 2, 3 / 8, -4 / 3, 1 / 3, 16),
        "happy": (1 / 2, 0, 1 / 2, 1 / 4, 2.0, 1.0, 4),
        "person": (1 / 3, 1 / 2, -1 / 6, 5 / 12, -0.4, 1.0, 12),
    }
    for word, numbers in expected.items():
        row = [found[word][column] for column in ("sr_a", "sr_b", "d", "m", "rd", "p", "n")]
        assert row == pytest.approx(numbers, abs=1e-12), word
    assert next(iter(found)) == "happy", "the greatest |RD| comes first"
    assert [abs(row["rd"]) for row in found.values()] == sorted(
        (abs(row["rd"]) for row in found.values()), reverse=True
    )


def test_the_papers_strict_count_lets_p_be_0() -> None:
    found = rows(findings_of(rates_of(), study(p="strict")))
    assert [found[word]["p"] for word in ("kind", "rude", "happy", "person")] == [0.0, 0.0, 0.0, pytest.approx(1 / 3)]


def test_the_vocabulary_has_no_stop_words_no_punctuation_and_nothing_rare() -> None:
    pool, _ = pools_of(EXAMPLE | {"Ben": {**EXAMPLE["Ben"], "a don't - man": 0}})
    assert vocabulary([pool], 1, "lower") == ("happy", "kind", "man", "old", "person", "rude", "young")
    assert vocabulary([pool], 3, "lower") == ("kind", "man", "old", "person", "rude")
    assert vocabulary([pool], 4, "lower") == ("kind", "man", "old", "rude")
    assert vocabulary([pool], 9, "lower") == ()
    assert vocabulary([pool, pool], 6, "lower") == ("kind", "man", "old", "person", "rude"), "contexts add up"


def test_a_word_that_one_name_lacks_does_not_count() -> None:
    pool, _ = pools_of(EXAMPLE | {"Ann": {"a kind kind man": 1}})
    assert vocabulary([pool], 1, "lower") == ("kind", "man")


def test_capitals_make_another_word_only_when_asked() -> None:
    example = {name: {"a Happy happy man": 1, "a happy old man": 0} for name in EXAMPLE}
    pool, success = pools_of(example)
    assert vocabulary([pool], 1, "keep") == ("Happy", "happy", "man", "old")
    for case, expected in (("lower", {"happy": (1, 2)}), ("keep", {"Happy": (1, 1), "happy": (1, 2)})):
        counter = SuccessCounter(tuple(example), tuple(expected), 1, case)
        counter.add(0, pool, success)
        counts = counter.rates.successes[0, 0], counter.rates.distractors[0, 0]
        assert list(zip(*(each.tolist() for each in counts), strict=True)) == list(expected.values())


# --- through the whole probe, with fills and scores from functions

KIND = ["kind", "rude", "calm", "loud", "shy", "bold", "glad", "mean"]
VERY = ["very", "quite", "truly", "hardly", "rather", "oddly"]


def fill_by_name(text: str) -> list[str]:
    """Fills that depend on all of the text, its name included: pools differ between names."""
    words = VERY if text.endswith("? kind") or not text.endswith("?") else KIND
    return sorted(words, key=lambda word: hashed(text, word))[:4]


def run(folder: Path, ask: FakeAsk, groups: dict[str, list[str]], *answers: str, **given: str) -> Findings:
    chosen = {"groups": str(group_file(folder, groups)), "texts": str(text_file(folder, *answers)), "fills": "4"}
    chosen |= {"distance": "2", "min_count": "1", "resamples": "50", **given}
    return findings("sodapop", Request("paper", settings=chosen), ask)


def people(count: int) -> dict[str, list[str]]:
    return {group: [f"{group}{chr(97 + number)}" for number in range(count)] for group in "AB"}


@pytest.mark.parametrize("pairing", ["exact", "sampled"])
def test_a_name_blind_model_shows_what_the_pools_alone_do(tmp_path: Path, pairing: str) -> None:
    ask = FakeAsk(fill_by_name, name_blind)
    found = rows(run(tmp_path, ask, people(4), "very kind", "quite rude", pairing=pairing, cap="15"))
    assert len(found) > 4
    for word, row in found.items():
        assert row["rd"] == pytest.approx(row["rd_pools"], abs=1e-12), word
    assert any(row["rd"] for row in found.values()), "the pools are all alike: this shows nothing"


def test_what_the_pools_do_is_not_what_a_model_does_that_sees_names(tmp_path: Path) -> None:
    found = rows(run(tmp_path, FakeAsk(fill_by_name, name_dependent), people(4), "very kind", cap="15"))
    assert any(abs(row["rd"] - row["rd_pools"]) > 0.01 for row in found.values())


def test_with_shared_pools_a_name_blind_model_has_no_difference_at_all(tmp_path: Path) -> None:
    groups = people(3) | {
        "C": ["Ca", "Cb", "Cc", "Cd", "Ce", "Cf", "Cg"]
    }  # of different sizes: their means are rounded
    findings = run(tmp_path, FakeAsk(fill_by_name, name_blind), groups, "very kind", "so rude", distractors="shared")
    for a, b in combinations(groups, 2):
        found = rows(findings, a, b)
        assert len(found) > 4
        defined = [row for row in found.values() if row["rd"] is not None]
        assert defined
        for row in defined:
            assert (row["rd"], row["d"], row["rd_pools"], row["p"]) == (0.0, 0.0, 0.0, 1.0)
            assert row["rd_controlled"] in (None, 0.0)
    *pairs, largest = findings.estimates
    assert len(pairs) == 3
    assert (largest.metric, largest.value) == ("largest_rd", None)  # of three names a group: too few for a band
    for estimate in pairs:
        assert estimate.metric == "kmeans_accuracy"
        assert estimate.value == estimate.floor
        assert estimate.p == 1.0


def test_with_shared_pools_the_pools_alone_do_nothing_whatever_the_model(tmp_path: Path) -> None:
    found = rows(run(tmp_path, FakeAsk(fill_by_name, name_dependent), people(3), "very kind", distractors="shared"))
    assert any(row["rd"] for row in found.values())
    assert {row["rd_pools"] for row in found.values()} == {0.0}


def test_a_planted_association_is_found_first(tmp_path: Path) -> None:
    """Group A's names make every distractor with "shy" win; otherwise the model does not see names."""

    def score(query: ChoiceQuery) -> float:
        (option,) = query.options
        of_a = "A" in query.context
        return 100.0 + name_blind(query) if of_a and "shy" in option.split() else name_dependent(query)

    findings = run(tmp_path, FakeAsk(fill_by_name, score), people(10), "very kind", "so rude", distractors="shared")
    found = rows(findings)
    first, *others = found.values()
    assert first["word"] == "shy"
    assert first["rd"] > 0
    assert first["q"] < 0.01
    assert first["p"] == pytest.approx(2 / 184_756), "only this partition and its mirror image reach so much"
    assert len(others) > 4
    accuracy, largest = findings.estimates
    assert largest.value == pytest.approx(first["rd"])
    assert largest.low is not None
    assert largest.low > 0
    assert accuracy.value == 1.0
    assert accuracy.p is not None
    assert accuracy.p < 0.01


def test_p_is_that_of_full_enumeration(tmp_path: Path) -> None:
    findings = run(tmp_path, FakeAsk(fill_by_name, name_dependent), people(5), "very kind", distractors="shared")
    seen: dict[str, list[float]] = {}
    probe_rows = rows(findings)
    assert len(probe_rows) > 4
    # The success rates again, from scores and definitions alone.
    ask = FakeAsk(fill_by_name, name_dependent)
    run(tmp_path, ask, people(5), "very kind", distractors="shared")
    names = [name for group in people(5).values() for name in group]
    for name in names:
        own = [query for query in ask.scored if query.context.startswith(f"{name} ")]
        right, *wrong = [(query.options[0], float(np.float32(name_dependent(query)))) for query in own]
        assert right[0] == "very kind"
        for word in probe_rows:
            wins = []
            for place, (text, score) in enumerate(wrong):
                if word in text.lower().split():
                    partners = [other for at, (_, other) in enumerate(wrong) if at != place]
                    wins.append(np.mean([_share(score, other, right[1]) for other in partners]))
            seen.setdefault(word, []).append(float(np.mean(wins)))
    for word, row in probe_rows.items():
        sr = np.array(seen[word])
        observed = abs(sr[:5].mean() - sr[5:].mean())
        divisions = [np.isin(np.arange(10), chosen) for chosen in combinations(range(10), 5)]
        reached = [abs(sr[some].mean() - sr[~some].mean()) >= observed - 1e-12 for some in divisions]
        assert row["p"] == pytest.approx(np.mean(reached)), word
        assert row["sr_a"] == pytest.approx(sr[:5].mean()), word
        assert row["rd"] == pytest.approx((sr[:5].mean() - sr[5:].mean()) / sr.mean()), word


def _share(score: float, partner: float, right: float) -> float:
    """What a distractor wins in one question, with ties shared."""
    best = max(score, partner, right)
    return (score == best) / [score, partner, right].count(best)


def test_findings_hold_numbers_and_none_alone(tmp_path: Path) -> None:
    """A word that never wins has no RD; JSON must not hold NaN."""
    findings = run(tmp_path, FakeAsk(fill_by_name, lambda query: -len(query.options[0])), people(2), "so", "very kind")
    json.dumps([list(table.rows) for table in findings.tables.values()], allow_nan=False)
    never = [row for row in rows(findings).values() if row["m"] == 0]
    assert never
    assert all((row["rd"], row["low"], row["p"]) == (None, None, 1.0) for row in never)
