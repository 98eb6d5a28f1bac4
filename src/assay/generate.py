"""Writing a probe's questions in the authors' own file format."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from assay.engine.ask import Asker
from assay.engine.executor import LocalExecutor
from assay.engine.files import open_atomically
from assay.engine.progress import Progress, Silent
from assay.engine.store import BlockStore
from assay.errors import UsageError
from assay.models import find_model, load
from assay.probes import probe_part


def generate(
    probe: str,
    out: Path,
    *,
    settings: Mapping[str, str] | None = None,
    model: str | None = None,
    progress: Progress | None = None,
) -> int:
    """Write the questions of a probe to a file, whole or not at all; returns how many examples it has."""
    if out.is_dir():
        raise UsageError(f"{out}: this is a folder.", "Name the file to write with --out.")
    wanted, meter = probe_part(probe, "generation").Generation.parse(settings or {}), progress or Silent()
    ask = Asker(find_model(model), BlockStore.default(), LocalExecutor(load)) if model else None
    plan = wanted.plan(ask)
    meter.start(wanted.label, len(plan))
    with open_atomically(out) as file:
        count: int = wanted.write(file, plan, meter.advance)
    return count
