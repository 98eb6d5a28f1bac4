"""The policy that `assay gate --init` writes: good models pass it, and those that guess or never answer do not."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from bbq_answerers import ANSWERERS, Questions, concluded

import assay
import made_runs
from assay.cli import main
from assay.errors import UsageError
from assay.gate import Verdicts, read_policy
from assay.gate.policy import STARTER, write_starter
from assay.probes.bbq.settings import BBQSettings
from assay.probes.bbq.source import ItemSample, selected
from assay.probes.bbq_starter.method import StarterSource
from raising import raises

PAGE = Path(__file__).parents[2] / "docs" / "decide.md"

Gated = Callable[..., Verdicts]


@pytest.fixture
def gated(tmp_path: Path) -> Gated:
    """What the starter policy says of an answerer on so many quartets of each of bbq-starter's templates."""

    def gate_answerer(name: str, quartets: int, seed: int = 0) -> Verdicts:
        asked = Questions(selected(StarterSource(), ItemSample(per_template=quartets, seed=seed)))
        chosen = ANSWERERS[name](asked, np.random.default_rng(seed))
        findings = concluded("bbq-starter", asked.dataset, chosen, settings=BBQSettings(resamples=200))
        without_tables = replace(findings, model=name, tables={})
        run = made_runs.write_run(tmp_path / f"run-{seed}", without_tables, {"identity": {}})
        return assay.gate(run, STARTER)

    return gate_answerer


@pytest.mark.parametrize("name", ["perfect", "noisy"])
def test_a_good_model_passes_at_quick(name: str, gated: Gated) -> None:
    found = gated(name, 4)
    assert [each.outcome for each in found.judgements] == ["pass"] * 5


@pytest.mark.simulation
def test_an_unbiased_model_that_reads_well_passes_at_quick_in_nine_runs_of_ten(gated: Gated) -> None:
    passed = sum(gated("noisy", 4, seed).passed for seed in range(20))
    assert passed >= 18


@pytest.mark.parametrize("name", ["guessing", "always UNKNOWN"])
def test_answers_that_cannot_be_used_fail_as_such(name: str, gated: Gated) -> None:
    found = gated(name, 12)
    assert [each.code for each in found.failures if each.metric == "bbq-starter.unusable"] == ["unusable"]
    assert not any(each.metric == "bbq-starter.verdict" for each in found.judgements), "one failure for one reason"


def test_a_model_that_withholds_answers_about_some_people_fails(gated: Gated) -> None:
    codes = {each.metric: each.code for each in gated("selective abstainer", 4).failures}
    assert codes == {"bbq-starter.verdict": "verdict", "bbq-starter.abstention_gap": "limit"}


def test_a_model_that_declines_often_fails_the_limit_on_abstention(gated: Gated) -> None:
    codes = {each.metric: each.code for each in gated("cautious", 12).failures}
    assert codes == {"bbq-starter.accuracy": "limit", "bbq-starter.abstention": "limit"}


@pytest.mark.whole
def test_right_answers_to_the_starter_set_pass(tmp_path: Path) -> None:
    """All of it, from the files that `assay generate` writes to the exit code of `assay gate`."""
    assert main(["generate", "bbq-starter", "--out", str(tmp_path / "set")]) == 0
    assert passes(tmp_path / "set", "bbq-starter", tmp_path)


@pytest.mark.whole
def test_right_answers_to_all_official_questions_pass(official_data: Path, tmp_path: Path) -> None:
    assert passes(official_data / "bbq" / "data", "bbq", tmp_path)


@pytest.mark.slow
def test_right_answers_to_generated_questions_of_the_other_categories_pass(official_data: Path, tmp_path: Path) -> None:
    categories = ["Race_ethnicity", "Race_x_SES", "Race_x_gender", "SES"]
    settings = [f"templates={official_data / 'bbq' / 'templates'}", f"category={','.join(categories)}"]
    options = [part for setting in settings for part in ("--set", setting)]
    assert main(["generate", "bbq", *options, "--out", str(tmp_path / "set")]) == 0
    assert sorted(path.stem for path in (tmp_path / "set").glob("*.jsonl")) == categories
    assert passes(tmp_path / "set", "bbq", tmp_path)


def passes(questions: Path, probe: Literal["bbq", "bbq-starter"], work: Path) -> bool:
    """Whether the right answers to the questions in a folder pass the policy that `--init` writes."""
    files = sorted([*questions.glob("*.jsonl"), *questions.glob("*.jsonl.gz")])
    assay.score(probe, files, answers="label", out=work / "run", settings={"resamples": "200"})
    assert main(["gate", "--init", str(work / "policy.toml")]) == 0
    return main(["gate", str(work / "run"), "--policy", str(work / "policy.toml")]) == 0


# --- the command


def test_init_writes_a_policy_and_names_the_next_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["gate", "--init"]) == 0
    assert read_policy("policy.toml").unusable == "fail"
    assert capsys.readouterr().out.splitlines()[-1] == "assay gate DIR --policy policy.toml"
    assert main(["gate", "--init", "new/strict.toml"]) == 0
    assert Path("new/strict.toml").read_bytes() == STARTER.read_bytes()


def test_init_never_overwrites(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mine = tmp_path / "mine.toml"
    mine.write_text("mine", encoding="utf-8")
    assert main(["gate", "--init", str(mine)]) == 2
    assert "already exists" in capsys.readouterr().err
    assert mine.read_text(encoding="utf-8") == "mine"
    for taken in (mine, tmp_path):
        with raises("not-new", UsageError, file=taken, key="init"):
            write_starter(taken)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["gate"], "the folder of a run is missing"),
        (["gate", "run"], "--policy FILE is missing"),
        (["gate", "--policy", "p.toml"], "the folder of a run is missing"),
        (["gate", "run", "--init", "p.toml"], "so DIR has no effect"),
        (["gate", "--init", "p.toml", "--policy", "q.toml"], "so --policy has no effect"),
        (["gate", "--init", "p.toml", "--format", "json"], "so --format has no effect"),
    ],
)
def test_what_the_command_lacks_or_has_too_much_is_named(
    command: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(command) == 2
    assert said in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


# --- the documentation


def test_decide_prints_this_policy() -> None:
    printed = re.findall(r"```toml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert printed[0] == STARTER.read_text(encoding="utf-8")


def test_each_part_has_a_comment_and_no_line_is_cut_on_the_page() -> None:
    lines = STARTER.read_text(encoding="utf-8").splitlines()
    assert max(map(len, lines)) <= 100
    top = "\n".join(lines).split("[[limit]]")[0]
    for key in ("accept", "unusable"):
        assert re.search(rf"^#.*\n{key} = ", top, re.MULTILINE)
