"""A probe asked from beginning to end, as `assay run` does it, without a run folder; and somebody's files scored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from assay.probes import concluded, method_of
from assay.probes.base import Request
from assay.results.findings import Findings


def findings(probe: str, request: Request, ask: Any, model: str = "fake") -> Findings:
    """What a probe finds in the answers of `ask`."""
    method = method_of(probe)
    prepared = method.prepare(request, ask)
    return replace(concluded(method, prepared, method.gather(prepared, ask)), model=model)


def scored(
    probe: str, files: Sequence[Path], request: Request, answers: str | None = None
) -> tuple[Findings, list[str]]:
    """What a probe finds in files of answers, and what a reader must know about them."""
    method = method_of(probe)
    prepared, gathered = method.read_files(files, request, answers)
    return replace(concluded(method, prepared, gathered), model=files[0].stem), list(prepared.notes)
