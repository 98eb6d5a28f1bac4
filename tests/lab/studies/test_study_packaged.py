"""The study files that come with assay: each can be read and ordered, and has what its paper had."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from assay.cli import main
from assay.errors import DataError
from assay.lab.studies import StepState, packaged_studies, plan
from assay.lab.studies.study_file import read_study
from raising import raises

NAMES = ["bbq-paper", "sodapop-paper", "study-small", "unqover-paper"]
OFFICIAL = "sodapop/socialIQa_v1.4_dev_Bethany_0_2191.jsonl"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder with a file, or a folder, for everything that the packaged studies name."""
    folder = tmp_path / "data"
    for path in packaged_studies():
        for entry in read_study(path).models.values():
            for written in entry.files.values():
                place = folder / written
                place.parent.mkdir(parents=True, exist_ok=True)
                if place.suffix:
                    place.write_text("content")
                else:
                    place.mkdir(exist_ok=True)
    row = {"context": "Bethany sang.", "question": "How would you describe Bethany?", "correct": "A"}
    answers = {"answerA": "cheerful today", "answerB": "tired", "answerC": "late"}
    (folder / OFFICIAL).parent.mkdir(parents=True, exist_ok=True)
    lines = "".join(json.dumps({**row, **answers}) + "\n" for _ in range(50))
    with gzip.open(folder / f"{OFFICIAL}.gz", "wt") as file:
        file.write(lines)
    return folder


def test_the_packaged_studies_are_these() -> None:
    assert [path.stem for path in packaged_studies()] == NAMES
    for path in packaged_studies():
        assert read_study(path).name == path.stem


@pytest.mark.parametrize("name", ["unqover-paper", "sodapop-paper", "study-small"])
def test_a_packaged_study_is_ready_once_its_data_are_there(name: str, data: Path, tmp_path: Path) -> None:
    planned = plan(name, tmp_path / "out", data=data)
    assert planned.steps
    assert {state for _, state in planned.steps} == {StepState.NEW}


def test_bbq_needs_its_official_files(data: Path, tmp_path: Path) -> None:
    with raises("missing-data", DataError):
        plan("bbq-paper", tmp_path / "out", data=data)


def test_bbq_with_official_files(official_data: Path, data: Path, tmp_path: Path) -> None:
    (data / "bbq").symlink_to(official_data / "bbq")
    planned = plan("bbq-paper", tmp_path / "out", data=data)
    runs = [run.name for run in planned.study.schedule.runs]
    models = ["roberta-base", "roberta-large", "deberta-base", "deberta-large"]
    assert runs == [
        *(f"bbq--{model}-race" for model in models),
        "bbq--unifiedqa--form=race",
        "bbq--unifiedqa--form=arc",
    ]


def test_unqover_has_five_models_in_three_versions(data: Path, tmp_path: Path) -> None:
    planned = plan("unqover-paper", tmp_path / "out", data=data)
    runs = planned.study.schedule.runs
    assert len(runs) == 15
    assert sum(run.settings.get("header") == "newsqa" for run in runs) == 5
    sizes: dict[str, Any] = {step.name: step for step, _ in planned.steps}
    assert sizes["unqover--bert-base-squad"].questions == 10_552_928, "all of Table 1's questions"


def test_sodapop_has_the_columns_of_table_9(data: Path, tmp_path: Path) -> None:
    planned = plan("sodapop-paper", tmp_path / "out", data=data)
    file = planned.study.file
    titles = [file.models[run.model].title for run in planned.study.schedule.runs if run.probe == "sodapop"]
    assert titles == [
        "BERT",
        "INLP-race",
        "INLP-gender",
        "SentenceDebias-race",
        "SentenceDebias-gender",
        "Dropout",
        "CDA-race",
        "CDA-gender",
    ]


def test_without_its_data_a_study_says_which_it_needs(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    with raises("missing-file", DataError, key="data") as caught:
        plan("study-small", tmp_path / "out", data=empty)
    assert "socialiqa/train.jsonl" in caught.value.problem
    assert str(empty) in caught.value.problem


# --- the command line


def test_the_command_lists_packaged_studies(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["study"]) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in NAMES)


def test_a_dry_run_prints_order_sizes_and_what_is_done(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["study", "study-small", "--data", str(data), "--out", str(tmp_path / "out"), "--dry-run"]
    assert main(arguments) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split()[:4] == ["1", "to", "do", "model"]
    assert "sodapop--siqa: at most" in lines[2]
    assert main([*arguments, "--json", "--only", "sodapop--siqa"]) == 0
    steps = json.loads(capsys.readouterr().out)["steps"]
    assert [(step["step"], step["kind"], step["state"]) for step in steps] == [
        ("siqa", "model", "to do"),
        ("sodapop--siqa", "run", "to do"),
    ]
    assert not (tmp_path / "out").exists()


def test_a_wrong_file_ends_with_the_code_for_bad_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "x.toml"
    file.write_text("[models.a]\nspecs = 'builtin'\n")
    assert main(["study", str(file)]) == 3
    error = capsys.readouterr().err
    assert "models.a" in error
    assert f"{file}, line 1" in error
