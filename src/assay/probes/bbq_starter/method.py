"""BBQ's method on the starter set, whose results are never BBQ's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from assay.blocks import Presentation, Section
from assay.errors import UsageError
from assay.probes.base import Request
from assay.probes.bbq.examples import CATEGORIES, Dataset
from assay.probes.bbq.method import BBQ
from assay.probes.bbq.settings import Settings
from assay.probes.bbq.source import Source
from assay.probes.bbq_starter import GenerateSettings
from assay.probes.bbq_starter.templates import PACKAGED, read_starter
from assay.run import Run
from assay.settings import GENERATE, read_settings

QUICK, STANDARD = 3, 12
"""Quartets of every template in the presets: the starter set has few templates."""


@dataclass(frozen=True)
class StarterSource(Source):
    """The packaged templates; their first quartets are balanced by design."""

    in_own_order = True

    def read(self) -> Dataset:
        return _read(self.categories)


@lru_cache(maxsize=4)
def _read(categories: tuple[str, ...]) -> Dataset:
    everything = read_starter()
    wanted = [not categories or example.category in categories for example in everything.examples]
    return everything.take(np.flatnonzero(wanted))


class BBQStarter(BBQ):
    """On the packaged starter set."""

    presets: Mapping[str, int | None] = {"quick": QUICK, "standard": STANDARD, "paper": None}

    def source(self, settings: Settings, request: Request) -> Source:
        if request.data is not None:
            raise UsageError(
                "bbq-starter comes with assay and reads no data.",
                "assay run bbq --data DIR",
                code="bad-option",
                key="data",
            )
        unknown = [name for name in settings.categories if name not in CATEGORIES]
        if unknown:
            raise UsageError(
                f"unknown category {unknown[0]!r}; expected {', '.join(CATEGORIES)}.",
                "--set category=Age,Religion",
                code="bad-setting",
                key="category",
            )
        return StarterSource(categories=settings.categories)

    def generation(self, request: Request) -> Any:
        from assay.probes.bbq_starter.generate import StarterGeneration

        settings = read_settings(GenerateSettings, request.settings, self.probe.name, remedy=GENERATE)
        return StarterGeneration(Path(settings.templates or PACKAGED), request.seed)

    def present(self, run: Run) -> Presentation:
        from assay.probes.bbq_starter.present import present

        return present(run)

    def across(self, runs: Sequence[Run]) -> Sequence[Section]:
        from assay.probes.bbq_starter.present import across

        return across(runs)
