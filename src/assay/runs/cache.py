"""What the cache has, and what of it no run needs."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.engine.store import BlockStore
from assay.files.paths import cache_folder
from assay.runs.folder import BLOCKS, used_blocks

_DAY = 86_400.0
"""Seconds without a write after which an asking is taken for stopped."""


@dataclass(frozen=True)
class Part:
    """A part of the cache: what it has, and how much."""

    what: str
    folder: Path
    files: int
    size: int  # bytes


@dataclass(frozen=True)
class Prunable:
    """A block's file, or the folder of an asking that was stopped, and why nobody needs it."""

    path: Path
    why: str
    size: int  # bytes


def parts() -> list[Part]:
    """The folders of the cache with their sizes, the largest first."""
    root = cache_folder()
    descriptions = {
        "blocks": "answers in blocks",
        "journal": "replies of endpoints, which were paid for",
        "endpoints": "what endpoints can do",
        "batches": "descriptions of batches",
    }
    folders = [path for path in root.iterdir() if path.is_dir()] if root.is_dir() else []
    cache_parts = [Part(descriptions.get(folder.name, folder.name), folder, *_measured(folder)) for folder in folders]
    return sorted(cache_parts, key=lambda part: -part.size)


def prunable(runs: Sequence[Path], *, unused: bool = False) -> list[Prunable]:
    """The blocks that no run below the folders `runs` uses: those with newer answers to the same questions and those of
    askings that were stopped; with `unused`, all.
    """
    store, used_names = BlockStore.default(), {path.name for folder in runs for path in _used(folder)}
    files: list[Prunable] = []
    for folder in sorted(path for path in store.root.glob("??/*") if path.is_dir()):
        newest = {path for (path,) in store.newest(folder.name).values()}
        for path in sorted(folder.glob("*.block")):
            if path.name not in used_names and (unused or path not in newest):
                reason = "no run uses it" if path in newest else "there are newer answers"
                files.append(Prunable(path, reason, path.stat().st_size))
        for path in store.stopped(folder.name):
            modified = max(file.stat().st_mtime for file in (path, *path.iterdir()))
            if time.time() - modified > _DAY:
                files.append(Prunable(path, "its run was stopped", _measured(path)[1]))
    return files


def remove(prunable: Sequence[Prunable]) -> None:
    for part in prunable:
        if part.path.is_dir():
            shutil.rmtree(part.path)
        else:
            part.path.unlink(missing_ok=True)


def _used(folder: Path) -> Iterator[Path]:
    """The names of the blocks of all runs below a folder."""
    store = BlockStore.default()
    for path in folder.rglob(BLOCKS):
        for of_key in used_blocks(path.parent).values():
            yield from map(store.path, of_key.blocks.values())


def _measured(folder: Path) -> tuple[int, int]:
    """The number of files below a folder, and their bytes."""
    sizes = [path.stat().st_size for path in folder.rglob("*") if path.is_file()]
    return len(sizes), sum(sizes)
