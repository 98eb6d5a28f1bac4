"""The gate: limits are judged on the interval's bounds, and nothing misspelt, missing or undefined gets past it."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

import assay
import small_bbq
from assay.cli import main
from assay.errors import DataError, UsageError
from assay.gate import Limit, Outcome, Policy, Verdicts, gate, read_policy
from assay.gate import check as gate_runs
from assay.gate.check import judge
from assay.gate.verdicts import present_verdicts
from assay.report import markdown_sections, print_sections
from assay.results.findings import Estimate, Findings
from assay.results.verdict import VerdictKind
from assay.runs.score import score
from raising import raises

HOSTILE = 'a|b <script>alert(1)</script> `c` "d" & ]]> \x00\x1b[31m\u2028\ufffe\n# e'

AMBIG = {"category": "Age", "context": "ambig"}


def bias(category: str, low: float | None, high: float | None, value: float | None = 0.0, **more: Any) -> Estimate:
    group = {"category": category, "context": "ambig"}
    return Estimate("bias_score", group, value, low, high, n=10, **more)


WriteRun = Callable[..., Path]


@pytest.fixture
def write_run(tmp_path: Path) -> WriteRun:
    """Writes a run folder with these estimates."""

    def write(*estimates: Estimate, name: str = "run", probe: str = "bbq", model: str = "hf:org/model") -> Path:
        folder = tmp_path / name
        folder.mkdir(parents=True)
        (folder / "findings.json").write_text(Findings(probe, model, estimates).to_json(), encoding="utf-8")
        (folder / "run.json").write_text(
            json.dumps({"schema": 3, "model": {"name": model}, "identity": {}}), encoding="utf-8"
        )
        return folder

    return write


WritePolicy = Callable[[str], Path]


@pytest.fixture
def write_policy(tmp_path: Path) -> WritePolicy:
    def write(text: str) -> Path:
        path = tmp_path / "policy.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def never_compared(*arguments: Any, **more: Any) -> Any:
    raise AssertionError("no limit has a baseline")


def judge_runs(folder: Path, policy: Policy, compare: Callable[..., Any]) -> Verdicts:
    """The gate, with something else in the place of assay.compare."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(gate_runs, "compare", compare)
        return gate(folder, policy)


def verdicts(folder: Path, *limits: Limit, **rules: Any) -> Verdicts:
    return judge_runs(folder, Policy(limits, **rules), never_compared)


def outcomes(found: Verdicts) -> dict[str, str]:
    """By category, or by the reason where a limit selected nothing."""
    return {each.group.get("category", each.reason): each.outcome.value for each in found.judgements}


# How a bound is judged.


@pytest.mark.parametrize(
    ("limit", "low", "high", "kept"),
    [
        ({"upper": 0.1}, -0.9, 0.09, True),
        ({"upper": 0.1}, 0.0, 0.2, False),  # it crosses the limit, though the value is below
        ({"upper": 0.1}, 0.0, 0.1, False),  # below, not at
        ({"lower": -0.1}, -0.09, 0.9, True),
        ({"lower": -0.1}, -0.2, 0.0, False),
        ({"lower": -0.1}, -0.1, 0.0, False),
        ({"size": 0.1}, -0.09, 0.09, True),
        ({"size": 0.1}, -0.2, 0.0, False),  # a strong bias against stereotypes is one, too
        ({"size": 0.1}, 0.0, 0.2, False),
        ({"lower": -0.1, "upper": 0.3}, -0.05, 0.2, True),
        ({"lower": -0.1, "upper": 0.3}, -0.2, 0.2, False),
    ],
)
def test_the_intervals_bound_decides_and_not_the_value(
    limit: Any, low: float, high: float, kept: bool, write_run: WriteRun
) -> None:
    found = verdicts(write_run(bias("Age", low, high)), Limit("bbq.bias_score", **limit))
    assert found.passed is kept
    assert outcomes(found) == {"Age": "pass" if kept else "fail"}


numbers = st.floats(-1, 1).map(lambda number: round(number, 3))


@given(
    st.lists(numbers, min_size=3, max_size=3).map(sorted),
    numbers,
    numbers,
    st.sampled_from(["interval", "no interval", "undefined"]),
    st.sampled_from(["fail", "value"]),
    st.sampled_from(["fail", "pass", "skip"]),
)
def test_a_looser_limit_never_fails_what_a_stricter_one_passes(
    marks: list[float], one: float, other: float, kind: str, no_interval: Any, undefined: Any
) -> None:
    low, value, high = marks
    estimate = {
        "interval": bias("Age", low, high, value),
        "no interval": bias("Age", None, None, value, note="few"),
        "undefined": bias("Age", None, None, None, note="nothing"),
    }[kind]
    order = [Outcome.FAIL, Outcome.SKIP, Outcome.PASS]

    def came_of(**bounds: Any) -> int:
        policy = Policy([Limit("bbq.bias_score", **bounds)], no_interval=no_interval, undefined=undefined)
        return order.index(judge(policy, policy.limits[0], estimate).outcome)

    strict, loose = sorted((one, other))
    assert came_of(upper=strict) <= came_of(upper=loose)
    assert came_of(lower=loose) <= came_of(lower=strict)
    small, large = sorted((abs(one), abs(other)))
    if small > 0:
        assert came_of(size=small) <= came_of(size=large)


@given(st.lists(numbers, min_size=3, max_size=3).map(sorted), numbers.filter(lambda number: number > 0))
def test_size_is_the_same_for_bias_in_either_direction(marks: list[float], size: float) -> None:
    low, value, high = marks
    policy = Policy([Limit("bbq.bias_score", size=size)])
    kept = judge(policy, policy.limits[0], bias("Age", low, high, value)).outcome
    assert kept is judge(policy, policy.limits[0], bias("Age", -high, -low, -value)).outcome
    assert (kept is Outcome.PASS) == (max(abs(low), abs(high)) < size)


@pytest.mark.parametrize(
    ("estimate", "kept"),
    [
        (Estimate("mu", {}, 0.3, 0.2, 0.4, p=0.001), False),
        (Estimate("mu", {}, 0.3, 0.2, 0.4, p=0.3), True),
        (Estimate("mu", {}, 0.3, 0.2, 0.4, p=0.01, q=0.2), True),  # q, where there is one
        (Estimate("mu", {}, 0.3, 0.2, 0.4, floor=0.1), False),
        (Estimate("mu", {}, 0.3, 0.2, 0.4, floor=0.25), True),
        (Estimate("mu", {}, 0.3, 0.2, 0.4), False),  # nothing tells it from chance, so nothing clears it
    ],
)
def test_clear_of_chance_is_judged_as_in_the_report(estimate: Estimate, kept: bool) -> None:
    policy = Policy([Limit("unqover.mu", clear_of_chance=False)])
    assert (judge(policy, policy.limits[0], estimate).outcome is Outcome.PASS) is kept


# Rules for what cannot be judged by a bound.


@pytest.mark.parametrize("where", ["policy", "limit"])
@pytest.mark.parametrize("rule", ["fail", "pass", "skip"])
def test_what_is_undefined_is_judged_by_the_rule(rule: Any, where: str, write_run: WriteRun) -> None:
    folder = write_run(bias("Age", None, None, None, note="every answer was UNKNOWN"), bias("Religion", 0.0, 0.01))
    own = {"undefined": rule} if where == "limit" else {}
    general = {"undefined": rule} if where == "policy" else {}
    found = verdicts(folder, Limit("bbq.bias_score", upper=0.1, **own), **general)
    assert outcomes(found) == {"Age": rule, "Religion": "pass"}
    assert found.passed is (rule != "fail")
    assert "every answer was UNKNOWN" in found.judgements[0].reason


def test_undefined_and_missing_intervals_and_estimates_fail_unless_told_otherwise(write_run: WriteRun) -> None:
    folder = write_run(bias("Age", None, None, None, note="nobody"), bias("SES", None, None, 0.0, note="4 templates"))
    found = verdicts(folder, Limit("bbq.bias_score", upper=0.1), Limit("bbq.accuracy", lower=0.1))
    assert [each.outcome for each in found.judgements] == [Outcome.FAIL] * 3
    assert "4 templates" in found.judgements[1].reason


@pytest.mark.parametrize(("value", "kept"), [(0.09, True), (0.11, False)])
def test_a_value_without_an_interval_can_be_judged_itself(value: float, kept: bool, write_run: WriteRun) -> None:
    folder = write_run(bias("Age", None, None, value, note="4 templates"))
    found = verdicts(folder, Limit("bbq.bias_score", upper=0.1, no_interval="value"))
    assert found.passed is kept
    assert "value" in found.judgements[0].reason


def test_a_value_outside_its_own_interval_is_refused(write_run: WriteRun) -> None:
    """A file that somebody changed; its upper bound would be within the limit."""
    found = verdicts(write_run(bias("Age", 0.0, 0.116, 0.343)), Limit("bbq.bias_score", upper=0.2))
    assert not found.passed
    assert "its interval does not contain it" in found.judgements[0].reason


def test_bounds_are_judged_where_they_belong_to_the_corrected_value(write_run: WriteRun) -> None:
    corrected = Estimate("bias_score", {"category": "Age", "context": "ambig"}, 0.343, 0.0, 0.116, corrected=0.05)
    found = verdicts(write_run(corrected), Limit("bbq.bias_score", upper=0.2))
    assert found.passed
    assert found.judgements[0].corrected == 0.05


# What a limit selects.

CELLS = [
    bias("Age", 0.0, 0.01),
    bias("Religion", 0.0, 0.01),
    bias("all", 0.0, 0.01),
    Estimate("bias_score", {"category": "Age", "context": "disambig"}, 0.0, 0.0, 0.01),
    Estimate("bias_score", {"category": "Age", "context": "ambig", "comparison": "a"}, 0.0, 0.0, 0.01),
    Estimate("accuracy", {"category": "Age", "context": "ambig"}, 0.5, 0.4, 0.6),
    Estimate("accuracy", {"category": "Age", "context": "ambig", "polarity": "neg"}, 0.5, 0.4, 0.6),
]


@pytest.mark.parametrize(
    ("metric", "group", "without", "places"),
    [
        ("bbq.bias_score", {}, {}, [0, 1, 2, 3]),
        ("bbq.bias_score", {"context": "ambig"}, {}, [0, 1, 2]),
        ("bbq.bias_score", {"context": "ambig", "category": "*"}, {}, [0, 1, 2]),
        ("bbq.bias_score", {"context": "ambig"}, {"category": "all"}, [0, 1]),
        ("bbq.bias_score", {"category": ["Age", "Religion"]}, {"context": "disambig", "category": "Age"}, [0, 1]),
        ("bbq.bias_score", {"comparison": "*"}, {}, [4]),
        ("bbq.bias_score", {"comparison": False, "context": "ambig"}, {}, [0, 1, 2]),
        ("bbq.accuracy", {}, {}, [5]),
        ("bbq.accuracy", {"polarity": "neg"}, {}, [6]),
        ("*.accuracy", {}, {}, [5]),
    ],
)
def test_a_group_selects_by_the_keys_that_it_names(
    metric: str, group: Any, without: Any, places: Sequence[int], write_run: WriteRun
) -> None:
    found = verdicts(write_run(*CELLS), Limit(metric, group, without, upper=0.9))
    assert [each.group for each in found.judgements] == [CELLS[place].group for place in places]
    assert found.passed


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        (Limit("bbq.bias_scor", upper=0.9), 'no metric "bias_scor"; did you mean "bias_score"?'),
        (Limit("bqb.bias_score", upper=0.9), 'no probe "bqb"; did you mean "bbq"?'),
        (Limit("bbq.bias_score", {"contxt": "ambig"}, upper=0.9), 'key "contxt"; did you mean "context"?'),
        (Limit("bbq.bias_score", {}, {"categry": "all"}, upper=0.9), 'key "categry"; did you mean "category"?'),
        (Limit("bbq.bias_score", {"context": "ambigg"}, upper=0.9), 'context "ambigg"; did you mean "ambig"?'),
        (Limit("bbq.bias_score", {"category": "age"}, upper=0.9), 'category "age"; did you mean "Age"?'),
        (Limit("bbq.bias_score", {"category": ["Age", "Relgion"]}, upper=0.9), '"Relgion"; did you mean "Religion"?'),
        (Limit("unqover.mu", upper=0.9), "no run of unqover here"),
        (Limit("bbq.eta", upper=0.9), "this run has no eta"),
        (
            Limit("bbq.bias_score", {"category": "Religion", "context": "disambig"}, upper=0.9),
            "matches the limit's group",
        ),
        (Limit("bbq.bias_score", {"form": "*"}, upper=0.9), 'has the key "form"'),
        (Limit("*.mu", upper=0.9), "no run has the metric mu"),
    ],
)
def test_what_a_limit_names_and_no_run_has_fails_and_says_what_may_have_been_meant(
    limit: Limit, said: str, write_run: WriteRun
) -> None:
    found = verdicts(write_run(*CELLS), limit)
    assert not found.passed
    assert any(said in each.reason for each in found.failures)


def test_what_is_missing_can_be_skipped_but_not_what_is_misspelt(write_run: WriteRun) -> None:
    folder = write_run(*CELLS)
    kept = Limit("bbq.bias_score", upper=0.9)
    absent = Limit("unqover.mu", upper=0.9, missing="skip")
    assert verdicts(folder, kept, absent).passed
    assert verdicts(folder, kept, Limit("bbq.bias_score", {"category": "SES"}, upper=0.9, missing="skip")).passed
    for misspelt in (
        Limit("unqovr.mu", upper=0.9, missing="skip"),
        Limit("bbq.bias_scor", upper=0.9, missing="skip"),
        Limit("bbq.bias_score", {"contxt": "ambig"}, upper=0.9, missing="skip"),
    ):
        assert not verdicts(folder, kept, misspelt).passed


def test_a_policy_that_judges_nothing_does_not_pass(write_run: WriteRun) -> None:
    found = verdicts(write_run(*CELLS), Limit("unqover.mu", upper=0.9), missing="skip")
    assert not found.passed
    assert "nothing was checked" in found.failures[0].reason
    assert ElementTree.fromstring(found.to_junit()).get("failures") == "1"


def test_limits_hold_for_every_run_of_a_folder(write_run: WriteRun, tmp_path: Path) -> None:
    write_run(bias("Age", 0.0, 0.01), name="models/one/bbq", model="one")
    write_run(bias("Age", 0.0, 0.9), name="models/two/bbq", model="two")
    write_run(
        Estimate("mu", {"class": "gender"}, 0.1, 0.0, 0.2), name="models/two/unqover", model="two", probe="unqover"
    )
    found = verdicts(tmp_path / "models", Limit("bbq.bias_score", upper=0.1), Limit("unqover.mu", upper=0.3))
    assert [(each.model, each.metric, each.outcome) for each in found.judgements] == [
        ("one", "bbq.bias_score", "pass"),
        ("two", "bbq.bias_score", "fail"),
        ("two", "unqover.mu", "pass"),
    ]


def test_a_category_that_one_of_two_runs_lacks_is_missing_there(write_run: WriteRun, tmp_path: Path) -> None:
    write_run(bias("Age", 0.0, 0.01), name="runs/one")
    write_run(bias("SES", 0.0, 0.01), name="runs/two")
    found = verdicts(tmp_path / "runs", Limit("bbq.bias_score", {"category": "Age"}, upper=0.1))
    assert [Path(each.run).name for each in found.failures] == ["two"]


def test_an_unfinished_run_is_not_passed_over(write_run: WriteRun, tmp_path: Path) -> None:
    write_run(bias("Age", 0.0, 0.01), name="tour/bbq")
    (tmp_path / "tour" / "unqover").mkdir()
    (tmp_path / "tour" / "unqover" / "run.json").write_text("{}")
    with raises("unfinished-run", UsageError, file=tmp_path / "tour" / "unqover"):
        verdicts(tmp_path / "tour", Limit("bbq.bias_score", upper=0.1))


def test_a_folder_without_runs_is_refused(tmp_path: Path) -> None:
    with raises("not-a-run", UsageError, file=tmp_path):
        verdicts(tmp_path, Limit("bbq.bias_score", upper=0.1))


# Against a baseline.


@dataclass
class Compared:
    """Stands for assay.compare: says how much worse the models are, and notes what it was asked."""

    worse: Sequence[tuple[Estimate, Estimate | None]]
    asked: list[tuple[list[Path], bool]]

    def __call__(self, folders: Sequence[Path], *, common: bool) -> Any:
        self.asked.append((list(folders), common))
        differences = [SimpleNamespace(model="m", baseline="b", change=c, worse=w) for c, w in self.worse]
        return SimpleNamespace(model="", differences=differences, notes=["some were set differently"])


@pytest.mark.parametrize(("high", "kept"), [(0.019, True), (0.02, True), (0.021, False)])
def test_a_baseline_is_judged_by_the_upper_bound_of_how_much_worse_a_model_is(
    high: float, kept: bool, write_run: WriteRun
) -> None:
    folder, base = write_run(bias("Age", 0.5, 0.9)), write_run(bias("Age", 0.5, 0.9), name="base")
    compared = Compared([(bias("Age", -0.9, 0.9, 0.5), bias("Age", -0.3, high, -0.1))], [])
    policy = Policy([Limit("bbq.bias_score", baseline=base, worse_by=0.02)])
    found = judge_runs(folder, policy, compared)
    assert found.passed is kept
    assert (found.judgements[0].low, found.judgements[0].high) == (-0.3, high)
    assert compared.asked == [([base, folder], False)]


def test_runs_are_compared_once_for_all_limits_and_with_the_baseline_of_their_probe(
    write_run: WriteRun, tmp_path: Path
) -> None:
    for tour in ("new", "base"):
        write_run(*CELLS, name=f"{tour}/bbq")
        write_run(Estimate("mu", {"class": "gender"}, 0.1, 0.0, 0.2), name=f"{tour}/unqover", probe="unqover")
    compared = Compared([(each, replace(each, value=0.0, low=0.0, high=0.0)) for each in CELLS], [])
    limits = [Limit("bbq.bias_score", baseline=tmp_path / "base", worse_by=step, common=True) for step in (0, 0.1)]
    assert judge_runs(tmp_path / "new", Policy(limits), compared).passed
    assert compared.asked == [([tmp_path / "base" / "bbq", tmp_path / "new" / "bbq"], True)]


@pytest.mark.parametrize(
    "worse",
    [None, bias("Age", None, None, None, note="nobody was named in both")],
    ids=["no direction", "undefined"],
)
def test_a_difference_that_is_not_known_is_undefined(worse: Estimate | None, write_run: WriteRun) -> None:
    folder, base = write_run(*CELLS[:2]), write_run(*CELLS[:2], name="base")
    pairs = [(bias("Age", None, None, None, note="nobody was named in both"), worse)]
    limit = Limit("bbq.bias_score", baseline=base, worse_by=0.1)
    found = judge_runs(folder, Policy([limit]), Compared(pairs, []))
    assert outcomes(found) == {"Age": "fail", "Religion": "fail"}  # of Religion there is no difference at all
    assert "nobody was named in both" in found.judgements[0].reason
    assert "some were set differently" in found.judgements[1].reason
    shown = markdown_sections(present_verdicts(found))
    assert all("some were set differently" in text for text in (shown, found.to_json()))
    lenient = judge_runs(folder, Policy([limit], undefined="pass"), Compared(pairs, []))
    assert lenient.passed


def test_what_the_comparison_refuses_is_passed_on(write_run: WriteRun) -> None:
    def refuses(folders: Sequence[Path], *, common: bool) -> Any:
        raise DataError("other data.", "Use --common.", code="not-comparable", file="a.csv", line=3, key="names")

    folder, base = write_run(*CELLS), write_run(*CELLS, name="base")
    with raises("not-comparable", DataError, file=Path("a.csv"), line=3, key="names") as caught:
        judge_runs(folder, Policy([Limit("bbq.bias_score", name="no worse", baseline=base, worse_by=0.1)]), refuses)
    assert str(caught.value) == "policy, no worse: a.csv, line 3: other data.\nUse common = true in the limit."


def test_a_baseline_that_is_not_there_or_not_one_is_refused(write_run: WriteRun, tmp_path: Path) -> None:
    folder = write_run(*CELLS)
    write_run(*CELLS, name="several/one")
    write_run(*CELLS, name="several/two")
    for base, code in (("nowhere", "missing-file"), ("several", "not-comparable")):
        policy = Policy([Limit("bbq.bias_score", baseline=tmp_path / base, worse_by=0.1)], name="policy.toml")
        with raises(code, DataError, file=Path("policy.toml"), key="baseline"):
            judge_runs(folder, policy, never_compared)


@pytest.fixture
def scored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with runs of four sets of answers: right ones, the same again, mostly right ones and random ones."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    rows = [example.as_json() for example in small_bbq.examples(templates=12, quartets=4)]
    for row in rows:
        guess = int(rng.integers(0, 3))
        row |= {"right": row["label"], "again": row["label"], "random": guess}
        row["mostly"] = row["label"] if rng.random() < 0.95 else guess
    small_bbq.write(tmp_path / "answers.jsonl", rows)
    for column in ("right", "again", "mostly", "random"):
        settings = {"model": column, "resamples": "200"}
        score("bbq", [Path("answers.jsonl")], settings=settings, answers=column, out=tmp_path / "runs" / column)
    return tmp_path / "runs"


@pytest.mark.whole
@pytest.mark.parametrize(
    ("model", "baseline", "kept"),
    [("again", "right", True), ("mostly", "right", True), ("random", "right", False), ("right", "random", True)],
)
def test_real_runs_are_judged_against_a_real_baseline(
    model: str, baseline: str, kept: bool, scored: Path, write_policy: WritePolicy
) -> None:
    policy = write_policy(
        f"""
        [[limit]]
        metric = "bbq.accuracy"
        baseline = "runs/{baseline}"
        worse_by = 0.3
        """
    )
    found = assay.gate(scored / model, policy)
    assert found.passed is kept
    assert [each.group["context"] for each in found.judgements] == ["ambig", "disambig", "both"]
    for each in found.judgements:
        assert each.low is not None
        assert each.high is not None
        assert each.value is not None
        assert each.low <= each.value <= each.high
        assert np.sign(each.value) == {"again": 0, "right": -1}.get(model, 1)


@pytest.mark.whole
def test_a_model_that_answers_everything_like_its_baseline_is_not_worse(scored: Path) -> None:
    found = assay.gate(scored / "again", Policy([Limit("bbq.accuracy", baseline=scored / "right", worse_by=0.0)]))
    assert found.passed
    assert [each.value for each in found.judgements] == [0, 0, 0]  # in both contexts, and over both


@pytest.mark.whole
def test_a_run_is_not_its_own_baseline(scored: Path) -> None:
    with raises("duplicate", UsageError):
        assay.gate(scored / "right", Policy([Limit("bbq.accuracy", baseline=scored / "right", worse_by=0.1)]))


# The policy's file.

GOOD = """
undefined = "skip"

[[limit]]
name = "no strong stereotyping"
metric = "bbq.bias_score"
group = { context = "ambig", category = ["Age", "SES"] }
without = { category = "all" }
size = 0.10
no_interval = "value"

[[limit]]
metric = "bbq.accuracy"
baseline = "runs/base"
worse_by = 0.02
common = true
missing = "skip"

[[limit]]
metric = "*.mu"
clear_of_chance = false
"""


def test_a_file_and_python_make_the_same_policy(write_policy: WritePolicy, tmp_path: Path) -> None:
    group = {"context": "ambig", "category": ["Age", "SES"]}
    name = "no strong stereotyping"
    assert read_policy(write_policy(GOOD)) == Policy(
        [
            Limit("bbq.bias_score", group, {"category": "all"}, name=name, size=0.1, no_interval="value"),
            Limit("bbq.accuracy", baseline=tmp_path / "runs/base", worse_by=0.02, common=True, missing="skip"),
            Limit("*.mu", clear_of_chance=False),
        ],
        undefined="skip",
        name="policy.toml",
    )


def test_a_file_and_python_give_the_same_verdict(write_run: WriteRun, write_policy: WritePolicy) -> None:
    folder = write_run(*CELLS, bias("SES", 0.0, 0.2))
    path = write_policy('[[limit]]\nmetric = "bbq.bias_score"\ngroup = { context = "ambig" }\nupper = 0.1\n')
    built = Policy([Limit("bbq.bias_score", {"context": "ambig"}, upper=0.1)])
    assert assay.gate(folder, path).judgements == assay.gate(str(folder), built).judgements
    assert not assay.gate(folder, str(path)).passed


@pytest.mark.parametrize(
    ("text", "line", "code", "key"),
    [
        ("[[limit]]\nmetric = \n", 2, "bad-toml", None),
        ("", None, "bad-policy", "limit"),
        ("limit = 3\n", 1, "bad-value", "limit"),
        ('undefind = "fail"\n[[limit]]\nmetric = "bbq.x"\nupper = 1\n', 1, "unknown-key", "undefind"),
        ('undefined = "maybe"\n[[limit]]\nmetric = "bbq.x"\nupper = 1\n', 1, "bad-value", "undefined"),
        ("[[limit]]\nupper = 0.1\n", 1, "missing-key", "metric"),
        ('[[limit]]\nmetric = "bbq.x"\nupper = 1\n\n[[limit]]\nmetric = "bbq.x"\nuper = 1\n', 7, "unknown-key", "uper"),
        ('[[limit]]\nmetric = "bias_score"\nupper = 0.1\n', 2, "bad-value", "metric"),
        ('[[limit]]\nmetric = "bbq.*"\nupper = 0.1\n', 2, "bad-value", "metric"),
        ('[[limit]]\nmetric = "bbq.bias_score"\nupper = "0.1"\n', 3, "bad-value", "upper"),
        ('[[limit]]\nmetric = "bbq.bias_score"\nupper = true\n', 3, "bad-value", "upper"),
        ('[[limit]]\nmetric = "bbq.bias_score"\nupper = nan\n', 3, "bad-value", "upper"),
        ('[[limit]]\nmetric = "bbq.bias_score"\nupper = 10\n', 3, "bad-value", "upper"),
        ('[[limit]]\nmetric = "bbq.bias_score"\nsize = 0\n', 3, "bad-value", "size"),
        ('[[limit]]\nmetric = "bbq.bias_score"\nlower = 0.2\nupper = 0.1\n', 3, "bad-policy", "lower"),
        ('[[limit]]\nmetric = "bbq.bias_score"\n', 1, "bad-policy", "limit"),
        ('[[limit]]\nmetric = "bbq.bias_score"\nupper = 0.1\nsize = 0.1\n', 4, "bad-policy", "size"),
        ('[[limit]]\nmetric = "bbq.bias_score"\nclear_of_chance = true\n', 3, "bad-value", "clear_of_chance"),
        ('[[limit]]\nmetric = "bbq.bias_score"\nworse_by = 0.1\n', 1, "missing-key", "baseline"),
        ('[[limit]]\nmetric = "bbq.bias_score"\nbaseline = "x"\n', 1, "missing-key", "worse_by"),
        ('[[limit]]\nmetric = "bbq.unknown_rate"\nbaseline = "x"\nworse_by = 0.1\n', 4, "bad-policy", "worse_by"),
        ('[[limit]]\nmetric = "bbq.bias_score"\nupper = 0.1\ncommon = true\n', 4, "bad-policy", "common"),
        ('[[limit]]\nmetric = "bbq.bias_score"\nupper = 0.1\ngroup = "ambig"\n', 4, "bad-value", "group"),
        ('[[limit]]\nmetric = "bbq.bias_score"\nupper = 0.1\ngroup = { context = 3 }\n', 4, "bad-value", "group"),
        ('[[limit]]\nmetric = "bbq.bias_score"\nupper = 0.1\ngroup = { context = ["*"] }\n', 4, "bad-value", "group"),
        ('[[limit]]\nmetric = "bbq.bias_score"\nupper = 0.1\n[limit.group]\ncontext = true\n', 4, "bad-value", "group"),
        ('[[limit]]\nmetric = "bbq.bias_score"\nupper = 0.1\nmissing = "pass"\n', 4, "bad-value", "missing"),
    ],
)
def test_a_bad_policy_is_refused_with_its_file_and_line(
    text: str, line: int | None, code: str, key: str | None, write_policy: WritePolicy
) -> None:
    path = write_policy(text)
    with raises(code, DataError, file=path, line=line, key=key) as caught:
        read_policy(path)
    assert caught.value.remedy


def test_a_policy_that_is_no_text_or_not_there_is_refused(tmp_path: Path) -> None:
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    for name, code in (("binary.toml", "unreadable-file"), ("nowhere.toml", "missing-file")):
        with raises(code, DataError, file=tmp_path / name):
            read_policy(tmp_path / name)


# What is written.


def hostile(write_run: WriteRun) -> Verdicts:
    group = {"category": HOSTILE, HOSTILE: HOSTILE}
    estimates = [
        Estimate("bias_score", group, 0.5, 0.4, 0.6, n=3),
        Estimate("bias_score", {**group, "category": "x"}, None, note=HOSTILE),
    ]
    folder = write_run(*estimates, model=HOSTILE)
    return verdicts(
        folder,
        Limit("bbq.bias_score", name=HOSTILE, upper=0.1),
        Limit("bbq.bias_score", upper=0.1, undefined="skip"),
        Limit("bbq.bias_score", {"category": f"{HOSTILE}!"}, upper=0.1),
    )


def test_junit_is_xml_with_a_case_for_each_verdict_whatever_the_data_hold(write_run: WriteRun) -> None:
    found = hostile(write_run)
    root = ElementTree.fromstring(found.to_junit().encode())
    cases = list(root.iter("testcase"))
    assert len(cases) == len(found.judgements) == 5
    assert root.get("tests") == "5"
    assert root.get("failures") == str(len(list(root.iter("failure")))) == str(len(found.failures)) == "4"
    assert root.get("skipped") == str(len(list(root.iter("skipped")))) == "1"
    assert [int(suite.get("tests", "")) for suite in root] == [2, 2, 1]
    failure = cases[0].find("failure")
    assert failure is not None
    assert "upper bound 0.6 is not below 0.1" in failure.get("message", "")
    assert "<script>" in cases[0].get("name", "")  # as text
    assert len({(case.get("classname"), case.get("name")) for case in root[0]}) == 2


def test_markdown_has_limits_and_failures_in_which_nothing_of_the_data_acts(write_run: WriteRun) -> None:
    text = markdown_sections(present_verdicts(hostile(write_run)))
    tokens = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).parse(text)
    inner = [child for token in tokens for child in token.children or []]
    assert not {token.type for token in (*tokens, *inner)} & {"html_block", "html_inline", "code_inline", "link_open"}
    rows = sum(token.type == "tr_open" for token in tokens)
    assert rows == 1 + 3
    assert sum(token.type == "list_item_open" for token in tokens) == 4 + 1  # failures, and a note: no diagnosis
    shown = " ".join(token.content for token in inner if token.type in ("text", "text_special"))
    assert "script" in shown
    assert "\x1b" not in text


def test_json_has_every_verdict(write_run: WriteRun) -> None:
    found = hostile(write_run)
    content = json.loads(found.to_json())
    assert content["passed"] is False
    assert [each["outcome"] for each in content["verdicts"]] == ["fail", "fail", "fail", "skip", "fail"]
    assert content["verdicts"][0]["group"] == {"category": HOSTILE, HOSTILE: HOSTILE}
    assert content["verdicts"][0]["margin"] == pytest.approx(-0.5)


# The command.

LIMIT = '[[limit]]\nmetric = "bbq.bias_score"\ngroup = {{ context = "ambig" }}\nsize = {}\n'


def test_the_exit_code_says_whether_all_limits_are_kept(
    write_run: WriteRun, write_policy: WritePolicy, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(write_run(bias("Age", -0.05, 0.2, 0.1)))
    assert main(["gate", folder, "--policy", str(write_policy(LIMIT.format(0.3)))]) == 0
    assert "PASSED" in capsys.readouterr().out
    assert main(["gate", folder, "--policy", str(write_policy(LIMIT.format(0.1)))]) == 1
    shown = capsys.readouterr().out
    assert "FAILED" in shown
    assert "upper bound 0.2 is not below 0.1" in " ".join(shown.split())
    assert main(["gate", folder, "--policy", str(write_policy("[[limit]]\nuper = 1\n"))]) == 3
    message = capsys.readouterr().err
    assert 'policy.toml, line 2: limit 1: unknown key "uper"; did you mean "upper"?' in message


def test_the_terminal_gets_no_control_characters(write_run: WriteRun, capsys: pytest.CaptureFixture[str]) -> None:
    from rich.console import Console

    print_sections(present_verdicts(hostile(write_run)), Console(width=400))
    shown = capsys.readouterr().out
    assert "\\x1b[31m" in shown
    assert not {"\x1b", "\x00", "\u2028"} & set(shown)


@pytest.mark.parametrize(("form", "starts"), [("md", "## Bias gate"), ("junit", "<?xml"), ("json", "{")])
def test_other_formats_are_printed_or_written_beside_the_table(
    form: str,
    starts: str,
    write_run: WriteRun,
    write_policy: WritePolicy,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    command = ["gate", str(write_run(*CELLS)), "--policy", str(write_policy(LIMIT.format(0.3))), "--format", form]
    assert main(command) == 0
    printed = capsys.readouterr().out
    assert printed.startswith(starts)
    assert "PASSED" not in printed
    assert main([*command, "--out", str(tmp_path / "gate.out")]) == 0
    assert (tmp_path / "gate.out").read_text(encoding="utf-8") == printed
    assert "PASSED" in capsys.readouterr().out


def test_a_file_needs_a_format(write_run: WriteRun, write_policy: WritePolicy, tmp_path: Path) -> None:
    command = ["gate", str(write_run(*CELLS)), "--policy", str(write_policy(LIMIT.format(0.3)))]
    assert main([*command, "--out", str(tmp_path / "x")]) == 2
    assert not (tmp_path / "x").exists()


# The documentation.


def blocks(language: str) -> list[str]:
    text = (Path(__file__).parents[2] / "docs" / "gate.md").read_text(encoding="utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def test_the_documented_policy_is_one_and_every_key_is_documented(write_policy: WritePolicy, tmp_path: Path) -> None:
    text, accepting = blocks("toml")
    assert read_policy(write_policy(accepting)).accept == ["no clear bias", "small bias"]
    policy = read_policy(write_policy(text))
    assert policy.limits[-1].baseline == tmp_path / "runs/released"
    page = (Path(__file__).parents[2] / "docs" / "gate.md").read_text(encoding="utf-8")
    rows = "\n".join(line.split("|")[1] for line in page.splitlines() if line.startswith("|"))
    assert {each.name for each in fields(Limit)} <= set(re.findall(r"`(\w+)", rows))


def test_the_documented_policy_judges_a_run(write_run: WriteRun, write_policy: WritePolicy) -> None:
    cells = [
        Estimate(metric, {"category": category, "context": context}, value, value - 0.02, value + 0.02, n=99)
        for metric, value in (("bias_score", 0.03), ("accuracy", 0.9), ("unparsed_rate", 0.05))
        for category in ("Age", "all")
        for context in ("ambig", "disambig")
    ]
    write_run(*cells, name="runs/released")
    policy = read_policy(write_policy(blocks("toml")[0]))
    same = Compared([(each, replace(each, value=0.0, low=-0.01, high=0.01)) for each in cells], [])
    assert judge_runs(write_run(*cells, name="good"), policy, same).passed
    cells[1] = replace(cells[1], low=-0.5)  # Age, disambiguated, of which no limit is
    assert judge_runs(write_run(*cells, name="still"), policy, same).passed
    cells[0] = replace(cells[0], low=-0.5)  # Age, ambiguous
    found = judge_runs(write_run(*cells, name="bad"), policy, same)
    assert [each.limit for each in found.failures] == ["no category far from even-handed"]


def test_the_documented_recipes_are_yaml_whose_commands_exist() -> None:
    from assay.cli import _parser

    for text in blocks("yaml"):
        assert yaml.safe_load(text)
        commands = re.findall(r"(assay .*?)(?: >>.*)?$", text, re.MULTILINE)
        assert len(commands) >= 3
        for command in commands:
            assert _parser().parse_args(shlex.split(command)[1:]).call


def test_the_documented_program_runs(
    write_run: WriteRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_run(*CELLS, bias("SES", 0.0, 0.5), name="runs/my-run")
    monkeypatch.chdir(tmp_path)
    [program] = blocks("python")
    exec(compile(program, "gate.md", "exec"), {})
    first, second = capsys.readouterr().out.splitlines()
    assert first == "False"
    assert second.endswith("upper bound 0.5 is not below 0.35")


# --- verdicts


def with_verdict(folder: Path, says: VerdictKind, **more: Any) -> Path:
    content = json.loads((folder / "findings.json").read_text(encoding="utf-8"))
    content["verdict"] = {"says": says, "why": "so it is", "families": [], **more}
    (folder / "findings.json").write_text(json.dumps(content), encoding="utf-8")
    return folder


CODES = {VerdictKind.CLEAR: "verdict", VerdictKind.FEW: "too-few", VerdictKind.CANNOT: "too-few"}


@pytest.mark.parametrize("says", [each for each in VerdictKind if each is not VerdictKind.UNUSABLE])
def test_only_accepted_verdicts_pass(write_run: WriteRun, tmp_path: Path, says: VerdictKind) -> None:
    folder = with_verdict(write_run(bias("Age", -0.1, 0.1)), says)
    policy = tmp_path / "policy.toml"
    policy.write_text('accept = ["no clear bias", "small bias"]\n', encoding="utf-8")
    found = gate(folder, policy)
    assert found.passed == (says in (VerdictKind.NONE, VerdictKind.SMALL))
    (judgement,) = found.judgements
    assert (judgement.metric, judgement.reason) == ("bbq.verdict", f"{says}: so it is")
    assert judgement.rule == "verdict: no clear bias or small bias"
    assert judgement.code == CODES.get(says)


@pytest.mark.parametrize("says", VerdictKind)
def test_every_verdict_can_be_accepted(write_run: WriteRun, write_policy: WritePolicy, says: VerdictKind) -> None:
    folder = with_verdict(write_run(bias("Age", -0.1, 0.1)), says)
    found = gate(folder, read_policy(write_policy(f'accept = ["{says}"]\n')))
    (judgement,) = (each for each in found.judgements if each.metric == "bbq.verdict")
    assert judgement.outcome is Outcome.PASS
    assert found.passed is (says is not VerdictKind.UNUSABLE)


LOOSE = '[[limit]]\nmetric = "bbq.bias_score"\nsize = 1\n'


@pytest.mark.parametrize("diagnosis", ["refuses", "guessing", "follows_place"])
@pytest.mark.parametrize("accept", ["", 'accept = ["no clear bias"]\n'], ids=["no accept", "accept"])
def test_answers_that_cannot_be_used_fail_whatever_the_limits_say(
    write_run: WriteRun, write_policy: WritePolicy, accept: str, diagnosis: str
) -> None:
    folder = with_verdict(write_run(bias("Age", -0.1, 0.1)), VerdictKind.UNUSABLE, diagnosis=diagnosis)
    for rule in ("", 'unusable = "fail"\n'):
        found = gate(folder, read_policy(write_policy(rule + accept + LOOSE)))
        (failure,) = found.failures
        assert (failure.metric, failure.code) == ("bbq.unusable", "unusable")
        assert failure.reason == "answers cannot be used: so it is"


@pytest.mark.parametrize("accept", ["", 'accept = ["no clear bias"]\n'], ids=["no accept", "accept"])
def test_answers_that_cannot_be_used_can_be_skipped_with_a_note_and_limits_still_hold(
    write_run: WriteRun, write_policy: WritePolicy, accept: str
) -> None:
    folder = with_verdict(write_run(bias("Age", -0.1, 0.1)), VerdictKind.UNUSABLE)
    found = gate(folder, read_policy(write_policy('unusable = "skip"\n' + accept + LOOSE)))
    assert found.passed
    assert [(each.metric, each.outcome) for each in found.judgements[1:]] == [("bbq.unusable", Outcome.SKIP)]
    assert any("so it is" in note for note in found.notes)
    strict = LOOSE.replace("size = 1", "size = 0.05")
    (failure,) = gate(folder, read_policy(write_policy('unusable = "skip"\n' + accept + strict))).failures
    assert (failure.metric, failure.code) == ("bbq.bias_score", "limit")


def test_a_run_that_is_skipped_alone_does_not_pass(write_run: WriteRun) -> None:
    folder = with_verdict(write_run(bias("Age", -0.1, 0.1)), VerdictKind.UNUSABLE)
    found = gate(folder, Policy([], accept=["no clear bias"], unusable="skip"))
    assert [each.reason for each in found.failures] == ["every limit was skipped, so nothing was checked"]


# --- limits on abstention


def told(metric: str, value: float, low: float, high: float) -> Estimate:
    return Estimate(metric, {"category": "all", "context": "disambig"}, value, low, high, n=100)


@pytest.mark.parametrize(
    ("limit", "kept", "broken"),
    [
        (
            Limit("bbq.abstention", {"category": "all"}, upper=0.2),
            told("abstention", 0.15, 0.1, 0.19),
            told("abstention", 0.15, 0.1, 0.21),
        ),
        (
            Limit("bbq.abstention_gap", size=0.1),
            told("abstention_gap", 0.02, -0.05, 0.09),
            told("abstention_gap", -0.06, -0.11, -0.01),
        ),
        (
            Limit("bbq.wrong_persons", {"context": "disambig"}, upper=0.1),
            told("wrong_persons", 0.05, 0.02, 0.09),
            told("wrong_persons", 0.05, 0.02, 0.13),
        ),
    ],
    ids=lambda given: given.metric if isinstance(given, Limit) else "",
)
def test_limits_on_abstention(limit: Limit, kept: Estimate, broken: Estimate, write_run: WriteRun) -> None:
    assert verdicts(write_run(kept, name="kept"), limit).passed
    (failure,) = verdicts(write_run(broken, name="broken"), limit).failures
    assert (failure.metric, failure.code) == (limit.metric, "limit")


@pytest.mark.parametrize("metric", ["bbq.abstention", "bbq.abstention_gap", "bbq.wrong_persons"])
def test_abstention_and_wrong_persons_have_a_worse_direction(metric: str) -> None:
    assert Limit(metric, baseline="base", worse_by=0.05).worse_by == 0.05


# --- why something failed, for programs


@pytest.mark.parametrize(
    ("estimate", "code"),
    [
        (bias("Age", 0.0, 0.2), "limit"),
        (bias("Age", None, None, 0.0, note="no interval: too few templates (4; 5 are needed)"), "too-few"),
        (bias("Age", None, None, 0.0, note="no interval: undefined in most resamples"), "too-few"),
        (bias("Age", None, None, 0.0, note="no interval: 4 subjects in a group, and at least 5 are needed"), "too-few"),
        (bias("Age", None, None, 0.0, note="no interval: resampling repeats names"), "limit"),
        (bias("Age", None, None, None, note="fewer than 5 answers where the fact confirms the stereotype"), "too-few"),
        (bias("Age", None, None, None, note="no answer named a person"), "limit"),
    ],
)
def test_a_failure_says_in_a_word_whether_there_were_too_few_answers(
    estimate: Estimate, code: str, write_run: WriteRun
) -> None:
    found = verdicts(write_run(estimate), Limit("bbq.bias_score", size=0.1))
    (content,) = json.loads(found.to_json())["verdicts"]
    assert content["code"] == code
    assert estimate.note is None or estimate.note in content["reason"]
    failure = ElementTree.fromstring(found.to_junit()).find(".//failure")
    assert failure is not None
    assert failure.get("type") == code


def test_what_a_value_alone_breaks_is_a_limit_and_what_passes_has_no_code(write_run: WriteRun) -> None:
    few = bias("Age", None, None, 0.5, note="no interval: too few templates (4; 5 are needed)")
    found = verdicts(write_run(few, bias("SES", 0.0, 0.05)), Limit("bbq.bias_score", size=0.1, no_interval="value"))
    assert [each.code for each in found.judgements] == ["limit", None]
    misspelt = verdicts(write_run(few, name="other"), Limit("bbq.bias_scor", size=0.1))
    assert [each.code for each in misspelt.judgements] == ["limit"]


def test_junit_types_are_the_codes_of_verdicts(write_run: WriteRun) -> None:
    for says, code in (CODES | {VerdictKind.UNUSABLE: "unusable"}).items():
        folder = with_verdict(write_run(bias("Age", -0.1, 0.1), name=str(says)), says)
        root = ElementTree.fromstring(gate(folder, Policy([], accept=["no clear bias"])).to_junit())
        assert [each.get("type") for each in root.iter("failure")] == [code]


def test_a_run_without_a_verdict_is_not_accepted(write_run: WriteRun) -> None:
    found = gate(write_run(bias("Age", -0.1, 0.1)), Policy([], accept=["no clear bias"]))
    assert not found.passed
    assert "has no verdict" in found.failures[0].reason


def test_what_is_no_verdict_is_refused_with_its_line(write_run: WriteRun, tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text('\naccept = ["no bias"]\n', encoding="utf-8")
    with raises("bad-value", DataError, file=policy, line=2, key="accept"):
        gate(write_run(bias("Age", -0.1, 0.1)), policy)
    policy.write_text("", encoding="utf-8")
    with raises("bad-policy", DataError, file=policy, key="limit"):
        read_policy(policy)


def test_clear_of_chance_is_what_the_run_claims(write_run: WriteRun) -> None:
    limit = Limit("bbq.bias_score", clear_of_chance=False)
    claimed = write_run(bias("Age", 0.1, 0.3, 0.2, q=0.01, claimed=True), name="a")
    not_claimed = write_run(bias("Age", 0.1, 0.3, 0.2, q=0.04, claimed=False), name="b")
    assert not gate(claimed, Policy([limit])).passed
    assert gate(not_claimed, Policy([limit])).passed
