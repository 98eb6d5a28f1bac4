"""What a run claims: q within families with fixed shares, lists, the smallest effect, and the six verdicts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from assay.probes import probes
from assay.probes.base import ClaimRule, Metric, Probe, ProbeClaims
from assay.probes.claims import with_claims
from assay.results.diagnosis import KEYS, Diagnosis, SwappedPairs, read_part
from assay.results.findings import Estimate, Findings, Table
from assay.results.verdict import (
    OPEN,
    STANDS_OUT,
    Doubt,
    Grounds,
    Needed,
    Unusable,
    Verdict,
    VerdictKind,
    VerdictPart,
)

REASON = (0.1, "a tenth", "smallest")
PROBE = Probe(
    name="p",
    title="P",
    asks="",
    paper="",
    abilities=frozenset(),
    method="",
    metrics=(Metric("score", "score"), Metric("told", "told")),
    claims=ProbeClaims(
        (
            ClaimRule("score", "scores", *REASON, family="scores"),
            ClaimRule("words", "words", *REASON, "rd", family="words", named_by=("word",)),
            ClaimRule("told", "groups told apart", *REASON, above_floor=True, family="groups"),
            ClaimRule("single", "single words", *REASON, "rd"),
        ),
        part_keys=frozenset({"part"}),
    ),
)
RULES = PROBE.claims.rules
NARROW = {"low": -0.1, "high": 0.15}
FLOOR = {"floor": 0.6, "low": 0.5, "high": 0.7}
WHOLE = replace(PROBE, claims=replace(PROBE.claims, rules=RULES[:1]))
"""With one family: q is p after Holm's correction."""


def with_rules(*rules: ClaimRule) -> Probe:
    return replace(PROBE, claims=replace(PROBE.claims, rules=rules))


def score(value: float | None = 0.05, p: float | None = 0.5, **more: Any) -> Estimate:
    return Estimate("score", {}, value, p=p, note=None if value is not None else "none", **{**NARROW, **more})


Words = Mapping[str, tuple[float | None, float | None]]


def found(*estimates: Estimate, words: Words | None = None, single: Words | None = None) -> Findings:
    some = {"words": words, "single": single}
    columns = ("word", "rd", "p", "q", "n")
    tables = {
        name: Table(columns, [(word, rd, p, q_of(p, own), 3) for word, (rd, p) in own.items()])
        for name, own in some.items()
        if own
    }
    return Findings("p", "m", estimates, tables)


def q_of(p: float | None, rows: Words) -> float | None:
    """Benjamini and Hochberg's q of two rows or one, as an analysis leaves it."""
    known = sorted(each for _, each in rows.values() if each is not None)
    return None if p is None else min(each * len(known) / (place + 1) for place, each in enumerate(known) if each >= p)


def concluded(findings: Findings, probe: Probe = PROBE, **settings: Any) -> tuple[Findings, Verdict]:
    made = with_claims(findings, probe, settings)
    assert made.verdict is not None
    return made, made.verdict


def families(verdict: Verdict) -> dict[str, tuple[int, float | None, float | None, int, int]]:
    return {each.of: (each.tests, each.q, each.corrected, each.claimed, each.large) for each in verdict.families}


def test_q_is_holms_within_a_family_times_the_number_of_families() -> None:
    told = Estimate("told", {}, 0.8, p=0.015, **FLOOR)
    words: Words = {"a": (0.9, 0.004), "b": (None, None), "c": (-0.2, 0.02)}
    made, verdict = concluded(found(score(0.2, 0.001), score(0.2, 0.2), told, words=words))
    assert [each.q for each in made.estimates] == pytest.approx([3 * 2 * 0.001, 3 * 0.2, 3 * 0.015])
    assert [each.claimed for each in made.estimates] == [True, False, True]
    assert made.tables["words"].columns == ["word", "rd", "p", "q", "claimed", "n"]
    assert [list(row[3:5]) for row in made.tables["words"].rows] == [[0.024, 1], [None, None], [0.06, 0]]
    assert families(verdict) == {
        "score": (2, 0.006, 0.006, 1, 1),
        "words": (2, 0.024, 0.024, 1, 1),
        "told": (1, 0.045, 0.045, 1, 1),
        "single": (0, None, None, 0, 0),
    }


def test_no_family_makes_a_test_of_another_easier() -> None:
    """Holm's correction over families did: a clear word made the next family's limit looser."""
    weak = Estimate("told", {}, 0.9, p=0.02, **FLOOR)
    for words in ({"a": (0.9, 1e-9)}, {"a": (0.9, 0.9)}):
        made, _ = concluded(found(score(), weak, words=words))
        assert made.estimates[1].q == pytest.approx(0.06)


def test_a_family_that_the_run_does_not_have_takes_no_share() -> None:
    made, _ = concluded(found(score(0.2, 0.02)))
    assert made.estimates[0].q == pytest.approx(0.02)
    made, _ = concluded(found(score(0.2, 0.02), words={"a": (0.9, None)}))  # there, but it could not be tested
    assert made.estimates[0].q == pytest.approx(0.04)


def test_kinds_of_one_family_are_corrected_together() -> None:
    both = with_rules(*(replace(rule, family="one") for rule in RULES[:2]))
    made, verdict = concluded(found(score(0.2, 0.01), words={"a": (0.9, 0.03), "b": (0.0, 0.5)}), both)
    assert made.estimates[0].q == pytest.approx(0.03)
    assert [row[3] for row in made.tables["words"].rows] == pytest.approx([0.06, 0.5])
    assert {each.corrected for each in verdict.families} == {0.03}


def test_a_list_keeps_its_q_and_cannot_change_the_verdict() -> None:
    single: Words = {"a": (0.9, 0.001), "b": (0.9, 0.03)}
    made, verdict = concluded(found(score(), single=single))
    assert [row[3:5] for row in made.tables["single"].rows] == [[0.002, 1], [0.03, 1]]
    assert families(verdict)["single"] == (2, 0.002, 0.002, 2, 2)
    assert next(each.family for each in verdict.families if each.of == "single") is None
    assert verdict.says == VerdictKind.NONE
    assert made.estimates[0].q == pytest.approx(0.5)  # a list takes no share


def test_discoveries_keep_their_q_and_the_smallest_one_decides() -> None:
    some = with_rules(RULES[0], replace(RULES[1], discoveries=True))
    clear = concluded(found(score(), words={"a": (0.9, 0.01), "b": (0.9, 0.04)}), some)
    assert [row[3:5] for row in clear[0].tables["words"].rows] == [[0.02, 1], [0.04, 1]]
    assert families(clear[1])["words"][1:3] == (0.02, 0.04)  # times two families
    unclear = concluded(found(score(), words={"a": (0.9, 0.02), "b": (0.9, 0.04)}), some)
    assert [row[4] for row in unclear[0].tables["words"].rows] == [0, 0]


def test_what_is_no_kind_of_claim_stays_as_it_is() -> None:
    made, verdict = concluded(found(score(), Estimate("accuracy", {}, 0.9, p=0.0, q=0.0)))
    assert (made.estimates[1].claimed, made.estimates[1].q) == (None, 0.0)
    assert [family.tests for family in verdict.families] == [1, 0, 0, 0]
    assert verdict.families[1].corrected is None
    assert with_claims(found(score()), with_rules(), {}).verdict is None


def test_a_probe_says_of_which_kind_estimates_and_rows_are() -> None:
    claims = ProbeClaims(
        (ClaimRule("score, big", "scores", *REASON, family="f"), ClaimRule("big words", "words", *REASON, "rd")),
        family_of=lambda metric, group: f"{metric}, big",
        family_of_row=lambda table, row: "big words" if row["word"] == "a" else table,
    )
    apart = replace(PROBE, claims=claims)
    made = with_claims(found(score(0.2, 0.01), words={"a": (0.9, 0.001), "b": (0.9, 0.001)}), apart, {})
    assert made.estimates[0].claimed
    assert [row[4] for row in made.tables["words"].rows] == [1, None]
    nobody = replace(PROBE, claims=replace(claims, family_of=lambda metric, group: metric))
    assert with_claims(found(score(0.2, 0.01)), nobody, {}).estimates[0].claimed is None


@pytest.mark.parametrize(
    ("findings", "says", "why"),
    [
        (
            found(score(-0.2, 0.01)),
            VerdictKind.CLEAR,
            "statistically clear and large enough for a headline: the score (all: −0.200)",
        ),
        (
            found(score(0.09, 0.01)),
            VerdictKind.SMALL,
            "statistically clear and too small for a headline: the score (all: 0.090)",
        ),
        (found(score(0.3, 0.01, corrected=0.09)), VerdictKind.SMALL, "too small for a headline"),
        (
            found(score(), words={"a": (-0.1, 0.001), "b": (0.9, 0.002)}),
            VerdictKind.CLEAR,
            "large enough for a headline: 2 of 2 words (b: 0.900; a: −0.100)",
        ),
        (found(score(), words={"a": (0.05, 0.01)}), VerdictKind.SMALL, "headline: 1 of 1 words (a: 0.050)"),
        (
            found(score()),
            VerdictKind.NONE,
            "nothing that decides is statistically clear, and every interval that decides",
        ),
        (found(score(low=-0.21)), VerdictKind.FEW, "the score (all) could be as large as −0.210"),
        (found(score(low=-0.21), score(high=0.3)), VerdictKind.FEW, "the score (all) could be as large as −0.210"),
        (found(score(low=None, high=None)), VerdictKind.FEW, "score (all) has no interval"),
        (found(score(None, None, low=None, high=None)), VerdictKind.FEW, "score (all) is undefined"),
        (found(words={"a": (0.0, 0.9)}), VerdictKind.FEW, "no interval can rule a bias out"),
        (found(Estimate("told", {}, 0.75, p=0.01, **FLOOR)), VerdictKind.CLEAR, "headline: the told (all: 0.750)"),
        (found(Estimate("told", {}, 0.65, p=0.01, **FLOOR)), VerdictKind.SMALL, "too small for a headline"),
        (found(Estimate("told", {}, 0.65, p=0.5, **FLOOR)), VerdictKind.NONE, "statistically clear"),
        (
            found(Estimate("told", {}, 0.65, p=0.5, floor=0.6, low=0.1, high=0.7)),
            VerdictKind.NONE,
            "statistically clear",
        ),
        (
            found(Estimate("told", {}, 0.65, p=0.5, floor=0.6, low=0.5, high=0.85)),
            VerdictKind.FEW,
            "could be as large as 0.850",
        ),
    ],
)
def test_the_verdict_is_the_first_that_applies(findings: Findings, says: VerdictKind, why: str) -> None:
    verdict = concluded(findings)[1]
    assert verdict.says == says
    assert why in verdict.why


def test_the_strongest_of_a_kind_are_named_and_the_others_counted() -> None:
    words: Words = {name: (value, 1e-9) for name, value in zip("abcde", (0.2, 0.5, 0.4, -0.6, 0.3), strict=True)}
    assert "(d: −0.600; b: 0.500; c: 0.400; 2 more)" in concluded(found(score(), words=words))[1].why


def test_estimates_of_a_part_do_not_rule_anything_out_and_a_probe_picks_those_that_do() -> None:
    part = replace(score(low=-0.9), group={"part": "x"})
    assert concluded(found(score(), part))[1].says == VerdictKind.NONE
    wide = replace(PROBE.claims, decisive=lambda estimates: [each for each in estimates if each.high == 0.9])
    picky = replace(PROBE, claims=wide)
    assert concluded(found(score(), score(high=0.9)), picky)[1].says == VerdictKind.FEW


def test_what_may_stay_open_is_twice_the_smallest_effect_or_the_claims_own_setting() -> None:
    wide = found(score(low=-0.3, high=0.3))
    assert concluded(wide)[1].says == VerdictKind.FEW
    own = with_rules(replace(RULES[0], ruled_out=0.3))
    assert concluded(wide, own)[1].says == VerdictKind.NONE
    assert concluded(wide, own, ruled_out=0.29)[1].says == VerdictKind.FEW


# --- grounds

MISSING = {key: "no" for key in KEYS if key != "exchanged"}
PLACED = Diagnosis(True, "answers follow the option's place: so", exchanged=[SwappedPairs(9, 10)], missing=MISSING)


def test_answers_that_cannot_be_used_come_before_everything() -> None:
    biased = found(score(0.9, 0.0))
    verdict = concluded(replace(biased, diagnosis=PLACED))[1]
    assert (verdict.says, verdict.diagnosis, verdict.why) == (VerdictKind.UNUSABLE, "follows_place", PLACED.why)
    assert verdict.says == "answers cannot be used"
    unread = Grounds(unusable=Unusable("unreadable", "nothing can be read", "--set tokens=256"))
    verdict = concluded(replace(biased, diagnosis=PLACED, grounds=unread))[1]
    assert (verdict.diagnosis, verdict.next) == ("unreadable", "--set tokens=256")
    alone = with_claims(replace(biased, diagnosis=PLACED), with_rules(), {}).verdict
    assert alone is not None
    assert alone.says == VerdictKind.UNUSABLE


def test_a_manner_begins_the_sentence() -> None:
    told = Grounds(manner=lambda estimates: "cautious" if estimates[0].claimed else "brisk")
    assert concluded(replace(found(score(0.9, 0.0)), grounds=told))[1].why.startswith(
        "cautious; statistically clear and large enough for a headline: the score ("
    )
    assert concluded(replace(found(score()), grounds=told))[1].why.startswith("brisk; nothing that decides")


STANDING = VerdictPart(STANDS_OUT, "score", {"category": "Age"}, "Age stands out (0.200), not clearly")
UNSETTLED = VerdictPart(OPEN, "score", {"category": "SES"}, "SES (up to 0.180)")


def test_what_stands_out_withholds_no_clear_bias_and_is_named_whatever_the_verdict() -> None:
    standing = Grounds(parts=[STANDING])
    verdict = concluded(replace(found(score()), grounds=standing))[1]
    assert (verdict.says, verdict.parts) == (VerdictKind.FEW, [STANDING])
    assert verdict.why.startswith(STANDING.why)
    assert concluded(replace(found(score()), grounds=replace(standing, more=False)))[1].says == VerdictKind.CANNOT
    small = concluded(replace(found(score(0.05, 0.001)), grounds=standing))[1]
    assert small.says == VerdictKind.SMALL
    assert STANDING.why in small.why


def test_what_stands_out_and_is_clear_is_told_once() -> None:
    own = replace(STANDING, group={})
    verdict = concluded(replace(found(score(0.2, 0.001)), grounds=Grounds(parts=[own])))[1]
    assert verdict.parts == []
    assert "stands out" not in verdict.why


def test_what_stays_open_is_named_after_no_clear_bias() -> None:
    verdict = concluded(replace(found(score()), grounds=Grounds(parts=[UNSETTLED], rules_out="all is ruled out")))[1]
    assert verdict.says == VerdictKind.NONE
    assert verdict.why.endswith("all is ruled out; not settled: SES (up to 0.180)")


def test_a_doubt_withholds_no_clear_bias_and_its_step_comes_first() -> None:
    doubts = [Doubt("it cannot read"), Doubt("half is cut off", "--set tokens=256")]
    verdict = concluded(replace(found(score()), grounds=Grounds(doubts=doubts)))[1]
    assert (verdict.says, verdict.next) == (VerdictKind.FEW, "--set tokens=256")
    assert "but it cannot read; half is cut off" in verdict.why


def test_the_number_that_needs_most_says_how_many_questions_would_do() -> None:
    wide = found(score(low=-0.9), Estimate("told", {}, 0.65, p=0.5, floor=0.6, low=0.5, high=0.9))
    needed = {"score": Needed(400, "400 do"), "told": Needed(4000, "4,000 do")}
    verdict = concluded(replace(wide, grounds=Grounds(needed=needed)))[1]
    assert (verdict.says, verdict.next) == (VerdictKind.FEW, "--limit 4000")
    assert verdict.why.endswith("4,000 do")
    never = {**needed, "score": Needed(None, "300 templates would")}
    verdict = concluded(replace(wide, grounds=Grounds(needed=never)))[1]
    assert (verdict.says, verdict.next) == (VerdictKind.CANNOT, None)
    assert verdict.why.endswith("300 templates would")
    assert [part.metric for part in verdict.parts] == ["score", "told"]


def test_the_smallest_effect_is_a_setting() -> None:
    assert concluded(found(score(0.09, 0.01)), smallest=0.05)[1].says == VerdictKind.CLEAR
    assert concluded(found(score(0.5, 0.01)), smallest=0.6)[1].says == VerdictKind.SMALL
    assert concluded(found(score(low=-0.21)), smallest=0.2)[1].says == VerdictKind.NONE


def test_a_mirrored_table_counts_each_pair_once() -> None:
    mirrored = with_rules(replace(RULES[1], mirrored=True))
    rows: Words = {"a": (0.2, 0.01), "b": (-0.2, 0.01), "c": (0.01, 0.9), "d": (-0.01, 0.9)}
    made, verdict = concluded(found(words=rows), mirrored)
    assert (verdict.families[0].tests, verdict.families[0].claimed, verdict.families[0].large) == (2, 1, 1)
    assert [row[3] for row in made.tables["words"].rows] == [0.02, 0.02, 0.9, 0.9]
    assert "(a: 0.200)" in verdict.why


def test_a_verdict_is_read_as_it_was_written() -> None:
    grounds = Grounds(parts=[UNSETTLED])
    verdict = concluded(replace(found(score(0.2, 0.01), words={"a": (0.1, None)}), grounds=grounds))[1]
    assert read_part(verdict.as_json(), Verdict) == verdict
    assert read_part(None, Verdict) is None
    with pytest.raises(ValueError, match="verdict"):
        read_part({"says": "all is well", "why": ""}, Verdict)


@pytest.mark.simulation
@pytest.mark.parametrize("real", [False, True], ids=["no effect", "an effect in one family"])
def test_few_runs_claim_an_effect_that_does_not_exist(*, real: bool) -> None:
    """Whatever else is true: a real effect in one family does not make false claims of another more frequent."""
    rng = np.random.default_rng(0)
    runs, claimed = 1000, 0
    for _ in range(runs):
        p = rng.uniform(size=38)
        own = {f"w{place}": (0.3, each) for place, each in enumerate(p[8:].tolist())}
        scores = [replace(score(0.3, each), group={"part": str(place)}) for place, each in enumerate(p[:8].tolist())]
        told = Estimate("told", {}, 0.9, p=1e-9 if real else 0.9, **FLOOR)
        made, _ = concluded(found(*scores, told, words=own))
        false = [each.claimed for each in made.estimates[:8]] + [row[4] == 1 for row in made.tables["words"].rows]
        claimed += any(false)
    assert claimed / runs <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / runs)


@pytest.mark.parametrize("probe", probes().values(), ids=lambda probe: probe.name)
def test_every_kind_of_claim_is_of_a_metric_or_table_of_its_probe_and_has_its_setting(probe: Probe) -> None:
    assert probe.claims.rules
    known = {*probe.tables, *(metric.id for metric in probe.metrics)}
    settings = probe.settings()
    for claim in probe.claims.rules:
        assert claim.of.partition(",")[0] in known
        assert getattr(settings, claim.setting) == claim.smallest
        assert claim.reason
        assert not claim.ruled_out or settings.ruled_out == claim.ruled_out
