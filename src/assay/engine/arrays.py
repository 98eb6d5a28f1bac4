"""Arrays that plans refer to: too large to travel with a plan, which carries their digest instead."""

from __future__ import annotations

import hashlib
import io
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol
from zipfile import BadZipFile

import numpy as np

from assay.errors import UsageError
from assay.files.atomic import write_atomically
from assay.plan import AnyPlan, ArrayPlan, Arrays
from assay.queries import QueryColumns

_RECENT = 4
"""So many sets of arrays are kept in memory."""


class ArraySource(Protocol):
    """Where whoever computes gets a plan's arrays from."""

    def load(self, digest: str) -> Arrays: ...


def columns_of(plan: AnyPlan, arrays: ArraySource, lo: int, hi: int) -> QueryColumns:
    """Queries lo to hi of a plan, made from its arrays where it has some."""
    if isinstance(plan, ArrayPlan):
        return plan.columns_from(arrays.load(plan.arrays), lo, hi)
    return plan.columns(lo, hi)


@dataclass
class ArrayStore:
    """A folder of arrays, named by their content. Those kept or loaded last stay in memory: do not change them."""

    folder: Path
    _recent: dict[str, Arrays] = field(default_factory=dict, repr=False)

    def keep(self, arrays: Arrays) -> str:
        """Store arrays and return their digest; what is there already, undamaged, is not written again."""
        digest = digest_of_arrays(arrays)
        if digest not in self._recent and not self._is_there(digest):
            buffer = io.BytesIO()
            np.savez(buffer, allow_pickle=False, **dict(arrays))
            write_atomically(self._path(digest), buffer.getvalue())
        self._remember(digest, arrays)
        return digest

    def load(self, digest: str) -> Arrays:
        """The arrays of a digest."""
        arrays = self._recent.get(digest)
        return self._remember(digest, self._read(digest) if arrays is None else arrays)

    def _path(self, digest: str) -> Path:
        return self.folder / f"{digest}.npz"

    def _is_there(self, digest: str) -> bool:
        if not self._path(digest).exists():
            return False
        try:
            self._read(digest)
        except UsageError:
            return False
        return True

    def _read(self, digest: str) -> Arrays:
        path = self._path(digest)
        try:
            with np.load(path, allow_pickle=False) as stored:
                arrays = {name: stored[name] for name in stored.files}
        except (OSError, ValueError, EOFError, BadZipFile) as error:
            remedy = "Delete it, if it is there, and run the same command again."
            raise UsageError(f"cannot be read ({error}).", remedy, code="unreadable-file", file=path) from None
        if digest_of_arrays(arrays) != digest:
            remedy = "Delete it and run the same command again."
            raise UsageError("its content has changed.", remedy, code="changed-file", file=path)
        return arrays

    def _remember(self, digest: str, arrays: Arrays) -> Arrays:
        self._recent.pop(digest, None)
        self._recent[digest] = arrays
        while len(self._recent) > _RECENT:
            del self._recent[next(iter(self._recent))]  # the one that was used longest ago
        return arrays


def digest_of_arrays(arrays: Arrays) -> str:
    """The digest of arrays' names, types, shapes and values."""
    hasher = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        hasher.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        hasher.update(array.data if array.size else b"")
    return hasher.hexdigest()
