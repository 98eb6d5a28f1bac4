"""Blocks on disk: the answers to a range of a plan, content-addressed, checksummed, written atomically.

The store also has the arrays that are too large for a plan, which has their digest.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import time
import zipfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import chain
from math import inf
from pathlib import Path
from typing import IO, Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from assay.asking.plan import AnyPlan, ArrayPlan, Arrays
from assay.asking.queries import Answers, QueryColumns
from assay.errors import UsageError
from assay.files.atomic import explained, move_file, remove_leftovers, write_atomically
from assay.files.opening import digest_as_stored, open_regular, read_whole, reason
from assay.files.paths import cache_folder

T = TypeVar("T")

_MAGIC = b"assay-block-1\n"
_HEAD = len(_MAGIC) + hashlib.sha256().digest_size

_SHORT = 16
"""How many digits of its checksum a block's name has."""
_NAME = re.compile(rf"([0-9]{{10,15}})-([0-9]{{10,15}})-[0-9a-f]{{{_SHORT}}}\.block")
_ASKING = re.compile(r"[0-9a-z]+-[0-9]{1,20}")
_COMPLETE = "complete"
"""The file in an asking's folder that says that it has all blocks."""

_LARGEST = 4 << 30  # bytes of a block's file
_RECENT = 4
"""How many sets of arrays are kept in memory."""

OWN_BLOCKS = "blocks"
"""The folder in a run folder that holds its answers after `assay export`."""
EXPORTED = "exported"
"""The file in it that is written last: the digest of the blocks.json whose blocks it has."""


@dataclass(frozen=True)
class Block:
    """Answers to queries lo to hi of a plan, and the digest of these queries."""

    lo: int
    hi: int
    queries: str
    answers: Answers


class BadBlockError(Exception):
    """A block file that cannot be trusted; the message says why."""


class LostBlockError(Exception):
    """A block that a run used is not stored."""


class ReplacedBlockError(LostBlockError):
    """It is not, but other answers to the same questions are."""


class StoredBlock(NamedTuple):
    """A block of a run, as its blocks.json lists it."""

    key: str
    lo: int
    hi: int
    checksum: str


@dataclass(frozen=True)
class UsedBlocks:
    """The blocks that a run used of one key, by range; and, of an endpoint, since when replies counted, and when the
    last of them had come (Unix time).
    """

    blocks: Mapping[tuple[int, int], StoredBlock]
    since: float = 0.0
    until: float = inf


@dataclass(frozen=True)
class BlockStore:
    """A folder of blocks. A key stands for model, plan and settings; the blocks of a key differ by their range.

    A block's file is named after its range and its checksum, so that other answers to the same questions never replace
    it: a run refers to its blocks by their checksums. Where everything is asked again, the blocks are in a folder of
    that asking until it has all of them, and until then nothing else uses them. Blocks of a known checksum are looked
    for in the folders `beyond`, too, which are never written.
    """

    root: Path
    beyond: tuple[Path, ...] = ()

    @staticmethod
    def default() -> BlockStore:
        """`ASSAY_CACHE`, or the user's cache folder."""
        return BlockStore(cache_folder() / "blocks")

    @staticmethod
    def of_run(folder: Path) -> BlockStore:
        """The store of a run's answers: its own folder after `assay export`, else the default, and the other beyond it.

        A folder of an unfinished export, or of one that is older than the run, is beyond: a repeated run may have taken
        answers from there that are nowhere else.
        """
        own_folder, usual = folder / OWN_BLOCKS, BlockStore.default()
        try:
            exported = read_whole(own_folder / EXPORTED).decode() == digest_of_list(folder)
        except (OSError, ValueError):
            exported = False
        return BlockStore(own_folder, (usual.root,)) if exported else BlockStore(usual.root, (own_folder,))

    @cached_property
    def arrays(self) -> ArrayStore:
        """The arrays that plans asked here refer to."""
        return ArrayStore(self.root / "arrays")

    def folder(self, key: str) -> Path:
        return self.root / key[:2] / key

    def path(self, block: StoredBlock) -> Path:
        return self.folder(block.key) / f"{block.lo:010d}-{block.hi:010d}-{block.checksum[:_SHORT]}.block"

    def clean(self, key: str, asking: str = "") -> None:
        """Remove temporary files of killed programs beside the blocks of a key; refuse what no block could replace."""
        folder = self.folder(key) / asking
        remove_leftovers(folder)
        for path in folder.glob("*.block"):
            if path.is_dir():
                remedy = "Remove it, then run the same command again."
                raise UsageError("this is a folder, not a block.", remedy, code="cannot-write", file=path)

    def write(self, key: str, block: Block, asking: str = "") -> str:
        """Store a block, in the folder of an asking if there is one; returns its checksum."""
        buffer = io.BytesIO()
        arrays: dict[str, Any] = {f"answer.{name}": values for name, values in block.answers.arrays.items()}
        arrays |= {"status": block.answers.status, "queries": np.frombuffer(bytes.fromhex(block.queries), np.uint8)}
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
            for name in sorted(arrays):
                with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w") as member:
                    np.lib.format.write_array(member, np.ascontiguousarray(arrays[name]), allow_pickle=False)
        payload = buffer.getvalue()
        checksum = hashlib.sha256(payload).digest()
        path = self.path(StoredBlock(key, block.lo, block.hi, checksum.hex()))
        write_atomically(path.parent / asking / path.name, _MAGIC + checksum + payload, clean=False)
        return checksum.hex()

    # --- reading

    def newest(self, key: str, asking: str = "") -> dict[tuple[int, int], list[Path]]:
        """The newest file of each range: of an asking that is named, otherwise of all that are complete."""
        folders = [self.folder(key) / asking]
        if not asking:
            folders += [path.parent for path in files_matching(folders[0], f"*/{_COMPLETE}")]
        newest: dict[tuple[int, int], tuple[int, Path]] = {}
        for path in chain.from_iterable(files_matching(folder, "*.block") for folder in folders):
            if name := _NAME.fullmatch(path.name):
                with suppress(FileNotFoundError):  # removed meanwhile
                    span, file = (int(name[1]), int(name[2])), (path.stat().st_mtime_ns, path)
                    newest[span] = max(newest.get(span, file), file)
        return {span: [path] for span, (_, path) in newest.items()}

    def copies(self, block: StoredBlock) -> list[Path]:
        """The files that should be this very block."""
        paths = [BlockStore(root).path(block) for root in (self.root, *self.beyond)]
        complete = [path for path in paths if path.exists()]
        if complete:  # listing the folder for each of thousands of blocks would take minutes
            return complete
        return [*chain(*(files_matching(path.parent, f"*/{path.name}") for path in paths))]

    def read(self, key: str, lo: int, hi: int) -> tuple[Block, str] | None:
        """The newest block of a range and its checksum, or None; raises BadBlockError if it is damaged."""
        return read_block(self.newest(key).get((lo, hi), []), lo, hi)

    def require(self, block: StoredBlock, read: Callable[[Sequence[Path]], tuple[T, str] | None]) -> T:
        """What `read` (`read_block` or `read_content`) gives for the very block that a run used.

        Raises a BadBlockError if it is damaged, and a LostBlockError if it is not stored.
        """
        stored = read(self.copies(block))
        if stored is not None and stored[1] == block.checksum:
            return stored[0]
        raise ReplacedBlockError if (block.lo, block.hi) in self.newest(block.key) else LostBlockError

    # --- asking everything again

    def begin(self, key: str, run: str) -> str:
        """A new asking of a run (a text of letters and digits): the name of its folder, which has the time."""
        asking = f"{run or 'none'}-{time.time_ns()}"
        with explained(self.folder(key) / asking, "folder"):
            (self.folder(key) / asking).mkdir(parents=True, exist_ok=True)
        return asking

    def unfinished(self, key: str, run: str) -> str:
        """The last asking of a run that has not finished; empty if there is none."""
        return max((path.name for path in self.stopped(key) if run and path.name.startswith(f"{run}-")), default="")

    def stopped(self, key: str) -> list[Path]:
        """The folders of askings that have not finished: they were stopped, or go on."""
        folders = files_matching(self.folder(key), "*-*")
        return [path for path in folders if _ASKING.fullmatch(path.name) and not (path / _COMPLETE).exists()]

    def finish(self, key: str, asking: str) -> None:
        """Have an asking's blocks used from now on: it has all of them. They move to the other blocks of the key."""
        folder = self.folder(key) / asking
        write_atomically(folder / _COMPLETE, b"")
        for path in sorted(folder.glob("*.block")):
            os.utime(path)  # now, which makes them the newest
            move_file(path, folder.parent / path.name)
        (folder / _COMPLETE).unlink()
        with suppress(OSError):  # what is in there is not assay's
            folder.rmdir()


def begun_at(asking: str) -> float:
    """When an asking began (Unix time); 0 for none."""
    return int(asking.rpartition("-")[2]) / 1e9 if asking else 0.0


def read_block(copies: Sequence[Path], lo: int, hi: int) -> tuple[Block, str] | None:
    """A stored block and its checksum, from the first copy that is not damaged; None if there is no copy."""
    return _first(partial(_block_in, lo=lo, hi=hi), copies)


def read_content(copies: Sequence[Path]) -> tuple[bytes, str] | None:
    """The bytes of a block's file and its verified checksum, as `read_block`."""
    return _first(_content_of, copies)


def _first(read: Callable[[Path], T], copies: Sequence[Path]) -> T | None:
    bad: BadBlockError | None = None
    for path in copies:
        try:
            return read(path)
        except BadBlockError as error:
            bad = bad or error
    if bad is not None:
        raise bad
    return None


def _block_in(path: Path, lo: int, hi: int) -> tuple[Block, str]:
    content, checksum = _content_of(path)
    try:
        arrays = _arrays_in(io.BytesIO(content[_HEAD:]))
        answers = {name[7:]: values for name, values in arrays.items() if name.startswith("answer.")}
        block = Block(lo, hi, arrays["queries"].tobytes().hex(), Answers(arrays["status"], answers))
        is_complete = all(values.shape[:1] == (hi - lo,) for values in (block.answers.status, *answers.values()))
    except Exception as error:  # numpy and zipfile raise almost anything for a file that somebody made
        raise BadBlockError(f"{path}: this is not a block ({error})") from error
    if not is_complete:
        raise BadBlockError(f"{path}: it does not have {hi - lo} answers")
    return block, checksum


def _content_of(path: Path) -> tuple[bytes, str]:
    try:
        content = read_whole(path, _LARGEST)
    except OSError as error:
        raise BadBlockError(f"{path}: cannot be read ({error.strerror})") from error
    checksum = content[len(_MAGIC) : _HEAD]
    if not content.startswith(_MAGIC) or hashlib.sha256(content[_HEAD:]).digest() != checksum:
        raise BadBlockError(f"{path}: its checksum is wrong")
    if not path.stem.endswith(f"-{checksum.hex()[:_SHORT]}"):
        raise BadBlockError(f"{path}: it is another block than its name says")
    return content, checksum.hex()


def files_matching(folder: Path, pattern: str) -> list[Path]:
    """Files that match a pattern; none if the folder is missing or removed meanwhile."""
    try:
        return list(folder.glob(pattern))
    except FileNotFoundError:
        return []


def _arrays_in(file: IO[bytes]) -> dict[str, NDArray[Any]]:
    """The arrays of an archive. They were not compressed: one that has more than its file was made to fill memory."""
    size = file.seek(0, os.SEEK_END)
    with zipfile.ZipFile(file) as archive:
        if sum(member.file_size for member in archive.infolist()) > size:
            raise ValueError("its arrays are larger than the file")
    file.seek(0)
    with np.load(file, allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}


def digest_of_list(folder: Path) -> str:
    """The digest of a run's list of blocks."""
    return digest_as_stored(folder / "blocks.json")


# --- the arrays of plans


class ArraySource(Protocol):
    """Where a process that computes gets a plan's arrays."""

    def load(self, digest: str) -> Arrays: ...


def columns_of(plan: AnyPlan, arrays: ArraySource, lo: int, hi: int) -> QueryColumns:
    """Queries lo to hi of a plan, made from its arrays if it has some."""
    if isinstance(plan, ArrayPlan):
        return plan.columns_from(arrays.load(plan.arrays), lo, hi)
    return plan.columns(lo, hi)


@dataclass
class ArrayStore:
    """A folder of arrays, named by their content. The last ones stay in memory: do not modify them."""

    folder: Path
    _recent: dict[str, Arrays] = field(default_factory=dict, repr=False)

    def keep(self, arrays: Arrays) -> str:
        """Store arrays and return their digest; intact arrays are not written again."""
        digest = digest_of_arrays(arrays)
        if digest not in self._recent:
            try:
                self._read(digest)
            except UsageError:  # missing or damaged
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

    def _read(self, digest: str) -> Arrays:
        path = self._path(digest)
        try:
            with open_regular(path) as file:
                arrays = _arrays_in(file)
        except Exception as error:  # as for blocks
            remedy = "Delete it if it exists, and run the same command again."
            raise UsageError(f"cannot be read ({reason(error)}).", remedy, code="unreadable-file", file=path) from None
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
