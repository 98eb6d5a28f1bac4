"""An executor: computes in this process, the last block first."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from assay.asking.plan import AnyPlan
from assay.engine.executor import ComputedBlock, EngineSettings, LocalExecutor
from assay.engine.executors import ExecutorRequest
from assay.engine.store import ArraySource
from assay.models.base import ModelSpec

FORMS = ("backwards",)


def new(request: ExecutorRequest) -> "Backwards":
    request.require_no_workers()
    return Backwards(LocalExecutor(request.load))


@dataclass(frozen=True)
class Backwards:
    local: LocalExecutor

    def run(
        self, model: ModelSpec, plan: AnyPlan, blocks: Iterable[range], settings: EngineSettings, arrays: ArraySource
    ) -> Iterator[ComputedBlock]:
        """Blocks may be computed anywhere, in any order; the engine checks, stores and sorts them."""
        return self.local.run(model, plan, reversed([*blocks]), settings, arrays)
