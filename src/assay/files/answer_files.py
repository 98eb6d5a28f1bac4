"""Recognises files of answers, and files that only look like them, by their beginnings."""

from __future__ import annotations

import re
from enum import StrEnum
from pathlib import Path

from assay.files.decoding import json_value
from assay.files.opening import is_zip, open_text

_HEAD = 1 << 16
_MOST = 1 << 24
_INSPECT = re.compile(r'\{\s*"version"\s*:\s*\d+\s*,\s*"(?:status|eval|invalidated)"\s*:')
_RESULTS = re.compile(r'\{\s*"results"\s*:\s*\{')
_OF_LM_EVAL = re.compile(r'"(?:n-shot|n-samples|higher_is_better|lm_eval_version)"\s*:')
_OF_RUN = re.compile(r'\{\s*(?:"schema"\s*:\s*\d+\s*,\s*"probe"\s*:|"probe"\s*:\s*"[^"]*"\s*,\s*"identity"\s*:)')


class AnswerFileKind(StrEnum):
    """What a file is. Tables of questions with answers are of no kind: each probe reads its own."""

    LM_EVAL = "lm-eval"
    INSPECT = "inspect"
    LM_EVAL_RESULTS = "lm-eval results"
    BATCH_RESULTS = "batch results"
    BATCH_REQUESTS = "batch requests"
    RUN = "a file of a run"


def kind_of(path: Path) -> AnswerFileKind | None:
    """The kind of a file; None if it is of none of them."""
    if path.suffix == ".eval" or is_zip(path):
        return AnswerFileKind.INSPECT
    with open_text(path) as file:
        try:
            head = file.read(_HEAD).lstrip()
            if _INSPECT.match(head):
                return AnswerFileKind.INSPECT
            if _OF_RUN.match(head):
                return AnswerFileKind.RUN
            if _RESULTS.match(head) and _OF_LM_EVAL.search(head + file.read(_MOST)):
                return AnswerFileKind.LM_EVAL_RESULTS
            if '"custom_id"' not in head and '"doc"' not in head:  # a file may be one line of a gigabyte
                return None
            first, ended, _ = head.partition("\n")
            row = json_value(first if ended else first + file.readline())
        except (ValueError, RecursionError):  # not UTF-8, or not JSON: whoever reads it says so
            return None
    return _kind_of_row(row) if isinstance(row, dict) else None


def _kind_of_row(row: dict[str, object]) -> AnswerFileKind | None:
    if isinstance(row.get("doc"), dict) and "resps" in row:
        return AnswerFileKind.LM_EVAL
    if "custom_id" in row and row.keys() & {"response", "error"}:
        return AnswerFileKind.BATCH_RESULTS
    return AnswerFileKind.BATCH_REQUESTS if "custom_id" in row and "body" in row else None
