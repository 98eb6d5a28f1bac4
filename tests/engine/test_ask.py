"""Stored answers are used again, missing and damaged ones are computed, and a resumed run gives the same bytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.engine import store as store_module
from assay.engine.ask import LiveAsk, Resume, StoredAsk
from assay.engine.executor import ComputedBlock, EngineSettings, LocalExecutor, block_key, forward_all
from assay.engine.shared_folder import SharedFolderExecutor
from assay.engine.store import BlockStore, StoredBlock
from assay.errors import ModelError, UsageError
from block_files import block_file, used_by
from fake_models import FakeModel, FakePlan, expected_values, fake_spec
from raising import raises

SETTINGS = EngineSettings(block_size=16, token_budget=64)
PLAN = FakePlan(40)  # three blocks, the last one shorter


@dataclass
class Watched:
    """A progress that remembers."""

    labels: list[tuple[str, int]] = field(default_factory=list)
    advances: list[tuple[int, bool]] = field(default_factory=list)

    def start(self, label: str, total: int, unit: str = "questions") -> None:
        self.labels.append((label, total))

    def advance(self, count: int, *, stored: bool = False) -> None:
        self.advances.append((count, stored))


@pytest.fixture
def store(tmp_path: Path) -> BlockStore:
    return BlockStore(tmp_path / "blocks")


@pytest.fixture
def model() -> FakeModel:
    return FakeModel(fake_spec())


def asker(model: FakeModel, store: BlockStore, **more: Any) -> LiveAsk:
    return LiveAsk(model.spec, store, LocalExecutor(lambda spec: model), SETTINGS, **more)


def files(store: BlockStore) -> dict[str, bytes]:
    return {str(path.relative_to(store.root)): path.read_bytes() for path in store.root.rglob("*.block")}


def test_answers_stand_in_the_plans_order(model: FakeModel, store: BlockStore) -> None:
    answers = asker(model, store)(PLAN, "words")
    assert np.array_equal(answers["value"], expected_values(PLAN))
    assert np.array_equal(answers.status, np.zeros(40))


def test_blocks_may_come_in_any_order(model: FakeModel, store: BlockStore) -> None:
    class Backwards(LocalExecutor):
        def run(self, model: Any, plan: Any, blocks: Iterable[range], *rest: Any) -> Iterator[ComputedBlock]:
            return super().run(model, plan, list(blocks)[::-1], *rest)

    ask = LiveAsk(model.spec, store, Backwards(lambda spec: model), SETTINGS)
    assert np.array_equal(ask(PLAN, "words")["value"], expected_values(PLAN))
    assert [lo for lo, _, _ in ask.asked[0].blocks] == [0, 16, 32]


def test_stored_blocks_are_not_asked_again(model: FakeModel, store: BlockStore) -> None:
    first = asker(model, store)(PLAN, "words")
    assert model.forwarded
    model.forwarded.clear()
    model.encoded.clear()
    again = asker(model, store)(PLAN, "words")
    assert (model.forwarded, model.encoded) == ([], [])
    assert np.array_equal(first["batch"], again["batch"])


def test_a_model_is_not_even_loaded_when_all_is_stored(model: FakeModel, store: BlockStore) -> None:
    asker(model, store)(PLAN, "words")

    def loading(spec: Any) -> Any:
        pytest.fail("loaded")

    ask = LiveAsk(model.spec, store, LocalExecutor(loading), SETTINGS)
    assert np.array_equal(ask(PLAN, "words")["value"], expected_values(PLAN))


def test_only_what_is_missing_is_asked(model: FakeModel, store: BlockStore) -> None:
    asker(model, store)(PLAN, "words")
    whole = files(store)
    block_file(store, block_key(model.spec, PLAN, SETTINGS), 16, 32).unlink()
    model.encoded.clear()
    progress = Watched()
    answers = asker(model, store, progress=progress)(PLAN, "words")
    assert model.encoded == [16]
    assert progress.labels == [("words", 40)]
    assert progress.advances == [(16, True), (8, True), (16, False)]
    assert np.array_equal(answers["value"], expected_values(PLAN))
    assert files(store) == whole


def test_a_damaged_block_is_asked_again_with_a_warning(model: FakeModel, store: BlockStore) -> None:
    asker(model, store)(PLAN, "words")
    whole = files(store)
    path = block_file(store, block_key(model.spec, PLAN, SETTINGS), 16, 32)
    path.write_bytes(path.read_bytes()[:-1] + b"!")
    model.encoded.clear()
    with pytest.warns(UserWarning, match="checksum is wrong; its questions are asked again") as warned:
        answers = asker(model, store)(PLAN, "words")
    assert str(path) in str(warned[0].message)
    assert model.encoded == [16]
    assert np.array_equal(answers["value"], expected_values(PLAN))
    assert files(store) == whole


def test_a_folder_in_a_blocks_place_is_refused_before_anything_is_asked(model: FakeModel, store: BlockStore) -> None:
    path = store.path(StoredBlock(block_key(model.spec, PLAN, SETTINGS), 16, 32, "0" * 64))
    path.mkdir(parents=True)
    with (
        pytest.warns(UserWarning, match="cannot be read"),
        raises("cannot-write", UsageError, file=path) as wrong,
    ):
        asker(model, store)(PLAN, "words")
    assert wrong.value.remedy.startswith("Remove it")
    assert not model.encoded


def test_the_job_of_a_driver_that_was_killed_at_its_end_is_removed(
    model: FakeModel, store: BlockStore, tmp_path: Path
) -> None:
    asker(model, store)(PLAN, "words")
    place = tmp_path / "work" / block_key(model.spec, PLAN, SETTINGS)
    (place / "claims").mkdir(parents=True)
    (place / ".lock").touch()
    again = LiveAsk(model.spec, store, SharedFolderExecutor(tmp_path / "work"), SETTINGS)(PLAN, "words")
    assert np.array_equal(again["value"], expected_values(PLAN))
    assert not [*(tmp_path / "work").iterdir()]


def test_answers_to_other_questions_are_not_used(model: FakeModel, store: BlockStore) -> None:
    """A generator that was changed without saying so: the recipe is the same, the questions are not."""
    asker(model, store)(PLAN, "words")
    changed = replace(PLAN, accent="z")
    assert changed.digest == PLAN.digest
    model.encoded.clear()
    with pytest.warns(UserWarning, match="answers to other questions"):
        answers = asker(model, store)(changed, "words")
    assert model.encoded == [16, 16, 8]
    assert np.array_equal(answers["value"], expected_values(changed))


def test_never_resuming_asks_everything_again(model: FakeModel, store: BlockStore) -> None:
    asker(model, store)(PLAN, "words")
    model.encoded.clear()
    progress = Watched()
    answers = asker(model, store, resume=Resume.NEVER, progress=progress)(PLAN, "words")
    assert model.encoded == [16, 16, 8]
    assert {stored for _, stored in progress.advances} == {False}
    assert np.array_equal(answers["value"], expected_values(PLAN))


@pytest.mark.parametrize("resume", [Resume.ALWAYS, Resume.ONLY_MISSING])
def test_other_policies_use_what_is_there(resume: Resume, model: FakeModel, store: BlockStore) -> None:
    asker(model, store)(PLAN, "words")
    model.encoded.clear()
    asker(model, store, resume=resume)(PLAN, "words")
    assert model.encoded == []


def test_another_model_does_not_get_these_answers(model: FakeModel, store: BlockStore) -> None:
    asker(model, store)(PLAN, "words")
    other = FakeModel(fake_spec("fake:two"))
    asker(other, store)(PLAN, "words")
    assert other.encoded == [16, 16, 8]


def test_a_model_without_the_ability_is_not_asked(store: BlockStore) -> None:
    model = FakeModel(fake_spec(abilities=("span", "word")))
    with raises("missing-ability", UsageError, key="fill", exit_code=2):
        asker(model, store)(replace(PLAN, ability="fill"), "words")
    assert model.encoded == []


def test_what_was_asked_is_written_down(model: FakeModel, store: BlockStore) -> None:
    ask = asker(model, store)
    ask(PLAN, "words")
    ask(FakePlan(5, "more words"), "more")
    words, more = ask.asked
    key = block_key(model.spec, PLAN, SETTINGS)
    assert (words.label, words.plan, words.key) == ("words", PLAN.digest, key)
    assert [(lo, hi) for lo, hi, _ in words.blocks] == [(0, 16), (16, 32), (32, 40)]
    for lo, hi, checksum in words.blocks:
        found = store.read(key, lo, hi)
        assert found is not None
        assert found[1] == checksum
    assert [(lo, hi) for lo, hi, _ in more.blocks] == [(0, 5)]


def test_what_was_computed_is_not_read_again(
    model: FakeModel, store: BlockStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading: list[tuple[Path, ...]] = []
    monkeypatch.setattr(store_module, "read_whole", lambda path, most: reading.append(path))
    assert np.array_equal(asker(model, store)(PLAN, "words")["value"], expected_values(PLAN))
    assert len(files(store)) == 3
    assert reading == []


@dataclass
class Turned(FakeModel):
    """Answers of every kind of number, some lying in memory column by column, and texts of many widths."""

    def forward(self, tokens: Any) -> Any:
        value, batch = super().forward(tokens).values()
        texts = np.array([b"x" * (int(number) % 40) for number in value.tolist()], np.bytes_)
        turned = np.stack([np.stack([value, value / 3, -value], axis=1)] * 2, axis=1).swapaxes(1, 2)  # (row, 3, 2)
        return {"value": turned, "batch": batch, "text": texts, "key": value > 9}


def test_answers_are_the_same_arrays_whether_computed_or_stored(store: BlockStore) -> None:
    model = Turned(fake_spec())
    fresh, stored = (asker(model, store)(PLAN, "words") for _ in range(2))
    assert len(model.encoded) == 3
    assert {*fresh.arrays} == {*stored.arrays} == {"value", "batch", "text", "key"}
    for one, other in [(fresh.status, stored.status), *((fresh[name], stored[name]) for name in fresh.arrays)]:
        assert (one.dtype, one.shape, one.strides) == (other.dtype, other.shape, other.strides)
        assert one.tobytes() == other.tobytes()
    assert fresh["text"].dtype == np.dtype("S39")


# --- memory


def test_a_smaller_budget_is_remembered_once(store: BlockStore) -> None:
    model, remembered = FakeModel(fake_spec(), most_tokens=40), list[dict[str, int]]()
    ask = asker(model, store, remember=lambda budgets: remembered.append(dict(budgets)))
    answers = ask(PLAN, "words")
    assert ask.backed_off == {PLAN.digest: 32}
    assert remembered == [{PLAN.digest: 32}]
    assert np.array_equal(answers["value"], expected_values(PLAN))
    assert (answers["batch"].prod(axis=1) <= 40).all()


def test_the_smallest_budget_is_remembered_when_workers_began_with_different_ones(
    model: FakeModel, store: BlockStore
) -> None:
    class Workers(LocalExecutor):
        def run(self, *how: Any) -> Iterator[ComputedBlock]:
            return (
                replace(block, budget=budget) for block, budget in zip(super().run(*how), (32, 64, 16), strict=True)
            )

    ask = asker(model, store)
    ask.executor = Workers(lambda spec: model)
    remembered = list[int]()
    ask.remember = lambda budgets: remembered.append(budgets[PLAN.digest])
    ask(PLAN, "words")
    assert remembered == [32, 16]


def test_a_budget_that_fits_is_not_remembered(model: FakeModel, store: BlockStore) -> None:
    ask = asker(model, store, remember=lambda budgets: pytest.fail("nothing to remember"))
    ask(PLAN, "words")
    assert ask.backed_off == {}


class Crowded(FakeModel):
    """Memory gets short when the first block is done."""

    def forward(self, tokens: Any) -> Any:
        first = FakeModel(self.spec)
        forward_all(first, first.encode(PLAN.columns(0, 16)), SETTINGS.token_budget)
        self.most_tokens = 40 if len(self.forwarded) >= len(first.forwarded) else None
        return super().forward(tokens)


def test_a_resumed_run_computes_the_batches_of_an_undisturbed_one(store: BlockStore, tmp_path: Path) -> None:
    """Memory runs out in the second block; the run is stopped behind it, and resumed when there is memory enough."""

    class Stopped(LocalExecutor):
        def run(self, model: Any, plan: Any, blocks: Iterable[range], *rest: Any) -> Iterator[ComputedBlock]:
            return super().run(model, plan, list(blocks)[:2], *rest)

    undisturbed = BlockStore(tmp_path / "undisturbed")
    expected = asker(Crowded(fake_spec()), undisturbed)(PLAN, "words")["batch"].prod(axis=1)  # tokens in its batch
    assert expected[:16].max() > 40
    assert expected[16:].max() <= 32

    crowded = Crowded(fake_spec())
    stopped = LiveAsk(crowded.spec, store, Stopped(lambda spec: crowded), SETTINGS)
    stopped(PLAN, "words")
    assert len(files(store)) == 2
    roomy = FakeModel(fake_spec())
    resumed = asker(roomy, store, backed_off=dict(stopped.backed_off))(PLAN, "words")
    assert roomy.encoded == [8]
    assert np.array_equal(resumed["batch"].prod(axis=1), expected)
    assert files(store) == files(undisturbed)


def test_one_plans_budget_is_not_anothers(store: BlockStore) -> None:
    model = FakeModel(fake_spec(), most_tokens=40)
    ask = asker(model, store)
    ask(PLAN, "words")
    model.most_tokens = None
    other = ask(FakePlan(40, "other words"), "other")
    assert other["batch"].prod(axis=1).max() > 40


def test_a_model_that_never_fits_ends_with_one_clear_error(store: BlockStore) -> None:
    ask = asker(FakeModel(fake_spec(), most_tokens=1), store)
    with raises("out-of-memory", ModelError, key="device", exit_code=4):
        ask(PLAN, "words")
    assert files(store) == {}


# --- scoring again without the model


def test_stored_answers_can_be_read_without_the_model(model: FakeModel, store: BlockStore) -> None:
    ask = asker(model, store)
    ask(PLAN, "words")
    stored = StoredAsk(model.spec, store, used_by(ask), SETTINGS)
    assert stored.abilities == model.spec.abilities
    assert np.array_equal(stored(PLAN, "words")["value"], expected_values(PLAN))


@pytest.mark.parametrize("harm", ["missing", "damaged"])
def test_reading_says_what_is_not_there(harm: str, model: FakeModel, store: BlockStore) -> None:
    ask = asker(model, store)
    ask(PLAN, "words")
    path = block_file(store, block_key(model.spec, PLAN, SETTINGS), 16, 32)
    path.unlink() if harm == "missing" else path.write_bytes(b"")
    with raises("unfinished-run", UsageError) as missing:
        StoredAsk(model.spec, store, used_by(ask), SETTINGS)(PLAN, "words")
    assert "16 to 32" in str(missing.value)


def test_a_plan_without_questions_is_refused(model: FakeModel, store: BlockStore) -> None:
    with raises("nothing-to-ask", UsageError):
        LiveAsk(model.spec, store, LocalExecutor(lambda spec: model))(FakePlan(0), "words")
