"""Writes a probe's questions in the authors' file format, or as requests for a batch service."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from assay.asking.progress import Progress, SilentProgress
from assay.engine.ask import LiveAsk
from assay.engine.store import BlockStore
from assay.errors import UsageError, suggest
from assay.models import find_model
from assay.probes import method_of
from assay.probes.base import Request
from assay.runs import batch
from assay.runs.audit import data_path, new_executor

AUTHORS = "authors"
FORMATS = (AUTHORS, batch.FORMAT)


@dataclass(frozen=True)
class GenerationResult:
    """What was written: how many examples, what counts as one, notes for the user, and what they are called."""

    examples: int
    counted: str
    notes: tuple[str, ...] = ()
    called: str = "examples"


def generate(
    probe: str,
    out: Path,
    *,
    settings: Mapping[str, str] | None = None,
    model: str | None = None,
    preset: str = "quick",
    limit: int | None = None,
    seed: int = 0,
    data: str | Path | None = None,
    skip_bad: bool = False,
    format: str = AUTHORS,
    progress: Progress | None = None,
) -> GenerationResult:
    """Write the questions of a probe to a file or folder, each file atomically.

    In the format `openai-batch` these are the requests of a run on an endpoint, with a run's settings, preset and
    limit, and `model` is the model to ask. In the authors' format, only subjects that are one token of `model` are
    kept.
    """
    request = Request(preset, limit, seed, settings or {}, data_path(data), skip_bad)
    if format == batch.FORMAT:
        n_requests, notes = batch.write_requests(probe, out, model, request, progress or SilentProgress())
        return GenerationResult(n_requests, "a line each", tuple(notes), "requests")
    if format != AUTHORS:
        problem = f"unknown format {format!r}; expected {' or '.join(FORMATS)}{suggest(format, FORMATS)}"
        raise UsageError(problem, f"--format {batch.FORMAT}", code="bad-option", key="format")
    if (preset, limit, skip_bad) != ("quick", None, False):
        problem = "--preset, --limit and --skip-bad work only with batches: the authors' files hold all questions."
        raise UsageError(problem, f"--format {batch.FORMAT}", code="bad-option", key="format")
    generation = method_of(probe).generation(request)
    ask = LiveAsk(find_model(model), BlockStore.default(), new_executor()) if model else None
    return GenerationResult(
        generation.write_to(out, ask, progress or SilentProgress()), generation.counted, tuple(generation.notes())
    )
