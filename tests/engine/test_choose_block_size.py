"""Blocks hold about a second's work: a pure function of ability, device, model size and length of the questions."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.asking.queries import ChoiceColumns, ChoiceQuery, MaskColumns, StringColumn, TextColumns, TextQuery
from assay.engine.ask import LiveAsk, StoredAsk
from assay.engine.choose_block_size import LEAST, MOST, UNKNOWN, USUAL, block_size, choose_block_size, mean_length
from assay.engine.executor import ComputedBlock, EngineSettings, LocalExecutor
from assay.engine.store import BlockStore
from assay.errors import UsageError
from assay.models.base import Endpoint
from block_files import used_by
from fake_models import FakeModel, FakePlan, MemoryArrays, expected_values, fake_spec
from raising import raises

ABILITIES = st.sampled_from(["span", "mask", "fill", "choice", "text", "embed"])
DEVICES = st.sampled_from(["cpu", "cuda", "mps"])
PARAMETERS = st.integers(0, 10**13)
LENGTHS = st.floats(0, 1e7)


@given(ABILITIES, DEVICES, st.none() | PARAMETERS, LENGTHS)
def test_it_is_a_power_of_two_within_bounds(ability: str, device: str, parameters: int | None, length: float) -> None:
    size = block_size(ability, device, parameters, length)
    assert LEAST <= size <= MOST
    assert math.log2(size).is_integer()
    assert device != "cuda" or size >= USUAL, "a GPU never waits for smaller blocks than it once had"


@given(ABILITIES, DEVICES, PARAMETERS, PARAMETERS, LENGTHS, LENGTHS)
def test_larger_models_and_longer_questions_never_have_larger_blocks(
    ability: str, device: str, one: int, other: int, short: float, long: float
) -> None:
    (small, large), (short, long) = sorted((one, other)), sorted((short, long))
    assert block_size(ability, device, small, short) >= block_size(ability, device, large, short)
    assert block_size(ability, device, small, short) >= block_size(ability, device, small, long)


def test_all_sizes_occur() -> None:
    sizes = {block_size("span", "cpu", 10**power, 100) for power in range(4, 12)}
    assert {LEAST, MOST} < sizes


@pytest.mark.parametrize(
    ("columns", "length"),
    [
        (
            MaskColumns(
                StringColumn.of(["abc", ""]),
                StringColumn.of(["de", "f"]),
                ["never", "read"],
                np.zeros((2, 1, 1), np.int32),
            ),
            3,
        ),
        (ChoiceColumns.of([ChoiceQuery("ab", "c", ("d", "ef")), ChoiceQuery("", "c", ("d", "d"))]), 4.5),
        (TextColumns.of([TextQuery("abcd", 8)]), 4 + 4 * 8),
    ],
    ids=["mask", "choice", "text"],
)
def test_the_length_of_a_question_is_what_a_model_reads_and_writes(columns: Any, length: float) -> None:
    assert mean_length(columns) == length


@dataclass(frozen=True)
class Prompts(FakePlan):
    """Prompts that are short at first, and long from the 257th on."""

    ability: str = "text"

    def columns(self, lo: int, hi: int) -> TextColumns:  # type: ignore[override]  # prompts instead of words
        return TextColumns.of([TextQuery("x" * (1 if number < 256 else 10**6), 1) for number in range(lo, hi)])


def test_a_plans_size_follows_from_its_first_questions_and_the_model() -> None:
    model = replace(fake_spec(), parameters=10**8)
    size = choose_block_size(model, Prompts(10_000), MemoryArrays())
    assert size == block_size("text", "cpu", 10**8, 5.0)
    assert choose_block_size(replace(model, parameters=None), Prompts(10_000), MemoryArrays()) == UNKNOWN
    assert choose_block_size(replace(model, device="cuda:1"), Prompts(10_000), MemoryArrays()) >= USUAL


def test_endpoints_and_tokenizers_have_the_usual_size() -> None:
    model = replace(fake_spec(), parameters=10**12)
    assert choose_block_size(model, FakePlan(10_000), MemoryArrays()) == USUAL
    assert choose_block_size(replace(model, endpoint=Endpoint("m")), Prompts(10_000), MemoryArrays()) == USUAL


# --- in a run


BUDGET = EngineSettings(token_budget=64)
PLAN = FakePlan(100)


@pytest.fixture
def store(tmp_path: Path) -> BlockStore:
    return BlockStore(tmp_path / "blocks")


def test_a_run_keeps_the_size_that_it_began_with(store: BlockStore) -> None:
    """The size that is noted counts, not what this version of assay would choose."""
    model = FakeModel(fake_spec())
    ask = LiveAsk(model.spec, store, LocalExecutor(lambda spec: model), BUDGET, sizes={PLAN.digest: 32})
    answers = ask(PLAN, "words")
    assert model.encoded == [32, 32, 32, 4]
    stored = StoredAsk(model.spec, store, used_by(ask), BUDGET, sizes=ask.sizes)(PLAN, "words")
    assert np.array_equal(stored["value"], answers["value"])


def test_a_new_size_is_noted_once_and_before_anything_is_asked(store: BlockStore) -> None:
    model, noted = FakeModel(fake_spec()), list[tuple[dict[str, int], int]]()

    def resized(sizes: dict[str, int]) -> None:
        noted.append((dict(sizes), len(model.encoded)))

    ask = LiveAsk(model.spec, store, LocalExecutor(lambda spec: model), BUDGET, resized=resized)
    for _ in range(2):
        ask(PLAN, "words")
    assert noted == [({PLAN.digest: USUAL}, 0)]


def test_a_given_size_is_that_of_every_plan_and_needs_no_note(store: BlockStore) -> None:
    model = FakeModel(fake_spec())
    ask = LiveAsk(
        model.spec, store, LocalExecutor(lambda spec: model), replace(BUDGET, block_size=50), sizes={PLAN.digest: 32}
    )
    ask(PLAN, "words")
    assert model.encoded == [50, 50]
    assert ask.sizes == {PLAN.digest: 32}


def test_a_plan_that_the_run_never_asked_is_not_stored(store: BlockStore) -> None:
    with raises("unfinished-run", UsageError):
        StoredAsk(fake_spec(), store, {}, BUDGET)(PLAN, "words")


def test_stopped_at_any_moment_a_run_loses_at_most_a_block(store: BlockStore) -> None:
    """Ctrl-C comes while the third block is computed: the two before it are not asked again."""
    model = FakeModel(fake_spec())

    class Stopped(LocalExecutor):
        def run(self, model: Any, plan: Any, blocks: Iterable[range], *rest: Any) -> Iterator[ComputedBlock]:
            for number, block in enumerate(super().run(model, plan, blocks, *rest)):
                if number == 2:
                    raise KeyboardInterrupt
                yield block

    sizes = {PLAN.digest: 16}
    with pytest.raises(KeyboardInterrupt):
        LiveAsk(model.spec, store, Stopped(lambda spec: model), BUDGET, sizes=sizes)(PLAN, "words")
    model.encoded.clear()
    answers = LiveAsk(model.spec, store, LocalExecutor(lambda spec: model), BUDGET, sizes=sizes)(PLAN, "words")
    assert sum(model.encoded) == len(PLAN) - 2 * 16
    assert np.array_equal(answers["value"], expected_values(PLAN))
