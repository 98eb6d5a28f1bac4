"""A block computed in another process from a recipe alone: what an executor on other machines would do there.

In a module of its own, so that a fresh interpreter can import it.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field

from assay.asking.plan import AnyPlan, ArrayPlan
from assay.engine.executor import ComputedBlock, EngineSettings, LocalExecutor
from assay.engine.store import ArraySource
from assay.models.base import ModelSpec
from fake_models import MemoryArrays
from forking import forks

ARRAYS = MemoryArrays()
"""Those that were brought to this process."""


def bring(parcel: bytes) -> None:
    ARRAYS.keep(pickle.loads(parcel))


def compute(parcel: bytes) -> list[ComputedBlock]:
    """Unpack model, plan, range and settings, and compute the block here."""
    from assay.models import load

    model, plan, block, settings = pickle.loads(parcel)
    return list(LocalExecutor(load).run(model, plan, [block], settings, ARRAYS))


@dataclass
class RemoteExecutor:
    """Every plan in a fresh process; `parcels` are the bytes that were sent there, `brought` those of arrays."""

    parcels: list[bytes] = field(default_factory=list)
    brought: list[bytes] = field(default_factory=list)

    def run(
        self, model: ModelSpec, plan: AnyPlan, blocks: Iterable[range], settings: EngineSettings, arrays: ArraySource
    ) -> Iterator[ComputedBlock]:
        with ProcessPoolExecutor(1, mp_context=forks()) as pool:
            if isinstance(plan, ArrayPlan):
                self.brought.append(pickle.dumps(arrays.load(plan.arrays)))
                pool.submit(bring, self.brought[-1]).result()
            for block in blocks:
                self.parcels.append(pickle.dumps((model, plan, block, settings)))
                yield from pool.submit(compute, self.parcels[-1]).result()
