"""Other tools' logs of BBQ, read as examples with the answers that somebody's model gave."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

from assay.errors import DataError
from assay.files.opening import open_text
from assay.probes.bbq.logs import inspect_ai, lm_eval
from assay.probes.bbq.logs.rows import Given, Official
from assay.rows import Bad

__all__ = ["INSPECT", "LM_EVAL", "Given", "Official", "log_kind", "read_log"]

LM_EVAL, INSPECT = "lm-eval", "inspect"

_HEAD = 1 << 16
_INSPECT_HEAD = re.compile(r'\s*\{\s*"version"\s*:\s*\d+\s*,\s*"(?:status|eval|invalidated)"\s*:')


def log_kind(path: Path) -> str | None:
    """Whose log a file is: LM_EVAL, INSPECT, or None where it is none of theirs."""
    if path.suffix == ".eval" or zipfile.is_zipfile(path):
        return INSPECT
    with open_text(path) as file:
        try:
            head = file.read(_HEAD).lstrip()
            if _INSPECT_HEAD.match(head):
                return INSPECT
            first, ended, _ = head.partition("\n")
            row = json.loads(first if ended else first + file.readline())
        except (ValueError, RecursionError):
            return None
    return LM_EVAL if isinstance(row, dict) and isinstance(row.get("doc"), dict) and "resps" in row else None


def read_log(
    path: Path, kind: str, bad: Bad, official: Official | None = None, notes: list[str] | None = None
) -> Iterator[Given]:
    """The examples of a log with their answers; of several epochs the first, of several filters the first as well.

    `official` completes examples of which the log leaves fields out. What a reader must know goes to `notes` once the
    log is read. An example that is answered twice in the same way comes twice.
    """
    told = notes if notes is not None else []
    found = (lm_eval if kind == LM_EVAL else inspect_ai).read(path, bad, official or {}, told)
    some = False
    for given in found:
        some = True
        yield given
    if not some:
        raise DataError(
            "there is no answer in this log that can be used.", "Check the log.", code="empty-file", file=path
        )
