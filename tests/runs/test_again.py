"""A run's answers once more: files of predictions must be where and as they were."""

from __future__ import annotations

import hashlib
from pathlib import Path

from assay.errors import DataError
from assay.runs.score import _unchanged_files
from raising import raises


def test_predictions_must_be_where_and_as_they_were(tmp_path: Path) -> None:
    file = tmp_path / "p.json"
    file.write_text("{}")
    data = {str(file): hashlib.sha256(b"{}").hexdigest()}
    assert _unchanged_files(data) == [file]
    file.write_text("{ }")
    with raises("changed-file", DataError, file=file):
        _unchanged_files(data)
    file.unlink()
    with raises("missing-file", DataError, file=file):
        _unchanged_files(data)
