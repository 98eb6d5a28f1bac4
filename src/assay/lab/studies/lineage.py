"""Who came from whom: for what a page sets side by side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from assay.lab.studies.file import Model


@dataclass(frozen=True)
class Lineage:
    """The models of a study, by name."""

    models: Mapping[str, Model] = field(default_factory=dict)

    def above(self, name: str) -> list[Model]:
        """The models that this one was made from, the nearest first; not itself."""
        found: list[Model] = []
        source = self.models[name].source
        while source is not None:
            found.append(self.models[source])
            source = self.models[source].source
        return found

    def methods(self, name: str) -> list[Model]:
        """The debiasing that went into a model, the first first."""
        return [entry for entry in reversed([self.models[name], *self.above(name)]) if entry.debias]

    def baseline(self, name: str) -> str | None:
        """What a debiased model is compared with.

        The model that the file names; else what a post-hoc method changed; else the model with the same training whose
        base was not debiased, that with the same seed first.
        """
        entry = self.models[name]
        if entry.baseline is not None:
            return entry.baseline
        if not self.methods(name):
            return None
        if entry.debias:
            return entry.source
        plain = self._before(entry.source or "")
        twins = [
            other
            for other in self.models.values()
            if other.source == plain and other.train and _recipe(other) == _recipe(entry)
        ]
        return min(twins, key=lambda twin: twin.seed != entry.seed).name if twins else None

    def _before(self, name: str) -> str:
        """A model's nearest ancestor, or itself, without any debiasing."""
        while self.methods(name):
            name = self.models[name].source or ""
        return name


def _recipe(entry: Model) -> tuple[object, ...]:
    return entry.how, entry.value, entry.files.get("data"), entry.preset, tuple(sorted(entry.settings.items()))
