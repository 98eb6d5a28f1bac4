"""Models that need not be made: found, and known by what tells them apart."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from assay.errors import UsageError
from assay.models import BARE, KINDS
from assay.models.base import ModelSpec, Options
from assay.study.file import ModelEntry, StudyFile
from assay.study.makers import Makers


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
class Finder:
    """Finds ready models: the built-in one and those in folders at once, a hub's only when they are to be fetched."""

    file: StudyFile
    makers: Makers
    _found: dict[str, Ready] = field(default_factory=dict)

    def abilities(self, entry: ModelEntry) -> frozenset[str] | None:
        found = self.ready(entry).found
        return None if found is None else found.abilities

    def ready(self, entry: ModelEntry) -> Ready:
        if entry.name not in self._found:
            kind, colon, rest = entry.value.partition(":")
            if kind not in KINDS or bool(colon) == (kind in BARE) or (colon and not rest):
                known = ", ".join(kind if kind in BARE else f"{kind}:…" for kind in KINDS)
                raise entry.place.error(f'"spec" is {entry.value!r}, expected {known}.', 'spec = "builtin"', "spec")
            is_path = rest.startswith((".", "/", "~"))
            folder = self.file.path.resolve().parent / Path(rest).expanduser()
            spec = f"{kind}:{folder.resolve()}" if is_path else entry.value
            hub = bool(colon) and not is_path
            self._found[entry.name] = Ready(spec, None if hub else self._find(entry, spec), hub)
        return self._found[entry.name]

    def fetch(self, names: set[str]) -> None:
        for name in sorted(names):
            entry = self.file.models[name]
            ready = self.ready(entry)
            if ready.found is None:
                self._found[name] = replace(ready, found=self._find(entry, ready.spec))

    def _find(self, entry: ModelEntry, spec: str) -> ModelSpec:
        try:
            return self.makers.find(spec, Options(device="cpu"))  # which does not look for devices
        except UsageError as error:
            raise entry.place.error(error.problem, error.remedy, "spec") from None
