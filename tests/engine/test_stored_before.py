"""What 0.1.0 stored is used again: the same digests, keys, checksums and bytes."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.engine.ask import Asker, Resume, StoredAsk
from assay.engine.executor import LocalExecutor
from assay.engine.store import ArrayStore, BlockStore
from assay.plan import Ask
from assay.probes.sodapop.plans import FillPlan
from assay.queries import Answers
from stored_0_1_0 import ANSWERS, ARRAYS, FILLS, SETTINGS, SPEC, TOKENS, WORDS, StandIn

STORED = Path(__file__).parent / "store_of_0_1_0"


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def asked(ask: Ask) -> list[Answers]:
    fills = FillPlan(arrays=ask.keep(ARRAYS), **FILLS)
    return [ask(WORDS, "words"), ask(TOKENS, "tokens"), ask(fills, "fills")]


def assert_as_written(found: list[Answers]) -> None:
    for answers, expected in zip(found, ANSWERS.values(), strict=True):
        assert not answers.status.any()
        assert {*answers.arrays} == {*expected}
        for name, values in expected.items():
            assert answers[name].dtype == values.dtype
            assert np.array_equal(answers[name], values)


def no_model(spec: Any) -> Any:
    raise AssertionError("nobody should be asked")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(STORED, tmp_path / "blocks"))


def test_nothing_is_asked_again_and_nothing_written(folder: Path) -> None:
    ask = Asker(SPEC, BlockStore(folder), LocalExecutor(no_model), SETTINGS)
    assert_as_written(asked(ask))
    assert files(folder) == files(STORED)
    assert [each.blocks[1] for each in ask.asked] == [
        (2, 3, "1061b4a2068f30e5e8155e475fa7a4ae289b6e04618a22ac265aa78557e6217a"),
        (2, 3, "ad1915ced6a062f197038aa34d280fbc5e8f729a0e2c1b995b5ec77a00713c29"),
        (2, 3, "e05aa19894f3f99acee9d8906893dc0f2b8defc8a38af441ed3ad562811a324a"),
    ]


def test_it_is_scored_again_from_the_blocks_alone(folder: Path) -> None:
    """An exported run has blocks and no arrays; nothing is written into it."""
    shutil.rmtree(folder / "arrays")
    before = files(folder)
    assert_as_written(asked(StoredAsk(SPEC, BlockStore(folder), SETTINGS)))
    assert files(folder) == before


def test_its_arrays_are_read(folder: Path) -> None:
    (path,) = (folder / "arrays").iterdir()
    found = ArrayStore(folder / "arrays").load(path.stem)
    assert {name: values.tolist() for name, values in found.items()} == {
        name: values.tolist() for name, values in ARRAYS.items()
    }


def test_asking_now_writes_the_same_bytes(tmp_path: Path) -> None:
    model = StandIn()
    ask = Asker(SPEC, BlockStore(tmp_path), LocalExecutor(lambda spec: model), SETTINGS, resume=Resume.NEVER)
    assert_as_written(asked(ask))
    now, before = files(tmp_path), files(STORED)
    assert {*now} == {*before}
    assert all(now[name] == before[name] for name in now if name.endswith(".block"))
