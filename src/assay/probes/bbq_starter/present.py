"""How a run of the starter questions is shown: as one of BBQ, but for what it must not be taken for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from assay.blocks import Presentation, Section
from assay.probes.bbq.present import present as present_bbq
from assay.probes.bbq.present_models import across as across_bbq
from assay.probes.bbq_starter import PROBE
from assay.run import Run


def present(run: Run) -> Presentation:
    """What is shown of a run."""
    return replace(present_bbq(run, starter=True), name=PROBE.name, data_set=PROBE.data_set)


def across(runs: Sequence[Run]) -> list[Section]:
    """What several models show together."""
    return across_bbq(runs, starter=True)
