"""A tiny study with everything real: models trained, debiased and audited; then again, with nothing left to do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assay import compare
from assay.cli import main
from html_pages import Page, assert_harmless

pytestmark = pytest.mark.training

LINKS = (
    r"(runs/[\w%.~=-]+/report\.html|runs/report\.html|compare/[\w%.~=-]+/comparison\.html"
    r"|models/[\w%.~-]+/README\.md|study\.json)"
)
NAMES = ("Ann", "Ben", "Cleo", "Dan", "Eve", "Finn")
FILE = """
[models.base]
spec = "hf:./base"

[models.siqa]
train = "choice"
base = "base"
data = "train.jsonl"
eval = "dev.jsonl"
settings = { max_steps = 2, batch = 2, length = 48 }

[models.sentence]
debias = "sentence"
model = "siqa"
attribute = "gender"
corpus = "text.txt"
eval = "dev.jsonl"

[models.cda]
debias = "cda"
model = "base"
attribute = "gender"
corpus = "text.txt"
settings = { max_steps = 1, batch = 2, accumulate = 1, length = 24 }

[[runs]]
probe = "bbq-starter"
models = ["siqa", "sentence"]
limit = 8

[[runs]]
probe = "unqover"
models = ["base", "cda"]
limit = 40
settings = { class = "religion" }
"""


def write_data(folder: Path) -> None:
    rows = [
        {
            "context": f"{name} helped a friend to move the old piano.",
            "question": f"How would you describe {name}?",
            "answerA": "kind",
            "answerB": "late for work",
            "answerC": "a bad cook",
            "correct": "A",
        }
        for name in NAMES
    ]
    for name in ("train.jsonl", "dev.jsonl"):
        (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    places = ("town", "school", "church", "market", "work", "court", "bed", "sea")
    text = [
        f"The {who} went to {where} in the morning." for who in ("man", "mother", "boy", "girl") for where in places
    ]
    (folder / "text.txt").write_text("\n".join(text) + "\n")


def test_a_tiny_study_from_end_to_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import tiny_models

    monkeypatch.chdir(tmp_path)
    tiny_models.make_mask_model(tmp_path / "base", max_length=512)
    write_data(tmp_path)
    (tmp_path / "tiny.toml").write_text(FILE)
    arguments = ["study", "tiny.toml", "--out", "out", "--device", "cpu"]
    code = main(arguments)
    said = capsys.readouterr()
    assert code == 0, said.err
    assert "[1/9] model  siqa" in said.err
    record = json.loads((tmp_path / "out" / "study.json").read_text())
    assert {*record["models"]} == {"siqa", "sentence", "cda"}
    assert record["models"]["sentence"]["scores"]["estimates"][0]["metric"] == "accuracy"
    for name in record["runs"]:
        assert (tmp_path / "out" / "runs" / name / "report.html").is_file()
    page = Page((tmp_path / "out" / "report.html").read_text(encoding="utf-8"))
    assert_harmless(page, LINKS)
    for link in page.files:
        assert (tmp_path / "out" / link).is_file(), link
    assert "sentence" in page.words
    runs = tmp_path / "out" / "runs"
    for model, baseline in (("sentence", "bbq-starter--siqa"), ("cda", "unqover--base")):
        name = f"{baseline.partition('--')[0]}--{model}"
        told = json.loads((tmp_path / "out" / "compare" / name / "comparison.json").read_text())
        assert told == json.loads(compare([runs / baseline, runs / name]).to_json())
        assert any(each["change"]["p"] is not None for each in told["differences"])
    before = {
        path: path.stat().st_mtime_ns
        for name in ("models", "runs", "compare")
        for path in (tmp_path / "out" / name).glob("*/*.json")
    }
    assert main(arguments) == 0
    assert {path: path.stat().st_mtime_ns for path in before} == before, "everything was done already"
