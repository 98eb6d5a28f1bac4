"""Arrays that plans refer to: too large to travel with a plan, so that it carries their digest instead.

They lie beside the blocks of answers (`ASSAY_CACHE`), named by their content.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from assay.engine.store import BlockStore
from assay.errors import UsageError
from assay.files.atomic import write_atomically

Arrays = Mapping[str, NDArray[Any]]


def save_arrays(arrays: Arrays) -> str:
    """Store arrays and return their digest; what is there already, undamaged, is not written again."""
    digest = _digest(arrays)
    path = _path(digest)
    if not _is_there(path, digest):
        buffer = io.BytesIO()
        np.savez(buffer, allow_pickle=False, **dict(arrays))
        write_atomically(path, buffer.getvalue())
    return digest


def load_arrays(digest: str) -> Arrays:
    """The arrays of a digest."""
    return _load(str(_path(digest)), digest)


def _is_there(path: Path, digest: str) -> bool:
    if not path.exists():
        return False
    try:
        _load(str(path), digest)
    except UsageError:
        return False
    return True


@lru_cache(maxsize=4)
def _load(path: str, digest: str) -> Arrays:
    try:
        with np.load(path, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
    except (OSError, ValueError, EOFError, BadZipFile) as error:
        raise UsageError(
            f"{path}: cannot be read ({error}).", "Delete it, if it is there, and run the same command again."
        ) from None
    if _digest(arrays) != digest:
        raise UsageError(f"{path}: its content has changed.", "Delete it and run the same command again.")
    return arrays


@contextmanager
def kept_in(folder: Path) -> Iterator[None]:
    """Within this, arrays are stored in another folder: for trials of which nothing is to remain."""
    _elsewhere.append(folder)
    try:
        yield
    finally:
        _elsewhere.pop()


_elsewhere: list[Path] = []


def _path(digest: str) -> Path:
    return (_elsewhere[-1] if _elsewhere else BlockStore.default().root) / "arrays" / f"{digest}.npz"


def _digest(arrays: Arrays) -> str:
    hasher = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        hasher.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        hasher.update(array.data if array.size else b"")
    return hasher.hexdigest()
