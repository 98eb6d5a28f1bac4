"""Nothing but `assay cache prune` removes stored answers, and it keeps those of the runs that it knows."""

from __future__ import annotations

import os
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from assay.asking.tokens import Tokens
from assay.cli import main
from assay.engine.ask import LiveAsk, Resume
from assay.engine.executor import EngineSettings, LocalExecutor
from assay.engine.store import BlockStore, StoredBlock, read_block
from assay.results.run import RunInfo
from assay.runs.folder import open_for_writing
from fake_models import FakeModel, FakePlan, fake_spec

PLAN = FakePlan(20)


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> BlockStore:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    return BlockStore.default()


@dataclass
class Shifted(FakeModel):
    """Its answers are as much larger."""

    shift: int = 0

    def forward(self, tokens: Tokens) -> dict[str, Any]:
        return {name: values + self.shift for name, values in super().forward(tokens).items()}


def run(store: BlockStore, out: str, shift: int) -> list[Path]:
    """A run that asks everything again and gets other answers. Returns its files in the cache."""
    model = Shifted(fake_spec(), shift=shift)
    ask = LiveAsk(
        model.spec, store, LocalExecutor(lambda spec: model), EngineSettings(block_size=8), resume=Resume.NEVER
    )
    ask(PLAN, "words")
    with open_for_writing(Path(out), RunInfo("unqover", identity={"model": shift}), Resume.ALWAYS) as folder:
        folder.write_blocks(ask.asked)
    return [store.path(StoredBlock(asked.key, *block)) for asked in ask.asked for block in asked.blocks]


@pytest.mark.parametrize("folders", [[], ["runs"], ["elsewhere"], ["runs", "elsewhere"]])
def test_pruning_removes_what_was_asked_again_unless_a_known_run_uses_it(
    folders: list[str], store: BlockStore, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second, third = run(store, "runs/one", 1), run(store, "elsewhere/two", 2), run(store, "runs/three", 3)
    assert len({*first, *second, *third}) == 9
    keep = [part for folder in folders for part in ("--runs", folder)]
    assert main(["cache", "prune", *keep, "--dry-run"]) == 0
    assert all(path.exists() for path in (*first, *second, *third))
    assert main(["cache", "prune", *keep]) == 0
    known = {*(folders or ("runs",))}
    assert [path.exists() for path in (first[0], second[0], third[0])] == ["runs" in known, "elsewhere" in known, True]
    for path, (lo, hi) in zip(third, ((0, 8), (8, 16), (16, 20)), strict=True):
        assert read_block([path], lo, hi) is not None
    told = capsys.readouterr().out
    removed = 3 * (2 - len(known))
    assert f"{removed} removed: there are newer answers" in told if removed else "newer" not in told


def test_pruning_the_unused_removes_everything_else(store: BlockStore) -> None:
    kept, gone = run(store, "runs/one", 1), run(store, "elsewhere/two", 2)
    assert main(["cache", "prune", "--unused"]) == 0
    assert [path.exists() for path in (*kept, *gone)] == [True] * 3 + [False] * 3


def test_runs_that_are_not_there_are_no_reason_to_remove_their_answers(store: BlockStore) -> None:
    kept = run(store, "runs/one", 1)
    shutil.rmtree("runs")
    assert main(["cache", "prune", "--unused"]) == 2
    assert main(["cache", "prune", "--runs", "ruins"]) == 2
    assert all(path.exists() for path in kept)
    Path("runs/one").mkdir(parents=True)
    Path("runs/one/blocks.json").write_text("{", encoding="utf-8")
    assert main(["cache", "prune", "--unused"]) == 3
    assert all(path.exists() for path in kept)


@pytest.mark.parametrize("days", [0, 2])
def test_an_asking_that_was_stopped_goes_after_a_day(days: int, store: BlockStore) -> None:
    (file, *_) = run(store, "runs/one", 1)
    key = file.parent.name
    folder = store.folder(key) / store.begin(key, "run")
    (folder / "a.block").write_bytes(b"")
    for path in (folder / "a.block", folder):
        os.utime(path, (time.time() - days * 86_400,) * 2)
    assert main(["cache", "prune"]) == 0
    assert folder.exists() == (days == 0)


def test_the_list_has_the_sizes_of_what_is_stored(store: BlockStore, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cache", "list"]) == 0
    assert capsys.readouterr().out == f"Folder: {store.root.parent} (change it with ASSAY_CACHE).\n"
    run(store, "runs/one", 1)
    assert main(["cache", "list"]) == 0
    assert "blocks              3 files" in capsys.readouterr().out
