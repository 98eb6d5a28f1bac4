"""Whether the official files in a data folder are the pinned ones. Says nothing about what is wrong in the data."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from assay.files.opening import UNREADABLE, reason, unpacked
from assay.files.published import DataSet, PinnedFile, forms, pinned_files

State = Literal["ok", "missing", "different", "unpinned"]


@dataclass(frozen=True)
class FileState:
    """A file and how it compares with the pinned one of its name.

    "ok": the same content. "missing": not there, nor compressed. "different": other content, or unreadable.
    "unpinned": lies in the data set's folder, but no pinned file has this name, so nothing is known about it.
    """

    path: Path
    state: State
    note: str = ""


def verify(data_set: DataSet, folder: Path) -> list[FileState]:
    """The state of every pinned file of a data set, in the manifest's order, and then of the files beside them.

    A file that is there both plain and compressed has two states: who reads it may take either.
    """
    states = [state for file in pinned_files(data_set) for state in file_states(file, folder)]
    known, own = {state.path for state in states}, folder / data_set.name
    others = sorted(path for path in own.rglob("*") if path.is_file() and path not in known)
    return states + [
        FileState(path, "unpinned", "not among the pinned files")
        for path in others
        if not any(part.startswith(".") for part in path.relative_to(own).parts)  # downloads under way
    ]


def file_states(file: PinnedFile, folder: Path) -> list[FileState]:
    """The states of what there is of one pinned file: plain, compressed or both; else that it is missing."""
    path = folder / file.place
    return [_state(file, found, packed=found != path) for found in forms(path)] or [FileState(path, "missing")]


def _state(file: PinnedFile, path: Path, *, packed: bool) -> FileState:
    try:
        with path.open("rb") as stored, unpacked(stored, ".gz" if packed else "") as opened:
            content = opened.read()
    except UNREADABLE as error:
        return FileState(path, "different", f"cannot be read ({reason(error)})")
    found = blob_id(content)
    if found == file.blob:
        return FileState(path, "ok", "compressed" if packed else "")
    if blob_id(content.replace(b"\r\n", b"\n")) == file.blob:
        return FileState(path, "different", "the line ends were changed to those of Windows; the text is the same")
    return FileState(path, "different", f"blob id {found[:12]}…, expected {file.blob[:12]}…")


def is_published(data_set: DataSet, content: bytes) -> bool:
    """Whether a content is that of one of a data set's pinned files, whatever its own file is called."""
    return blob_id(content) in {file.blob for file in pinned_files(data_set)}


def blob_id(content: bytes) -> str:
    """Git's name of a content.

    >>> blob_id(b"")
    'e69de29bb2d1d6434b8b29ae775ad8c2e48c5391'
    """
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
