"""Files to learn from: their kinds, and what tells their contents apart."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from assay.errors import DataError
from assay.files.opening import PACKED, digest_of_file


def plain_suffix(path: Path) -> str:
    """The suffix of what is inside: ".jsonl" for "train.jsonl.gz"."""
    return Path(path.stem).suffix if path.suffix in PACKED else path.suffix


def digests_of(root: Path, files: Iterable[Path]) -> dict[str, str]:
    """Digests by the files' names below the file or folder that was named."""
    return {str(file.relative_to(root)) if root.is_dir() else file.name: digest_of_file(file) for file in files}


def summary_of(digests: Mapping[str, str]) -> dict[str, str]:
    """The same digests or, for many files (RACE has one for every article), one digest of them all.

    >>> list(summary_of({"a": "1", "b": "2"}))
    ['a', 'b']
    """
    if len(digests) <= _LISTED:
        return dict(digests)
    hasher = hashlib.sha256()
    for name, digest in sorted(digests.items()):
        hasher.update(f"{digest}  {name}\n".encode())
    return {f"{len(digests):,} files": hasher.hexdigest()}


_LISTED = 8


def existing(path: Path) -> Path:
    if not path.exists():
        raise DataError("there is no such file or folder.", "Check the name.", file=path, code="missing-file")
    return path


def text_of(value: Any, what: str, where: str, path: Path, line: int | None = None) -> str:
    """A text that must be there and not be blank."""
    if not isinstance(value, str) or not value.strip():
        raise DataError(
            f'{where}"{what}" is {_shown(value)}, expected a text.',
            "Mend the file.",
            file=path,
            line=line,
            code="missing-key" if value is None else "bad-value",
            key=what,
        )
    return value


def _shown(value: Any) -> str:
    return "missing" if value is None else repr(value)[:60]
