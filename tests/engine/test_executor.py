"""Who computes blocks: here or in another process, a block is the same bytes; when memory is short, batches shrink."""

from __future__ import annotations

import os
import pickle
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.engine.ask import LiveAsk
from assay.engine.executor import EngineSettings, LocalExecutor, block_key, forward_all
from assay.engine.store import BlockStore
from assay.errors import DataError, ModelError, UsageError
from assay.models import find_model, load
from assay.models.base import BatchTooLargeError, ModelSpec, Options
from assay.probes.sodapop.plans import FillPlan
from assay.probes.unqover.lists import read_lists
from assay.probes.unqover.plan import UnqoverPlan
from assay.runs.audit import audit, expect, new_executor
from assay.runs.tour import tour
from fake_models import FakeModel, FakePlan, MemoryArrays, expected_values, fake_spec
from raising import raises
from remote_blocks import RemoteExecutor

SMALL = EngineSettings(block_size=16, token_budget=64)
NO_ARRAYS = MemoryArrays()


# --- batches and memory


def test_every_row_gets_its_own_answer_whatever_the_budget() -> None:
    plan, model = FakePlan(100), FakeModel(fake_spec())
    for budget in (1, 50, 10_000):
        answers, used = forward_all(model, model.encode(plan.columns(0, 100)), budget)
        assert used == budget
        assert np.array_equal(answers["value"], expected_values(plan))


def test_the_budget_is_halved_until_the_batches_fit() -> None:
    plan, model = FakePlan(100), FakeModel(fake_spec(), most_tokens=130)
    answers, used = forward_all(model, model.encode(plan.columns(0, 100)), 1000)
    assert used == 125
    assert np.array_equal(answers["value"], expected_values(plan))
    assert all(rows * width <= 130 for rows, width in answers["batch"].tolist())


def test_a_block_is_computed_with_one_budget_throughout() -> None:
    """What fitted before memory ran out is computed again, so that a block's batches follow from its budget."""
    plan = FakePlan(100)
    backed_off, fresh = FakeModel(fake_spec(), most_tokens=130), FakeModel(fake_spec())
    tokens = fresh.encode(plan.columns(0, 100))
    answers, used = forward_all(backed_off, tokens, 1000)
    expected, _ = forward_all(fresh, tokens, used)
    assert np.array_equal(answers["batch"], expected["batch"])


def test_batches_shrink_to_single_rows_if_need_be() -> None:
    plan, model = FakePlan(100), FakeModel(fake_spec(), most_rows=1)
    answers, _ = forward_all(model, model.encode(plan.columns(0, 100)), 1000)
    assert {rows for rows, _ in answers["batch"].tolist()} == {1}
    assert np.array_equal(answers["value"], expected_values(plan))


def test_a_question_that_never_fits_is_one_clear_error() -> None:
    plan, model = FakePlan(100), FakeModel(fake_spec(device="cuda:1"), most_tokens=20)
    with raises("out-of-memory", ModelError, key="device", exit_code=4) as failed:
        forward_all(model, model.encode(plan.columns(0, 100)), 1000)
    assert all(said in failed.value.problem for said in ("cuda:1", "fake:one", " 21 "))
    assert isinstance(failed.value.__cause__, BatchTooLargeError)


def test_fixed_batches_that_do_not_fit_are_one_clear_error_since_they_must_not_shrink() -> None:
    plan, model = FakePlan(100, batch=40), FakeModel(fake_spec(), most_rows=39)
    with raises("out-of-memory", ModelError, key="batch"):
        forward_all(model, model.encode(plan.columns(0, 100)), 1000)
    fits = FakeModel(fake_spec(), most_rows=40)
    answers, _ = forward_all(fits, fits.encode(plan.columns(0, 100)), 1)
    assert [rows for rows, _ in fits.forwarded] == [40, 40, 20]
    assert np.array_equal(answers["value"], expected_values(plan))


# --- this process


def test_blocks_are_handed_over_one_by_one() -> None:
    plan, model = FakePlan(40), FakeModel(fake_spec())
    running = LocalExecutor(lambda spec: model).run(
        model.spec, plan, [range(0, 16), range(16, 32), range(32, 40)], SMALL, NO_ARRAYS
    )
    for lo, hi in ((0, 16), (16, 32), (32, 40)):
        block = next(running)
        assert (block.lo, block.hi, block.budget) == (lo, hi, 64)
        assert block.queries == plan.columns(lo, hi).digest()
        assert np.array_equal(block.answers["value"], expected_values(plan)[lo:hi])
    assert next(running, None) is None


def test_a_block_begins_with_the_budget_that_an_earlier_one_ended_with() -> None:
    model = FakeModel(fake_spec(), most_tokens=40)
    run = LocalExecutor(lambda spec: model).run(
        model.spec, FakePlan(40), [range(0, 16), range(16, 32)], EngineSettings(16, 100), NO_ARRAYS
    )
    assert [done.budget for done in run] == [25, 25]


def test_the_next_block_is_tokenised_while_the_model_works() -> None:
    ahead = threading.Event()

    class Slow(FakeModel):
        def encode(self, columns: Any) -> Any:
            tokens = super().encode(columns)
            if len(self.encoded) == 2:
                ahead.set()
            return tokens

        def forward(self, tokens: Any) -> Any:
            assert ahead.wait(10), "the second block was not tokenised before the first one was answered"
            return super().forward(tokens)

    model = Slow(fake_spec())
    blocks = [range(0, 16), range(16, 32)]
    assert len(list(LocalExecutor(lambda spec: model).run(model.spec, FakePlan(32), blocks, SMALL, NO_ARRAYS))) == 2


def test_no_more_than_one_block_is_tokenised_ahead() -> None:
    model = FakeModel(fake_spec())
    blocks = [range(lo, lo + 16) for lo in range(0, 160, 16)]
    running = LocalExecutor(lambda spec: model).run(model.spec, FakePlan(160), blocks, SMALL, NO_ARRAYS)
    next(running)
    running.close()  # type: ignore[attr-defined]  # a generator
    assert len(model.encoded) <= 2


def test_an_error_in_tokenising_reaches_the_caller() -> None:
    class Picky(FakeModel):
        def encode(self, columns: Any) -> Any:
            if self.encoded:
                raise DataError("this text cannot be tokenised.", code="bad-text")
            return super().encode(columns)

    model = Picky(fake_spec())
    running = LocalExecutor(lambda spec: model).run(
        model.spec, FakePlan(32), [range(0, 16), range(16, 32)], SMALL, NO_ARRAYS
    )
    assert next(running).hi == 16
    with raises("bad-text", DataError):
        next(running)


def test_a_model_is_loaded_once_and_only_one_is_kept() -> None:
    loaded: list[str] = []

    def loading(spec: ModelSpec) -> FakeModel:
        loaded.append(spec.name)
        return FakeModel(spec)

    executor = LocalExecutor(loading)
    for name in ("fake:one", "fake:one", "fake:two", "fake:one"):
        list(executor.run(fake_spec(name), FakePlan(16), [range(16)], SMALL, NO_ARRAYS))
    assert loaded == ["fake:one", "fake:two", "fake:one"]
    assert len(executor._loaded) == 1


# --- what a key tells apart


def test_a_key_tells_apart_whatever_changes_the_numbers() -> None:
    spec, plan = fake_spec(), FakePlan(16)
    keys = [
        block_key(spec, plan, SMALL),
        block_key(fake_spec("fake:two"), plan, SMALL),
        block_key(fake_spec(device="cuda"), plan, SMALL),
        block_key(spec, FakePlan(16, "other words"), SMALL),
        block_key(spec, plan, EngineSettings(block_size=17, token_budget=64)),
        block_key(spec, plan, EngineSettings(block_size=16, token_budget=65)),
    ]
    assert len(set(keys)) == len(keys)


def test_a_key_does_not_depend_on_which_card_or_folder_it_was() -> None:
    plan = FakePlan(16)
    assert block_key(fake_spec(device="cuda:0"), plan, SMALL) == block_key(fake_spec(device="cuda:1"), plan, SMALL)
    assert block_key(fake_spec(), plan, SMALL) == block_key(fake_spec(), plan, EngineSettings(16, 64, backed_off=32))


# --- another process


@pytest.fixture
def one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums over several threads may differ in their last bits."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


@pytest.mark.slow
@pytest.mark.usefixtures("one_thread")
def test_a_block_computed_in_another_process_is_the_same_bytes(
    model_folder: Callable[..., Path], tmp_path: Path
) -> None:
    lists = read_lists("religion", masked=False, header=False)
    plan = UnqoverPlan("religion", "span", lists.digest, cells=10)
    spec = find_model(f"hf:{model_folder('span', 'bert')}", Options(device="cpu"))
    here, there = BlockStore(tmp_path / "here"), BlockStore(tmp_path / "there")
    remote, settings = RemoteExecutor(), EngineSettings(block_size=24)
    local = LiveAsk(spec, here, LocalExecutor(load), settings)
    shipped = LiveAsk(spec, there, remote, settings)
    assert np.array_equal(local(plan, "religion")["score"], shipped(plan, "religion")["score"])
    assert local.asked == shipped.asked
    files = {path.relative_to(here.root): path.read_bytes() for path in here.root.rglob("*.block")}
    assert len(files) == 2
    assert files == {path.relative_to(there.root): path.read_bytes() for path in there.root.rglob("*.block")}
    assert max(map(len, remote.parcels)) < 2000


@pytest.mark.parametrize("cls", ["gender", "nationality", "ethnicity", "religion"])
@pytest.mark.parametrize("form", ["span", "mask"])
def test_a_plan_of_millions_of_questions_travels_as_less_than_a_kilobyte(cls: str, form: str) -> None:
    lists = read_lists(cls, masked=form == "mask", header=False)
    plan = UnqoverPlan(cls, form, lists.digest)
    assert len(plan) > 100_000
    parcel = pickle.dumps(plan)
    assert len(parcel) < 1000
    again = pickle.loads(parcel)
    assert again.digest == plan.digest
    assert again.columns(70_000, 70_008).digest() == plan.columns(70_000, 70_008).digest()


@pytest.mark.slow
def test_a_plans_arrays_are_brought_to_the_other_process_once(mask_model_folder: Path, tmp_path: Path) -> None:
    strings = np.repeat(np.array([[-1, 1], [0, -1]], np.int32), 300, axis=0)
    spec = find_model(f"hf:{mask_model_folder}", Options(device="cpu"))
    here, there, remote = BlockStore(tmp_path / "here"), BlockStore(tmp_path / "there"), RemoteExecutor()
    local = LiveAsk(spec, here, LocalExecutor(load), EngineSettings(block_size=250))
    shipped = LiveAsk(spec, there, remote, EngineSettings(block_size=250))
    found = []
    for ask in (local, shipped):
        arrays = ask.keep({"strings": strings, "name": np.zeros(600, np.int32)})
        plan = FillPlan(("Ann",), (("Ann came.", "Ann is"),), ("very", "kind"), ("", " ", "."), arrays, 600, 3)
        found.append(ask(plan, "fills")["token"])
    assert np.array_equal(*found)
    assert len(remote.parcels) == 3
    assert max(map(len, remote.parcels)) < 2000
    assert len(remote.brought) == 1
    assert len(remote.brought[0]) > strings.nbytes


# --- who computes, by name


def test_an_executor_has_a_name() -> None:
    assert new_executor("local") == LocalExecutor(load)
    with raises("bad-option", UsageError, key="executor"):
        new_executor("elsewhere")


@dataclass
class Watched(LocalExecutor):
    """Notes what it is asked to compute."""

    asked: list[str] = field(default_factory=list)

    def run(self, model: ModelSpec, plan: Any, *rest: Any) -> Any:
        self.asked.append(plan.ability)
        return super().run(model, plan, *rest)


FEW: dict[str, Any] = {"limit": 8, "options": Options(threads=1)}


def test_an_audit_computes_with_the_executor_that_it_is_given(tmp_path: Path) -> None:
    executor = Watched(load)
    audit("builtin", "bbq-starter", out=tmp_path / "run", executor=executor, **FEW)
    assert executor.asked == ["choice"]


@pytest.mark.slow
def test_a_tour_computes_with_the_executor_that_it_is_given(tmp_path: Path) -> None:
    loaded: list[str] = []

    def loading(spec: ModelSpec) -> Any:
        loaded.append(spec.name)
        return load(spec)

    executor = Watched(loading)
    tour("builtin", out=tmp_path / "tour", executor=executor, **FEW)
    assert {*executor.asked} >= {"span", "mask", "choice", "fill"}
    assert loaded == ["builtin"]


def test_a_trial_computes_with_the_executor_that_it_is_given_and_leaves_nothing() -> None:
    executor = Watched(load)
    expect("builtin", "sodapop", executor=executor, **FEW)
    assert {*executor.asked} >= {"fill", "choice"}
    assert not list(Path(os.environ["ASSAY_CACHE"]).iterdir())
