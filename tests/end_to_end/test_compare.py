"""`assay compare`: several runs side by side."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import small_lists

FEW = ("--set", "draws=20", "--set", "resamples=20", "--preset", "paper")


@pytest.fixture
def run(assay: Any, lists: Path) -> Callable[..., None]:
    """`run(out, model, …)`: a run of the small lists."""

    def call(out: str, model: Path, *options: str) -> None:
        done = assay(
            "run", "unqover", "--model", f"hf:{model}", "--set", f"word_lists={lists}", *FEW, "--out", out, *options
        )
        assert done.code == 0, done.err

    return call


def test_ranks_of_two_models(assay: Any, run: Any, model_folder: Any) -> None:
    run("a", model_folder("span"))
    run("b", model_folder("span", seed=1))
    done = assay("compare", "a", "b")
    assert done.code == 0
    assert done.out.startswith("[1] hf:")
    for part in ("[2] hf:", "Bias intensity by model", "Ranks of subjects", "mean rank", "Muslim", "Attributes among"):
        assert part in done.out
    found = json.loads(assay("compare", "a", "b", "--json").out)
    assert found["runs"] == ["a", "b"]
    assert len(found["models"]) == 2
    ranks = [row for row in found["tables"]["ranks"] if row["class"] == "religion"]
    for model in found["models"]:
        assert sorted(row[model] for row in ranks) == [1, 2, 3, 4, 5]
    assert sum(row["mean_rank"] for row in ranks) == 15


def test_the_shift_from_a_language_model_to_a_question_answering_one(
    assay: Any, run: Any, span_model_folder: Path, mask_model_folder: Path
) -> None:
    run("lm", mask_model_folder)
    run("qa", span_model_folder)
    found = json.loads(assay("compare", "lm", "qa", "--json").out)["tables"]
    assert {row["class"] for row in found["shift"]} == small_lists.CELLS.keys()
    for row in found["shift"]:
        assert row["shift"] == pytest.approx(row["mu_after"] - row["mu_before"])
        assert row["language_model"] == f"hf:{mask_model_folder}"
        assert row["fine_tuned"] == f"hf:{span_model_folder}"


def test_two_runs_of_one_model_are_told_apart_by_their_folders(assay: Any, run: Any, span_model_folder: Path) -> None:
    run("plain", span_model_folder, "--set", "class=religion")
    run("released", span_model_folder, "--set", "class=religion", "--set", "compat=released")
    assert json.loads(assay("compare", "plain", "released", "--json").out)["models"] == ["plain", "released"]


@pytest.mark.parametrize("other", ["span", "mask"])
def test_runs_from_different_data_are_refused(assay: Any, run: Any, lists: Path, model_folder: Any, other: str) -> None:
    """Also of different forms: both were made from the same list of attributes, or were not."""
    run("a", model_folder("span"), "--set", "class=religion")
    name = "activities/biased_religion"
    small_lists.write(lists, {name: small_lists.FILES[name].replace("late", "tardy")})
    run("b", model_folder(other, seed=1), "--set", "class=religion")
    done = assay("compare", "a", "b")
    assert done.code == 2
    assert done.out == ""
    assert f"a and b were asked from different data ({name})" in done.message


def test_runs_that_share_nothing(assay: Any, run: Any, span_model_folder: Path) -> None:
    run("a", span_model_folder, "--set", "class=religion")
    run("b", span_model_folder, "--set", "class=gender")
    assert assay("compare", "a", "b").code == 0
    assert "ranks" not in json.loads(assay("compare", "a", "b", "--json").out)["tables"]


def test_an_unfinished_run(assay: Any, run: Any, span_model_folder: Path) -> None:
    run("a", span_model_folder, "--set", "class=religion")
    run("b", span_model_folder, "--set", "class=gender")
    Path("b/findings.json").unlink()
    done = assay("compare", "a", "b")
    assert done.code == 3
    assert "b/findings.json: there are no findings here" in done.message


def test_scores_of_predictions_can_be_compared_with_a_run(
    assay: Any, run: Any, lists: Path, span_model_folder: Path
) -> None:
    run("a", span_model_folder, "--set", "class=religion")
    questions = ("--set", "class=religion", "--set", f"word_lists={lists}", "--out", "q.json")
    assert assay("generate", "unqover", *questions).code == 0
    entries = json.loads(Path("q.json").read_text())
    for k, entry in enumerate(entries.values()):
        for question in ("q0", "q1"):
            for p in ("ans0", "ans1"):
                entry[question][p] |= {"start": (k % 7) / 10, "end": (k % 5) / 10}
    Path("predictions.txt").write_text(json.dumps(entries))
    few = ("--set", "draws=20", "--set", "resamples=20")
    assert assay("score", "unqover", "predictions.txt", *few, "--out", "theirs").code == 0
    found = json.loads(assay("compare", "a", "theirs", "--json").out)
    assert found["models"] == [f"hf:{span_model_folder}", "predictions"]
    assert len(found["tables"]["ranks"]) == 5
