"""Arrays that plans refer to: too large to travel with a plan, so that it carries their digest instead.

They lie beside the blocks of answers (`ASSAY_CACHE`), named by their content.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.engine.files import write_atomically
from assay.engine.store import BlockStore
from assay.errors import UsageError

Arrays = Mapping[str, NDArray[Any]]


def save_arrays(arrays: Arrays) -> str:
    """Store arrays and return their digest; what is there already is not written again."""
    digest = _digest(arrays)
    path = _path(digest)
    if not path.exists():
        buffer = io.BytesIO()
        np.savez(buffer, allow_pickle=False, **dict(arrays))
        write_atomically(path, buffer.getvalue())
    return digest


def load_arrays(digest: str) -> Arrays:
    """The arrays of a digest."""
    return _load(str(_path(digest)), digest)


@lru_cache(maxsize=4)
def _load(path: str, digest: str) -> Arrays:
    try:
        with np.load(path, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
    except (OSError, ValueError, EOFError) as error:
        raise UsageError(f"{path}: cannot be read ({error}).", "Run the same command again: it is made anew.") from None
    if _digest(arrays) != digest:
        raise UsageError(f"{path}: its content has changed.", "Delete it and run the same command again.")
    return arrays


def _path(digest: str) -> Path:
    return BlockStore.default().root / "arrays" / f"{digest}.npz"


def _digest(arrays: Arrays) -> str:
    hasher = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        hasher.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        hasher.update(array.data if array.size else b"")
    return hasher.hexdigest()
