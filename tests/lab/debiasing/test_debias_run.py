"""Debiasing from beginning to end: the built-in model's real weights, every family, and what is refused."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import assay
from assay.asking.progress import SilentProgress
from assay.asking.queries import MASK, ChoiceColumns, FillColumns, StringColumn
from assay.engine.executor import forward_all
from assay.errors import AssayError, DataError, ModelError, UsageError
from assay.lab.debiasing import METHODS, DebiasJob, debias, projection
from assay.lab.debiasing.attribute_words import read_attribute
from assay.lab.debiasing.method import EvaluateOn
from assay.lab.debiasing.vectors import sentence_vectors
from assay.models import find_model, load_model
from assay.models.base import Options
from assay.models.hf import load_tokenizer, load_weights
from raising import raises

pytestmark = pytest.mark.training

ModelFolder = Callable[..., Path]

WHO = ("{} guest", "{} friend", "the tall neighbour of {}", "a cousin of {}", "the teacher beside {}")
DID = ("opened the window", "washed the cups", "laughed about the rain", "wrote a long letter", "fixed the old gate")
WHEN = ("before breakfast", "after the storm", "on a Monday", "late at night", "while the kettle boiled")
FEW = {"sentences": "60", "rounds": "4"}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some 375 sentences: about him, about her, about nobody in particular."""
    lines = []
    for (place, who), did, when in product(enumerate(WHO), DID, WHEN):
        forms = ("his", "her", "their") if place < 2 else ("him", "her", "them")
        lines += [f"{who.format(form)} {did} {when}.".capitalize() for form in forms]
    path = tmp_path_factory.mktemp("text") / "corpus.txt"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def made(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The built-in model's choice head without gender, by INLP, scored before and after."""

    def evaluate(folder: Path) -> Mapping[str, float]:
        assert load_model(f"hf:{folder}", device="cpu").spec.abilities >= {"choice"}
        return {"accuracy": 0.5 if (folder / "subspace.npz").exists() else 0.75, "other": 1.0}

    out = tmp_path_factory.mktemp("made") / "inlp"
    return debias(
        "inlp", "builtin", out, corpus=corpus, attribute="gender", settings=FEW, device="cpu", evaluate=evaluate
    )


def weights_of(folder: Path) -> dict[str, Any]:
    from safetensors.numpy import load_file

    return dict(load_file(folder / "model.safetensors"))


def scores(model: str) -> Any:
    """What a model thinks of two options in two situations."""
    options = np.array([[0, 1], [1, 0]], np.int32)
    texts = StringColumn.of(["She fixed the gate.", "He washed the cups."])
    asked = ChoiceColumns(
        texts, StringColumn.of(["How would she feel?", "What will he do?"]), ["proud", "tired"], options
    )
    loaded = load_model(model, device="cpu")
    return forward_all(loaded, loaded.encode(asked), 4096)[0]["score"]


# --- the built-in model


def test_the_folder_is_an_ordinary_model_with_a_card(made: Any) -> None:
    assert {path.name for path in made.folder.iterdir()} == {
        *("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"),
        *("README.md", "assay.json", "subspace.npz"),
    }
    assert not np.allclose(scores(f"hf:{made.folder}"), scores("builtin"), atol=1e-3)
    card = (made.folder / "README.md").read_text(encoding="utf-8")
    for said in (
        "INLP",
        "gender",
        made.report["model"]["digest"],
        made.report["corpus"]["digest"],
        made.report["words"]["digest"],
        "bert.pooler.dense",
        "| 4 | 12 |",
        "| accuracy | 0.7500 | 0.5000 | -0.2500 |",
        "assay debias inlp --model builtin --attribute gender",
    ):
        assert said in card


def test_the_report_says_what_was_done(made: Any, corpus: Path) -> None:
    import hashlib

    report = json.loads((made.folder / "assay.json").read_text(encoding="utf-8"))
    assert report == made.report
    assert report["model"] == {"name": "builtin", "digest": find_model("builtin").digest, "head": "choice"}
    assert report["corpus"] == {"file": "corpus.txt", "digest": hashlib.sha256(corpus.read_bytes()).hexdigest()}
    assert report["words"] == {"file": None, "digest": read_attribute("gender").digest}
    assert report["sentences"]["used"] == {"male": 60, "female": 60, "neutral": 60}
    assert report["sentences"]["there"] == {"male": 125, "female": 125, "neutral": 125}
    assert report["removed"] == {"directions": 12, "of": 384, "share": None}
    assert report["scores"]["cost"] == {"accuracy": 0.25, "other": 0.0}
    assert report["settings"]["rounds"] == 4
    assert report["settings"]["stop"] == "never"


def test_the_probe_tells_less_than_before(made: Any) -> None:
    probe = made.report["probe"]
    assert len(probe["accuracy"]) == len(probe["directions"]) == 5
    assert probe["accuracy"][0] > 0.8 > 0.6 > probe["accuracy"][-1]
    assert probe["held_out"]["before"] > probe["held_out"]["after"] + 0.2
    first = probe["first_token"]
    assert first["before"] >= first["after"] > probe["held_out"]["after"], (
        "one token still tells what the mean does not"
    )
    assert first["majority"] == probe["held_out"]["majority"]
    assert f"{first['after']:.3f} after" in (made.folder / "README.md").read_text(encoding="utf-8")


def test_the_weights_changed_by_the_projection_and_nowhere_else(made: Any, tmp_path: Path) -> None:
    old, new = weights_of(assay.write_builtin(tmp_path / "old", "choice")), weights_of(made.folder)
    assert old.keys() == new.keys()
    assert [name for name in old if not np.array_equal(old[name], new[name])] == ["bert.pooler.dense.weight"]
    with np.load(made.folder / "subspace.npz", allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in stored.files}
    basis = arrays["basis"]
    assert basis.shape == (12, 384)
    assert np.allclose(basis @ basis.T, np.eye(12), atol=1e-10)
    layer = old["bert.pooler.dense.weight"].astype(float)
    assert np.allclose(new["bert.pooler.dense.weight"], layer @ (np.eye(384) - basis.T @ basis), atol=1e-6)
    assert np.allclose(new["bert.pooler.dense.weight"] @ basis.T, 0, atol=1e-5)  # it reads nothing of what was removed
    assert arrays["accuracy"].tolist() == made.report["probe"]["accuracy"]
    assert arrays["directions"].tolist() == [0, 3, 6, 9, 12]


@pytest.mark.parametrize(("head", "layer"), [("span", "qa_outputs"), ("mask", "cls.predictions.transform.dense")])
def test_its_other_heads_are_debiased_as_well(head: str, layer: str, corpus: Path, tmp_path: Path) -> None:
    settings = {"sentences": "40", "head": head}
    done = debias(
        "sentence", "builtin", tmp_path / head, corpus=corpus, attribute="gender", settings=settings, device="cpu"
    )
    assert list(done.report["folded_into"]) == [layer]
    assert done.report["removed"]["directions"] == 1
    assert 0.1 < done.report["removed"]["share"] < 1
    assert done.report["sentences"]["used"]["tuples"] >= 40
    assert head in find_model(f"hf:{done.folder}").abilities
    held_out = done.report["probe"]["held_out"]
    assert held_out["before"] > held_out["after"]


def test_the_same_job_gives_the_same_files(corpus: Path, tmp_path: Path) -> None:
    settings = {"sentences": "30", "head": "span"}
    one, other = (
        debias(
            "sentence", "builtin", tmp_path / name, corpus=corpus, attribute="gender", settings=settings, device="cpu"
        )
        for name in ("one", "other")
    )
    for name in ("model.safetensors", "subspace.npz", "config.json", "tokenizer.json"):
        assert (one.folder / name).read_bytes() == (other.folder / name).read_bytes()


# --- other models


@pytest.mark.parametrize(
    ("family", "kind", "method"),
    [
        ("bert", "mask", "inlp"),
        ("roberta", "choice", "sentence"),
        ("distilbert", "span", "inlp"),
        ("electra", "choice", "inlp"),
    ],
)
def test_models_of_every_family_are_debiased(
    family: str, kind: str, method: str, model_folder: ModelFolder, corpus: Path, tmp_path: Path
) -> None:
    text = corpus.read_text(encoding="utf-8") + " ".join(read_attribute("gender").class_of)
    name = f"hf:{model_folder(kind, family, text=text)}"
    settings = {"sentences": "40"} | ({"rounds": "2"} if method == "inlp" else {})
    done = debias(method, name, tmp_path / "out", corpus=corpus, attribute="gender", settings=settings, device="cpu")
    assert done.report["model"]["digest"] == find_model(name).digest
    assert find_model(f"hf:{done.folder}").abilities == find_model(name).abilities
    assert (done.folder / "tokenizer.json").read_bytes() == (Path(name[3:]) / "tokenizer.json").read_bytes()
    model = load_model(f"hf:{done.folder}", device="cpu")
    if kind == "mask":
        model.forward(model.encode(FillColumns(StringColumn.of(["she"]), StringColumn.of([f"{MASK} laughed"]))))
    assert done.report["scores"] is None
    assert "Not measured" in (done.folder / "README.md").read_text(encoding="utf-8")


def test_a_debiased_model_can_be_debiased_again(made: Any, corpus: Path, tmp_path: Path) -> None:
    """For another attribute, say: both are removed then."""
    words = tmp_path / "words.json"
    words.write_text(json.dumps({"weekday": [["monday", "breakfast", "night"]]}))
    name = f"hf:{made.folder}"
    settings = {"sentences": "30", "rounds": "2"}
    done = debias(
        "inlp", name, tmp_path / "out", corpus=corpus, attribute="weekday", words=words, settings=settings, device="cpu"
    )
    assert done.report["words"]["file"] == "words.json"
    card = (done.folder / "README.md").read_text(encoding="utf-8")
    assert f"hf:./{made.folder.name}" in card
    assert not [path for path in (made.folder, tmp_path, corpus.parent) if str(path) in card]
    assert done.report["removed"]["directions"] == 2
    new = weights_of(done.folder)["bert.pooler.dense.weight"]
    with np.load(made.folder / "subspace.npz") as first, np.load(done.folder / "subspace.npz") as second:
        assert np.allclose(new @ second["basis"].T, 0, atol=1e-5)
        gone = np.linalg.norm(new @ first["basis"].T) / np.linalg.norm(new)
    assert gone < 0.1  # nearly: the two are not orthogonal to each other
    assert done.report["architecture"] == "BertForMultipleChoice"


# --- vectors


@pytest.mark.parametrize("family", ["bert", "roberta", "distilbert"])
def test_vectors_are_means_over_a_sentences_own_tokens(family: str, model_folder: ModelFolder) -> None:
    """As for one sentence at a time, without any padding."""
    import torch

    spec = find_model(f"hf:{model_folder('choice', family)}", Options(device="cpu"))
    model, tokenizer = load_weights(spec), load_tokenizer(spec)
    texts = ["she met him", "who was there by the old bridge? nobody can say it", "he", "she met him", "he " * 60]
    means, firsts = sentence_vectors(model, tokenizer, texts, 24, SilentProgress(), "vectors")
    for text, mean, first in zip(texts, means, firsts, strict=True):
        inputs = tokenizer(text, return_tensors="pt", truncation=True, max_length=24, return_token_type_ids=False)
        with torch.inference_mode():
            alone = model.base_model(**inputs).last_hidden_state[0]
        assert np.allclose(mean, alone.mean(0), atol=1e-5)
        assert np.allclose(first, alone[0], atol=1e-5)


@pytest.mark.parametrize("device", ["cuda", "cpu"])
def test_a_batch_that_does_not_fit_is_halved(
    device: str, model_folder: ModelFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    from assay.lab.debiasing import vectors

    spec = find_model(f"hf:{model_folder('choice', 'bert')}", Options(device="cpu"))
    model, tokenizer = load_weights(spec), load_tokenizer(spec)
    texts = [f"{'she ' * number}met him" for number in range(1, 9)]
    expected = sentence_vectors(model, tokenizer, texts, 64, SilentProgress(), "vectors")
    real, most = vectors._means_and_firsts, 2

    def small(model: Any, inputs: Any) -> Any:
        if len(inputs["input_ids"]) > most:
            if device == "cuda":
                raise torch.OutOfMemoryError("no memory")
            raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes.")
        return real(model, inputs)

    monkeypatch.setattr(vectors, "_means_and_firsts", small)
    assert np.allclose(sentence_vectors(model, tokenizer, texts, 64, SilentProgress(), "vectors"), expected, atol=1e-5)
    most = 0
    with raises("out-of-memory", ModelError, key="length"):
        sentence_vectors(model, tokenizer, texts, 64, SilentProgress(), "vectors")


# --- what is refused


@pytest.mark.parametrize(
    ("change", "kind", "code", "key"),
    [
        ({"method": "magic"}, UsageError, "bad-option", "method"),
        ({"attribute": None}, UsageError, "missing-setting", "attribute"),
        ({"attribute": "height"}, UsageError, "bad-option", "attribute"),
        ({"settings": {"round": "4"}}, UsageError, "unknown-setting", "round"),
        ({"settings": {"rounds": "0"}}, UsageError, "bad-setting", "rounds"),
        ({"settings": {"case": "upper"}}, UsageError, "bad-setting", "case"),
        ({"method": "sentence", "settings": {"rounds": "4"}}, UsageError, "unknown-setting", "rounds"),
        ({"dtype": "bfloat16"}, UsageError, "no-device", "dtype"),
        ({"model": "hf:./nowhere"}, UsageError, "unknown-model", None),
        ({"corpus": "nowhere.txt"}, DataError, "missing-file", None),
    ],
)
def test_wrong_use_is_refused_and_leaves_nothing(
    change: dict[str, Any], kind: type[AssayError], code: str, key: str | None, corpus: Path, tmp_path: Path
) -> None:
    given = {
        "method": "inlp",
        "model": "builtin",
        "corpus": corpus,
        "attribute": "gender",
        "settings": {"sentences": "12"},
    }
    asked = {**given, **change}
    with raises(code, kind, key=key) as wrong:
        debias(asked.pop("method"), asked.pop("model"), tmp_path / "out", device="cpu", **asked)
    assert wrong.value.remedy
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_empty_is_left_alone(corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with raises("not-new", UsageError, key="out"):
        debias("inlp", "builtin", tmp_path, corpus=corpus, attribute="gender")
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_rounds_that_would_leave_nothing_are_refused_before_the_corpus_is_read(corpus: Path, tmp_path: Path) -> None:
    read: list[str] = []

    class Heard(SilentProgress):
        def start(self, label: str, total: int, unit: str = "questions") -> None:
            read.append(label)

    with raises("bad-setting", UsageError, key="rounds"):
        debias(
            "inlp",
            "builtin",
            tmp_path / "out",
            corpus=corpus,
            attribute="gender",
            settings={"rounds": "128"},
            device="cpu",
            progress=Heard(),
        )
    assert read == []


@pytest.mark.parametrize("method", ["inlp", "sentence"])
def test_a_corpus_without_attribute_words_is_refused_before_any_vector_is_computed(
    method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def computed(*args: Any) -> None:
        raise AssertionError("vectors were computed")

    monkeypatch.setattr("assay.lab.debiasing.projection.sentence_vectors", computed)
    text = tmp_path / "text.txt"
    text.write_text("\n".join(f"The kettle number {number} boiled at last." for number in range(50)))
    with raises("empty-file", DataError, file=text, key="words"):
        debias(method, "builtin", tmp_path / "out", corpus=text, attribute="gender", device="cpu")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("kind", ["text", "causal"])
def test_models_that_write_are_refused(kind: str, model_folder: ModelFolder, corpus: Path, tmp_path: Path) -> None:
    with raises("unsupported", UsageError, key="model"):
        debias("inlp", f"hf:{model_folder(kind)}", tmp_path / "out", corpus=corpus, attribute="gender", device="cpu")


def test_a_head_is_chosen_for_the_built_in_model_alone(model_folder: ModelFolder, corpus: Path, tmp_path: Path) -> None:
    name, settings = f"hf:{model_folder('span')}", {"head": "mask"}
    with raises("bad-setting", UsageError, key="head"):
        debias("inlp", name, tmp_path / "out", corpus=corpus, attribute="gender", settings=settings, device="cpu")


@pytest.mark.parametrize("method", ["inlp", "dropout"])
def test_the_folder_that_one_is_in_is_no_new_folder(
    method: str, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for out in (".", tmp_path, "../" + tmp_path.name):
        with raises("bad-option", UsageError, key="out"):
            debias(method, "builtin", out, corpus=corpus, attribute="gender")
    assert not [*tmp_path.parent.glob(f".{tmp_path.name}*")]


def test_data_that_cannot_be_evaluated_on_are_noticed_before_anything_is_learnt(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(projection, "sentence_vectors", lambda *_: pytest.fail("this takes long"))
    (tmp_path / "dev.jsonl").write_text("{}\n")
    with raises("bad-row", DataError, file=tmp_path / "dev.jsonl"):
        debias(
            *("inlp", "builtin", tmp_path / "out"),
            corpus=corpus,
            attribute="gender",
            settings=FEW,
            device="cpu",
            evaluate=EvaluateOn(tmp_path / "dev.jsonl", "cpu"),
        )
    assert not (tmp_path / "out").exists()


def test_a_job_gives_a_command_that_can_be_repeated(tmp_path: Path) -> None:
    data = tmp_path / "dev set.jsonl"
    data.touch()
    job = DebiasJob(
        *(METHODS["inlp"], "hf:./my model", tmp_path / "out ü", tmp_path / "text.txt", "gender"),
        settings={"rounds": "4"},
        device="cpu",
        evaluate=EvaluateOn(data),
    )
    command = shlex.split(job.command())
    assert command[:3] == ["assay", "debias", "inlp"]
    given = dict(zip(command[3::2], command[4::2], strict=True))
    assert given == {
        "--model": "hf:./my model",
        "--attribute": "gender",
        "--corpus": str(tmp_path / "text.txt"),
        "--eval": str(data),
        "--device": "cpu",
        "--set": "rounds=4",
        "--out": str(tmp_path / "out ü"),
        "--seed": "0",
    }


def test_a_failing_evaluation_leaves_no_half_made_folder(
    model_folder: ModelFolder, corpus: Path, tmp_path: Path
) -> None:
    def evaluate(folder: Path) -> Mapping[str, float]:
        raise DataError("the task's file is empty.")

    text = corpus.read_text(encoding="utf-8")
    with pytest.raises(DataError, match="the task's file is empty"):
        debias(
            "sentence",
            f"hf:{model_folder('choice', 'bert', text=text)}",
            tmp_path / "out",
            corpus=corpus,
            attribute="gender",
            settings={"sentences": "20"},
            device="cpu",
            evaluate=evaluate,
        )
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_noticed_before_anything_is_computed(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import shutil

    monkeypatch.setattr(shutil, "disk_usage", lambda place: SimpleNamespace(free=10))
    with raises("no-space", UsageError, file=tmp_path / "out"):
        debias("inlp", "builtin", tmp_path / "out", corpus=corpus, attribute="gender", device="cpu")


def test_counterparts_that_the_model_cannot_tell_apart_are_an_error(
    model_folder: ModelFolder, corpus: Path, tmp_path: Path
) -> None:
    """A tokenizer that knows neither word gives both the same unknown token."""
    words = tmp_path / "words.json"
    words.write_text(json.dumps({"script": [["ж", "ш"]]}))
    text = tmp_path / "text.txt"
    text.write_text("\n".join(f"the gate ж number {number}" for number in range(20)))
    name = f"hf:{model_folder('choice', 'bert')}"
    with raises("bad-tokenizer", ModelError):
        debias("sentence", name, tmp_path / "out", corpus=text, attribute="script", words=words, device="cpu")
