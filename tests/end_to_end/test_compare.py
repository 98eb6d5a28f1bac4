"""`assay compare`: several runs side by side."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import small_bbq
import small_lists
import small_sodapop
from assay.results.findings import read_table
from kept_runs import without_digests

pytestmark = pytest.mark.whole

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
        assert row["language_model"] == f"hf:./{mask_model_folder.name}"
        assert row["fine_tuned"] == f"hf:./{span_model_folder.name}"


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
    assert "--common" in done.message


def test_runs_that_share_nothing(assay: Any, run: Any, span_model_folder: Path) -> None:
    run("a", span_model_folder, "--set", "class=religion")
    run("b", span_model_folder, "--set", "class=gender")
    done = assay("compare", "a", "b")
    assert done.code == 0
    assert "have no item in common: nothing is paired" in " ".join(done.out.split())
    assert "ranks" not in json.loads(assay("compare", "a", "b", "--json").out)["tables"]


def test_an_unfinished_run(assay: Any, run: Any, span_model_folder: Path) -> None:
    run("a", span_model_folder, "--set", "class=religion")
    run("b", span_model_folder, "--set", "class=gender")
    Path("b/findings.json").unlink()
    done = assay("compare", "a", "b")
    assert done.code == 3
    assert "b/findings.json: this folder has no findings" in done.message


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
    assert found["models"] == [f"hf:./{span_model_folder.name}", "unnamed model"]
    assert len(found["tables"]["ranks"]) == 5
    (items,) = found["items"]
    assert (items["of_baseline"], items["of_model"], items["common"]) == (60, 60, 60)  # matched by their texts
    assert_differences_of_findings(found, "a", "theirs")

    Path("predictions.txt").rename("elsewhere.txt")
    found = json.loads(assay("compare", "a", "theirs", "--json").out)
    assert found["differences"] == []
    assert "predictions.txt: this file of predictions is gone." in found["notes"][0]
    assert len(found["tables"]["ranks"]) == 5


def assert_differences_of_findings(found: Any, one: str, other: str) -> None:
    """Every change is the difference of the two runs' findings, which have the same items."""
    values = [
        {
            (e["metric"], *sorted(e["group"].items())): e["value"]
            for e in json.loads((Path(run) / "findings.json").read_text())["estimates"]
        }
        for run in (one, other)
    ]
    assert found["differences"]
    for row in found["differences"]:
        change = row["change"]
        before, after = (own[change["metric"], *sorted(change["group"].items())] for own in values)
        assert [row["baseline_value"], row["model_value"]] == pytest.approx([before, after])
        assert change["value"] == pytest.approx(after - before, abs=1e-9)


def test_differences_of_all_classes_are_those_of_the_findings(assay: Any, run: Any, model_folder: Any) -> None:
    run("a", model_folder("span"))
    run("b", model_folder("span", seed=1))
    found = json.loads(assay("compare", "a", "b", "--json").out)
    assert_differences_of_findings(found, "a", "b")
    changes = [row["change"] for row in found["differences"]]
    assert {change["group"]["class"] for change in changes} == small_lists.CELLS.keys()
    assert {change["group"].get("subjects") for change in changes} == {None, "pooled"}
    for row in found["differences"]:
        assert row["change"]["n"] == small_lists.CELLS[row["change"]["group"]["class"]]
        assert row["change"]["low"] is not None
        assert (row["worse"] is None) == (row["change"]["metric"] == "avg_score")
    shown = assay("compare", "a", "b").out
    assert shown.index("Differences on the items that both answered") < shown.index("Bias intensity by model")
    assert "religion (span), comparisons: the same 60" in shown


def test_a_model_does_not_differ_from_itself(assay: Any, run: Any, span_model_folder: Path) -> None:
    run("a", span_model_folder)
    run("b", span_model_folder)
    for row in json.loads(assay("compare", "a", "b", "--json").out)["differences"]:
        assert (row["change"]["value"], row["change"]["p"], row["clear"]) == (0, 1, False)


def test_the_common_part_of_different_data(assay: Any, run: Any, tmp_path: Path, model_folder: Any) -> None:
    """Another attribute in the place of one of three: its cells have the same numbers, and are left out."""
    name = "activities/biased_religion"
    others = small_lists.write(tmp_path / "others", {name: small_lists.FILES[name].replace("late", "tardy")})
    run("a", model_folder("span"), "--set", "class=religion")
    run("b", model_folder("span", seed=1), "--set", "class=religion", "--set", f"word_lists={others}")
    assert assay("compare", "a", "b").code == 2
    done = assay("compare", "a", "b", "--common", "--json")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    (items,) = found["items"]
    assert (items["of_baseline"], items["of_model"], items["common"]) == (60, 60, 40)
    assert {row["change"]["n"] for row in found["differences"]} == {40}
    assert any("word_lists" in note for note in found["notes"])


def test_without_a_common_item_there_is_nothing_to_compare(
    assay: Any, run: Any, tmp_path: Path, model_folder: Any
) -> None:
    names = [name for name in small_lists.FILES if name.startswith("slots/religion")]
    others = small_lists.write(
        tmp_path / "others",
        {name: small_lists.FILES[name].replace("guest", "host").replace("men", "girls") for name in names},
    )
    run("a", model_folder("span"), "--set", "class=religion")
    run("b", model_folder("span", seed=1), "--set", "class=religion", "--set", f"word_lists={others}")
    done = assay("compare", "a", "b", "--common")
    assert done.code == 2
    assert "a and b have no item in common" in done.message


def test_settings_that_change_what_a_number_means_are_said(assay: Any, run: Any, span_model_folder: Path) -> None:
    run("plain", span_model_folder, "--set", "class=religion")
    run("released", span_model_folder, "--set", "class=religion", "--set", "compat=released", "--set", "draws=30")
    found = json.loads(assay("compare", "plain", "released", "--json").out)
    assert found["notes"] == ["plain and released have different settings: compat (paper, released)"]
    (delta,) = [row["change"] for row in found["differences"] if row["change"]["metric"] == "delta"]
    assert delta["value"] is None


def test_answers_that_are_gone_are_said(
    assay: Any, run: Any, model_folder: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    run("a", model_folder("span"), "--set", "class=religion")
    run("b", model_folder("span", seed=1), "--set", "class=religion")
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "empty"))
    found = json.loads(assay("compare", "a", "b", "--json").out)
    assert found["differences"] == []
    assert "are not all stored" in found["notes"][0]
    assert "ranks" in found["tables"]


def test_tours_are_compared_probe_by_probe(assay: Any, run: Any, model_folder: Any, tmp_path: Path) -> None:
    small_bbq.write(tmp_path / "data" / "Age.jsonl", small_bbq.examples(templates=5, quartets=2))
    for tour, seed in (("one", 0), ("two", 1)):
        run(f"{tour}/unqover", model_folder("span", seed=seed), "--set", "class=religion")
        choice = ("--model", f"hf:{model_folder('choice', 'bert', seed=seed)}", "--set", "resamples=20")
        place = ("--data", tmp_path / "data", "--preset", "paper", "--out", f"{tour}/bbq")
        assert assay("run", "bbq", *choice, *place).code == 0
    found = json.loads(assay("compare", "one", "two", "--json").out)
    assert found["runs"] == ["one", "two"]
    assert [part["probe"] for part in found["probes"]] == ["bbq", "unqover"]
    assert_differences_of_findings(found["probes"][0], "one/bbq", "two/bbq")
    assert_differences_of_findings(found["probes"][1], "one/unqover", "two/unqover")
    shown = assay("compare", "one", "two")
    assert shown.code == 0
    assert shown.out.index("bbq") < shown.out.index("Bias intensity by model")

    mixed = assay("compare", "one", "two/unqover")
    assert mixed.code == 2
    assert "one is a folder of runs, and two/unqover is not" in mixed.message
    shutil.copytree("one/unqover", "one/again")
    assert "one holds two runs of unqover, again and unqover" in assay("compare", "one", "two").message
    shutil.rmtree("one/again")
    shutil.rmtree("two/bbq")
    found = json.loads(assay("compare", "one", "two", "--json").out)
    assert found["notes"] == ["bbq is not in two"]
    shutil.rmtree("one/unqover")
    assert "no probe is in all of these folders" in assay("compare", "one", "two").message


def test_two_models_with_the_same_distractors(assay: Any, model_folder: Any, tmp_path: Path) -> None:
    few = ("--set", "contexts=1", "--set", "cap=6", "--set", "min_count=1", "--set", "resamples=20", "--threads", 1)
    options = ("--set", f"groups={small_sodapop.group_file(tmp_path)}", *few)
    assert assay("run", "sodapop", *options, "--out", "a").code == 0
    other = ("--model", f"hf:{model_folder('choice', 'bert')}", "--set", "fill_model=builtin")
    assert assay("run", "sodapop", *other, *options, "--out", "b").code == 0
    found = json.loads(assay("compare", "a", "b", "--json").out)
    assert_differences_of_findings(found, "a", "b")
    assert not any("written by different models" in note for note in found["notes"])
    (items,) = found["items"]
    assert items["common"] == items["of_baseline"] == items["of_model"] > 0
    rows = found["tables"]["word_differences"]
    own = [
        {row["word"]: row["rd"] for row in read_table(Path(run) / "tables" / "words.csv").records()}
        for run in ("a", "b")
    ]
    assert {row["word"] for row in rows} == own[0].keys()
    for row in rows:
        assert [row["rd_baseline"], row["rd_model"]] == pytest.approx([own[0][row["word"]], own[1][row["word"]]])


def test_vectors_of_names(assay: Any, span_model_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.probes.sodapop_names.method.PERMUTATIONS", 3)  # p is not what this is about
    names = {"A": ["Ann", "Amy", "Eve", "Sue"], "B": ["Bob", "Ben", "Jim", "Tom"]}
    groups = ("--set", f"groups={small_sodapop.group_file(tmp_path, names)}")
    few = (*groups, "--set", "contexts=1", "--set", "splits=4", "--threads", 1)
    assert assay("run", "sodapop-names", *few, "--out", "a").code == 0
    assert assay("run", "sodapop-names", "--model", f"hf:{span_model_folder}", *few, "--out", "b").code == 0
    found = json.loads(assay("compare", "a", "b", "--json").out)
    assert_differences_of_findings(found, "a", "b")
    assert [row["change"]["group"] for row in found["differences"]] == [{"attribute": "group"}]
    assert {row["model"] for row in found["tables"]["telling"]} == set(found["models"])


def test_names_from_data_cannot_steer_the_terminal(assay: Any, run: Any, lists: Path, model_folder: Any) -> None:
    run("a", model_folder("span"), "--set", "class=religion")
    run("b", model_folder("span", seed=1), "--set", "class=religion")
    for place in ("a", "b"):
        file = without_digests(Path(place)) / "findings.json"
        file.write_text(file.read_text().replace('"hf:', '"\\u001b[31mhf:'))
        table = Path(place) / "tables" / "subjects.csv"
        table.write_text(table.read_text().replace("Hindu", "Hin\u001b]0;du"))
    shown = assay("compare", "a", "b").out
    assert "\u001b" not in shown
    assert "\\x1b[31mhf:" in shown
    assert "Hin\\x1b]0;du" in shown
