"""Writing a probe's questions in the authors' own file format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from assay.engine.ask import Asker
from assay.engine.store import BlockStore
from assay.models import find_model
from assay.probes import method_of
from assay.probes.base import Request
from assay.progress import Progress, Silent
from assay.runs.audit import new_executor


@dataclass(frozen=True)
class Generated:
    """What was written: how many examples, what counts as one, and what a user should know."""

    examples: int
    counted: str
    notes: tuple[str, ...] = ()


def generate(
    probe: str,
    out: Path,
    *,
    settings: Mapping[str, str] | None = None,
    model: str | None = None,
    seed: int = 0,
    data: str | Path | None = None,
    progress: Progress | None = None,
) -> Generated:
    """Write the questions of a probe to a file or folder, each file whole or not at all."""
    request = Request(seed=seed, settings=settings or {}, data=Path(data) if data else None)
    wanted = method_of(probe).generation(request)
    ask = Asker(find_model(model), BlockStore.default(), new_executor()) if model else None
    return Generated(wanted.write_to(out, ask, progress or Silent()), wanted.counted, tuple(wanted.notes()))
