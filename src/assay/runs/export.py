"""`assay export`: a run bundled with its answers, for another machine.

The answers of a run are blocks in the store of the machine that asked (`ASSAY_CACHE`); the run folder only lists them.
An exported folder also holds the blocks, in `blocks/`, where `assay score` and `assay compare` look first.
"""

from __future__ import annotations

import filecmp
import os
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from assay.engine.store import (
    EXPORTED,
    OWN_BLOCKS,
    BadBlockError,
    BlockStore,
    LostBlockError,
    ReplacedBlockError,
    StoredBlock,
    digest_of_list,
    read_content,
)
from assay.errors import DataError, UsageError
from assay.files.atomic import folder_beside, rename_folder, write_atomically
from assay.files.opening import is_zip
from assay.results.examples import FILE as EXAMPLES
from assay.results.run import RunKind
from assay.runs.folder import BLOCKS, open_runs, read_info, read_run, used_blocks

_unusable = partial(
    DataError, remedy="Repeat the run's `assay run` command, which computes the missing answers; then export it."
)
_misplaced = partial(UsageError, remedy="Choose another place with --out.")

Files = Iterator[tuple[Path, bytes]]  # where they go, and what is in them


@dataclass(frozen=True)
class Exported:
    """What was written: the place, the runs, the number and bytes of blocks, and notes on what is not included."""

    place: Path
    runs: tuple[str, ...]
    blocks: int
    size: int
    notes: tuple[str, ...]


def export(folder: str | Path, out: str | Path | None = None, *, examples: bool = True) -> Exported:
    """Bundle a run, or a folder of runs such as a tour, with its stored answers.

    Without `out`, the answers are added to the folder. `out` is a new folder or .zip file for a copy, without the
    questions' texts if `examples` is false. Every block is checked against its checksum in the run. Data files are not
    copied.
    """
    source, target = Path(folder), None if out is None else Path(out)
    runs = _runs(source)
    if target is None and not examples:
        problem = "--no-examples needs --out: examples are left out of a copy, not of the run itself."
        raise UsageError(problem, "Name a new folder or .zip file with --out.", code="bad-option", key="examples")
    blocks = {run: _blocks(run) for run in runs}
    if target is not None:
        _require_outside(target, source)
    sizes = [len(_content(run, block)) for run in runs for block in blocks[run]]  # all are there, before any is written
    notes = tuple(_notes(runs, blocks, examples))
    if target is None:
        for run in runs:
            _inside(run / OWN_BLOCKS, run)
            for name, content in _answers(run, blocks[run]):
                write_atomically(run / name, content)
    else:
        with folder_beside(target) as beside:
            copy = beside / "copy"
            copy.mkdir()
            for name, content in _files(source, runs, blocks):
                (copy / name).parent.mkdir(parents=True, exist_ok=True)
                (copy / name).write_bytes(content)
            if not examples:
                _without_examples(copy, [copy / run.relative_to(source) for run in runs])
            _put(target, copy)
    names = tuple(run.resolve().name for run in runs)
    return Exported(target or source, names, len(sizes), sum(sizes), notes)


def _runs(folder: Path) -> list[Path]:
    """The run folder itself, or the runs in a folder."""
    if (folder / "run.json").exists():
        return [folder]
    runs = sorted(file.parent for file in folder.glob("*/run.json"))
    if not runs:
        remedy = "Name a run folder that `assay run` wrote, or a folder of runs."
        raise UsageError("there is no run here (no run.json).", remedy, code="not-a-run", file=folder)
    return runs


def _require_outside(out: Path, source: Path) -> None:
    """Refuse a place in the run itself, and one where there is anything but an export."""
    exported = is_zip(out) if out.suffix.lower() == ".zip" else bool([*out.glob("**/run.json")])
    if _is_there(out) and not exported:
        raise _misplaced("this already exists.", code="not-new", file=out)
    if source.resolve() in out.resolve().parents:
        raise _misplaced("this is inside the folder that is being exported.", code="bad-option", file=out, key="out")


def _blocks(run: Path) -> list[StoredBlock]:
    """The blocks of a run, each once; empty if it scored existing answers."""
    if not (run / "findings.json").exists():
        raise _unusable("this run is not finished: it has no findings.json.", code="unfinished-run", file=run)
    opened, blocks = read_run(run), used_blocks(run)  # refused if its files are not of one run
    if not (run / BLOCKS).exists() and opened.info.kind is RunKind.ASKED:
        raise _unusable("this run is not finished: it has no blocks.json.", code="unfinished-run", file=run)
    return [block for of_key in blocks.values() for block in of_key.blocks.values()]


def _content(run: Path, block: StoredBlock) -> bytes:
    """The content of a block's file: the very answers that the run used."""
    answers = f"the answers to questions {block.lo} to {block.hi} ({block.key[:12]}…)"
    try:
        return BlockStore.of_run(run).require(block, read_content)
    except BadBlockError as error:
        raise _unusable(f"{answers} are damaged: {error}.", code="unreadable-file", file=run) from None
    except ReplacedBlockError:
        problem = f"{answers} that this run used are not stored any more; others are, which are not this run's."
        remedy = "Repeat the run with another --out, and export that."
        raise DataError(problem, remedy, code="stale-answers", file=run) from None
    except LostBlockError:
        raise _unusable(f"{answers} are not stored here.", code="unfinished-run", file=run) from None


def _files(source: Path, runs: Sequence[Path], blocks: Mapping[Path, Sequence[StoredBlock]]) -> Files:
    """All files of an exported folder, except hidden ones (locks, unfinished files)."""
    if source not in runs:
        paths = [path for path in _visible(source) if path.is_file()]
        yield from ((path.relative_to(source), _inside(path, source).read_bytes()) for path in paths)
    for run in runs:
        yield from ((path.relative_to(source), path.read_bytes()) for path in _within(run))
        yield from ((run.relative_to(source) / name, content) for name, content in _answers(run, blocks[run]))


def _answers(run: Path, blocks: Sequence[StoredBlock]) -> Files:
    """The blocks of a run, and last the file that marks them as complete."""
    store = BlockStore(Path(OWN_BLOCKS))
    yield from ((store.path(block), _content(run, block)) for block in blocks)
    if blocks:
        yield Path(OWN_BLOCKS) / EXPORTED, digest_of_list(run).encode()


def _within(run: Path) -> Iterator[Path]:
    """The files of a run, without its own copy of the answers; a link that leads out of it is an error."""
    waiting = [path for path in _visible(run) if path.name != OWN_BLOCKS]
    while waiting:
        path = _inside(waiting.pop(0), run)
        if path.is_dir() and not path.is_symlink():
            waiting += _visible(path)
        elif path.is_file():
            yield path


def _inside(path: Path, folder: Path) -> Path:
    if path.is_symlink() and (not path.resolve().is_relative_to(folder.resolve()) or path.is_dir()):
        problem = "this is a link, which is not followed: what it leads to is not part of the run."
        raise DataError(problem, "Remove it, or put the file itself there.", code="unreadable-file", file=path)
    return path


def _visible(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if not path.name.startswith("."))


def _put(out: Path, folder: Path) -> None:
    """Give a folder its name, or write it as a zip file, unless this very export is there already: the program that
    wrote it may have been killed right afterwards.
    """
    output = folder
    if out.suffix.lower() == ".zip":
        output = folder.with_suffix(".zip")
        _zip(output, folder, out.stem)
    if not _is_there(out):
        rename_folder(output, out)
    elif not _same(output, out):
        raise _misplaced("this already exists.", code="not-new", file=out)


def _zip(out: Path, folder: Path, name: str) -> None:
    """Write a folder as a zip file; the same files give the same bytes."""
    with out.open("wb") as file:
        with zipfile.ZipFile(file, "w") as archive:
            for path in sorted((path for path in folder.rglob("*") if path.is_file()), key=Path.as_posix):
                entry = zipfile.ZipInfo((name / path.relative_to(folder)).as_posix())
                entry.compress_type = zipfile.ZIP_DEFLATED
                entry.create_system, entry.external_attr = 3, 0o644 << 16  # as on Linux, wherever it is written
                archive.writestr(entry, path.read_bytes())
        file.flush()
        os.fsync(file.fileno())


def _is_there(path: Path) -> bool:
    return path.is_symlink() or path.exists()


def _same(first: Path, second: Path) -> bool:
    """Whether two files, or all files of two folders, have the same content; links are never the same."""
    if second.is_symlink() or first.is_dir() != second.is_dir():
        return False
    if not first.is_dir():
        return filecmp.cmp(first, second, shallow=False)
    names = [sorted(path.name for path in folder.iterdir()) for folder in (first, second)]
    return names[0] == names[1] and all(_same(first / name, second / name) for name in names[0])


def _without_examples(copy: Path, runs: Sequence[Path]) -> None:
    from assay.report import write_html

    for run in runs:
        (run / EXAMPLES).unlink(missing_ok=True)
    for folder in dict.fromkeys([copy, *runs]):
        if (folder / "report.html").exists():
            write_html(folder, open_runs(folder), examples=False)


def _notes(runs: Sequence[Path], blocks: Mapping[Path, Sequence[StoredBlock]], examples: bool) -> Iterator[str]:
    """Notes on what is not included, and on what is and may not be shared."""
    if data := sorted({name for run in runs for name in read_info(run).data}):
        yield (
            f"Source data is not included ({_few(data)}); run.json has the digests. To score or compare the answers, "
            "keep data that does not come with assay at its original path, or pass it with --set."
        )
    if without := [run.resolve().name for run in runs if not blocks[run]]:
        yield f"These runs are scores of existing answers, which are not included: {_few(without)}."
    if examples and any((run / EXAMPLES).exists() for run in runs):
        yield (
            f"The questions' texts are included ({EXAMPLES}, report.html). The licences of official data may not allow "
            "sharing them; --no-examples leaves them out of a copy."
        )


def _few(names: Sequence[str], most: int = 3) -> str:
    return ", ".join(names[:most]) + (", …" if len(names) > most else "")
