"""The journal stores every reply of an endpoint, so that no request is paid for twice.

There is one folder for each endpoint and model, with one file for each program that asked; only that program appends to
it. A line has a checksum, the digest of the call, the time of the reply, and the reply as JSON. A killed program
leaves at most a part of its last line, whose checksum is then wrong. Of several replies to a call the latest counts,
except for a run that is built again: it gets those that it had.

If the folder cannot be written (a full disk), replies that were paid for go to a file of the run's folder, in the same
format. The next program that asks for this run copies them into the journal and removes the file.
"""

from __future__ import annotations

import dataclasses
import errno
import json
import os
import platform
import re
import time
import zlib
from collections.abc import Iterator
from contextlib import suppress
from math import inf
from operator import attrgetter
from pathlib import Path
from typing import BinaryIO, NamedTuple

from assay.asking.plan import digest_of
from assay.errors import AssayError, DataError, UsageError
from assay.files.atomic import explained
from assay.files.decoding import json_typed
from assay.files.opening import open_bytes, open_regular
from assay.models.base import ModelSpec, Reply
from assay.results.formatting import plural

_ENDING = ".journal"
BESIDE = f"answers{_ENDING}"
"""The file of a run's folder for replies that could not be stored in the journal."""
_at = attrgetter("at")
_LINE = re.compile(rb"([0-9a-f]{8}) (\w{1,128}) (\d{1,20}\.\d{1,9}) (.*)\n", re.ASCII | re.DOTALL)
"""Checksum, digest, time, reply."""


class _Entry(NamedTuple):
    """Where a reply is stored: its file, its place there, and its time."""

    path: Path
    offset: int
    length: int
    at: float


class _Writer:
    """Appends lines to a file, which it creates or continues."""

    def __init__(self, path: Path, *, makes_folder: bool) -> None:
        self.path, self.makes_folder = path, makes_folder
        self._end = 0
        self._file: BinaryIO | None = None
        self._unsynced = False

    def append(self, line: bytes) -> int:
        """Append a whole line or nothing; returns where it begins."""
        with explained(self.path, "file"):
            if self._file is None:
                if self.makes_folder:
                    self.path.parent.mkdir(parents=True, exist_ok=True)
                self._file = self.path.open("a+b", buffering=0)
                self._end_line(self._file)
                self._end = self._file.seek(0, os.SEEK_END)
            offset = self._end
            try:
                if self._file.write(line) < len(line):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            except OSError:
                self._file.truncate(offset)  # a part of a line would damage the next one
                raise
        self._unsynced, self._end = True, offset + len(line)
        return offset

    @staticmethod
    def _end_line(file: BinaryIO) -> None:
        """End the line of a killed program, whose rest would be taken for the beginning of the next."""
        if file.seek(0, os.SEEK_END):
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                file.write(b"\n")

    @property
    def is_open(self) -> bool:
        return self._file is not None

    def sync(self) -> None:
        if self._file is not None and self._unsynced:
            self._unsynced = False
            try:
                with explained(self.path, "file"):
                    os.fsync(self._file.fileno())
            except BaseException:
                self._unsynced = True
                raise

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


class Journal:
    """The replies to calls, by the calls' digests. Only their places are in memory.

    `beside` is the file for replies that cannot be stored in the folder: what an earlier program left there is moved
    into the folder. `problem` is why replies could not be stored, `rescued` and `lost` count those since then.
    """

    def __init__(self, folder: Path, beside: Path | None = None, *, read: bool = True) -> None:
        self.folder = folder
        self._entries: dict[str, _Entry] = {}  # the latest
        self._earlier: dict[str, list[_Entry]] = {}
        self._readers: dict[Path, BinaryIO] = {}
        self.program = f"{time.time_ns():020d}-{re.sub(r'[^A-Za-z0-9]', '', platform.node())}-{os.getpid()}"
        self._own = _Writer(folder / f"{self.program}{_ENDING}", makes_folder=True)
        self._beside = _Writer(beside, makes_folder=False) if beside is not None else None
        self.problem: AssayError | None = None
        self.rescued = self.lost = 0
        self._read: dict[Path, int] = {}  # how far other programs' files have been read
        if read:
            self.refresh()
        if beside is not None and beside.is_file():
            self._merge(beside)

    @staticmethod
    def of(root: Path, model: ModelSpec, beside: Path | None = None, *, read: bool = True) -> Journal:
        """The journal of one endpoint and model."""
        name = model.endpoint.model if model.endpoint else model.name
        return Journal(root / digest_of({"url": model.place, "model": name})[:32], beside, read=read)

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, digest: str) -> bool:
        return digest in self._entries

    def refresh(self) -> None:
        """Read what other programs have stored since."""
        for path in sorted(self.folder.glob(f"*{_ENDING}")):
            if path == self._own.path and self._own.is_open:
                continue
            with suppress(FileNotFoundError):  # it has just been removed
                begin = self._read.get(path, 0)
                if begin and path.stat().st_size == begin:
                    continue
                for digest, entry in _entries(path, begin):
                    self._note(digest, entry)
                    self._read[path] = entry.offset + entry.length + 1

    def get(self, digest: str, since: float = 0.0, until: float = inf) -> Reply | None:
        """The latest reply to a call that came `until` then or, if there is none, the first after that; None if there
        is none `since` then.
        """
        latest = self._entries.get(digest)
        if latest is None or latest.at < since:
            return None
        replies = [entry for entry in (*self._earlier.get(digest, ()), latest) if entry.at >= since]
        before = [entry for entry in replies if entry.at <= until]
        entry = max(before, key=_at) if before else min(replies, key=_at)
        if entry.path not in self._readers:
            self._readers[entry.path] = open_regular(entry.path)
        reader = self._readers[entry.path]
        reader.seek(entry.offset)
        try:
            return dataclasses.replace(json_typed(reader.read(entry.length), Reply), at=entry.at)
        except ValueError as error:
            problem = f"what is stored at byte {entry.offset:,} is not a reply ({error})."
            remedy = "Delete the file, which assay did not write like this: its requests are then sent again."
            raise DataError(problem, remedy, code="bad-value", file=entry.path) from None

    def put(self, digest: str, reply: Reply, since: float = 0.0) -> Reply:
        """Store a reply, which is returned with its time, at least `since`: the operating system has it then, and the
        disk within a second (`sync`).
        """
        names = [field.name for field in dataclasses.fields(reply) if field.name != "at"]
        fields = {name: getattr(reply, name) for name in names}
        content = json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")
        before = self._entries.get(digest)
        latest = max(time.time(), since + 1e-6, before.at + 1e-6 if before else 0.0)  # the clock may have been set back
        time_text = f"{latest:.6f}"
        at, head = float(time_text), f"{digest} {time_text} ".encode()
        line = f"{zlib.crc32(head + content):08x} ".encode() + head + content + b"\n"
        try:
            entry = self._append(self._own, line, len(content), at)
        except AssayError as error:
            self.problem = self.problem or error
            if self._beside is None:
                raise
            try:
                entry = self._append(self._beside, line, len(content), at)
            except AssayError:
                self.lost += 1
                raise error from None
            self.rescued += 1
        self._note(digest, entry)
        return dataclasses.replace(reply, at=entry.at)

    def _append(self, writer: _Writer, line: bytes, length: int, at: float) -> _Entry:
        """Append a line, whose content has this length."""
        offset = writer.append(line)
        return _Entry(writer.path, offset + len(line) - length - 1, length, at)

    def _merge(self, beside: Path) -> None:
        """Move the replies of a file into the folder. While that cannot be written, they are read where they are."""
        stored = {(digest, entry.at) for path in self.folder.glob(f"*{_ENDING}") for digest, entry in _entries(path)}
        # What is stored already was moved by a program that was killed before it removed the file.
        missing = [parts for parts in _intact_lines(beside) if (parts[0], parts[1].at) not in stored]
        for digest, entry, _ in missing:
            self._note(digest, entry)
        try:
            for digest, entry, line in missing:
                self._note(digest, self._append(self._own, line, entry.length, entry.at))
            self._own.sync()
            beside.unlink()
        except (OSError, AssayError):
            return

    def complaint(self) -> AssayError | None:
        """Why replies could not be stored, and where those are that came since then."""
        if self.problem is None:
            return None
        words, remedy = [self.problem.problem], [self.problem.remedy]
        if self.rescued and self._beside is not None:
            words.append(f"{plural(self.rescued, 'reply', 'replies')} that came after that are in {self._beside.path}.")
            remedy.append("The next command with this --out moves them into the cache.")
        if self.lost:
            words.append(f"{plural(self.lost, 'reply was', 'replies were')} lost.")
        return UsageError(" ".join(words), " ".join(remedy), code=self.problem.code, file=self.problem.file)

    def sync(self) -> None:
        """Sync stored replies to the disk; another thread may store more at the same time."""
        for writer in (self._beside, self._own):
            if writer is not None:
                writer.sync()

    def close(self) -> None:
        try:
            self.sync()
        finally:
            for file in (self._own, self._beside, *self._readers.values()):
                if file is not None:
                    file.close()
            self._readers = {}

    def _note(self, digest: str, entry: _Entry) -> None:
        before = self._entries.get(digest)
        if before is None or before.at == entry.at:  # the same reply in another file
            self._entries[digest] = entry
            return
        earlier, self._entries[digest] = sorted((before, entry), key=_at)
        at_other_times = [entry for entry in self._earlier.get(digest, ()) if entry.at != earlier.at]
        self._earlier[digest] = [*at_other_times, earlier]


def _entries(path: Path, begin: int = 0) -> Iterator[tuple[str, _Entry]]:
    """The entries of a file from a byte on, without damaged or incomplete lines."""
    return ((digest, entry) for digest, entry, _ in _intact_lines(path, begin))


def _intact_lines(path: Path, begin: int = 0) -> Iterator[tuple[str, _Entry, bytes]]:
    """The lines of a file from a byte on that are whole, with what they say: the digest and the entry."""
    offset = begin
    with open_regular(path) if begin else open_bytes(path) as file:
        if begin:
            file.seek(begin)
        for line in file:
            parts = _LINE.fullmatch(line)
            if parts and f"{zlib.crc32(line[9:-1]):08x}".encode() == parts[1]:
                entry = _Entry(path, offset + parts.start(4), len(parts[4]), float(parts[3]))
                yield parts[2].decode(), entry, line
            offset += len(line)
