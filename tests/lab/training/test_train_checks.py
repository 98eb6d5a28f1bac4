"""What is wrong is said before anything is trained, in one message with a remedy."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assay.errors import AssayError, DataError, ModelError, UsageError
from assay.lab.training import evaluate, train
from raising import raises
from tiny_models import make_causal_model, make_text_model

pytestmark = pytest.mark.training

Write = Callable[..., Path]
Base = Callable[..., str]


@pytest.fixture(autouse=True)
def _never_trained(monkeypatch: pytest.MonkeyPatch) -> None:
    """A check that comes after the training began is too late."""
    from assay.lab import training

    def too_late(*given: Any, **more: Any) -> None:
        raise AssertionError("the training began")

    monkeypatch.setattr(training, "fit", too_late)


def refused(kind: Any, base: str, data: Path, out: Path, **more: Any) -> AssayError:
    there = out.exists()
    with pytest.raises(AssayError) as caught:
        train(kind, base, data, out, device="cpu", **more)
    assert caught.value.remedy
    assert out.exists() == there  # nothing is left of what was not there before
    return caught.value


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (make_causal_model, "span"),
        (make_causal_model, "choice"),
        (make_causal_model, "mask"),
        (make_text_model, "span"),
    ],
)
def test_a_model_that_writes_is_no_base(
    tmp_path: Path, social_iqa: Write, make: Callable[..., Path], kind: str
) -> None:
    base = make(tmp_path / "base", text="a b")
    error = refused(kind, f"hf:{base}", social_iqa(tmp_path), tmp_path / "out")
    assert isinstance(error, UsageError)
    assert (error.code, error.key) == ("unsupported", "base")


@pytest.mark.parametrize(("kind", "head"), [("mask", "auto"), ("choice", "keep"), ("span", "keep")])
def test_a_base_without_the_needed_head(
    tmp_path: Path, social_iqa: Write, small_base: Base, kind: str, head: str
) -> None:
    base = small_base("choice") if kind == "mask" else small_base("mask")
    error = refused(kind, base, social_iqa(tmp_path), tmp_path / "out", settings={"head": head})
    expected = ("missing-ability", "mask") if kind == "mask" else ("bad-setting", "head")
    assert (error.code, error.key) == expected
    assert "head=new" in error.remedy


def test_a_base_whose_encoder_is_incomplete(tmp_path: Path, social_iqa: Write, small_base: Base) -> None:
    from safetensors.numpy import load_file, save_file

    base = shutil.copytree(small_base()[3:], tmp_path / "base")
    there = load_file(base / "model.safetensors")
    lost = {name: values for name, values in there.items() if "layer.1." not in name}
    save_file(lost, base / "model.safetensors", {"format": "pt"})
    error = refused("choice", f"hf:{base}", social_iqa(tmp_path), tmp_path / "out")
    assert isinstance(error, ModelError)
    assert error.code == "bad-folder"
    assert str(error.key).startswith("bert.encoder.layer.1")


def test_a_tokenizer_of_another_model(tmp_path: Path, social_iqa: Write, small_base: Base, model_folder: Any) -> None:
    base = shutil.copytree(small_base()[3:], tmp_path / "base")
    shutil.copy(model_folder("mask", "bert") / "tokenizer.json", base / "tokenizer.json")
    error = refused("choice", f"hf:{base}", social_iqa(tmp_path), tmp_path / "out")
    assert error.code == "bad-tokenizer"


def test_empty_and_unlabelled_data(tmp_path: Path, small_base: Base, social_iqa: Write) -> None:
    (tmp_path / "empty.json").write_text("")
    error = refused("span", small_base(), tmp_path / "empty.json", tmp_path / "out")
    assert (error.code, error.file) == ("empty-file", tmp_path / "empty.json")
    (tmp_path / "blank.txt").write_text("  \n\n")
    error = refused("mask", small_base(), tmp_path / "blank.txt", tmp_path / "out")
    assert (error.code, error.file) == ("empty-file", tmp_path / "blank.txt")
    data = social_iqa(tmp_path)
    data.with_name("train-labels.lst").unlink()
    error = refused("choice", small_base(), data, tmp_path / "out")
    assert (error.code, error.file, error.line, error.key) == ("missing-key", data, 1, "correct")


def test_data_to_evaluate_on_are_looked_at_first(tmp_path: Path, small_base: Base, social_iqa: Write) -> None:
    error = refused("choice", small_base(), social_iqa(tmp_path), tmp_path / "out", evaluation=tmp_path / "dev.jsonl")
    assert isinstance(error, DataError)
    assert (error.code, error.file) == ("missing-file", tmp_path / "dev.jsonl")


def test_a_disk_that_is_too_small_for_the_checkpoints(
    tmp_path: Path, small_base: Base, social_iqa: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    from assay.lab.training import training_folder

    usage = shutil._ntuple_diskusage(10**9, 10**9 - 123_000, 123_000)
    monkeypatch.setattr(training_folder.shutil, "disk_usage", lambda path: usage)
    error = refused("choice", small_base(), social_iqa(tmp_path), tmp_path / "out", settings={"keep_checkpoints": 3})
    assert isinstance(error, UsageError)
    assert (error.code, error.file) == ("no-space", tmp_path / "out")


def test_the_space_that_is_asked_for_is_what_the_checkpoints_take(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from assay.lab.training import training_folder

    def free(amount: int) -> None:
        usage = shutil._ntuple_diskusage(10**12, 0, amount)
        monkeypatch.setattr(training_folder.shutil, "disk_usage", lambda path: usage)

    need = 4 * 110_000_000 * (3 * 2 + 1)  # weights and two moments, for one checkpoint and the next, and the model
    free(need)
    out = training_folder.TrainingFolder(tmp_path, None)
    training_folder.require_space(out, 110_000_000, n_kept=0)
    with pytest.raises(UsageError, match=r"need 5\.72 GB") as caught:
        training_folder.require_space(out, 110_000_000, n_kept=3)
    assert "--set keep_checkpoints=1" in caught.value.remedy
    free(need - 1)
    for kept in (0, 1, 3):  # keeping fewer would not be enough
        with pytest.raises(
            UsageError, match=r"110\.0 million parameters need .* GB, and 3\.08 GB are free\."
        ) as caught:
            training_folder.require_space(out, 110_000_000, kept)
        assert caught.value.remedy == "Free some space or choose another disk with --out."


@pytest.mark.parametrize("seed", [-1, 2**32])
def test_a_seed_that_cannot_be_is_refused_before_anything_is_read(tmp_path: Path, small_base: Base, seed: int) -> None:
    nowhere = tmp_path / "nowhere"
    error = refused("choice", "hf:./nowhere", nowhere, tmp_path / "out", seed=seed)
    assert (error.code, error.key) == ("bad-option", "seed")
    with raises("bad-option", UsageError, key="seed"):
        train("mask", "hf:./nowhere", lambda: iter(["Anna"]), tmp_path / "out", device="cpu", seed=seed)
    with raises("bad-option", UsageError, key="seed"):
        evaluate("choice", "hf:./nowhere", nowhere, device="cpu", seed=seed)


def test_a_seed_that_cannot_be_is_refused_before_a_base_is_loaded(small_base: Base) -> None:
    from assay.lab.training import KINDS
    from assay.lab.training.base_model import load_base, opened_base
    from assay.lab.training.training_kind import settings_of

    settings = settings_of(KINDS["mask"], None, {})[0]
    with opened_base(small_base(), KINDS["mask"], "cpu") as base, raises("bad-option", UsageError, key="seed"):
        load_base(base, KINDS["mask"], settings, -1)


@pytest.mark.parametrize(
    ("device", "message"),
    [
        ("foo", "training runs on cpu, cuda or mps, not on 'foo'"),
        ("meta", "training runs on cpu, cuda or mps, not on 'meta'"),
        ("mps", "the device 'mps' cannot be used: "),
        ("cuda", "the device 'cuda' cannot be used: no such device."),
    ],
)
def test_a_device_that_is_not_there_is_refused_before_anything_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, device: str, message: str
) -> None:
    import torch

    def nothing(*given: Any, **more: Any) -> None:
        raise RuntimeError("no such device")

    monkeypatch.setattr(torch, "empty", nothing)
    with pytest.raises(UsageError, match=message) as caught:
        train("choice", "hf:./nowhere", tmp_path / "nowhere", tmp_path / "out", device=device)
    assert "--device" in caught.value.remedy
    assert not (tmp_path / "out").exists()


def test_a_folder_that_holds_something_else(tmp_path: Path, small_base: Base, social_iqa: Write) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "thesis.tex").write_text("precious")
    for resume in (True, False):
        error = refused("choice", small_base(), social_iqa(tmp_path), out, resume=resume)
        assert (error.code, error.file, error.key) == ("not-new", out, None)
    assert [path.name for path in out.iterdir()] == ["thesis.tex"]


def test_the_base_itself_is_not_overwritten(tmp_path: Path, small_base: Base, social_iqa: Write) -> None:
    base = shutil.copytree(small_base()[3:], tmp_path / "base")
    error = refused("choice", f"hf:{base}", social_iqa(tmp_path), base, resume=False)
    assert (error.code, error.file) == ("not-new", base)


@pytest.mark.parametrize(
    ("more", "code", "key"),
    [
        ({"settings": {"length": 4096}}, "bad-setting", "length"),
        ({"settings": {"window": 384}}, "unknown-setting", "window"),
        ({"preset": "unqover"}, "unsupported", "preset"),
        ({"dtype": "float16"}, "no-device", "dtype"),
    ],
)
def test_what_cannot_be_done_is_refused(
    tmp_path: Path, small_base: Base, social_iqa: Write, more: dict[str, Any], code: str, key: str
) -> None:
    with raises(code, UsageError, key=key):
        train("choice", small_base(), social_iqa(tmp_path), tmp_path / "out", device="cpu", **more)


def test_two_programs_cannot_train_in_one_folder(tmp_path: Path, small_base: Base, social_iqa: Write) -> None:
    from assay.lab.training.training_folder import open_out

    with open_out(tmp_path / "out", resume=True), raises("in-use", UsageError):
        train("choice", small_base(), social_iqa(tmp_path), tmp_path / "out", device="cpu")


def test_only_a_model_with_the_head_is_evaluated(tmp_path: Path, small_base: Base, social_iqa: Write) -> None:
    with raises("missing-ability", UsageError, key="choice"):
        evaluate("choice", small_base("mask"), social_iqa(tmp_path), device="cpu")


def test_a_device_by_number_is_refused_with_the_way_to_choose_it(
    tmp_path: Path, small_base: Base, social_iqa: Write
) -> None:
    with raises("no-device", UsageError, key="device") as caught:
        train("choice", small_base(), social_iqa(tmp_path), tmp_path / "out", device="cuda:1")
    assert "CUDA_VISIBLE_DEVICES=1" in caught.value.remedy


def test_without_accelerate_or_torch_the_extra_is_named(
    tmp_path: Path, small_base: Base, social_iqa: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    for library in ("accelerate", "torch"):
        monkeypatch.setitem(sys.modules, library, None)
        error = refused("choice", small_base(), social_iqa(tmp_path), tmp_path / "out")
        assert (error.code, error.key) == ("not-installed", library)
        assert error.problem == f"training needs {library}, which is not installed."
        assert 'pip install "assay-bias[train]"' in error.remedy
