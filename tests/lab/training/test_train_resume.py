"""An interrupted training goes on to the same loss curve and the same weights; nothing half-written is trusted."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assay.errors import ModelError, UsageError
from assay.lab.training import train
from raising import raises

pytestmark = pytest.mark.training

Write = Callable[..., Path]
Base = Callable[..., str]


class StopError(Exception):
    """Stands for whatever ends a program."""


class Until:
    """Ends the training in the middle of a step's end, before its checkpoint."""

    def __init__(self, steps: int) -> None:
        self.left = steps
        self.stored = 0

    def start(self, label: str, total: int, unit: str = "questions") -> None:
        pass

    def advance(self, count: int, *, stored: bool = False) -> None:
        if stored:
            self.stored += count
            return
        self.left -= 1
        if self.left < 0:
            raise StopError


@pytest.fixture
def training(
    tmp_path: Path, social_iqa: Write, squad: Callable[..., Any], prose: Callable[..., str], small_base: Base
) -> Callable[..., Any]:
    """`training(kind, out, progress, …)`: a training of 3 passes with dropout, and a checkpoint after every 2 steps."""
    (tmp_path / "text.txt").write_text(prose(80))
    (tmp_path / "squad.json").write_text(json.dumps(squad(6, version=2)))
    data = {"choice": social_iqa(tmp_path), "mask": tmp_path / "text.txt", "span": tmp_path / "squad.json"}
    base = small_base()  # made here, before a test replaces what writes models

    def run(kind: Any, out: str, progress: Any = None, **more: Any) -> Any:
        settings = {"epochs": 3, "batch": 4, "accumulate": 2, "rate": 1e-3, "save_steps": 2, "warmup": 0.2}
        settings |= {"length": 16} if kind == "mask" else {"window": 32} if kind == "span" else {}
        settings |= more.pop("settings", {})
        return train(kind, base, data[kind], tmp_path / out, settings=settings, device="cpu", progress=progress, **more)

    return run


@pytest.mark.parametrize("kind", ["choice", "mask", "span"])
@pytest.mark.parametrize("order", ["grouped", "random"])
def test_an_interrupted_training_resumes_to_the_same_curve(
    tmp_path: Path, training: Callable[..., Any], kind: str, order: str
) -> None:
    settings = {"order": order}
    whole = training(kind, "whole", settings=settings)
    steps = whole.info["steps"]
    assert steps >= 8
    for stop in (3, 2):  # in the first pass, then, having gone on from step 2, in a later one
        with pytest.raises(StopError):
            training(kind, "parts", Until(stop + (steps // 2 if stop == 2 else 0)), settings=settings)
        assert not (tmp_path / "parts" / "assay.json").exists()
    watched = Until(10**6)
    parts = training(kind, "parts", watched, settings=settings)
    assert watched.stored >= 8 * 4  # it went on, and did not begin anew
    assert [point["step"] for point in parts.info["curve"]] == list(range(1, steps + 1))
    for name in ("loss", "rate"):
        assert [each[name] for each in parts.info["curve"]] == pytest.approx(
            [each[name] for each in whole.info["curve"]], rel=1e-5
        )
    assert (parts.folder / "model.safetensors").read_bytes() == (whole.folder / "model.safetensors").read_bytes()
    assert not (parts.folder / "checkpoints").exists()
    assert not (parts.folder / "training.json").exists()


def test_a_checkpoint_that_was_not_written_whole_is_not_used(tmp_path: Path, training: Callable[..., Any]) -> None:
    whole = training("choice", "whole")
    with pytest.raises(StopError):
        training("choice", "parts", Until(5), settings={"keep_checkpoints": 2})
    checkpoints = tmp_path / "parts" / "checkpoints"
    assert sorted(path.name for path in checkpoints.iterdir()) == ["checkpoint-2", "checkpoint-4"]
    state = checkpoints / "checkpoint-4" / "trainer_state.json"
    state.write_text(state.read_text()[:50])
    watched = Until(10**6)
    parts = training("choice", "parts", watched)
    assert watched.stored == 2 * 8
    assert (parts.folder / "model.safetensors").read_bytes() == (whole.folder / "model.safetensors").read_bytes()


def test_a_training_stopped_behind_its_last_step_trains_no_further(
    tmp_path: Path, training: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed while it was evaluated or written down: the last checkpoint is the model."""

    def stop(*given: Any, **more: Any) -> None:
        raise StopError

    whole = training("choice", "whole", settings={"max_steps": 4})
    with monkeypatch.context() as patched:
        patched.setattr("assay.lab.training._save", stop)
        with pytest.raises(StopError):
            training("choice", "parts", settings={"max_steps": 4})
    watched = Until(0)  # one more step would stop it
    parts = training("choice", "parts", watched, settings={"max_steps": 4})
    assert parts.info["curve"] == whole.info["curve"]
    assert (parts.folder / "model.safetensors").read_bytes() == (whole.folder / "model.safetensors").read_bytes()


@pytest.mark.parametrize("left", ["training.json", "checkpoints"])
def test_a_training_stopped_while_it_tidies_up_is_whole_when_it_is_repeated(
    tmp_path: Path, training: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, left: str
) -> None:
    """It goes on until assay.json is the only note about it, and then counts as finished."""
    whole = training("choice", "whole", settings={"max_steps": 4})
    unlink, rmtree = Path.unlink, shutil.rmtree

    def stop(remove: Callable[..., None], path: Path, **more: Any) -> None:
        if path.name == left and (path.parent / "assay.json").exists():
            raise StopError
        remove(path, **more)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "unlink", lambda path, **more: stop(unlink, path, **more))
        patched.setattr(shutil, "rmtree", lambda path, **more: stop(rmtree, Path(path), **more))
        with pytest.raises(StopError):
            training("choice", "parts", settings={"max_steps": 4})
    parts = tmp_path / "parts"
    assert (parts / left).exists()
    assert (parts / "assay.json").exists()
    if left == "training.json":
        training("choice", "parts", Until(0), settings={"max_steps": 4})  # one more step would stop it
    else:
        with raises("not-new", UsageError, file=parts, key="resume"):
            training("choice", "parts", settings={"max_steps": 4})
    assert {path.name for path in parts.iterdir()} == {path.name for path in whole.folder.iterdir()}
    assert (parts / "model.safetensors").read_bytes() == (whole.folder / "model.safetensors").read_bytes()


def test_another_training_is_not_mixed_up_with_the_one_that_was_begun(
    tmp_path: Path, training: Callable[..., Any]
) -> None:
    with pytest.raises(StopError):
        training("choice", "out", Until(3))
    with raises("other-run", UsageError, file=tmp_path / "out", key="seed"):
        training("choice", "out", seed=1)
    with raises("other-run", UsageError, file=tmp_path / "out", key="settings") as caught:
        training("choice", "out", settings={"rate": 2e-3})
    assert "--resume never" in caught.value.remedy
    (tmp_path / "train-labels.lst").write_text("1\n" * 24)
    with raises("other-run", UsageError, file=tmp_path / "out", key="data"):
        training("choice", "out")


def test_how_checkpoints_are_kept_may_change(training: Callable[..., Any]) -> None:
    with pytest.raises(StopError):
        training("choice", "out", Until(3))
    done = training("choice", "out", settings={"save_steps": 3, "keep_checkpoints": 2})
    assert len(list((done.folder / "checkpoints").iterdir())) == 2


def test_a_finished_folder_is_left_alone_unless_it_is_to_be_replaced(
    tmp_path: Path, training: Callable[..., Any]
) -> None:
    first = training("choice", "out", settings={"max_steps": 2})
    before = (first.folder / "model.safetensors").read_bytes()
    with raises("not-new", UsageError, file=tmp_path / "out", key="resume") as caught:
        training("choice", "out", settings={"max_steps": 2})
    assert "--resume never" in caught.value.remedy
    second = training("choice", "out", settings={"max_steps": 2}, seed=9, resume=False)
    assert (second.folder / "model.safetensors").read_bytes() != before
    assert json.loads((second.folder / "assay.json").read_text())["seed"] == 9


def test_somebodys_own_file_outlives_a_training_that_begins_anew(tmp_path: Path, training: Callable[..., Any]) -> None:
    first = training("choice", "out", settings={"max_steps": 2})
    (first.folder / "notes.txt").write_text("precious")
    for seed in (1, 2):
        done = training("choice", "out", settings={"max_steps": 2}, seed=seed, resume=False)
        assert sorted(done.info["files"]) == sorted(first.info["files"])
        assert (done.folder / "notes.txt").read_text() == "precious"
    assert {"config.json", "model.safetensors", "tokenizer.json"} <= set(done.info["files"])


def test_what_a_stopped_training_saved_is_replaced(
    tmp_path: Path, training: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed while it was evaluated: another base's files must not stay beside the new model."""

    def saved(loaded: Any, base: Any, folder: Any) -> None:
        with folder.saving() as place:
            (place / "merges.txt").write_text("another tokenizer's")
        raise StopError

    with monkeypatch.context() as patched:
        patched.setattr("assay.lab.training._save", saved)
        with pytest.raises(StopError):
            training("choice", "out", settings={"max_steps": 2})
    assert (tmp_path / "out" / "merges.txt").exists()
    training("choice", "out", settings={"max_steps": 2}, resume=False)
    assert not (tmp_path / "out" / "merges.txt").exists()


def test_never_begins_anew_where_a_training_was_begun(training: Callable[..., Any]) -> None:
    with pytest.raises(StopError):
        training("choice", "out", Until(5))
    watched = Until(10**6)
    training("choice", "out", watched, resume=False)
    assert watched.stored == 0


def test_a_bad_base_for_a_replacement_leaves_the_finished_model(tmp_path: Path, training: Callable[..., Any]) -> None:
    first = training("choice", "out", settings={"max_steps": 2})
    shutil.copytree(first.folder, tmp_path / "copy")
    with raises("bad-setting", UsageError, key="length"):
        training("choice", "out", settings={"length": 9999}, resume=False)
    for file in (tmp_path / "copy").iterdir():
        assert (first.folder / file.name).read_bytes() == file.read_bytes()


def _unexpected_pos() -> Exception:
    return RuntimeError("[enforce fail at inline_container.cc:664] . unexpected pos 704 vs 598")


def _safetensors() -> Exception:
    from safetensors import SafetensorError

    return SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)")


def test_checkpoints_that_could_not_be_removed_are_an_error_and_go_with_the_next_attempt(
    tmp_path: Path, small_base: Base, social_iqa: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(folder: Path, ignore_errors: bool = False) -> None:
        if not ignore_errors:
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(folder))

    given = ("choice", small_base(), social_iqa(tmp_path / "data"), tmp_path / "out")
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", fail)
        with raises("cannot-write", UsageError, file=tmp_path / "out" / "checkpoints"):
            train(*given, settings={"max_steps": 2})
    with raises("not-new", UsageError):
        train(*given, settings={"max_steps": 2})
    assert not (tmp_path / "out" / "checkpoints").exists()


@pytest.mark.parametrize("error", [MemoryError(), RuntimeError("DefaultCPUAllocator: can't allocate memory")])
def test_memory_that_runs_out_while_training_is_explained(
    error: Exception, tmp_path: Path, small_base: Base, social_iqa: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    from transformers.trainer import Trainer

    def fail(*arguments: object, **more: object) -> Any:
        raise error

    monkeypatch.setattr(Trainer, "training_step", fail)
    with raises("out-of-memory", ModelError, key="batch") as caught:
        train("choice", small_base(), social_iqa(tmp_path / "data"), tmp_path / "out", settings={"batch": 4})
    assert "--set batch=2" in caught.value.remedy


def _no_space() -> Exception:
    return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("error", [_unexpected_pos, _safetensors, _no_space])
@pytest.mark.parametrize("when", ["checkpoint", "model"])
def test_a_disk_that_is_full_is_explained_and_the_same_command_goes_on(
    tmp_path: Path,
    training: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    error: Callable[[], Exception],
    when: str,
) -> None:
    import torch
    from transformers import PreTrainedModel

    save, save_model = torch.save, PreTrainedModel.save_pretrained

    def saved(content: Any, path: Any, *given: Any, **more: Any) -> None:
        if "checkpoint-4" in str(path):
            raise error()
        save(content, path, *given, **more)

    def model_saved(model: Any, path: Any, *given: Any, **more: Any) -> None:
        save_model(model, path, *given, **more)
        if "checkpoint-" not in str(path):
            raise error()

    with monkeypatch.context() as patched:
        if when == "checkpoint":
            patched.setattr(torch, "save", saved)
        else:
            patched.setattr(PreTrainedModel, "save_pretrained", model_saved)
        for resume, command in ((False, "the same command without --resume never"), (True, "the same command then")):
            with raises("no-space", UsageError, file=tmp_path / "out") as caught:
                training("choice", "out", settings={"max_steps": 4}, resume=resume)
            assert command in caught.value.remedy
    watched = Until(10**6)
    done = training("choice", "out", watched, settings={"max_steps": 4})
    assert watched.stored == (2 if when == "checkpoint" else 4) * 8
    assert not (done.folder / "checkpoints").exists()


def test_another_error_while_training_is_not_taken_for_a_full_disk(
    training: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    def failed(*given: Any, **more: Any) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(torch, "save", failed)
    with pytest.raises(OSError, match="Input/output error"):
        training("choice", "out")


@pytest.mark.parametrize("stop", [3, 5])
def test_a_disk_that_was_large_enough_is_so_for_the_rest_of_the_training(
    tmp_path: Path, training: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, stop: int
) -> None:
    from assay.lab.training import training_folder

    def used() -> int:
        return sum(file.stat().st_size for file in (tmp_path / "out").rglob("*") if file.is_file())

    sizes: list[int] = []
    require = training_folder.require_space
    monkeypatch.setattr(
        training_folder.shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(0, 0, sizes[0] - used())
    )
    monkeypatch.setattr("assay.lab.training.require_space", lambda *given: require(*_noted(given, sizes)))
    with pytest.raises(StopError):
        training("choice", "out", Until(stop))
    half = tmp_path / "out" / "checkpoints" / "checkpoint-6"  # it was killed while this was written
    half.mkdir()
    (half / "model.safetensors").write_bytes(bytes(50_000))
    assert sizes[0] - used() < sizes[0] * 6 // 7 - 50_000
    training("choice", "out")


def _noted(given: Any, sizes: list[int]) -> Any:
    """Note how many bytes a disk must have for a training, of which there is not one more."""
    if not sizes:
        sizes.append(4 * given[1] * 7 + 1000)
    return given


def test_only_as_many_checkpoints_as_stay_count_as_room(tmp_path: Path, training: Callable[..., Any]) -> None:
    from assay.lab.training.training_folder import open_out

    with pytest.raises(StopError):
        training("choice", "out", Until(7), settings={"keep_checkpoints": 3})
    places = sorted((tmp_path / "out" / "checkpoints").iterdir())
    each = [sum(file.stat().st_size for file in place.iterdir()) for place in places]
    assert len(each) == 3
    with open_out(tmp_path / "out", resume=True) as out:  # the others go when the next one is there
        assert [out.held(kept) for kept in (0, 1, 2, 3, 4)] == [each[2], each[2], sum(each[1:]), sum(each), sum(each)]
    with open_out(tmp_path / "out", resume=False) as out:
        assert out.held(0) == sum(each) + (tmp_path / "out" / "training.json").stat().st_size


@pytest.mark.parametrize("at", ["shutil.rmtree", "assay.lab.training.training_folder.write_atomically"])
@pytest.mark.parametrize("finished", [True, False])
def test_a_training_killed_while_it_replaces_another_one_can_be_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: str, finished: bool
) -> None:
    from assay.lab.training.training_folder import open_out

    def killed(*_: Any, **__: Any) -> None:
        raise StopError

    with open_out(tmp_path, resume=True) as out:
        out.begin({"data": "old"})
        (out.checkpoints / "checkpoint-2").mkdir(parents=True)
        if finished:
            out.finish({"made_by": "assay train"}, "card", keep_checkpoints=True)
    (tmp_path / "notes.txt").write_text("mine")
    with monkeypatch.context() as patched, open_out(tmp_path, resume=False) as out:
        patched.setattr(at, killed)
        with pytest.raises(StopError):
            out.begin({"data": "new"})
    with open_out(tmp_path, resume=False) as out:
        assert out.begin({"data": "new"}) is None
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["notes.txt", "training.json"]
