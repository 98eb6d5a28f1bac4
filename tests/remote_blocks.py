"""A block computed in another process from a recipe alone: what an executor on other machines would do there.

In a module of its own, so that a fresh interpreter can import it.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context

from assay.engine.executor import BlockDone, LocalExecutor, Settings
from assay.engine.store import BlockStore
from assay.models.base import ModelSpec
from assay.plan import Plan


def compute(parcel: bytes) -> list[BlockDone]:
    """Unpack model, plan, range, store and settings, and compute the block here."""
    from assay.models import load

    model, plan, block, store, settings = pickle.loads(parcel)
    return list(LocalExecutor(load).run(model, plan, [block], store, settings))


@dataclass
class RemoteExecutor:
    """Every block in a fresh process; `parcels` are the bytes that were sent there."""

    parcels: list[bytes] = field(default_factory=list)

    def run(
        self, model: ModelSpec, plan: Plan, blocks: Iterable[range], store: BlockStore, settings: Settings
    ) -> Iterator[BlockDone]:
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            for block in blocks:
                self.parcels.append(pickle.dumps((model, plan, block, store, settings)))
                yield from pool.submit(compute, self.parcels[-1]).result()
