"""Models that need not be made: found, and known by what tells them apart."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from assay.errors import UsageError
from assay.lab.studies.file import Model, StudyFile
from assay.lab.studies.makers import Makers
from assay.models import is_name, known_names
from assay.models.base import ModelSpec, Options


@dataclass(frozen=True)
class Ready:
    """A model that need not be made: its name for assay, and what was found of it; a hub's is not fetched for this."""

    spec: str
    found: ModelSpec | None
    hub: bool = False

    @property
    def identity(self) -> str:
        """A hub's model is told apart by its name there, whether it was fetched or not: pin a revision in it."""
        return self.spec if self.hub or self.found is None else self.found.digest


@dataclass
class ReadyModels:
    """Finds ready models: the built-in one and those in folders at once, a hub's only when they are to be fetched."""

    file: StudyFile
    makers: Makers
    found: dict[str, Ready] = field(default_factory=dict)

    def abilities(self, model: Model) -> frozenset[str] | None:
        found = self.of(model).found
        return None if found is None else found.abilities

    def of(self, model: Model) -> Ready:
        if model.name not in self.found:
            if not is_name(model.value):
                problem = f'"spec" is {model.value!r}, expected {known_names()}.'
                raise model.error(problem, 'spec = "builtin"', "spec", code="unknown-model")
            kind, colon, rest = model.value.partition(":")
            is_path = rest.startswith((".", "/", "~"))
            folder = self.file.path.resolve().parent / Path(rest).expanduser()
            spec = f"{kind}:{folder.resolve()}" if is_path else model.value
            hub = bool(colon) and not is_path
            self.found[model.name] = Ready(spec, None if hub else self._find(model, spec), hub)
        return self.found[model.name]

    def fetch(self, models: Iterable[Model]) -> None:
        for model in models:
            ready = self.of(model)
            if ready.found is None:
                self.found[model.name] = replace(ready, found=self._find(model, ready.spec))

    def _find(self, model: Model, spec: str) -> ModelSpec:
        try:
            return self.makers.find(spec, Options(device="cpu"))  # which does not look for devices
        except UsageError as error:
            raise model.error(error.problem, error.remedy, "spec", code=error.code) from None
