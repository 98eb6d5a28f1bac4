"""CDA and Dropout: which texts are trained on, what becomes of the model, and what is refused before any training."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tiny_models
from assay.asking.progress import SilentProgress
from assay.asking.queries import MASK, FillColumns, StringColumn
from assay.errors import AssayError, ModelError, UsageError
from assay.lab.debiasing import METHODS, debias, further_training
from assay.lab.debiasing.attribute_words import AttributeWords
from assay.lab.debiasing.cda import Cda, ReleasedSwapper, Swapper, augmented_texts, blocks_of, clipped, decoded_blocks
from assay.lab.debiasing.corpus import Corpus
from assay.lab.debiasing.further_training import chosen_of
from assay.lab.training.data_files import Texts
from assay.models import find_model, load_model
from assay.models.builtin import write_builtin
from assay.models.hf import load_tokenizer
from raising import raises

pytestmark = pytest.mark.training

FEW = {"max_steps": "2", "batch": "4", "accumulate": "1", "length": "32", "rate": "0.001"}
GENDER = AttributeWords("gender", ("male", "female"), (("he", "she"), ("him", "her"), ("his", "her"), ("man", "woman")))
FAITH = AttributeWords("faith", ("a", "b", "c"), (("rabbi", "priest", "imam"),))


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Forty lines about nobody in particular; every second one has an attribute word."""
    file = tmp_path_factory.mktemp("corpus") / "text.txt"
    lines = []
    for number in range(20):
        lines.append(f"The old bridge number {number} was closed, and there was nobody near it all day long.")
        lines.append(f"He said that she and the man by bridge {number} never met him, or his aunt, in the rain.")
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = write_builtin(tmp_path_factory.mktemp("builtin") / "mask", "mask")
    return load_tokenizer(find_model(f"hf:{folder}"))


@pytest.fixture(scope="module")
def roberta_tokenizer(model_folder: Callable[..., Path]) -> Any:
    return load_tokenizer(find_model(f"hf:{model_folder('mask', 'roberta')}"))


def tokens(tokenizer: Any, text: str) -> list[int]:
    ids: list[int] = tokenizer(text, add_special_tokens=False)["input_ids"]
    return ids


def weights(folder: Path) -> dict[str, Any]:
    from safetensors.numpy import load_file

    return dict(load_file(folder / "model.safetensors"))


def augmented(file: Path, tokenizer: Any, attribute: AttributeWords, room: int = 20, **more: Any) -> Texts:
    swapper = more.pop("swapper", Swapper)(attribute.tuples)
    arguments = attribute, tokenizer, room, swapper, more.pop("seed", 0), SilentProgress()
    return partial(augmented_texts, Corpus(file), *arguments)


# --- blocks


@pytest.mark.parametrize("room", [5, 8, 23, 400])
def test_blocks_hold_the_whole_text_but_its_end_and_cut_no_word(corpus: Path, tokenizer: Any, room: int) -> None:
    lines = corpus.read_text(encoding="utf-8").splitlines()
    blocks = list(blocks_of(lines, tokenizer, room))
    assert max(len(tokens(tokenizer, block)) for block in blocks) <= room
    words = " ".join(lines).split()
    held = " ".join(blocks).split()
    assert held == words[: len(held)]
    left = " ".join(words[len(held) :])
    assert len(tokens(tokenizer, left)) < room + 5  # the longest run of tokens without a space


def test_a_text_shorter_than_a_block_is_one_block(tokenizer: Any) -> None:
    assert list(blocks_of(["He was  here.", "She too."], tokenizer, 100)) == ["He was  here. She too."]
    assert list(blocks_of([], tokenizer, 100)) == []


def test_a_word_longer_than_a_block_is_cut(tokenizer: Any) -> None:
    blocks = list(blocks_of(["a " + "xq" * 40 + " b c d e f g h i j k l m n"], tokenizer, 10))
    assert all(len(tokens(tokenizer, block)) <= 12 for block in blocks)
    assert blocks[0] == "a"


def test_byte_level_tokenizers_give_blocks_between_words_too(corpus: Path, roberta_tokenizer: Any) -> None:
    lines = corpus.read_text(encoding="utf-8").splitlines()
    blocks = list(blocks_of(lines, roberta_tokenizer, 16))
    held = " ".join(blocks).split()
    assert held == " ".join(lines).split()[: len(held)]
    assert len(blocks) > 10


def test_the_released_programs_blocks_are_decoded_and_exactly_full(corpus: Path, tokenizer: Any) -> None:
    lines = corpus.read_text(encoding="utf-8").splitlines()
    blocks = list(decoded_blocks(lines, tokenizer, 20))
    ids = [each for line in lines for each in tokens(tokenizer, line)]
    assert [tokens(tokenizer, block) for block in blocks] == [ids[lo : lo + 20] for lo in range(0, len(ids) - 19, 20)]
    assert all(block == block.lower() for block in blocks)


def test_a_longer_counterpart_does_not_make_a_longer_block(tokenizer: Any) -> None:
    text = "one two three four antidisestablishmentarianism"
    (short,) = clipped([text], tokenizer, 4)
    assert short.split() == ["one", "two", "three", "four"]
    assert list(clipped([text], tokenizer, 60)) == [text]


# --- augmentation


def test_only_blocks_with_an_attribute_word_stay_each_with_its_copy(tokenizer: Any, tmp_path: Path) -> None:
    file = tmp_path / "text.txt"
    file.write_text("the tree is big now\nhe saw the old tree\nno bird sang here today\n", encoding="utf-8")
    found = list(augmented(file, tokenizer, GENDER, room=5)())
    assert found == ["she saw the old tree", "he saw the old tree"]


def test_the_stream_is_the_same_each_time_and_follows_the_seed(tokenizer: Any, tmp_path: Path) -> None:
    file = tmp_path / "text.txt"
    file.write_text("\n".join(["the old rabbi came now"] * 60), encoding="utf-8")
    stream = augmented(file, tokenizer, FAITH, room=5)
    first = list(stream())
    assert first == list(stream())
    assert first != list(augmented(file, tokenizer, FAITH, room=5, seed=1)())
    copies = first[::2]
    assert {text.split()[2] for text in copies} == {"priest", "imam"}
    assert set(first[1::2]) == {"the old rabbi came now"}


def test_released_words_are_swapped_as_released(tokenizer: Any, tmp_path: Path) -> None:
    file = tmp_path / "text.txt"
    file.write_text('"He saw her, and he\'s old."', encoding="utf-8")
    (swapped, _) = augmented(file, tokenizer, GENDER, room=60, swapper=ReleasedSwapper)()
    assert "she saw his, and he's old" in swapped


# --- settings


def settings_of(method: str, given: dict[str, str]) -> tuple[dict[str, Any], dict[str, str]]:
    return chosen_of(METHODS[method], given)


def test_the_defaults_are_those_of_bias_bench() -> None:
    own, training = settings_of("cda", {})
    own_of_dropout, training_of_dropout = settings_of("dropout", {})
    bias_bench = {"batch": "32", "accumulate": "16", "max_steps": "2000"}
    assert training_of_dropout == training == bias_bench
    a_cda: Any = SimpleNamespace(training_settings=training)
    nothing: Any = None
    assert Cda.training(a_cda, nothing) == {**bias_bench, "blocks": "apart"}
    assert own == {"compat": "assay"}
    assert own_of_dropout == {"keep_dropout": "yes"}
    assert "max_steps" not in settings_of("dropout", {"epochs": "1"})[1]


@pytest.mark.parametrize(
    ("method", "given", "code", "key"),
    [
        ("cda", {"rounds": "3"}, "unknown-setting", "rounds"),
        ("cda", {"blocks": "joined"}, "unknown-setting", "blocks"),
        ("cda", {"compat": "old"}, "bad-setting", "compat"),
        ("cda", {"batch": "0"}, "bad-setting", "batch"),
        ("dropout", {"compat": "assay"}, "unknown-setting", "compat"),
        ("dropout", {"keep_dropout": "true"}, "bad-setting", "keep_dropout"),
    ],
)
def test_wrong_settings_are_refused_with_what_there_is(method: str, given: dict[str, str], code: str, key: str) -> None:
    with raises(code, UsageError, key=key):
        settings_of(method, given)


# --- whole methods


def test_cda_on_the_built_in_model_keeps_head_and_encoder_and_changes_both(corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "made" / "cda"
    made = debias("cda", "builtin", out, attribute="gender", corpus=corpus, settings=FEW, device="cpu")
    assert made.folder == out
    assert json.loads((out / "assay.json").read_text(encoding="utf-8")) == made.report
    before, after = weights(write_builtin(tmp_path / "before", "mask")), weights(out)
    assert {name for name in before if name.startswith("bert.")} <= after.keys()
    assert not np.array_equal(
        before["bert.encoder.layer.0.attention.self.query.weight"],
        after["bert.encoder.layer.0.attention.self.query.weight"],
    )
    assert 0 < made.report["changed"]["encoder"] < 0.5
    assert 0 < made.report["changed"]["head"] < 0.5
    assert made.report["training"]["steps"] == 2
    assert made.report["training"]["counts"]["texts"] % 2 == 0
    assert made.report["model"]["name"] == "builtin"
    assert "0.1" in (out / "config.json").read_text(encoding="utf-8")
    assert [each.name for each in out.parent.iterdir()] == ["cda"]  # nothing else is left
    card = (out / "README.md").read_text(encoding="utf-8")
    assert "CDA" in card
    assert made.report["corpus"]["digest"] in card
    model = load_model(f"hf:{out}", device="cpu")
    columns = FillColumns(StringColumn.of(["It rained."]), StringColumn.of([f"The {MASK} was wet."]))
    assert model.forward(model.encode(columns))


def test_the_same_command_gives_the_same_weights_and_another_seed_others(corpus: Path, tmp_path: Path) -> None:
    folder = tiny_models.make_mask_model(tmp_path / "tiny", "bert")
    made = [
        debias("cda", f"hf:{folder}", tmp_path / f"out{number}", attribute="race", corpus=_faces(tmp_path), seed=seed,
               settings={**FEW, "max_steps": "1"}, device="cpu").folder
        for number, seed in enumerate((0, 0, 1))
    ]  # fmt: skip
    first, again, other = (weights(each) for each in made)
    assert all(np.array_equal(first[name], again[name]) for name in first)
    assert any(not np.array_equal(first[name], other[name]) for name in first)


def _faces(tmp_path: Path) -> Path:
    file = tmp_path / "faces.txt"
    file.write_text("\n".join(["An African woman and a European met by the old bridge."] * 30), encoding="utf-8")
    return file


@pytest.mark.parametrize(
    ("family", "rates"), [("bert", (0.2, 0.15)), ("roberta", (0.2, 0.15)), ("electra", (0.05, 0.05))]
)
def test_dropout_trains_with_its_rates_and_keeps_them(
    family: str, rates: tuple[float, float], model_folder: Callable[..., Path], corpus: Path, tmp_path: Path
) -> None:
    source = model_folder("mask", family)
    made = debias("dropout", f"hf:{source}", tmp_path / "out", corpus=corpus, settings=FEW, device="cpu")
    assert (made.report["settings"]["dropout"], made.report["settings"]["attention_dropout"]) == rates
    config = json.loads((tmp_path / "out" / "config.json").read_text(encoding="utf-8"))
    assert (config["hidden_dropout_prob"], config["attention_probs_dropout_prob"]) == rates
    own = json.loads((source / "config.json").read_text(encoding="utf-8"))
    assert config["architectures"] == own["architectures"]
    lowered = rates[0] < own.get("hidden_dropout_prob", 0.1)
    assert any("less than the model's own" in note for note in made.report["notes"]) == lowered
    assert made.report["attribute"] is None
    assert made.report["words"] is None


def test_dropout_can_give_the_model_its_own_rates_back_and_its_rates_matter(corpus: Path, tmp_path: Path) -> None:
    folder = tiny_models.make_mask_model(tmp_path / "tiny", "bert")
    own = json.loads((folder / "config.json").read_text(encoding="utf-8")).get("hidden_dropout_prob", 0.1)
    made = {}
    for name, more in {"own": {"keep_dropout": "no"}, "none": {"dropout": "0", "attention_dropout": "0"}}.items():
        made[name] = debias(
            "dropout", f"hf:{folder}", tmp_path / name, corpus=corpus, settings={**FEW, **more}, device="cpu"
        ).folder
    config = json.loads((made["own"] / "config.json").read_text(encoding="utf-8"))
    assert config["hidden_dropout_prob"] == own
    first, second = weights(made["own"]), weights(made["none"])
    assert any(not np.array_equal(first[name], second[name]) for name in first)


def test_what_it_cost_is_reported(corpus: Path, tmp_path: Path) -> None:
    folder = tiny_models.make_mask_model(tmp_path / "tiny", "bert")
    asked: list[Path] = []

    def evaluate(place: Path) -> dict[str, float]:
        asked.append(place)
        assert (place / "model.safetensors").is_file()
        return {"accuracy": 0.75 if len(asked) == 1 else 0.5}

    options: dict[str, Any] = {"attribute": "gender", "corpus": corpus, "settings": FEW, "device": "cpu"}
    made = debias("cda", f"hf:{folder}", tmp_path / "out", evaluate=evaluate, **options)
    assert made.report["scores"] == {
        "before": {"accuracy": 0.75},
        "after": {"accuracy": 0.5},
        "cost": {"accuracy": 0.25},
    }
    assert asked[0] == folder.resolve()
    assert "| accuracy | 0.7500 | 0.5000 | -0.2500 |" in (tmp_path / "out" / "README.md").read_text(encoding="utf-8")


# --- interruptions


def test_what_was_trained_is_not_lost_when_the_rest_fails(corpus: Path, tmp_path: Path) -> None:
    folder = tiny_models.make_mask_model(tmp_path / "tiny", "bert")
    options: dict[str, Any] = {"attribute": "gender", "corpus": corpus, "settings": FEW, "device": "cpu"}
    calls = []

    def fails_at_the_end(place: Path) -> dict[str, float]:
        calls.append(place)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return {"accuracy": 0.5}

    with pytest.raises(KeyboardInterrupt):
        debias("cda", f"hf:{folder}", tmp_path / "out", evaluate=fails_at_the_end, **options)
    assert not (tmp_path / "out").exists()
    (work,) = tmp_path.glob(".out.*.training")
    older, anothers = tmp_path / ".out.0123456789ab.training", tmp_path / ".out.big.0123456789ab.training"
    for folder_of_a_training in (older, anothers):
        folder_of_a_training.mkdir()
    stamp = (work / "model.safetensors").stat().st_mtime_ns
    made = debias("cda", f"hf:{folder}", tmp_path / "out", **options)
    assert (made.folder / "model.safetensors").stat().st_mtime_ns == stamp
    assert list(tmp_path.glob(".out.*")) == [anothers], "what belongs to a model named out.big is not ours"


class _Stops:
    """A progress that stops the program after some steps of the training."""

    def __init__(self, steps: int) -> None:
        self.left, self.training = steps, False
        self.stored = 0

    def start(self, label: str, total: int, unit: str = "questions") -> None:
        self.training = label == "training"

    def advance(self, count: int, *, stored: bool = False) -> None:
        self.stored += count if stored else 0
        if self.training and not stored:
            self.left -= 1
            if not self.left:
                raise KeyboardInterrupt


def test_an_interrupted_training_goes_on_and_ends_with_the_same_weights(corpus: Path, tmp_path: Path) -> None:
    folder = tiny_models.make_mask_model(tmp_path / "tiny", "bert")
    settings = {**FEW, "max_steps": "4", "save_steps": "1"}
    options: dict[str, Any] = {"attribute": "gender", "corpus": corpus, "settings": settings, "device": "cpu"}
    whole = debias("cda", f"hf:{folder}", tmp_path / "whole", **options)
    with pytest.raises(KeyboardInterrupt):
        debias("cda", f"hf:{folder}", tmp_path / "out", progress=_Stops(3), **options)
    assert not (tmp_path / "out").exists()
    seen = _Stops(1000)
    again = debias("cda", f"hf:{folder}", tmp_path / "out", progress=seen, **options)
    assert seen.stored == 2 * int(FEW["batch"])  # two steps had been saved when it was stopped in the third
    first, second = weights(whole.folder), weights(again.folder)
    assert all(np.allclose(first[name], second[name], atol=1e-6) for name in first)
    assert [each["step"] for each in again.report["training"]["curve"]] == [1, 2, 3, 4]


def test_a_training_with_other_settings_is_another_training(corpus: Path, tmp_path: Path) -> None:
    folder = tiny_models.make_mask_model(tmp_path / "tiny", "bert")
    options: dict[str, Any] = {"attribute": "gender", "corpus": corpus, "device": "cpu"}

    def stops(place: Path) -> dict[str, float]:
        if ".out." in place.name:
            raise KeyboardInterrupt
        return {}

    with pytest.raises(KeyboardInterrupt):
        debias("cda", f"hf:{folder}", tmp_path / "out", evaluate=stops, settings=FEW, **options)
    made = debias("cda", f"hf:{folder}", tmp_path / "out", settings={**FEW, "max_steps": "3"}, **options)
    assert made.report["training"]["steps"] == 3
    assert not list(tmp_path.glob(".out.*"))


# --- refused before any training


def refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, **more: Any) -> AssayError:
    """The error of a job that must not come to a training."""

    def never(*given: Any, **options: Any) -> None:
        pytest.fail("this must be refused before the training")

    monkeypatch.setattr(further_training, "train", never)
    options: dict[str, Any] = {
        "method": "cda",
        "model": "builtin",
        "attribute": "gender",
        "settings": FEW,
        "device": "cpu",
    }
    with pytest.raises(AssayError) as error:
        debias(out=tmp_path / "out", **(options | more))
    assert not (tmp_path / "out").exists()
    return error.value


def test_a_corpus_without_any_attribute_word_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "text.txt"
    file.write_text("The bridge is old.\n" * 50, encoding="utf-8")
    told = refused(tmp_path, monkeypatch, corpus=file)
    assert (told.code, told.file, told.key) == ("empty-file", file, "words")


@pytest.mark.parametrize("content", ["", "\n\n  \n"])
@pytest.mark.parametrize("method", ["cda", "dropout"])
def test_an_empty_corpus_is_refused(content: str, method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "text.txt").write_text(content, encoding="utf-8")
    about = {"cda": "gender", "dropout": None}[method]
    told = refused(tmp_path, monkeypatch, corpus=tmp_path / "text.txt", method=method, attribute=about)
    assert (told.code, told.file) == ("empty-file", tmp_path / "text.txt")


def test_cda_needs_an_attribute_that_there_is(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for attribute, code in ((None, "missing-setting"), ("age", "bad-option")):
        told = refused(tmp_path, monkeypatch, corpus=corpus, attribute=attribute)
        assert (told.code, told.key) == (code, "attribute")


def test_a_model_without_a_head_for_masks_is_refused(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, span_model_folder: Path
) -> None:
    told = refused(tmp_path, monkeypatch, corpus=corpus, model=f"hf:{span_model_folder}")
    assert (told.code, told.key) == ("missing-ability", "mask")


def test_a_length_that_the_model_cannot_read_is_refused(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = refused(tmp_path, monkeypatch, corpus=corpus, settings={**FEW, "length": "513"})
    assert (told.code, told.key) == ("bad-setting", "length")


def test_a_folder_with_something_in_it_is_left_alone(corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "notes.txt").write_text("mine", encoding="utf-8")
    with raises("not-new", UsageError, key="out"):
        debias("cda", "builtin", tmp_path / "out", attribute="gender", corpus=corpus, settings=FEW, device="cpu")
    assert [each.name for each in tmp_path.iterdir()] == ["out"]


def test_weights_that_did_not_change_are_refused(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A training that does nothing, such as one whose gradients are lost, must not pass for a debiased model."""
    import torch

    folder = tiny_models.make_mask_model(tmp_path / "tiny", "bert")
    monkeypatch.setattr(torch.optim.AdamW, "step", lambda self, closure=None: None)
    with raises("training-failed", ModelError):
        debias("cda", f"hf:{folder}", tmp_path / "out", attribute="gender", corpus=corpus, settings=FEW, device="cpu")
    assert not (tmp_path / "out").exists()
