"""An `ask` that iterates over every request of a run on an endpoint without sending any."""

from __future__ import annotations

from abc import ABC, abstractmethod

from assay.engine.executor import answers_of
from assay.engine.store import ArrayStore, columns_of
from assay.models.base import EndpointModel, unable
from assay.plan import AnyPlan, Arrays, Ask
from assay.queries import Answer, Answers, ChoiceColumns, TextColumns

_STEP = 1024


class EachCall(ABC):
    """Subclasses define the answer to a question, and how other models are asked."""

    def __init__(self, model: EndpointModel, arrays: ArrayStore) -> None:
        self.model, self.arrays = model, arrays

    @property
    def abilities(self) -> frozenset[str]:
        return self.model.spec.abilities

    @property
    def ways(self) -> tuple[str, ...]:
        return self.model.spec.endpoint.ways if self.model.spec.endpoint else ()

    def keep(self, arrays: Arrays) -> str:
        return self.arrays.keep(arrays)

    @abstractmethod
    def of(self, model: str) -> Ask:
        """As `Ask.of`."""

    def __call__(self, plan: AnyPlan, label: str) -> Answers:
        parts = []
        for lo in range(0, len(plan), _STEP):
            columns = columns_of(plan, self.arrays, lo, min(lo + _STEP, len(plan)))
            if not isinstance(columns, ChoiceColumns | TextColumns):
                raise unable(self.model.spec.name, columns.ability)
            given = [self.asked(columns, row, lo + row) for row in range(len(columns))]
            parts.append(answers_of(given, columns, self.model.spec.name, of_endpoint=True))
        return Answers.joined(parts)

    @abstractmethod
    def asked(self, columns: ChoiceColumns | TextColumns, row: int, place: int) -> Answer:
        """The answer to a row of the columns, which is the plan's row `place`."""
