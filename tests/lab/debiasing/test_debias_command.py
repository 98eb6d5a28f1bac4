"""`assay debias` at the command line: what it prints, what it leaves, and how it refuses."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path

import pytest

import tiny_models
from assay.cli import main
from assay.cli.debias import summary
from assay.errors import DataError
from assay.lab.debiasing.method import EvaluateOn
from assay.lab.training import evaluate

pytestmark = pytest.mark.training

FEW = ("--set", "max_steps=2", "--set", "batch=4", "--set", "accumulate=1", "--set", "length=32", "--device", "cpu")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sixty sentences of each kind that a method needs: about a man, about a woman, about nobody."""
    file = tmp_path_factory.mktemp("corpus") / "text.txt"
    lines = []
    for number in range(60):
        lines.append(f"The man by bridge {number} said that he was never there at all.")
        lines.append(f"The woman by bridge {number} said that she was never there at all.")
        lines.append(f"The old bridge number {number} was closed, and nobody can say why.")
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def mask_model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return f"hf:{tiny_models.make_mask_model(tmp_path_factory.mktemp('tiny') / 'model', 'bert')}"


def test_cda_says_what_it_did_what_it_cost_and_where_the_model_is(
    corpus: Path, mask_model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "cda"
    options = ("--attribute", "gender", "--corpus", str(corpus), "--eval", str(corpus), "--out", str(out))
    assert main(["debias", "cda", "--model", mask_model, *options, *FEW]) == 0
    printed = capsys.readouterr().out.splitlines()
    report = json.loads((out / "assay.json").read_text(encoding="utf-8"))
    assert printed[0].startswith("cda, gender: 2 steps on ")
    assert printed[1].startswith("loss ")
    assert printed[2].startswith("weights changed: encoder by ")
    assert printed[3].startswith("log_likelihood: ")
    assert printed[-1] == f"Model: hf:{out}"
    scores = report["scores"]
    assert scores["cost"]["log_likelihood"] == scores["before"]["log_likelihood"] - scores["after"]["log_likelihood"]
    assert "--attribute gender --corpus ./text.txt" in report["command"]
    for published in ("README.md", "assay.json"):
        text = (out / published).read_text(encoding="utf-8")
        assert not [path for path in (corpus.parent, tmp_path, mask_model.removeprefix("hf:")) if str(path) in text]


def test_dropout_prints_json_that_is_the_folders_and_notes_what_it_does_not_use(
    corpus: Path, mask_model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "dropout"
    options = ("--corpus", str(corpus), "--attribute", "race", "--out", str(out), "--json")
    assert main(["debias", "dropout", "--model", mask_model, *options, *FEW]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report == json.loads((out / "assay.json").read_text(encoding="utf-8"))
    assert report["attribute"] is None
    assert any("attribute was given" in note for note in report["notes"])


def test_inlp_tells_directions_and_accuracy_of_the_first_and_the_last_round(
    corpus: Path, tmp_path: Path, model_folder: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    out, model = tmp_path / "inlp", f"hf:{model_folder('choice')}"
    options = (
        "--attribute",
        "gender",
        "--corpus",
        str(corpus),
        "--set",
        "rounds=3",
        "--device",
        "cpu",
        "--out",
        str(out),
    )
    assert main(["debias", "inlp", "--model", model, *options]) == 0
    printed = capsys.readouterr().out
    report = json.loads((out / "assay.json").read_text(encoding="utf-8"))
    accuracy = report["probe"]["accuracy"]
    assert f"inlp, gender: {report['removed']['directions']} of {report['removed']['of']} directions removed" in printed
    assert f"{accuracy[0]:.3f} before, {accuracy[1]:.3f} after round 1, {accuracy[3]:.3f} after round 3" in printed
    assert "the cost was not measured" in printed
    assert printed.endswith(f"Model: hf:{out}\n")


def test_sentence_runs_on_the_built_in_models_head(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "sentence"
    options = ("--attribute", "gender", "--corpus", str(corpus), "--set", "head=mask", "--device", "cpu")
    assert main(["debias", "sentence", "--model", "builtin", *options, "--out", str(out)]) == 0
    assert "sentence, gender: 1 of 384 directions removed" in capsys.readouterr().out
    assert "BertForMaskedLM" in (out / "config.json").read_text(encoding="utf-8")


def test_the_score_of_a_model_that_fills_masks_is_minus_the_logarithm_of_its_perplexity(
    corpus: Path, mask_model: str
) -> None:
    scores = EvaluateOn(corpus, "cpu")(Path(mask_model[3:]))
    perplexity = evaluate("mask", mask_model, corpus, device="cpu")["perplexity"].value
    assert perplexity is not None
    assert scores == {"log_likelihood": pytest.approx(-math.log(perplexity), rel=1e-6)}


def test_data_to_evaluate_on_that_are_not_there_are_refused_at_once(
    corpus: Path, mask_model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(DataError):
        EvaluateOn(tmp_path / "nothing.txt", "cpu")
    options = (
        "--attribute",
        "gender",
        "--corpus",
        str(corpus),
        "--eval",
        str(tmp_path / "no"),
        "--out",
        str(tmp_path / "o"),
    )
    assert main(["debias", "cda", "--model", mask_model, *options, *FEW]) == 3
    assert str(tmp_path / "no") in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["cda", "--attribute", "age"], 2, "has no attribute 'age'"),
        (["cda"], 2, "--attribute gender"),
        (["cda", "--attribute", "gender", "--set", "rounds=2"], 2, "cda has no setting 'rounds'"),
        (["inlp", "--attribute", "gender", "--set", "compat=assay"], 2, "inlp has no setting 'compat'"),
        (["dropout", "--set", "keep_dropout"], 2, "expected key=value"),
        (["cda", "--attribute", "gender", "--words", "no-such-file.json"], 3, "no-such-file.json"),
    ],
)
def test_wrong_use_is_explained_and_leaves_nothing(
    arguments: list[str],
    code: int,
    told: str,
    corpus: Path,
    mask_model: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = tmp_path / "out"
    common = ["--model", mask_model, "--corpus", str(corpus), "--out", str(out), "--device", "cpu"]
    assert main(["debias", *arguments, *common]) == code
    assert told in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_help_shows_every_method_and_examples(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["debias", "--help"])
    assert stopped.value.code == 0
    printed = capsys.readouterr().out
    for method in ("inlp", "sentence", "cda", "dropout"):
        assert f"assay debias {method} " in printed


def test_the_summary_of_a_cost_tells_its_direction() -> None:
    report = {
        "method": "dropout",
        "attribute": None,
        "training": {"steps": 2000, "counts": {"blocks": 12345}, "curve": [{"loss": 2.5}, {"loss": 2.25}]},
        "changed": {"encoder": 0.0123, "head": 0.000042},
        "scores": {"before": {"accuracy": 0.75}, "after": {"accuracy": 0.5}, "cost": {"accuracy": 0.25}},
        "notes": ["something"],
    }
    assert list(summary(report)) == [
        "dropout: 2,000 steps on 12,345 blocks of text",
        "loss 2.5000 at the start, 2.2500 at the end",
        "weights changed: encoder by 1.2%, head by 0.0042%",
        "accuracy: 0.7500 before, 0.5000 after; it fell by 0.2500",
        "note: something",
    ]
