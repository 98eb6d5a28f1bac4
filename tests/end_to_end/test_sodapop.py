"""SODAPOP from the command line: with the built-in model, with two models, killed and resumed, and what is refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from small_sodapop import group_file, text_file

pytestmark = pytest.mark.whole

USAGE, DATA = 2, 3
FEW = ("--set", "contexts=1", "--set", "cap=6", "--set", "min_count=1", "--set", "resamples=20", "--threads", 1)


@pytest.fixture
def groups(tmp_path: Path) -> tuple[str, str]:
    """The options for four names in two groups."""
    return "--set", f"groups={group_file(tmp_path)}"


def found(folder: str | Path) -> dict[str, bytes]:
    """The findings of a run and all its tables."""
    paths = [Path(folder) / "findings.json", *(Path(folder) / "tables").iterdir()]
    return {path.name: path.read_bytes() for path in paths}


def info(folder: str | Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((Path(folder) / "run.json").read_text())
    return content


def words(folder: str | Path) -> list[dict[str, str]]:
    head, *lines = (Path(folder) / "tables" / "words.csv").read_text().splitlines()
    return [dict(zip(head.split(","), line.split(","), strict=True)) for line in lines]


# --- what runs


def test_the_names_are_the_same_data_however_many_are_asked_about() -> None:
    """Otherwise runs of different sizes could not be compared, nor those of earlier versions resumed."""
    from assay.probes import method_of
    from assay.probes.base import Request
    from assay.probes.sodapop.names import packaged_groups

    sodapop: Any = method_of("sodapop")
    small, large = sodapop.prepared(Request(limit=400)), sodapop.prepared(Request(limit=100_000))
    assert set(small.names) < set(large.names)
    assert small.data == large.data
    assert small.data["sodapop/names"] == packaged_groups().digest


def test_the_built_in_model_fills_and_chooses(assay: Any, groups: tuple[str, str]) -> None:
    command = ("run", "sodapop", *groups, *FEW, "--out", "r")
    first = assay(*command)
    assert first.code == 0, first.err
    before = found("r")
    assert {"findings.json", "words.csv", "names.csv", "projection.csv"} <= set(before)
    rows = words("r")
    assert rows
    assert {(row["group_a"], row["group_b"]) for row in rows} == {("A", "B")}
    assert all(0 < float(row["p"]) <= 1 for row in rows)
    assert {row["rd_pools"] for row in rows} <= {"0.0", ""}, "the quick preset has shared pools"
    estimates = json.loads(before["findings.json"])["estimates"]
    assert [(estimate["metric"], estimate["group"]) for estimate in estimates] == [
        ("kmeans_accuracy", {"a": "A", "b": "B"}),
        ("largest_rd", {}),
    ]
    assert (Path("r") / "report.html").is_file()

    again = assay(*command)
    assert again.code == 0
    assert "stored already" in again.err
    assert found("r") == before

    scored = assay("score", "sodapop", "r", "--out", "scored")
    assert scored.code == 0, scored.err
    assert found("scored") == before

    strict = assay("score", "sodapop", "r", "--set", "p=strict", "--out", "strict")
    assert strict.code == 0, strict.err
    assert [row["rd"] for row in words("strict")] == [row["rd"] for row in rows]
    assert [row["p"] for row in words("strict")] != [row["p"] for row in rows]


def test_every_name_can_have_its_own_pool_and_pairings_can_be_sampled(assay: Any, tmp_path: Path) -> None:
    group, texts = group_file(tmp_path), text_file(tmp_path, "very kind", "so rude")
    options = ("--set", f"groups={group}", "--set", f"texts={texts}", "--set", "distractors=per_name")
    more = ("--set", "pairing=sampled", "--set", "distance=1", "--set", "cap=20", *FEW[4:])
    done = assay("run", "sodapop", *options, *more, "--out", "r")
    assert done.code == 0, done.err
    assert "texts.jsonl" in info("r")["data"]
    assert info("r")["stages"] == {"words to fill, at most": 4 * 2 * 2, "answers, at most": 4 * 2 * 21}
    assert {"kind", "rude"} <= {row["word"] for row in words("r")}


def test_another_model_fills_the_masks(assay: Any, groups: tuple[str, str], model_folder: Any) -> None:
    choice, mask = f"hf:{model_folder('choice')}", f"hf:{model_folder('mask')}"
    command = ("run", "sodapop", "--model", choice, "--set", f"fill_model={mask}", *groups, *FEW, "--out", "r")
    done = assay(*command)
    assert done.code == 0, done.err
    run = info("r")
    assert (run["model"]["name"], run["settings"]["fill_model"]) == (choice, mask)
    assert set(run["others"]) == {mask}
    assert "fill" in run["others"][mask]["abilities"]
    assert run["identity"]["others"] == {mask: run["others"][mask]["digest"]}
    assert run["others"][mask]["digest"] != run["model"]["digest"]
    before = found("r")

    assert assay("score", "sodapop", "r", "--out", "scored").code == 0
    assert found("scored") == before
    assert assay(*command).code == 0
    assert found("r") == before

    other = f"hf:{model_folder('mask', seed=1)}"
    changed = assay("run", "sodapop", "--model", choice, "--set", f"fill_model={other}", *groups, *FEW, "--out", "r")
    assert changed.code == USAGE, "another filling model makes another run"


def test_a_limit_is_kept(assay: Any) -> None:
    done = assay("run", "sodapop", "--limit", 300, "--set", "resamples=20", "--threads", 1, "--out", "r")
    assert done.code == 0, done.err
    assert info("r")["limit"] == 300
    assert all(questions <= 300 for questions in info("r")["stages"].values())
    asked = json.loads((Path("r") / "blocks.json").read_text())
    answers = [hi - lo for entry in asked if "answers" in entry["label"] for lo, hi, _ in entry["blocks"]]
    assert 100 < sum(answers) <= 300


@pytest.mark.slow
@pytest.mark.parametrize("answers", [("a very kind and helpful person", "so rude"), ("kind", "so rude")])
def test_a_dry_run_at_the_papers_size_takes_no_hours(assay: Any, tmp_path: Path, answers: tuple[str, ...]) -> None:
    texts = text_file(tmp_path, *answers)
    began = time.monotonic()
    done = assay("run", "sodapop", "--preset", "paper", "--set", f"texts={texts}", "--dry-run", "--threads", 1)
    assert done.code == 0, done.err
    assert "expected:" in done.out
    assert time.monotonic() - began < 60
    assert not Path("runs").exists()


# --- killed


def stored(cache: Path) -> set[str]:
    return {str(path) for path in cache.rglob("*.block")}


def killed_at(command: list[str], cache: Path, blocks: int) -> int:
    """Start the real program and kill it when it has stored so many blocks; how many there are then."""
    environment = {**os.environ, "ASSAY_CACHE": str(cache)}
    with subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as process:
        while len(stored(cache)) < blocks:
            assert process.poll() is None, "it ended before it could be killed"
            time.sleep(0.002)
        process.kill()
    return len(stored(cache))


@pytest.mark.kill
def test_killed_in_either_step_and_resumed_it_finds_the_same(
    assay: Any, groups: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ["run", "sodapop", *groups, *map(str, FEW), "--block-size", "1"]
    assert assay(*options, "--out", tmp_path / "undisturbed").code == 0
    asked = json.loads((tmp_path / "undisturbed" / "blocks.json").read_text())
    sizes = [(entry["label"], len(entry["blocks"])) for entry in asked]
    assert [label for label, _ in sizes[-2:]] == ["context 1, answers", "names"]
    *before, answers, names = (size for _, size in sizes)
    fills = sum(before)
    assert fills > 30
    assert answers > 20

    cache = tmp_path / "cache"
    command = [sys.executable, "-m", "assay", *options, "--out", str(tmp_path / "killed")]
    assert 10 <= killed_at(command, cache, 10) < fills, "killed while masks were filled"
    first = stored(cache)
    assert fills + 8 <= killed_at(command, cache, fills + 8) < fills + answers, "killed while answers were scored"
    assert first <= stored(cache)
    monkeypatch.setenv("ASSAY_CACHE", str(cache))
    done = assay(*options, "--out", tmp_path / "killed")
    assert done.code == 0, done.err
    assert "stored already" in done.err
    assert len(stored(cache)) == fills + answers + names
    assert found(tmp_path / "killed") == found(tmp_path / "undisturbed")


# --- what is refused


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"A": ["Ann"], "B": ["Bob", "Ben"]}, 'group "A": its only name is Ann'),
        ({"A": [], "B": ["Bob", "Ben"]}, 'group "A": it is empty'),
        ({"A": ["Ann", "Amy"], "B": ["Bob", "Amy"]}, 'the name "Amy" is in A and in B'),
        ({"A": ["Ann", "Amy"]}, "expected at least 2 groups"),
    ],
)
def test_groups_that_cannot_be_compared(assay: Any, tmp_path: Path, content: Any, said: str) -> None:
    done = assay("run", "sodapop", "--set", f"groups={group_file(tmp_path, content)}")
    assert done.code == DATA
    assert said in done.message
    assert "groups.json" in done.message


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (("context=99",), USAGE, "context is 99, but there are only"),
        (("min_count=5000",), DATA, "no word is in at least 5000 distractors of every name"),
        (("groups=nowhere.json",), DATA, "nowhere.json"),
        (("texts=nowhere.jsonl",), DATA, "nowhere.jsonl"),
        (("fills=0",), USAGE, "fills is '0', expected a whole number from 1"),
        (("names_per_group=1",), USAGE, "names_per_group is '1', expected a whole number from 2"),
        (("distractors=some",), USAGE, "distractors is 'some', expected one of per_name, shared"),
        (("colour=red",), USAGE, "sodapop has no setting 'colour'"),
    ],
)
def test_settings_that_make_no_sense(
    assay: Any, groups: tuple[str, str], options: tuple[str, ...], code: int, said: str
) -> None:
    chosen = [part for option in options for part in ("--set", option)]
    done = assay("run", "sodapop", *groups, *FEW, *chosen)
    assert done.code == code, done.err
    assert said in done.message


def test_contexts_without_the_question_or_the_name(assay: Any, groups: tuple[str, str], tmp_path: Path) -> None:
    texts = text_file(tmp_path, "very kind", question="Why did Ann do this?")
    done = assay("run", "sodapop", "--set", f"texts={texts}")
    assert done.code == DATA
    assert "How would you describe NAME?" in done.message
    assert "questions=all" in done.message
    assert assay("run", "sodapop", "--set", f"texts={texts}", "--set", "questions=all", *groups, *FEW).code == 0

    texts = text_file(tmp_path, "very kind", question="How would you describe Zoe?")
    done = assay("run", "sodapop", "--set", f"texts={texts}")
    assert done.code == DATA
    assert "texts.jsonl, line 1: the question is about Zoe, expected this name as a word of the context" in done.message


def test_models_that_cannot_choose_or_fill(assay: Any, model_folder: Any) -> None:
    choice, mask = f"hf:{model_folder('choice')}", f"hf:{model_folder('mask')}"
    done = assay("run", "sodapop", "--model", mask)
    assert done.code == USAGE
    assert "cannot choose among options" in done.message
    done = assay("run", "sodapop", "--set", f"fill_model={choice}")
    assert done.code == USAGE
    assert f"{choice} cannot fill masks" in done.message
    assert not Path("runs").exists()


def test_a_run_whose_answers_are_gone_cannot_be_scored_again(
    assay: Any, groups: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert assay("run", "sodapop", *groups, *FEW, "--out", "r").code == 0
    done = assay("score", "sodapop", "r", "--set", "cap=9", "--out", "more")
    assert done.code == USAGE
    assert "are not all stored" in done.message
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "empty"))
    done = assay("score", "sodapop", "r", "--out", "scored")
    assert done.code == USAGE
    assert "are not all stored" in done.message
