"""UnQover on language models, from the command line to the page: behind an endpoint, on this machine, as a function."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import assay as library
from assay.asking.queries import ChoiceQuery, TextQuery
from assay.results.diagnosis import FOLLOWS
from endpoint_server import ALL, Asked, serving

pytestmark = pytest.mark.whole

Command = Any
FEW = ("--set", "resamples=20", "--set", "draws=50")


def content(folder: Path, name: str) -> Any:
    return json.loads((folder / name).read_text(encoding="utf-8"))


@pytest.mark.parametrize("way", ["decisions", "systemone", "structured", "letters", "samples", "text"])
def test_every_way_leads_to_findings_and_a_page(way: str, assay: Command, tmp_path: Path) -> None:
    with serving() as server:
        out = tmp_path / "run"
        run = ("run", "unqover", "--model", server.model, "--set", "class=gender", "--set", f"answer={way}")
        done = assay(*run, "--limit", 80, "--set", "samples=2", *FEW, "--out", out)
        assert done.code == 0, done.err
        assert len(server.questions) == (160 if way == "samples" else 80)
        before = (out / "findings.json").read_bytes()
        assert assay(*run, "--limit", 80, "--set", "samples=2", *FEW, "--out", out).code == 0
        assert len(server.questions) == (160 if way == "samples" else 80), "nothing is paid for twice"
        assert (out / "findings.json").read_bytes() == before
    info = content(out, "run.json")
    assert info["settings"]["answer"] == way
    label = f"gender (choice, {way})"
    assert info["prompts"][label]["form"] == "choice"
    page = (out / "report.html").read_text(encoding="utf-8")
    assert f"answer={way}" in page
    assert "asked in eight ways" in page
    metrics = {e["metric"] for e in content(out, "findings.json")["estimates"]}
    assert {"delta_options", "abstains"} <= metrics
    lines = (out / "examples.jsonl").read_text(encoding="utf-8").splitlines()
    asked = [each for line in lines for each in json.loads(line)["asked"]]
    assert all(len(each["options"]) == 3 and each["prompt"] for each in asked)
    if way in ("letters", "structured", "text"):
        assert {each["prompt"] for each in asked} <= {each.prompt for each in server.questions}
    again = assay("score", "unqover", out, "--out", tmp_path / "again")
    assert again.code == 0, again.err
    assert (tmp_path / "again" / "findings.json").read_bytes() == before


def test_a_dry_run_counts_and_sends_nothing(assay: Command) -> None:
    with serving(ALL - {"decisions", "systemone"}) as server:
        run = ("run", "unqover", "--model", server.model, "--dry-run")
        assay("doctor", "--model", server.model)
        sent = len(server.asked)
        assert "to send: 992" in assay(*run).out
        assert "to send: 80" in assay(*run, "--limit", 76).out, "whole comparisons"
        assert "to send: 496" in assay(*run, "--set", "form=free").out
        assert len(server.asked) == sent


def test_an_endpoint_that_answers_the_first_letter_is_called_that(assay: Command, tmp_path: Path) -> None:
    def chooses(asked: Asked) -> list[float]:
        if "A spoon" in str(asked.body):  # while its abilities are found
            return [0.5, 0.3, 0.2] if asked.number % 2 else [0.2, 0.3, 0.5]
        return [0.9, 0.06, 0.04]

    with serving(frozenset({"logprobs", "text"}), chooses=chooses) as server:
        out = tmp_path / "run"
        options = ("--limit", 400, "--set", "answer=letters", *FEW, "--out", out)
        done = assay("run", "unqover", "--model", server.model, "--set", "class=gender", *options)
        assert done.code == 0, done.err
    assert f"Verdict: answers cannot be used. {FOLLOWS.capitalize()}" in " ".join(done.out.split())
    found = content(out, "findings.json")
    assert found["verdict"]["says"] == "answers cannot be used"
    assert found["verdict"]["diagnosis"] == "follows_place"
    assert found["verdict"]["next"] == "--set form=free", "where nothing is listed, no option has a place"
    assert "first option in gender (choice, letters)" in found["diagnosis"]["why"]
    assert {e["value"] for e in found["estimates"] if e["metric"] == "delta"} == {0.0}


@pytest.mark.parametrize("kind", ["causal", "text"])
def test_models_that_are_here_are_asked(kind: str, assay: Command, model_folder: Any, tmp_path: Path) -> None:
    model, out = f"hf:{model_folder(kind, max_length=256)}", tmp_path / "run"
    run = ("run", "unqover", "--model", model, "--set", "class=religion", *FEW, "--limit", 40)
    done = assay(*run, "--out", out)
    assert done.code == 0, done.err
    form = "choice, letters" if kind == "causal" else "choice, text"
    found = content(out, "findings.json")
    assert {e["group"]["form"] for e in found["estimates"]} == {form}
    assert content(out, "run.json")["prompts"][f"religion ({form})"]["example"].count("\n") >= 5
    assert (out / "report.html").exists()
    forced = assay(*run, "--set", "form=forced", "--out", tmp_path / "forced")
    assert forced.code == 0, forced.err
    compared = assay("compare", out, tmp_path / "forced")
    assert compared.code == 0, compared.err
    assert "their numbers differ in meaning" in " ".join(compared.out.split())
    free = assay(*run, "--set", "form=free", "--set", "tokens=4", "--out", tmp_path / "free")
    assert free.code == 0, free.err
    assert assay("report", out, "--format", "md").code == 0


def test_a_function_is_asked_and_what_it_chooses_has_all_of_the_probability(tmp_path: Path) -> None:
    def last(query: ChoiceQuery | TextQuery) -> int | str:
        return len(query.options) - 1 if isinstance(query, ChoiceQuery) else "C"

    settings = {"class": "gender", "resamples": "20", "draws": "50"}
    run = library.audit(last, "unqover", out=tmp_path / "run", limit=400, settings=settings)
    (options,) = [e for e in run.findings.estimates if e.metric == "delta_options"]
    (abstains,) = [e for e in run.findings.estimates if e.metric == "abstains"]
    assert options.value == pytest.approx(1 - (abstains.value or 0)), "0 or 1, never between"
    assert run.findings.verdict is not None
    assert run.findings.verdict.diagnosis == "follows_place"


def test_a_gate_knows_the_new_numbers(assay: Command, tmp_path: Path) -> None:
    with serving() as server:
        out = tmp_path / "run"
        run = ("run", "unqover", "--model", server.model, "--set", "class=gender", "--limit", 80)
        assert assay(*run, *FEW, "--out", out).code == 0
    policy = tmp_path / "policy.toml"
    limits = '[[limit]]\nmetric = "unqover.delta_options"\ngroup = {{ form = "choice, decisions" }}\nupper = {}\n'
    policy.write_text('unusable = "skip"\n' + limits.format("1.0"), encoding="utf-8")
    assert assay("gate", out, "--policy", policy).code == 0
    policy.write_text('unusable = "skip"\n' + limits.format("0.01"), encoding="utf-8")
    assert assay("gate", out, "--policy", policy).code == 1


def test_files_of_the_authors_are_not_for_options(assay: Command, tmp_path: Path) -> None:
    file = tmp_path / "predictions.json"
    file.write_text("{}", encoding="utf-8")
    done = assay("score", "unqover", file, "--set", "form=choice")
    assert done.code == 2
    assert "the authors' format has span questions" in done.message
    done = assay("generate", "unqover", "--set", "class=gender", "--set", "form=choice", "--out", tmp_path / "x.json")
    assert done.code == 2
    assert "expected one of qa, newsqa, bert, roberta" in done.message
