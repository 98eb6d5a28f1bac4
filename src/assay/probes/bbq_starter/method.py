"""BBQ's method on the starter set, whose results are never called BBQ results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from assay.asking.plan import Ask
from assay.asking.progress import Progress
from assay.config.settings import GENERATE, read_settings
from assay.errors import UsageError
from assay.presentation.elements import Presentation, Section
from assay.probes.base import Request
from assay.probes.bbq import across, present
from assay.probes.bbq.editions import ORIGINAL
from assay.probes.bbq.generation import COUNTED, require_folder, write_files
from assay.probes.bbq.items import CATEGORIES, Dataset, Item
from assay.probes.bbq.method import BBQ
from assay.probes.bbq.settings import BBQSettings
from assay.probes.bbq.source import ItemSource
from assay.probes.bbq_starter import StarterGenerateSettings
from assay.probes.bbq_starter.templates import PACKAGED, read_starter
from assay.results.run import Run

QUICK, STANDARD = 4, 12
"""Quartets of every template in the presets: the starter set has few templates. Four have every order and role."""


@dataclass(frozen=True)
class StarterSource(ItemSource):
    """The packaged templates, whose first quartets are balanced."""

    in_own_order = True

    def read(self) -> Dataset:
        return _read(self.categories)


@lru_cache(maxsize=4)
def _read(categories: tuple[str, ...]) -> Dataset:
    everything = read_starter()
    wanted = [not categories or example.category in categories for example in everything.examples]
    return everything.take(np.flatnonzero(wanted))


class BBQStarter(BBQ):
    """BBQ's method on the packaged starter set."""

    presets: Mapping[str, int | None] = {"quick": QUICK, "standard": STANDARD, "paper": None}

    def source(self, settings: BBQSettings, request: Request) -> ItemSource:
        if request.data is not None:
            problem = "bbq-starter comes with assay and reads no data."
            raise UsageError(problem, "assay run bbq --data DIR", code="bad-option", key="data")
        if settings.edition != ORIGINAL or settings.language not in ("", "en"):
            problem = "bbq-starter has assay’s own questions only, in English."
            raise UsageError(problem, "assay run bbq --set edition=…", code="bad-setting", key="edition")
        for name in settings.categories:
            if name not in CATEGORIES:
                problem = f"unknown category {name!r}; expected {', '.join(CATEGORIES)}."
                raise UsageError(problem, "--set category=Age,Religion", code="bad-setting", key="category")
        return StarterSource(categories=settings.categories)

    def generation(self, request: Request) -> Any:
        settings = read_settings(StarterGenerateSettings, request.settings, self.probe.name, remedy=GENERATE)
        return StarterQuestionWriter(Path(settings.templates or PACKAGED), request.seed)

    def present(self, run: Run) -> Presentation:
        """As a run of BBQ, with a warning that it is not one."""
        return replace(present.present(run, starter=True), name=self.probe.name, data_set=self.probe.data_set)

    def across(self, runs: Sequence[Run]) -> Sequence[Section]:
        return across.across(runs, starter=True)


@dataclass(frozen=True)
class StarterQuestionWriter:
    """The starter set, or the user's templates in its format, as files in the authors' format."""

    counted: ClassVar[str] = COUNTED
    folder: Path = PACKAGED
    seed: int = 0

    def notes(self) -> list[str]:
        return ["this is assay's own starter set; results on it are not BBQ results"] if self.folder == PACKAGED else []

    def write_to(self, out: Path, ask: Ask | None, meter: Progress) -> int:
        require_folder(out)
        examples = read_starter(seed=self.seed, folder=self.folder).examples
        meter.start("bbq-starter", len(examples), "examples")
        by_category: dict[str, list[Item]] = {}
        for example in examples:
            by_category.setdefault(example.category, []).append(example)
        return write_files(out, by_category, meter.advance)
