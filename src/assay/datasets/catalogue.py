"""The files that the papers published, each pinned to one revision; finds and verifies them on this machine.

The files are not part of assay; `assay data fetch` downloads them. A `pinned.tsv` names each with its repository,
commit and git blob id, which identifies the right file wherever it comes from. A data folder holds

    bbq/data/Age.jsonl …    bbq/templates/new_templates - Age.csv …    bbq/additional_metadata.csv
    unqover/word_lists/slots/gender_noact …
    sodapop/…jsonl

and any of them may be compressed: Age.jsonl.gz or Age.jsonl.xz. Files that assay may not or cannot fetch are the user's
to bring.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

State = Literal["ok", "missing", "different", "unpinned"]
_FORMS = ("", ".gz", ".xz")  # as in `opening`

LARGEST = 256 << 20
"""Bytes of a file; no pinned file comes near it, but a server that never ends does."""


@dataclass(frozen=True)
class DataSet:
    """The data set of a paper. Its files are in the folder of its name; `pinned` lists them.

    `contents` is where a function looks through the contents for known defects ("module:function"; it takes the data
    folder and the data set's name, and gives lines). `bring` says how to get the files of a data set that has no pinned
    ones. `within` is a folder that may hold the data set's own folder.
    """

    name: str
    what: str
    licence: str
    pinned: Path | None = None
    contents: str = ""
    bring: str = ""
    within: str = ""

    def folder(self, data: Path) -> Path:
        """Its folder in a data folder, which need not be there."""
        inside = data / self.within / self.name
        return inside if self.within and _is_there(inside) and not _is_there(data / self.name) else data / self.name


@dataclass(frozen=True)
class PinnedFile:
    """One file at one revision: where it is published, and its name in a data folder."""

    repository: str
    commit: str
    blob: str  # git's id of the content: sha1 of "blob SIZE\0" and the bytes
    source: str  # path in the repository
    path: str  # in the data folder


@dataclass(frozen=True)
class CatalogueRow:
    """A data set and how many of its files exist here, right or wrong; `verify` checks them.

    `total` is None for files that the user brings.
    """

    name: str
    what: str
    licence: str
    present: int
    total: int | None
    folder: Path


@dataclass(frozen=True)
class FileState:
    """A file and how it compares with the pinned one of its name.

    "ok": the same content. "missing": neither plain nor compressed. "different": other content, or unreadable.
    "unpinned": in the data set's folder, but no pinned file has this name.
    """

    path: Path
    state: State
    note: str = ""


def data_folder(option: Path | None = None) -> Path:
    """The folder of official data: the one given (--data), else ASSAY_DATA, else the user's data folder."""
    if option is not None:
        return option.expanduser()
    chosen = os.environ.get("ASSAY_DATA")
    if chosen:
        return Path(chosen).expanduser()
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "assay"


@lru_cache(maxsize=16)
def pinned_files(data_set: DataSet) -> tuple[PinnedFile, ...]:
    """The files of a data set; none if the user brings them."""
    if data_set.pinned is None:
        return ()
    lines = data_set.pinned.read_text(encoding="utf-8").splitlines()
    return tuple(PinnedFile(*line.split("\t")) for line in lines if not line.startswith("#"))


def forms(path: Path) -> list[Path]:
    """The existing forms of a file: plain and compressed, several or none."""
    return [form for ending in _FORMS if _is_there(form := path.with_name(path.name + ending))]


def catalogue(data_sets: Iterable[DataSet], folder: Path) -> list[CatalogueRow]:
    """Every data set, with how many of its files are in this folder. Nothing is read."""
    rows = []
    for data_set in data_sets:
        own_folder = data_set.folder(folder)
        if data_set.pinned is None:
            present, total = len(_files_in(own_folder)), None
        else:
            files = pinned_files(data_set)
            present, total = sum(bool(forms(own_folder.parent / file.path)) for file in files), len(files)
        rows.append(CatalogueRow(data_set.name, data_set.what, data_set.licence, present, total, own_folder))
    return rows


def verify(data_set: DataSet, folder: Path) -> list[FileState]:
    """The state of every pinned file of a data set, in the manifest's order, and then of the files beside them.

    A file that is there both plain and compressed has two states, as either may be read. Defects inside the data are
    not checked here.
    """
    own_folder = data_set.folder(folder)
    states = [state for file in pinned_files(data_set) for state in file_states(file, own_folder.parent)]
    pinned_paths = {state.path for state in states}
    others = [path for path in _files_in(own_folder) if path not in pinned_paths]
    return states + [FileState(path, "unpinned", "not among the pinned files") for path in others]


def _files_in(folder: Path) -> list[Path]:
    """All files of a data set's folder, except downloads under way."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return [path for path in paths if not any(part.startswith(".") for part in path.relative_to(folder).parts)]


def file_states(file: PinnedFile, folder: Path) -> list[FileState]:
    """The states of one pinned file's existing forms: plain, compressed or both; or that it is missing."""
    path = folder / file.path
    return [_state(file, form, form.name[len(path.name) :]) for form in forms(path)] or [FileState(path, "missing")]


def _state(file: PinnedFile, path: Path, packed: str) -> FileState:
    from assay.files.opening import UNREADABLE, open_regular, reason, unpacked

    try:
        with open_regular(path) as stored, unpacked(stored, packed) as opened:
            content = opened.read(LARGEST + 1)
    except UNREADABLE as error:
        return FileState(path, "different", f"cannot be read ({reason(error)})")
    blob = blob_id(content)
    if blob == file.blob:
        return FileState(path, "ok", "compressed" if packed else "")
    if blob_id(content.replace(b"\r\n", b"\n")) == file.blob:
        return FileState(path, "different", "the line endings are those of Windows; the text is the same")
    return FileState(path, "different", f"blob id {blob[:12]}…, expected {file.blob[:12]}…")


def is_published(data_set: DataSet, content: bytes) -> bool:
    """Whether a content equals one of a data set's pinned files, whatever the file's name."""
    return blob_id(content) in {file.blob for file in pinned_files(data_set)}


def blob_id(content: bytes) -> str:
    """Git's blob id of a content.

    >>> blob_id(b"")
    'e69de29bb2d1d6434b8b29ae775ad8c2e48c5391'
    """
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # in a folder that may not be looked into: reading it will say so
        return True
