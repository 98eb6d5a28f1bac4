"""Which files the papers published, each pinned to one revision, and where they lie on this machine.

The files are not part of assay: `assay data fetch` gets them. A `pinned.tsv` names each with its repository, commit and
git blob id, so that whoever has it, wherever from, can tell that it is the right one. A data folder holds

    bbq/data/Age.jsonl …    bbq/templates/new_templates - Age.csv …    bbq/additional_metadata.csv
    unqover/word_lists/slots/gender_noact …
    sodapop/…jsonl

and any of them may be compressed instead: Age.jsonl.gz.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path


@dataclass(frozen=True)
class DataSet:
    """What a paper published. Its files lie in the folder of its name; `pinned` is the list of them.

    `contents` is where a function looks through the contents for known defects ("module:function"; it takes the data
    folder and gives lines).
    """

    name: str
    what: str
    licence: str
    pinned: Path
    contents: str = ""


@dataclass(frozen=True)
class PinnedFile:
    """One file at one revision: where it is published and under which name it lies in a data folder."""

    repository: str
    commit: str
    blob: str  # git's id of the content: sha1 of "blob SIZE\0" and the bytes
    source: str  # path in the repository
    place: str  # path in the data folder


@dataclass(frozen=True)
class CatalogueRow:
    """A data set and how many of its files are there, right or wrong: `verify` tells."""

    name: str
    what: str
    licence: str
    present: int
    total: int
    where: Path


def data_folder(given: Path | None = None) -> Path:
    """Where official data lie: the folder given (--data), else ASSAY_DATA, else the user's data folder."""
    if given is not None:
        return given.expanduser()
    chosen = os.environ.get("ASSAY_DATA")
    if chosen:
        return Path(chosen).expanduser()
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "assay"


@lru_cache(maxsize=16)
def pinned_files(data_set: DataSet) -> tuple[PinnedFile, ...]:
    """The files of a data set."""
    lines = data_set.pinned.read_text(encoding="utf-8").splitlines()
    return tuple(PinnedFile(*line.split("\t")) for line in lines if not line.startswith("#"))


def forms(path: Path) -> list[Path]:
    """What there is of a file: itself, its compressed form (.gz), both or neither."""
    return [form for form in (path, path.with_name(f"{path.name}.gz")) if _is_there(form)]


def catalogue(data_sets: Iterable[DataSet], folder: Path) -> list[CatalogueRow]:
    """Every data set, with what there is of it in this folder. Nothing is read."""
    rows = []
    for known in data_sets:
        files = pinned_files(known)
        present = sum(bool(forms(folder / file.place)) for file in files)
        rows.append(CatalogueRow(known.name, known.what, known.licence, present, len(files), folder / known.name))
    return rows


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # in a folder that may not be looked into: reading it will say so
        return True
