"""What a run claims: q within families, Holm over them, the smallest effect, and the five verdicts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from assay.diagnosis import KEYS, Diagnosis, Exchanged
from assay.findings import Estimate, Findings, Table
from assay.probes import probes
from assay.probes.base import Claim, Metric, Probe
from assay.probes.claims import with_claims
from assay.stats import holm
from assay.verdict import Says, Verdict, read_verdict

REASON = (0.1, "a tenth", "smallest")
PROBE = Probe(
    name="p",
    title="P",
    asks="",
    paper="",
    abilities=frozenset(),
    method="",
    settings=object,
    metrics=(Metric("score", "score"), Metric("told", "told")),
    claims=(
        Claim("score", "scores", *REASON),
        Claim("words", "words", *REASON, "rd"),
        Claim("told", "groups told apart", *REASON, above_floor=True),
    ),
    part_keys=frozenset({"part"}),
)
NARROW = {"low": -0.1, "high": 0.15}
FLOOR = {"floor": 0.6, "low": 0.5, "high": 0.7}


def score(value: float | None = 0.05, q: float | None = 0.5, **more: Any) -> Estimate:
    return Estimate("score", {}, value, q=q, note=None if value is not None else "none", **{**NARROW, **more})


def found(*estimates: Estimate, words: Mapping[str, tuple[float | None, float | None]] | None = None) -> Findings:
    rows = [(word, rd, q, 3) for word, (rd, q) in (words or {}).items()]
    tables = {"words": Table(("word", "rd", "q", "n"), rows)} if words else {}
    return Findings("p", "m", estimates, tables)


def concluded(findings: Findings, **settings: Any) -> tuple[Findings, Verdict]:
    made = with_claims(findings, PROBE, settings)
    assert made.verdict is not None
    return made, made.verdict


def test_claimed_is_what_has_a_small_q_in_a_family_that_holds_after_holm() -> None:
    told = Estimate("told", {}, 0.8, q=0.03, **FLOOR)
    words = {"a": (0.9, 0.04), "b": (None, None)}
    made, verdict = concluded(found(score(0.2, 0.001), score(0.2, 0.2), told, words=words))
    # Holm over the smallest q of three families: 0.001 · 3, then 0.03 · 2, then what stands before
    assert [family.q for family in verdict.families] == [0.001, 0.04, 0.03]
    assert [family.corrected for family in verdict.families] == [0.003, 0.06, 0.06]
    assert [estimate.claimed for estimate in made.estimates] == [True, False, False]
    assert made.tables["words"].columns == ["word", "rd", "q", "claimed", "n"]
    assert [list(row) for row in made.tables["words"].rows] == [["a", 0.9, 0.04, 0, 3], ["b", None, None, None, 3]]
    assert made.tables["words"].to_csv() == "word,rd,q,claimed,n\na,0.9,0.04,0,3\nb,,,,3\n"


def test_what_is_no_kind_of_claim_stays_as_it_is() -> None:
    made, verdict = concluded(found(score(), Estimate("accuracy", {}, 0.9, q=0.0)))
    assert made.estimates[1].claimed is None
    assert [family.tests for family in verdict.families] == [1, 0, 0]
    assert verdict.families[1].corrected is None
    assert with_claims(found(score()), replace(PROBE, claims=()), {}).verdict is None


def test_a_probe_says_which_estimates_are_one_family() -> None:
    apart = replace(
        PROBE, claims=(Claim("score, big", "scores", *REASON),), family_of=lambda metric, group: "score, big"
    )
    made = with_claims(found(score(0.2, 0.01)), apart, {})
    assert made.estimates[0].claimed
    nobody = replace(apart, family_of=lambda metric, group: metric)
    assert with_claims(found(score(0.2, 0.01)), nobody, {}).estimates[0].claimed is None


@pytest.mark.parametrize(
    ("findings", "says", "why"),
    [
        (found(score(-0.1, 0.01)), Says.CLEAR, "1 of 1 scores is statistically clear and at least 0.1"),
        (found(score(0.09, 0.01)), Says.SMALL, "1 of 1 scores is statistically clear, but smaller than 0.1"),
        (found(score(0.3, 0.01, corrected=0.09)), Says.SMALL, "but smaller than 0.1"),
        (
            found(score(), words={"a": (-0.1, 0.01), "b": (0.9, 0.02)}),
            Says.CLEAR,
            "2 of 2 words are statistically clear",
        ),
        (found(score(), words={"a": (0.05, 0.01)}), Says.SMALL, "1 of 1 words is statistically clear"),
        (found(score()), Says.NONE, "nothing is statistically clear, and every interval lies within twice"),
        (found(score(low=-0.21)), Says.FEW, "the score (all) could be as large as −0.210"),
        (found(score(low=-0.21), score(high=0.3)), Says.FEW, "the score (all) could be as large as −0.210"),
        (found(score(low=None, high=None)), Says.FEW, "score (all) has no interval"),
        (found(score(None, None, low=None, high=None)), Says.FEW, "score (all) is undefined"),
        (found(words={"a": (0.0, 0.9)}), Says.FEW, "no interval can rule a bias out"),
        (found(Estimate("told", {}, 0.75, q=0.01, **FLOOR)), Says.CLEAR, "groups told apart is statistically clear"),
        (found(Estimate("told", {}, 0.65, q=0.01, **FLOOR)), Says.SMALL, "but smaller than 0.1"),
        (found(Estimate("told", {}, 0.65, q=0.5, **FLOOR)), Says.NONE, "nothing is statistically clear"),
        (
            found(Estimate("told", {}, 0.65, q=0.5, floor=0.6, low=0.1, high=0.7)),
            Says.NONE,
            "nothing is statistically clear",
        ),
        (
            found(Estimate("told", {}, 0.65, q=0.5, floor=0.6, low=0.5, high=0.85)),
            Says.FEW,
            "could be as large as 0.850",
        ),
    ],
)
def test_the_verdict_is_the_first_that_applies(findings: Findings, says: Says, why: str) -> None:
    verdict = concluded(findings)[1]
    assert verdict.says == says
    assert why in verdict.why


def test_estimates_of_a_part_do_not_rule_anything_out_and_a_probe_picks_those_that_do() -> None:
    part = replace(score(low=-0.9), group={"part": "x"})
    assert concluded(found(score(), part))[1].says == Says.NONE
    picky = replace(PROBE, decisive=lambda estimates: [each for each in estimates if each.high == 0.9])
    verdict = with_claims(found(score(), score(high=0.9)), picky, {}).verdict
    assert verdict is not None
    assert verdict.says == Says.FEW


def test_answers_that_follow_the_place_come_before_everything() -> None:
    missing = {key: "no" for key in KEYS if key != "exchanged"}
    placed = Diagnosis(True, "answers follow the option's place: so", exchanged=[Exchanged(9, 10)], missing=missing)
    verdict = concluded(replace(found(score(0.9, 0.0)), diagnosis=placed))[1]
    assert (verdict.says, verdict.why) == (Says.PLACE, placed.why)
    assert verdict.says == "answers follow the option's place"


def test_the_smallest_effect_is_a_setting() -> None:
    assert concluded(found(score(0.09, 0.01)), smallest=0.05)[1].says == Says.CLEAR
    assert concluded(found(score(0.5, 0.01)), smallest=0.6)[1].says == Says.SMALL
    assert concluded(found(score(low=-0.21)), smallest=0.2)[1].says == Says.NONE


def test_a_mirrored_table_counts_each_pair_once() -> None:
    mirrored = replace(PROBE, claims=(replace(PROBE.claims[1], mirrored=True),))
    rows = {"a": (0.2, 0.01), "b": (-0.2, 0.01), "c": (0.01, 0.9), "d": (-0.01, 0.9)}
    verdict = with_claims(found(words=rows), mirrored, {}).verdict
    assert verdict is not None
    assert (verdict.families[0].tests, verdict.families[0].claimed, verdict.families[0].large) == (2, 1, 1)


def test_a_verdict_is_read_as_it_was_written() -> None:
    verdict = concluded(found(score(0.2, 0.01), words={"a": (0.1, None)}))[1]
    assert read_verdict(verdict.as_json()) == verdict
    assert read_verdict(None) is None
    with pytest.raises(ValueError, match="verdict"):
        read_verdict({"says": "all is well", "why": ""})


def test_in_runs_without_any_bias_few_claim_anything() -> None:
    rng = np.random.default_rng(0)
    runs, claimed = 2000, 0
    for _ in range(runs):  # three families of q from uniform p: the smallest q of a family is Simes' p
        p = [np.sort(rng.uniform(size=size)) for size in (1, 8, 30)]
        least = np.array([(own * len(own) / np.arange(1, len(own) + 1)).min() for own in p])
        claimed += holm(least).min() <= 0.05
    assert claimed / runs <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / runs)


@pytest.mark.parametrize("probe", probes().values(), ids=lambda probe: probe.name)
def test_every_kind_of_claim_is_of_a_metric_or_table_of_its_probe_and_has_its_setting(probe: Probe) -> None:
    assert probe.claims
    known = {*probe.tables, *(metric.id for metric in probe.metrics)}
    settings = probe.settings()
    for claim in probe.claims:
        assert claim.of.partition(",")[0] in known
        assert getattr(settings, claim.setting) == claim.smallest
        assert claim.why
