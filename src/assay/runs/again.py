"""A run's answers once more, without its model: from the store where they lie, or from the files that were scored."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assay.engine.ask import StoredAsk
from assay.engine.executor import Settings
from assay.engine.store import BlockStore
from assay.errors import DataError
from assay.files.opening import digest_as_stored
from assay.probes import method_of
from assay.probes.base import Prepared, Request
from assay.run import Kind, Run
from assay.runs.audit import place_of


def gathered_again(
    run: Run, settings: Mapping[str, str] | None = None, data: str | Path | None = None
) -> tuple[Prepared, Any]:
    """A run's probe, set up as it was, and what it gathered; settings may change formulas.

    `data` is where the run's official data are now, if they are elsewhere.
    """
    method, info = method_of(run.probe), run.info
    if info.kind is Kind.PREDICTIONS:
        saved = {key: str(value) for key, value in info.settings.items() if key != "model"}
        request = Request(seed=info.seed or 0, settings={**saved, **(settings or {})}, skip_bad=info.skip_bad)
        return method.read_files(_unchanged_files(info.data), request, info.identity.get("answers"))
    before = info.data_folder
    moved = data is not None and before is not None  # what lay in the old folder is found in the new one
    saved = {
        key: str(value)
        for key, value in info.settings.items()
        if value is not None and not (moved and str(value).startswith(str(before)))
    }
    wanted = {**saved, **(settings or {})}
    place = place_of(data or before)
    request = Request(info.preset or "quick", info.limit, info.seed or 0, wanted, place, info.skip_bad, again=True)
    ask = StoredAsk(info.model, BlockStore.of_run(run.folder), Settings(**info.engine), info.others)
    prepared = method.prepare(request, ask)
    return prepared, method.gather(prepared, ask)


def _unchanged_files(data: Mapping[str, str]) -> list[Path]:
    """The files of predictions that were scored, if they are where they were and as they were."""
    for name, digest in data.items():
        file = Path(name)
        if not file.is_file():
            raise DataError(
                "these predictions are no longer there.",
                "Put them back, or score them again.",
                code="missing-file",
                file=file,
            )
        if digest_as_stored(file) != digest:
            raise DataError(
                "these predictions have changed since they were scored.",
                "Score them again.",
                code="changed-file",
                file=file,
            )
    return [Path(name) for name in data]
