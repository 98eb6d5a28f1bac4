"""Where a study's files lie: names in a study file are looked for in its data folder, then beside the study file."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.errors import DataError
from assay.files.opening import PACKED, digest_of_file
from assay.files.published import data_folder
from assay.lab.studies.file import PACKAGED, Model, Runs, StudyFile
from assay.lab.training.choice_data import labels_file


@dataclass(frozen=True)
class Places:
    """The folders to look in. `data` is the data folder; `named` tells whether somebody named it for this study."""

    data: Path
    beside: Path | None  # not for the studies that come with assay: nobody puts files there
    named: bool

    @staticmethod
    def of(file: StudyFile, given: str | Path | None) -> Places:
        """`given` (--data) comes before what the file says, and that before the usual data folder (ASSAY_DATA)."""
        beside = None if file.path.parent == PACKAGED else file.path.resolve().parent
        if given is not None:
            folder = Path(given).expanduser().resolve()
            if not folder.is_dir():
                raise DataError(
                    "there is no such folder.",
                    "Name the folder of the study's data: --data DIR.",
                    file=folder,
                    code="missing-file",
                    key="data",
                )
            return Places(folder, beside, True)
        if (data := file.head.data) is not None:
            folder = (file.path.resolve().parent / Path(data).expanduser()).resolve()
            if not folder.is_dir():
                problem = f'"data" is {data!r}, and {folder} is no folder.'
                raise file.toml.error(
                    problem, "Name another one with --data DIR.", "study", "data", code="missing-file"
                )
            return Places(folder, beside, True)
        return Places(data_folder().resolve(), beside, False)

    def find(self, written: str, key: str, entry: Model | Runs) -> Path:
        """A file or folder that an entry names; a packed form of it (.gz, .xz) will do."""
        path = Path(written).expanduser()
        folders = [folder for folder in (self.data, self.beside) if folder is not None]
        for folder in folders:
            for suffix in ("", *PACKED):
                found = folder / f"{path}{suffix}"
                if found.exists():
                    return found
        where = str(path.parent) if path.is_absolute() else " or ".join(map(str, folders))
        remedy = (
            "Check the name."
            if path.is_absolute()
            else f"Put it there, or name the folder that {written} lies in: --data DIR."
        )
        raise entry.error(
            f'"{key}" is {written!r}, and there is no such file or folder in {where}.', remedy, key, code="missing-file"
        )


def digest_of_place(path: Path) -> str:
    """The digest of a file's content, with that of its labels; or of all files in a folder by their names."""
    labels = labels_file(path) if path.is_file() else None
    if path.is_file() and labels is None:
        return digest_of_file(path)
    hasher = hashlib.sha256()
    for file in (path, labels) if labels is not None else _files(path):
        name = file.name if path.is_file() else file.relative_to(path).as_posix()
        hasher.update(f"{digest_of_file(file)}  {name}\n".encode())
    return hasher.hexdigest()


def size_of_place(path: Path) -> int:
    """Bytes on disk."""
    return sum(file.stat().st_size for file in ([path] if path.is_file() else _files(path)))


def _files(folder: Path) -> Sequence[Path]:
    return sorted(file for file in folder.rglob("*") if file.is_file())
