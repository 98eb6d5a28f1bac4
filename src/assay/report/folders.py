"""Which runs a folder holds: itself, or those in it."""

from __future__ import annotations

from pathlib import Path

from assay.errors import UsageError

_DEPTHS = ("*", "*/*")  # a tour; several models with a folder each


def run_folders(folder: Path) -> list[Path]:
    """The finished runs of a folder, in the order of their paths: the folder itself where it is a run."""
    if (folder / "findings.json").exists() or (folder / "run.json").exists():
        return [folder]
    found = sorted({file.parent for depth in _DEPTHS for file in folder.glob(f"{depth}/findings.json")})
    if not found:
        raise UsageError(
            f"{folder}: there is no finished run here.", "Name a folder that `assay run` made, or one with such in it."
        )
    return found


def unfinished_folders(folder: Path) -> list[Path]:
    """The runs in a folder that began and have no findings yet."""
    begun = {file.parent for depth in _DEPTHS for file in folder.glob(f"{depth}/run.json")}
    return sorted(path for path in begun if not (path / "findings.json").exists())
